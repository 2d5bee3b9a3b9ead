"""Define functions of one variable that are in NumPy but no ufuncs: sinc, the Bessel function i0, unwrap, vander."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.param_types import AXIS, NUMBER, optional
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import as_operand, define
from tapec.ops.core.op_helpers import as_array, batch_with_shifted_axes, both, drawn, plain_number, source_of_value
from tapec.ops.core.sample_domains import any_real
from tapec.ops.core.stand_in import apply, implements

__all__ = ["I0", "SINC", "UNWRAP", "i0", "sinc", "unwrap", "vander"]


def _float(t: Type) -> Type:
    return t.with_dtype(t.dtype if t.dtype.kind in "fc" else float)


# -- sinc ---------------------------------------------------------------------------------------------------------
def _sinc_partials(y: Any, x: Any) -> Any:
    """Return (cos πx - sinc x) / x.

    Near zero, where that cancels, it is the series, which is right at zero, too, at every order of derivative.
    """
    u = (math.pi * math.pi) * (x * x)
    series = x * (-(math.pi**2) / 3) * (1 - u / 10 * (1 - u / 28 * (1 - u / 54)))
    quotient = (np.cos(math.pi * x) - y) / np.where(x == 0, 1, x)
    return (np.where(np.abs(x) < 0.01, series, quotient),)


SINC = define(
    "sinc",
    np.sinc,
    _float,
    "elementwise",
    partials=_sinc_partials,
    source="np.sinc({0})",
    sample=(any_real,),
    numpy=np.sinc,
)


@implements(np.sinc)
def sinc(x: Any) -> Any:
    return apply(SINC, (as_operand(x),))


# -- i0 -----------------------------------------------------------------------------------------------------------
# I1(x) is the mean of sinh(x cos t) cos t over a quarter turn; midpoints of 64 parts give it to the last digits.
_COSINES = np.cos((np.arange(64) + 0.5) * (math.pi / 128))


def _i0_partials(y: Any, x: Any) -> Any:
    c = _COSINES.astype(x.dtype)
    return (np.mean(np.sinh(x[..., None] * c) * c, axis=-1),)


I0 = define(
    "i0",
    lambda x: np.i0(x)[()],
    _float,
    "elementwise",
    partials=_i0_partials,
    source="np.i0({0})",
    sample=(any_real,),
    numpy=np.i0,
)


@implements(np.i0)
def i0(x: Any) -> Any:
    x = as_operand(x)
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    return apply(I0, (x,))


# -- unwrap -------------------------------------------------------------------------------------------------------
def _unwrap_source(args: tuple[str, ...], node: Any) -> str:
    text = args[0]
    if node.param("discont") is not None:
        text += f", discont={source_of_value(node.param('discont'))}"
    if node.param("axis") != node.inputs[0].type.ndim - 1:
        text += f", axis={node.param('axis')}"
    if node.param("period") != 2 * math.pi:
        text += f", period={source_of_value(node.param('period'))}"
    return f"np.unwrap({text})"


UNWRAP = define(
    "unwrap",
    np.unwrap,
    lambda t, **params: _float(t),
    "cumulative",
    params={"discont": optional(NUMBER), "axis": AXIS, "period": NUMBER},
    vjp=lambda ct, y, x, **params: (ct,),
    jvp=lambda ts, y, x, **params: ts[0],
    batch=batch_with_shifted_axes(np.unwrap, "axis"),
    source=_unwrap_source,
    sample=both(drawn((6,), discont=None, axis=0, period=2 * math.pi), drawn((4, 3), discont=None, axis=0, period=1.0)),
    numpy=np.unwrap,
)


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    """Add whole periods, which are constants for derivatives."""
    p = as_array(p)
    axis, discont, period = normalize_axis(axis, p.ndim), plain_number(discont), plain_number(period)
    return apply(UNWRAP, (p,), (("discont", discont), ("axis", axis), ("period", period)))


@implements(np.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    x = as_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    n = x.shape[0] if N is None else operator.index(N)
    if n < 0:
        raise ValueError("negative dimensions are not allowed")
    x = np.astype(x, np.promote_types(x.dtype, int))
    powers = [np.ones_like(x), x][:n]
    while len(powers) < n:
        powers.append(powers[-1] * x)
    return np.stack(powers if increasing else powers[::-1], axis=1) if n else x[:, None][:, :0]
