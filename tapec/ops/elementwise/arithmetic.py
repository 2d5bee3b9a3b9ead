"""Define arithmetic and elementary functions: NumPy's ufuncs, each with its partial derivatives.

A partial is an expression, a number, or a boolean mask where it is one or zero. `y` is the result: using it again is
what an expert would do. The fact "harmless" lists operands at which value and derivatives are finite (None: any).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir.flops import flops_of_sum
from tapec.ops.core.define import conj, elementwise
from tapec.ops.core.sample_domains import Domain, any_real, integer, nonzero, positive, unit
from tapec.ops.elementwise.powers import number_of


def largest_number(dtype: np.dtype) -> Any:
    """Return the largest number of a dtype as a Python float, or as NumPy's longdouble, which no float holds."""
    largest = np.finfo(dtype).max
    return largest if dtype.char == "g" else float(largest)


# -- arithmetic -------------------------------------------------------------------------------------------------
def _divide_vjp(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """Return both cotangents of a quotient, which share one division."""
    ct_a = ct / conj(b)
    return ct_a, -ct_a * conj(y)


def _divide_jvp(ts: Any, y: Any, a: Any, b: Any) -> Any:
    ta, tb = ts
    if tb is None:
        return ta / b
    return -(y * tb / b) if ta is None else (ta - y * tb) / b


add = elementwise(
    np.add,
    lambda y, a, b: (1, 1),
    source="{0} + {1}",
    inplace="+",
    commutative=True,
    sample=(any_real, any_real),
    scalar="{0} + {1}",
    flops=flops_of_sum,
)
subtract = elementwise(
    np.subtract,
    lambda y, a, b: (1, -1),
    source="{0} - {1}",
    inplace="-",
    sample=(any_real, any_real),
    scalar="{0} - {1}",
    flops=flops_of_sum,
)
multiply = elementwise(
    np.multiply,
    lambda y, a, b: (b, a),
    source="{0} * {1}",
    inplace="*",
    commutative=True,
    sample=(any_real, any_real),
    scalar="{0} * {1}",
)
divide = elementwise(
    np.divide,
    vjp=_divide_vjp,
    jvp=_divide_jvp,
    source="{0} / {1}",
    inplace="/",
    facts={"harmless": (None, 1)},
    sample=(any_real, nonzero),
    scalar="{0} / {1}",
)
negative = elementwise(np.negative, lambda y, x: (-1,), source="-{0}", sample=(any_real,), scalar="-{0}")
positive_ = elementwise(np.positive, lambda y, x: (1,), source="+{0}", sample=(any_real,))
reciprocal = elementwise(
    np.reciprocal, lambda y, x: (-y * y,), facts={"harmless": (1,)}, sample=(nonzero,), scalar="1.0 / {0}"
)
square = elementwise(np.square, lambda y, x: (2 * x,), sample=(any_real,), scalar="{0} * {0}")

# -- exponentials and logarithms ----------------------------------------------------------------------------------
exp = elementwise(np.exp, lambda y, x: (y,), sample=(any_real,), scalar="math.exp({0})")
exp2 = elementwise(np.exp2, lambda y, x: (y * math.log(2.0),), sample=(any_real,), scalar="math.exp2({0})")
expm1 = elementwise(np.expm1, lambda y, x: (y + 1,), sample=(any_real,), scalar="math.expm1({0})")
log = elementwise(np.log, lambda y, x: (1 / x,), facts={"harmless": (1,)}, sample=(positive,), scalar="math.log({0})")
log2 = elementwise(
    np.log2,
    lambda y, x: (1 / (x * math.log(2.0)),),
    facts={"harmless": (1,)},
    sample=(positive,),
    scalar="math.log2({0})",
)
log10 = elementwise(
    np.log10,
    lambda y, x: (1 / (x * math.log(10.0)),),
    facts={"harmless": (1,)},
    sample=(positive,),
    scalar="math.log10({0})",
)
log1p = elementwise(
    np.log1p, lambda y, x: (1 / (1 + x),), facts={"harmless": (1,)}, sample=(unit,), scalar="math.log1p({0})"
)
sqrt = elementwise(
    np.sqrt, lambda y, x: (0.5 / y,), facts={"harmless": (1,)}, sample=(positive,), scalar="math.sqrt({0})"
)
cbrt = elementwise(
    np.cbrt, lambda y, x: (1 / (3 * y * y),), facts={"harmless": (1,)}, sample=(nonzero,), scalar="math.cbrt({0})"
)


def _is_number(x: Any) -> bool:
    return number_of(x) is not None


def _shares(exp: Any) -> Any:
    """Return the partials of logaddexp and logaddexp2: the shares of exp(a) and exp(b) in exp(y), at most 1.

    An infinite operand has all of an infinite sum, and a smaller one nothing. An infinite y counts as the largest
    number, since inf - inf is nan. Two equal operands have half each where they swallow what the sum has more than
    they; elsewhere that is what their exponentials give, whose own slopes no bound hides.
    """

    def partials(y: Any, a: Any, b: Any) -> Any:
        largest = largest_number(y.dtype)
        whole = np.clip(y, -largest, largest)
        half = 0.5 if y.dtype == np.float64 else y.dtype.type(0.5)
        most = 1.0 if _is_number(a) or _is_number(b) else np.where(np.minimum(a, b) == y, half, 1.0)
        return np.minimum(exp(a - whole), most), np.minimum(exp(b - whole), most)

    return partials


logaddexp = elementwise(np.logaddexp, _shares(np.exp), commutative=True, sample=(any_real, any_real))
logaddexp2 = elementwise(np.logaddexp2, _shares(np.exp2), commutative=True, sample=(any_real, any_real))

# -- trigonometry -------------------------------------------------------------------------------------------------
# (1 - x) * (1 + x) rather than 1 - x * x: exact near the ends of the domain.
sin = elementwise(np.sin, lambda y, x: (np.cos(x),), sample=(any_real,), scalar="math.sin({0})")
cos = elementwise(np.cos, lambda y, x: (-np.sin(x),), sample=(any_real,), scalar="math.cos({0})")
tan = elementwise(np.tan, lambda y, x: (1 + y * y,), sample=(unit,), scalar="math.tan({0})")
arcsin = elementwise(
    np.arcsin,
    lambda y, x: (1 / np.sqrt((1 - x) * (1 + x)),),
    facts={"harmless": (0,)},
    sample=(unit,),
    scalar="math.asin({0})",
)
arccos = elementwise(
    np.arccos,
    lambda y, x: (-1 / np.sqrt((1 - x) * (1 + x)),),
    facts={"harmless": (0,)},
    sample=(unit,),
    scalar="math.acos({0})",
)
arctan = elementwise(np.arctan, lambda y, x: (1 / (1 + x * x),), sample=(any_real,), scalar="math.atan({0})")


def _arctan2_partials(y: Any, a: Any, b: Any) -> Any:
    """Return the partials of arctan2, zero at the origin as those of hypot."""
    r2 = np.where((a == 0) & (b == 0), np.inf, a * a + b * b)
    return b / r2, -(a / r2)  # the quotient is negated, since a may be boolean, which has no negative


arctan2 = elementwise(
    np.arctan2,
    _arctan2_partials,
    facts={"harmless": (1, None)},
    sample=(any_real, nonzero),
    scalar="math.atan2({0}, {1})",
)


def _hypot_partials(y: Any, a: Any, b: Any) -> Any:
    """Return the partials of hypot. At the origin the length counts as infinite, so that they are zero at every
    order.
    """
    length = np.where(y == 0, np.inf, y)
    return a / length, b / length


hypot = elementwise(
    np.hypot,
    _hypot_partials,
    commutative=True,
    facts={"harmless": (1, None)},
    sample=(nonzero, nonzero),
    scalar="math.hypot({0}, {1})",
)
deg2rad = elementwise(np.deg2rad, lambda y, x: (math.pi / 180,), sample=(any_real,), scalar="math.radians({0})")
radians = elementwise(np.radians, lambda y, x: (math.pi / 180,), sample=(any_real,), scalar="math.radians({0})")
rad2deg = elementwise(np.rad2deg, lambda y, x: (180 / math.pi,), sample=(any_real,), scalar="math.degrees({0})")
degrees = elementwise(np.degrees, lambda y, x: (180 / math.pi,), sample=(any_real,), scalar="math.degrees({0})")

# -- hyperbolic functions -----------------------------------------------------------------------------------------
sinh = elementwise(np.sinh, lambda y, x: (np.cosh(x),), sample=(any_real,), scalar="math.sinh({0})")
cosh = elementwise(np.cosh, lambda y, x: (np.sinh(x),), sample=(any_real,), scalar="math.cosh({0})")
tanh = elementwise(np.tanh, lambda y, x: (1 - y * y,), sample=(any_real,), scalar="math.tanh({0})")
arcsinh = elementwise(np.arcsinh, lambda y, x: (1 / np.sqrt(x * x + 1),), sample=(any_real,), scalar="math.asinh({0})")


def _arccosh_partials(y: Any, x: Any) -> Any:
    """Return the partial of arccosh.

    It has two roots for complex numbers, since the root of the product has its cut elsewhere.
    """
    if x.dtype.kind == "c":
        return (1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),)
    return (1 / np.sqrt((x - 1) * (x + 1)),)


