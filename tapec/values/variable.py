"""Define `Variable`: a named value that changes by assignment, and that tapes watch when it is read."""

from __future__ import annotations

import itertools
import operator
from typing import Any, NoReturn

import numpy as np

from tapec.errors import InPlaceError, TapeTypeError, TapeValueError, at_user_line
from tapec.ir.notebook_hooks import rich
from tapec.ops import ArrayLike
from tapec.ops.core.stand_in import METHODS, apply, may_give_its_argument
from tapec.ops.layout.copies import COPY
from tapec.ops.numpy_calls.operators import UNARY
from tapec.trace.dispatch.numpy_calls import of_variables
from tapec.trace.dispatch.operators import OPERATORS
from tapec.trace.escape.to_plain import to_array
from tapec.trace.recording_stack import current
from tapec.trace.tensor import Tensor, plain_value, readable, record, show, wrap
from tapec.values.indexed_slices import IndexedSlices

__all__ = ["Variable", "same"]

_serial = itertools.count()
_RANK = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}  # what is assigned is converted upwards, never down


class Variable(ArrayLike):
    """A trainable value. Reading it gives a tensor; `assign` changes what later reads give.

    >>> import tapec
    >>> w = tapec.Variable(3.0)
    >>> with tapec.GradientTape() as tape:
    ...     loss = w * w
    >>> tape.gradient(loss, w)
    tapec.Tensor(6.0, shape=(), dtype=float64)
    >>> w.assign_sub(0.5)
    <tapec.Variable 'Variable:0' shape=() dtype=float64, value=2.5>
    """

    __slots__ = ("__weakref__", "_name", "_serial", "_tensor", "_trainable")
    _rank = 3

    def __init__(self, initial_value: Any, trainable: bool = True, name: str | None = None, dtype: Any = None):
        if callable(initial_value):
            initial_value = initial_value()
        self._tensor = wrap(_fixed(plain_value(initial_value, dtype)))
        self._trainable = bool(trainable)
        self._serial = next(_serial)
        self._name = f"{name or 'Variable'}:0"

    def __init_subclass__(cls) -> None:
        readable(cls)

    # -- reading ------------------------------------------------------------------------------------------------
    def _tapec_read(self) -> Tensor:
        """The current value as a tensor; what records gets to know that it was read."""
        tensor = self._tensor
        rec = current()
        if rec is not None and tensor._mark is not rec.mark:
            for tape in rec.tapes:
                tape.accessed(self, tensor)
        return tensor

    _operand = _tapec_read

    def _apart(self, found: Any) -> Any:
        """What a function gives. One that leaves the value as it is gives a view: a tensor of its own, which is not
        watched when the Variable is read again.
        """
        return _with_value(found, found._value) if found is self._tensor else found

    @property
    def _value(self) -> Any:
        return self._tapec_read()._value

    def read_value(self) -> Tensor:
        """The current value, as a tensor of its own."""
        return same(self._tapec_read())

    def value(self) -> Tensor:
        """The same as `read_value`."""
        return self.read_value()

    def numpy(self) -> Any:
        """The current value: an array of its own, or a NumPy scalar."""
        rec = current()
        if rec is not None and rec.trace is not None:
            rec.trace.unsettle(f"it looks at the values of Variable {self._name!r}")
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
        """Whether tapes watch the Variable when it is read."""
        return self._trainable

    # -- assignment -----------------------------------------------------------------------------------------------
    def assign(self, value: Any) -> Variable:
        """Give it a new value of the same shape; what was computed before keeps the old one."""
        self._set(np.array(_plain(value, self)), "assign")
        return self

    def assign_add(self, delta: Any) -> Variable:
        """Add to it. IndexedSlices change their rows alone."""
        self._set(self._moved(delta, np.add), "assign_add")
        return self

    def assign_sub(self, delta: Any) -> Variable:
        """Subtract from it. IndexedSlices change their rows alone."""
        self._set(self._moved(delta, np.subtract), "assign_sub")
        return self

    def _moved(self, delta: Any, ufunc: np.ufunc) -> Any:
        old = self._tensor._value
        if not isinstance(delta, IndexedSlices):
            change = _plain(delta, self)
            try:
                return ufunc(old, change)
            except ValueError as e:  # the shapes do not broadcast
                raise TapeValueError(at_user_line(_misfit(self, np.shape(change)))) from e
        if delta.shape != self.shape:
            raise TapeValueError(at_user_line(_misfit(self, delta.shape)))
        new = old.copy()
        ufunc.at(new, delta.indices._value, delta.values._value)
        return new

    def _set(self, new: Any, what: str) -> None:
        """Take a value over, which nobody else holds."""
        rec = current()
        if rec is not None and rec.trace is not None:
            raise InPlaceError(
                at_user_line(
                    f"{what} on Variable {self._name!r} inside a traced function would happen when it is traced, and "
                    f"not when it runs. Fix: return the new value, and assign it outside"
                )
            )
        old = self._tensor._value
        if new.shape != old.shape:
            raise TapeValueError(at_user_line(_misfit(self, new.shape)))
        if new.dtype is not old.dtype and new.dtype != old.dtype:
            if _RANK[new.dtype.kind] > _RANK[old.dtype.kind]:
                raise TapeTypeError(
                    at_user_line(
                        f"a value of dtype {new.dtype} cannot be assigned to Variable {self._name!r} of dtype "
                        f"{old.dtype}, and keep all of it. Fix: a Variable of that dtype, or `.astype`"
                    )
                )
            new = new.astype(old.dtype)
        self._tensor = wrap(_fixed(new))

    # -- as an array ------------------------------------------------------------------------------------------------
    def _apply(self, op: Any, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        return apply(op, tuple([x._tapec_read() if isinstance(x, Variable) else x for x in inputs]), params)

    __array_ufunc__ = Tensor.__array_ufunc__
    __array_function__ = of_variables
    _ufunc = Tensor._ufunc
    __array__ = to_array

    def __bool__(self) -> bool:
        return bool(self._tapec_read())

    def __float__(self) -> float:
        return float(self._tapec_read())

    def __int__(self) -> int:
        return int(self._tapec_read())

    def __index__(self) -> int:
        return operator.index(self._tapec_read())

    def __complex__(self) -> complex:
        return complex(self._tapec_read())

    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise InPlaceError(
            at_user_line(
                f"elements of Variable {self._name!r} cannot be written one by one. "
                f"Fix: variable.assign(value) with all of them"
            )
        )

    def _repr_html_(self) -> str:
        return rich("tensor_html", self)

    def __repr__(self) -> str:
        return (
            f"<tapec.Variable {self._name!r} shape={self.shape} dtype={self.dtype.name}, "
            f"value={show(self._tensor._value)}>"
        )

    def __format__(self, spec: str) -> str:
        return format(self._tensor, spec) if spec else repr(self)

    def __copy__(self) -> Variable:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: Any) -> Variable:
        return Variable(self._tensor._value, self._trainable, self._name.removesuffix(":0"))

    def __reduce__(self) -> Any:
        return type(self), (self._tensor._value, self._trainable, self._name.removesuffix(":0"))


