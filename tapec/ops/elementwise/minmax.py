"""Define elementwise extremes: the operand that gave the result gets the cotangent; the first operand wins a tie."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ops.core.define import as_operand, elementwise
from tapec.ops.core.sample_domains import Domain, any_real
from tapec.ops.core.stand_in import apply, implements, method
from tapec.ops.elementwise.powers import number_of

__all__ = ["CLIP", "clip", "fmax", "fmin", "maximum", "minimum"]


def _first_or_second(first: Any) -> Any:
    return first, ~first


def _clip_partials(y: Any, x: Any, low: Any, high: Any) -> Any:
    """Return the masks by which x and both bounds get the cotangent; x gets it at the bounds, too.

    NumPy takes the upper bound where bounds cross.
    """
    above = x > high
    if number_of(low) is None or number_of(high) is None:
        above = above | (low > high)
    below = x < low
    return ~(above | below), below & ~above, above


_TWO = (any_real, any_real)
maximum = elementwise(
    np.maximum, lambda y, a, b: _first_or_second(a >= b), sample=_TWO, scalar="{0} if {0} >= {1} or {0} != {0} else {1}"
)
minimum = elementwise(
    np.minimum, lambda y, a, b: _first_or_second(a <= b), sample=_TWO, scalar="{0} if {0} <= {1} or {0} != {0} else {1}"
)
fmax = elementwise(np.fmax, lambda y, a, b: _first_or_second((a >= b) | np.isnan(b)), sample=_TWO)
fmin = elementwise(np.fmin, lambda y, a, b: _first_or_second((a <= b) | np.isnan(b)), sample=_TWO)


class _Bound:
    """A bound that answers with the ufunc that is asked to take it."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> np.ufunc:
        return ufunc


# What `np.clip` and `ndarray.clip` compute by is a ufunc without a public name. `array.clip(tensor, 1.0)` of a plain
# array comes in by that ufunc.
_CLIP: Any = np.zeros(1).clip(_Bound(), _Bound())  # type: ignore[call-overload]
CLIP = elementwise(
    _CLIP,
    _clip_partials,
    name="clip",
    sample=(any_real, Domain(-1.5, -0.5), Domain(0.5, 1.5)),
)


@implements(np.clip, fills_out=True)
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None, **kwargs: Any
) -> Any:
    if (min is not None or max is not None) and (a_min is not None or a_max is not None):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    if kwargs.get("where", True) is not True:
        mend = "Fix: np.where(mask, np.clip(x, low, high), out)"
        raise UnsupportedError(at_user_line(f"np.clip with where= leaves elements as they were. {mend}"))
    low, high = (min, max) if a_min is None and a_max is None else (a_min, a_max)
    a = as_operand(a)
    if low is None and high is None:
        return np.positive(a, **kwargs)
    if low is None:
        return np.minimum(a, high, **kwargs)
    if high is None:
        return np.maximum(a, low, **kwargs)
    low, high = as_operand(low), as_operand(high)
    return _CLIP(a, low, high, **kwargs) if kwargs else apply(CLIP, (a, low, high))


@method("clip")
def clip_method(self: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    return clip(self, min, max, out, **kwargs)
