"""Define comparisons, logic, bit operations, and tests of floating point values: they have no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ops.core.define import as_operand, dtype_of, elementwise
from tapec.ops.core.sample_domains import any_real, integer
from tapec.ops.core.stand_in import implements

__all__ = ["equal", "greater", "greater_equal", "less", "less_equal", "not_equal"]

_TWO = (any_real, any_real)
_INTEGERS = (integer, integer)

greater = elementwise(np.greater, source="{0} > {1}", sample=_TWO, scalar="{0} > {1}")
greater_equal = elementwise(np.greater_equal, source="{0} >= {1}", sample=_TWO, scalar="{0} >= {1}")
less = elementwise(np.less, source="{0} < {1}", sample=_TWO, scalar="{0} < {1}")
less_equal = elementwise(np.less_equal, source="{0} <= {1}", sample=_TWO, scalar="{0} <= {1}")
equal = elementwise(np.equal, source="{0} == {1}", commutative=True, sample=_TWO, scalar="{0} == {1}")
not_equal = elementwise(np.not_equal, source="{0} != {1}", commutative=True, sample=_TWO, scalar="{0} != {1}")

logical_and = elementwise(np.logical_and, commutative=True, sample=_TWO, scalar="{0} and {1}")
logical_or = elementwise(np.logical_or, commutative=True, sample=_TWO, scalar="{0} or {1}")
logical_xor = elementwise(np.logical_xor, commutative=True, sample=_TWO)
logical_not = elementwise(np.logical_not, sample=(any_real,), scalar="not {0}")

bitwise_and = elementwise(
    np.bitwise_and, source="{0} & {1}", inplace="&", commutative=True, sample=_INTEGERS, scalar="{0} and {1}"
)
bitwise_or = elementwise(
    np.bitwise_or, source="{0} | {1}", inplace="|", commutative=True, sample=_INTEGERS, scalar="{0} or {1}"
)
bitwise_xor = elementwise(np.bitwise_xor, source="{0} ^ {1}", inplace="^", commutative=True, sample=_INTEGERS)
left_shift = elementwise(np.left_shift, source="{0} << {1}", inplace="<<", sample=_INTEGERS)
right_shift = elementwise(np.right_shift, source="{0} >> {1}", inplace=">>", sample=_INTEGERS)
invert = elementwise(np.invert, source="~{0}", sample=(integer,), scalar="not {0}")
bitwise_count = elementwise(np.bitwise_count, sample=(integer,))
gcd = elementwise(np.gcd, commutative=True, sample=_INTEGERS)
lcm = elementwise(np.lcm, commutative=True, sample=_INTEGERS)

isnan = elementwise(np.isnan, sample=(any_real,), scalar="{0} != {0}")
isinf = elementwise(np.isinf, sample=(any_real,), scalar="math.isinf({0})")
isfinite = elementwise(np.isfinite, sample=(any_real,), scalar="math.isfinite({0})")
signbit = elementwise(np.signbit, sample=(any_real,))


@implements(np.isposinf, fills_out=True)
def isposinf(x: Any, out: Any = None) -> Any:
    return _is_infinite(x, np.inf)


@implements(np.isneginf, fills_out=True)
def isneginf(x: Any, out: Any = None) -> Any:
    return _is_infinite(x, -np.inf)


def _is_infinite(x: Any, infinity: float) -> Any:
    x = as_operand(x)
    if dtype_of(x).kind == "c":
        raise TypeError("which infinity a complex number is would be ambiguous")
    return x == infinity


@implements(np.iscomplex)
def iscomplex(x: Any) -> Any:
    return np.imag(x) != 0


@implements(np.isreal)
def isreal(x: Any) -> Any:
    return np.imag(x) == 0


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    a, b = as_operand(a), as_operand(b)
    near = (abs(a - b) <= atol + rtol * abs(b)) & np.isfinite(b)
    same = near | (a == b)
    return same | (np.isnan(a) & np.isnan(b)) if equal_nan else same


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    return np.all(isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    a, b = as_operand(a1), as_operand(a2)
    if np.shape(a) != np.shape(b):
        return False
    same = a == b
    return np.all(same | ((a != a) & (b != b)) if equal_nan else same)


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    a, b = as_operand(a1), as_operand(a2)
    try:
        np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        return False
    return np.all(a == b)