readable(Variable)


def same(tensor: Tensor) -> Tensor:
    """A new tensor of the same value, recorded as a copy. Values never change, so only that of a Variable is copied."""
    value = tensor._value
    return _with_value(tensor, value.copy() if type(value) is np.ndarray and not value.flags.writeable else value)


def _with_value(tensor: Tensor, value: Any) -> Tensor:
    out = wrap(value)
    rec = current()
    if rec is not None:
        record(rec, COPY, (tensor,), (), out)
    return out


def _plain(value: Any, variable: Variable) -> Any:
    """The value to assign; nothing flows through it."""
    if type(value) is Tensor:
        return value._value
    if isinstance(value, Variable):
        return value._tensor._value
    if isinstance(value, ArrayLike):
        return value._tapec_read()._value
    if isinstance(value, (str, bytes)) or value is None:
        raise TapeTypeError(at_user_line(f"{value!r} cannot be assigned to Variable {variable.name!r}"))
    return plain_value(value)


def _misfit(variable: Variable, shape: tuple[int, ...]) -> str:
    return (
        f"a value of shape {shape} does not fit Variable {variable.name!r} of shape {variable.shape}. "
        f"Fix: give it that shape, or make a new Variable"
    )


# ---------------------------------------------------------------------------------------------------------------
# operators
# ---------------------------------------------------------------------------------------------------------------
def _unary(road: Any) -> Any:
    """The road of tensors, for the value of a Variable."""

    def call(self: Variable) -> Any:
        return road(self._tapec_read())

    return call


def _binary(road: Any) -> Any:
    """The same with another operand."""

    def call(self: Variable, other: Any) -> Any:
        return road(self._tapec_read(), other)

    return call


def _getitem(road: Any) -> Any:
    """The same with an index."""

    def call(self: Variable, index: Any) -> Any:
        return self._apart(road(self._tapec_read(), index))

    return call


def _property(name: str) -> Any:
    road = getattr(Tensor, name).fget
    return property(lambda self: self._apart(road(self._tapec_read())))


def _method(name: str) -> Any:
    road = getattr(Tensor, name)

    def call(self: Variable, *args: Any, **kwargs: Any) -> Any:
        return self._apart(road(self._tapec_read(), *args, **kwargs))

    call.__name__ = name
    call.__qualname__ = f"Variable.{name}"
    call.__doc__ = f"As `numpy.ndarray.{name}`."
    return call


def _refusal(symbol: str) -> Any:
    def call(self: Variable, other: Any) -> NoReturn:
        raise InPlaceError(
            at_user_line(
                f"`variable {symbol} value` would change Variable {self._name!r} in place. Fix: variable.assign, "
                f"assign_add or assign_sub to change it, or `out = variable {symbol[:-1]} value` for a new tensor"
            )
        )

    return call


for _name, _ours in METHODS.items():
    setattr(Variable, _name, _method(_name) if may_give_its_argument(_ours) else getattr(Tensor, _name))
_SYMBOLS = {
    "add": "+=",
    "sub": "-=",
    "mul": "*=",
    "truediv": "/=",
    "floordiv": "//=",
    "mod": "%=",
    "pow": "**=",
    "matmul": "@=",
    "and": "&=",
    "or": "|=",
    "xor": "^=",
    "lshift": "<<=",
    "rshift": ">>=",
}
Variable.__getitem__ = _getitem(Tensor.__getitem__)  # type: ignore[method-assign]
for _name in OPERATORS:
    for _own in (f"__{_name}__", f"__r{_name}__"):
        if _own in vars(ArrayLike):  # comparisons have no reflected form
            setattr(Variable, _own, _binary(getattr(Tensor, _own)))
for _own in [f"__{_name}__" for _name in UNARY]:
    setattr(Variable, _own, _unary(getattr(Tensor, _own)))
for _name in ("T", "mT", "real", "imag"):
    setattr(Variable, _name, _property(_name))
for _name, _symbol in _SYMBOLS.items():
    setattr(Variable, f"__i{_name}__", _refusal(_symbol))


def _fixed(value: Any) -> Any:
    """Variables change by assignment alone: what was read from one, and views of that, cannot be written."""
    if type(value) is np.ndarray:
        value.setflags(False)  # type: ignore[call-arg]  # by place it takes a third of the time
    return value
