"""Make elementwise ops of others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ops.control.body_graphs import body_of
from tapec.ops.control.loop import loop

__all__ = ["TABLE", "Decompose", "are_bools"]

Decompose = Callable[..., Any]


def _of_bits(bits: Decompose) -> Decompose:
    """Return what an arithmetic op does to bools; other numbers it has no answer for."""
    return lambda *xs: bits(*xs) if are_bools(*xs) else None


def are_bools(*xs: Any) -> bool:
    return all([x.dtype.kind == "b" for x in xs])


def _rounded(x: Any, decimals: int) -> Any:
    if x.dtype.kind in "iu" and decimals >= 0:
        return x
    scale = 10.0 ** abs(decimals)
    return np.rint(x * scale) / scale if decimals >= 0 else np.rint(x / scale) * scale


def _frexp(x: Any) -> Any:
    tiny = 2.0**-1000 if x.dtype == np.dtype(float) else 2.0**-100
    small = np.abs(x) < tiny
    scaled = np.where(small, x * (1 / tiny), x)
    usual = np.isfinite(scaled) & (scaled != 0)
    e = np.where(usual, np.floor(np.log2(np.abs(np.where(usual, scaled, 1.0)))) + 1, 0.0)
    half = np.floor(e * 0.5)
    m = scaled * 2.0 ** (-half) * 2.0 ** (half - e)
    over, under = usual & (np.abs(m) >= 1), usual & (np.abs(m) < 0.5)
    m = np.where(over, m * 0.5, np.where(under, m * 2.0, m))
    e = e + over - under + np.where(small & usual, math.log2(tiny), 0.0)
    return m, e


def _ldexp(x: Any, n: Any) -> Any:
    half = n // 2
    return x * 2.0 ** (half * 1.0) * 2.0 ** ((n - half) * 1.0)


def _fmod(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f" or y.dtype.kind == "f":
        return np.copysign(np.remainder(np.abs(x), np.abs(y)), x)
    x, y = [z.astype(np.int8) if z.dtype.kind == "b" else z for z in (x, y)]
    return np.sign(x) * np.remainder(np.abs(x), np.abs(y))


def _modf(x: Any) -> Any:
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0.0, x - np.where(np.isinf(x), 0.0, whole)), x), whole


def _heaviside(x: Any, y: Any) -> Any:
    return np.where(np.isnan(x), x, np.where(x == 0, y, np.where(x > 0, 1.0, 0.0)))


def _logaddexp2(x: Any, y: Any) -> Any:
    top, low = np.maximum(x, y), np.minimum(x, y)
    return np.where(top == low, top + 1.0, top + np.log1p(np.exp2(low - top)) * (1 / math.log(2)))


def _ordered(strictly: Decompose, at_last: Decompose) -> Decompose:
    """Return the comparison of complex numbers as NumPy has it: by real parts, equal ones by imaginary parts."""

    def decompose(x: Any, y: Any) -> Any:
        if "c" not in (x.dtype.kind, y.dtype.kind):
            return None
        a, b, p, q = np.real(x), np.real(y), np.imag(x), np.imag(y)
        return (strictly(a, b) & ~np.isnan(p) & ~np.isnan(q)) | ((a == b) & at_last(p, q))

    return decompose


def _better(of_bools: Decompose, at_least: Decompose) -> Decompose:
    """Return the maximum, or the minimum, of bools and of complex numbers."""

    def decompose(x: Any, y: Any) -> Any:
        if x.dtype.kind == "b" and y.dtype.kind == "b":
            return of_bools(x, y)
        if "c" not in (x.dtype.kind, y.dtype.kind):
            return None
        return np.where(np.isnan(x) | (~np.isnan(y) & at_least(x, y)), x, y)

    return decompose


def _angle(x: Any) -> Any:
    return np.arctan2(np.imag(x), np.real(x))


def _spacing(x: Any) -> Any:
    size = np.abs(x)
    return np.copysign(np.nextafter(size, np.inf) - size, x)


def _count_bits(x: Any) -> Any:
    n = np.abs(x).astype(np.int64)
    total = n & 1
    for k in range(1, min(8 * x.dtype.itemsize, 63)):
        total = total + ((n >> k) & 1)
    return total


def _nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind not in "fc":
        return x
    if x.dtype.kind == "c":
        parts = _nan_to_num(np.real(x), nan, posinf, neginf), _nan_to_num(np.imag(x), nan, posinf, neginf)
        return parts[0] + 1j * parts[1]
    most = float(np.finfo(x.dtype).max)
    high, low = most if posinf is None else posinf, -most if neginf is None else neginf
    x = np.where(np.isnan(x), 0.0 if nan is None else nan, x)
    return np.where(x == np.inf, high, np.where(x == -np.inf, low, x))


def _choose(i: Any, *choices: Any, mode: str) -> Any:
    n = len(choices)
    if mode == "wrap":
        i = np.remainder(i, n)
    found = choices[0]
    for k in range(1, n):
        found = np.where(i >= k, choices[k], found)
    return found


def _i0(x: Any) -> Any:
    """Return the mean of exp(x cos t) over half a turn: 200 points are enough up to where it overflows."""
    size = np.abs(x)
    slopes = (np.cos((np.arange(200) + 0.5) * (math.pi / 200)) - 1).astype(x.dtype)
    return np.mean(np.exp(size[..., None] * slopes), axis=-1) * np.exp(size)


def _gcd(x: Any, y: Any) -> Any:
    """Return the greatest common divisor by Euclid's loop, until no element has a rest."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    dtype = np.result_type(x.dtype, y.dtype)
    a, b = [np.broadcast_to(np.abs(z), shape).astype(dtype) for z in (x, y)]
    types = [Type(shape, dtype)] * 2
    step = body_of("step", lambda a, b: (np.where(b > 0, b, a), np.where(b > 0, a % np.maximum(b, 1), b)), types)
    goes_on = body_of("goes_on", lambda a, b: (np.any(b > 0),), types)
    return loop((step, goes_on), carried=(a, b))[0]


