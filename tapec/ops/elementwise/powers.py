"""Define powers. A literal exponent gives the derivative one would write: 2 * x for x ** 2."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, ops
from tapec.ops.core.define import elementwise
from tapec.ops.core.sample_domains import any_real, positive
from tapec.ops.core.symbol import Symbol

__all__ = ["float_power", "number_of", "power"]


def number_of(x: Any) -> Any:
    """The number that a symbol is known to be everywhere, or None."""
    if type(x) is Symbol:
        node = x.node
        if node.op is ops.full:
            return node.param("value")
        if node.op is not CONSTANT or node.type.shape:
            return None
        x = node.value
    return x if isinstance(x, (int, float, complex, np.number)) else None


def _as_result(n: Any, y: Any) -> Any:
    """Return the exponent as a Python number of the dtype that it takes in the power; beside a mask it would be of
    float64.
    """
    return n.astype(y.dtype) if n.dtype.kind == y.dtype.kind else n


def _base_partial(y: Any, x: Any, n: Any, power: Any) -> Any:
    """Return n x^(n-1); zero, not nan, for 0 ** 0."""
    known = number_of(n)
    if known is None:
        flat = (x == 0) & (n == 0)
        return n * power(x, np.where(flat, 1, _as_result(n, y) - 1))
    if known == 0:
        return 0
    if known == 1:
        return power(x, 0)  # one, but as a function of x, so that the next derivative is zero and not missing
    if known == 2:
        return 2 * x
    if known == 0.5:
        return 0.5 / y
    if known == -1:
        return -y * y
    return known * power(x, known - 1)


def _exponent_partial(y: Any, x: Any) -> Any:
    """Return y log x; zero where x is, and where a real power has a negative base, so that y log x has no value.

    A complex power has the complex logarithm, of a real base, too.
    """
    known, turns = number_of(x), y.dtype.kind == "c"
    if known is not None and known.imag == 0:
        if turns and known.real < 0:
            return y * cmath.log(known)
        return y * math.log(known.real) if known.real > 0 else 0
    x = x.astype(y.dtype) if turns else _as_result(x, y)
    return y * np.log(np.where(x != 0 if turns else x > 0, x, 1))


def _partials(power: Any) -> Any:
    return lambda y, x, n: (_base_partial(y, x, n, power), _exponent_partial(y, x))


power = elementwise(
    np.power,
    _partials(np.power),
    source="{0} ** {1}",
    facts={"harmless": (1, None)},
    sample=(positive, any_real),
    scalar="math.pow({0}, {1})",
)
float_power = elementwise(
    np.float_power,
    _partials(np.float_power),
    facts={"harmless": (1, None)},
    sample=(positive, any_real),
    scalar="math.pow({0}, {1})",
)
