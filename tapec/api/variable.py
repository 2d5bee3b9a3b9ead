"""`Variable`: a named value that changes by assignment, and that tapes watch when it is read."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tapec.ops import ArrayLike
from tapec.ops.array import apply
from tapec.trace.recorder import CURRENT
from tapec.trace.tensor import Tensor, plain_value, wrap

__all__ = ["Variable"]

_serial = itertools.count()


class Variable(ArrayLike):
    """A trainable value. Reading it gives a tensor; `assign` changes what later reads give.

    >>> import tapec
    >>> w = tapec.Variable(3.0)
    >>> with tapec.GradientTape() as tape:
    ...     loss = w * w
    >>> tape.gradient(loss, w)
    tapec.Tensor(6.0, shape=(), dtype=float64)
    """

    __slots__ = ("__weakref__", "_name", "_serial", "_tensor", "_trainable")
    _rank = 3

    def __init__(self, initial_value: Any, trainable: bool = True, name: str | None = None, dtype: Any = None):
        self._tensor = wrap(plain_value(initial_value, dtype))
        self._trainable = bool(trainable)
        self._serial = next(_serial)
        self._name = f"{name or 'Variable'}:0"

    # -- reading ------------------------------------------------------------------------------------------------
    def _tapec_read(self) -> Tensor:
        """The current value as a tensor; tapes that watch what is accessed get to know it."""
        tensor = self._tensor
        rec = CURRENT.get()
        if rec is not None and self._trainable and tensor._mark is not rec.mark:
            for tape in rec.tapes:
                tape.accessed(self)
        return tensor

    def read_value(self) -> Tensor:
        return self._tapec_read()

    value = read_value

    def numpy(self) -> Any:
        return self._tensor.numpy()

    @property
    def shape(self) -> tuple[int, ...]:
        return self._tensor.shape

    @property
    def dtype(self) -> np.dtype:
        return self._tensor.dtype

    @property
    def name(self) -> str:
        return self._name

    @property
    def trainable(self) -> bool:
        return self._trainable

    # -- assignment -----------------------------------------------------------------------------------------------
    def assign(self, value: Any) -> Variable:
        """Give it a new value of the same shape; earlier reads keep theirs."""
        new = np.asarray(value._tapec_read()._value if isinstance(value, Variable) else plain_value(value))
        if new.shape != self.shape:
            raise ValueError(f"cannot assign a value of shape {new.shape} to variable {self._name!r} of shape {self.shape}")
        self._tensor = wrap(plain_value(new, self.dtype))
        return self

    def assign_add(self, delta: Any) -> Variable:
        return self.assign(self._tensor._value + plain_value(_dense(delta)))

    def assign_sub(self, delta: Any) -> Variable:
        return self.assign(self._tensor._value - plain_value(_dense(delta)))

    # -- as an array ------------------------------------------------------------------------------------------------
    def _apply(self, op: Any, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        return apply(op, tuple([x._tapec_read() if isinstance(x, Variable) else x for x in inputs]), params)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self._tapec_read().__array__(dtype, copy)

    def __bool__(self) -> bool:
        return bool(self._tapec_read())

    def __float__(self) -> float:
        return float(self._tapec_read())

    def __int__(self) -> int:
        return int(self._tapec_read())

    def __repr__(self) -> str:
        from tapec.trace.tensor import show

        return (
            f"<tapec.Variable {self._name!r} shape={self.shape} dtype={self.dtype.name}, "
            f"value={show(self._tensor._value)}>"
        )


def _dense(value: Any) -> Any:
    return value._tapec_read() if isinstance(value, Variable) else getattr(value, "dense", lambda: value)()