def _polyval(p: Any, x: Any) -> Any:
    y = np.zeros_like(x) * p[0] if p.shape[0] else np.zeros_like(x)
    for k in range(p.shape[0]):
        y = y * x + p[k]
    return y


def _sinc(x: Any) -> Any:
    y = math.pi * np.where(x == 0, 1.0, x)
    return np.where(x == 0, 1.0, np.sin(y) / y)


TABLE: dict[str, Decompose] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.minimum(np.maximum(x, 0), 6),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "add": _of_bits(np.logical_or),
    "multiply": _of_bits(np.logical_and),
    "positive": lambda x: x,
    "absolute floor ceil trunc": lambda x: x if x.dtype.kind == "b" else None,
    "float_power": lambda x, y: x.astype(np.result_type(x.dtype, float)) ** y,
    "reciprocal": lambda x: 1 / x if x.dtype.kind in "fc" else np.trunc(1 / x),
    "exp2": lambda x: 2.0**x,
    "cbrt": lambda x: np.copysign(np.abs(x) ** (1 / 3), x),
    "logaddexp2": _logaddexp2,
    "deg2rad radians": lambda x: x * (math.pi / 180),
    "rad2deg degrees": lambda x: x * (180 / math.pi),
    "fabs": np.abs,
    "heaviside": _heaviside,
    "ldexp": _ldexp,
    "frexp": _frexp,
    "bitwise_count": _count_bits,
    "real": lambda x: x,
    "imag": lambda x: np.zeros_like(x),
    "conjugate": lambda x: x,
    "angle": _angle,
    "maximum": _better(np.logical_or, np.greater_equal),
    "minimum": _better(np.logical_and, np.less_equal),
    "less": _ordered(np.less, np.less),
    "less_equal": _ordered(np.less, np.less_equal),
    "greater": _ordered(np.greater, np.greater),
    "greater_equal": _ordered(np.greater, np.greater_equal),
    "finite": lambda x: np.where(np.isfinite(x), x, 0.0),
    "fmax": lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.maximum(x, y))),
    "fmin": lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.minimum(x, y))),
    "clip capped": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "spacing": _spacing,
    "fmod": _fmod,
    "divmod": lambda x, y: (x // y, x % y),
    "modf": _modf,
    "round": _rounded,
    "round_number": lambda x, digits: np.rint(x) if digits == 0 else None,
    "choose": _choose,
    "nan_to_num": _nan_to_num,
    "sinc": _sinc,
    "i0": _i0,
    "gcd": _gcd,
    "lcm": lambda x, y: np.abs(x) // np.maximum(_gcd(x, y), 1) * np.abs(y),
    "polyval": _polyval,
    "isin": lambda x, known: np.any(x[..., None] == np.reshape(known, (-1,)), axis=-1),
}
