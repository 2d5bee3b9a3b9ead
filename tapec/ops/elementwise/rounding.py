"""Define rounding and remainders: their piecewise constant parts have no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir.param_types import INTEGER
from tapec.ops.core.define import as_operand, define, dtype_of, elementwise
from tapec.ops.core.sample_domains import Case, Domain, any_real, nonzero
from tapec.ops.core.stand_in import apply, implements, method

__all__ = ["divmod_", "fmod", "modf", "remainder", "round_"]

floor = elementwise(np.floor, sample=(any_real,))
ceil = elementwise(np.ceil, sample=(any_real,))
rint = elementwise(np.rint, sample=(any_real,))
trunc = elementwise(np.trunc, sample=(any_real,))
spacing = elementwise(np.spacing, sample=(nonzero,))
floor_divide = elementwise(
    np.floor_divide, source="{0} // {1}", inplace="//", facts={"harmless": (None, 1)}, sample=(any_real, nonzero)
)

divisor = Domain(0.7, 1.3)
remainder = elementwise(
    np.remainder,
    lambda y, a, b: (1, -(a // b)),
    source="{0} % {1}",
    inplace="%",
    facts={"harmless": (None, 1)},
    sample=(any_real, divisor),
    scalar="{0} % {1}",
)
fmod = elementwise(
    np.fmod,
    lambda y, a, b: (1, -np.trunc(a / b)),
    facts={"harmless": (None, 1)},
    sample=(any_real, divisor),
    scalar="math.fmod({0}, {1})",
)


def _divmod_jvp(ts: Any, y: Any, a: Any, b: Any) -> Any:
    ta, tb = ts
    if tb is None:
        return None, ta
    return None, -y[0] * tb if ta is None else ta - y[0] * tb


# `constant` names the results that have no gradient
divmod_ = elementwise(
    np.divmod,
    vjp=lambda ct, y, a, b: (ct[1], -y[0] * ct[1]),
    jvp=_divmod_jvp,
    facts={"constant": (0,), "harmless": (None, 1)},
    sample=(any_real, divisor),
)
modf = elementwise(
    np.modf,
    vjp=lambda ct, y, x: (ct[0],),
    jvp=lambda ts, y, x: (ts[0], None),
    facts={"constant": (1,)},
    sample=(any_real,),
)


def _round_source(args: tuple[str, ...], node: Any) -> str:
    decimals = node.param("decimals")
    return f"np.round({args[0]}, {decimals})" if decimals else f"np.round({args[0]})"


ROUND = define(
    "round",
    lambda x, decimals: np.round(x, decimals),
    lambda t, decimals: t.with_dtype(np.dtype(np.float16) if t.dtype == bool else t.dtype),
    "elementwise",
    params={"decimals": INTEGER},
    source=_round_source,
    sample=lambda rng: [Case((rng.normal(size=(2, 3)),), {"decimals": d}) for d in (0, 1)],
    numpy=np.round,
)


ROUND_NUMBER = define(  # Python finds the nearest number with so many digits, NumPy scales, rounds, and scales back
    "round_number",
    lambda x, digits: round(x, digits),
    lambda t, digits: t,
    "elementwise",
    params={"digits": INTEGER},
    batch=lambda batched, x, digits: np.round(x, digits),
    source=lambda args, node: f"round({args[0]}, {node.param('digits')})",
    sample=lambda rng: [Case((np.float64(rng.normal()),), {"digits": d}) for d in (0, 2)],
    numpy=None,
)


@method("round")
@implements(np.round, np.around)
def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    a = as_operand(a)
    return apply(ROUND, (a,), (("decimals", int(decimals)),))


@implements(np.fix, fills_out=True)
def fix(x: Any, out: Any = None) -> Any:
    x = as_operand(x)
    return np.trunc(x) if dtype_of(x).kind in "fc" else x