arccosh = elementwise(
    np.arccosh, _arccosh_partials, facts={"harmless": (2,)}, sample=(Domain(1.3, 3.0),), scalar="math.acosh({0})"
)
arctanh = elementwise(
    np.arctanh,
    lambda y, x: (1 / ((1 - x) * (1 + x)),),
    facts={"harmless": (0,)},
    sample=(unit,),
    scalar="math.atanh({0})",
)

# -- sign and size ------------------------------------------------------------------------------------------------
absolute = elementwise(
    np.absolute, lambda y, x: (conj(np.sign(x)),), source="np.abs({0})", sample=(nonzero,), scalar="abs({0})"
)
fabs = elementwise(np.fabs, lambda y, x: (np.sign(x),), sample=(nonzero,), scalar="abs({0})")


def _turned(t: Any, y: Any, x: Any) -> Any:
    """Return the derivative of sign along t, and its transpose, which is the same.

    For reals it is zero; for complex x / |x| it is the part of t across x, over |x|.
    """
    if x.dtype.kind != "c":
        return np.zeros_like(t)
    length = np.abs(x)
    return (t - y * np.real(conj(y) * t)) / np.where(length == 0, np.inf, length)


sign = elementwise(
    np.sign,
    vjp=lambda ct, y, x: (_turned(ct, y, x),),
    jvp=lambda ts, y, x: _turned(ts[0], y, x),
    sample=(nonzero,),
    scalar="math.copysign(1.0, {0}) if {0} == {0} != 0.0 else {0} + 0.0",
)


def _copysign_partials(y: Any, a: Any, b: Any) -> Any:
    return np.sign(a.astype(y.dtype)) * np.copysign(1.0, b.astype(y.dtype)), 0


copysign = elementwise(np.copysign, _copysign_partials, sample=(nonzero, nonzero), scalar="math.copysign({0}, {1})")
heaviside = elementwise(np.heaviside, lambda y, x, h: (0, x == 0), sample=(nonzero, any_real))
nextafter = elementwise(np.nextafter, lambda y, a, b: (1, 0), sample=(any_real, any_real))


def _ldexp_jvp(ts: Any, y: Any, x: Any, n: Any) -> Any:
    return None if ts[0] is None else np.ldexp(ts[0], n)


ldexp = elementwise(
    np.ldexp, vjp=lambda ct, y, x, n: (np.ldexp(ct, n), None), jvp=_ldexp_jvp, sample=(any_real, integer)
)


def _frexp_jvp(ts: Any, y: Any, x: Any) -> Any:
    return np.ldexp(ts[0], -y[1]), None


frexp = elementwise(np.frexp, vjp=lambda ct, y, x: (np.ldexp(ct[0], -y[1]),), jvp=_frexp_jvp, sample=(nonzero,))
