"""Attach Python's operators to stand-ins: `x + y` applies the op of `np.add`, `x @ m` takes sparse matrices too."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from tapec.ops.core.stand_in import FUNCTIONS, UFUNCS, ArrayLike, apply
from tapec.ops.scipy.lazy import sparse_product

__all__ = ["OPERATORS", "UNARY", "defers"]


def defers(other: Any) -> bool:
    """Return whether the other operand defines the operator itself.

    It does when it is neither a number nor an array and has reflected operators: vectors, units, polynomials of other
    libraries.
    """
    if type(other) in _PLAIN or isinstance(other, ArrayLike):
        return False
    if getattr(other, "__array_ufunc__", True) is None:
        return True
    if isinstance(other, (float, int, np.ndarray, np.generic, list, tuple, Number)):
        return False
    if any(hasattr(other, name) for name in _AS_ARRAYS):
        return False
    return any(hasattr(other, f"__r{name}__") for name in OPERATORS)


def _binary(ufunc: np.ufunc) -> tuple[Any, Any]:
    def forward(self: Any, other: Any) -> Any:
        return NotImplemented if defers(other) else apply(UFUNCS[ufunc], (self, other))

    def reflected(self: Any, other: Any) -> Any:
        return NotImplemented if defers(other) else apply(UFUNCS[ufunc], (other, self))

    return forward, reflected


_PLAIN = frozenset({float, int, np.ndarray})  # the commonest
_AS_ARRAYS = ("__array__", "__array_interface__", "__array_struct__", "__len__", "_tapec_read", "tocsr")

OPERATORS = {  # the operators with a reflected form
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "divmod": np.divmod,
}
for _name, _ufunc in OPERATORS.items():
    _forward, _reflected = _binary(_ufunc)
    setattr(ArrayLike, f"__{_name}__", _forward)
    setattr(ArrayLike, f"__r{_name}__", _reflected)
for _name, _ufunc in {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}.items():
    setattr(ArrayLike, f"__{_name}__", _binary(_ufunc)[0])


def _matmul(self: Any, other: Any) -> Any:
    if hasattr(other, "tocsr"):
        return sparse_product(UFUNCS[np.matmul], self, other, False)
    return _dense_matmul(self, other)


def _rmatmul(self: Any, other: Any) -> Any:
    if hasattr(other, "tocsr"):
        return sparse_product(UFUNCS[np.matmul], self, other, True)
    return _dense_rmatmul(self, other)


_dense_matmul, _dense_rmatmul = _binary(np.matmul)
ArrayLike.__matmul__ = _matmul
ArrayLike.__rmatmul__ = _rmatmul


def _unary(ufunc: np.ufunc) -> Any:
    def call(self: Any) -> Any:
        return apply(UFUNCS[ufunc], (self,))

    return call


UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}
for _name, _ufunc in UNARY.items():
    setattr(ArrayLike, f"__{_name}__", _unary(_ufunc))


def _round(self: Any, ndigits: int | None = None) -> Any:
    return FUNCTIONS[np.round](self, 0 if ndigits is None else ndigits)


ArrayLike.__round__ = _round  # type: ignore[attr-defined]
