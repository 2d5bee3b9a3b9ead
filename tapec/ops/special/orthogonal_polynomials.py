"""Differentiate orthogonal polynomials and Legendre functions: their derivatives have one degree less.

The formulas have no denominators, so they hold at the ends of the interval, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ops.core.define import dtype_of
from tapec.ops.core.op_helpers import weak
from tapec.ops.core.sample_domains import Domain, any_real, positive, unit
from tapec.ops.special.rule_helpers import chosen, known, order, rule, shape, sp, typed, unknown

__all__: list[str] = []

inner = Domain(0.1, 0.9)


def _lowered(f: Any, n: Any, *rest: Any) -> Any:
    """Return the polynomial of one degree less; zero for degree 0, where SciPy's formulas may divide by zero."""
    n = typed(n, rest[-1]) if weak(n) and dtype_of(n).kind == "f" else n
    none = n == 0
    return chosen(none, 0, f(chosen(none, 1, n) - 1, *rest))


def _polynomial(name: str, *domains: Domain, slope: Any) -> None:
    """Define the rule of a polynomial of a degree, parameters, and x, by its slope in x."""

    def partials(y: Any, n: Any, *rest: Any) -> Any:
        parameters = [unknown(f"{name} in parameter {k}") for k in range(1, len(rest))]
        return unknown(f"{name} in its degree"), *parameters, slope(known(n), *rest)

    rule(name, order, *domains, partials=partials)


def _legendre_slope(n: Any, x: Any) -> Any:
    """Return the slope of Legendre's polynomial; degrees n and -n - 1 are the same."""
    return _lowered(sp.eval_gegenbauer, chosen(n < 0, -n - 1, n), 1.5, x)


def _second_kind_slope(n: Any, x: Any) -> Any:
    """Return the slope of Chebyshev's U, which is odd about degree -1."""
    left = n < -1
    return chosen(left, -2, 2) * _lowered(sp.eval_gegenbauer, chosen(left, -n - 2, n), 2.0, x)


def _gegenbauer_slope(n: Any, a: Any, x: Any) -> Any:
    return 2 * a * _lowered(sp.eval_gegenbauer, n, a + 1, x)


def _jacobi_slope(n: Any, a: Any, b: Any, x: Any) -> Any:
    return 0.5 * (n + a + b + 1) * _lowered(sp.eval_jacobi, n, a + 1, b + 1, x)


_polynomial("eval_legendre", unit, slope=_legendre_slope)
_polynomial("eval_chebyt", unit, slope=lambda n, x: n * _lowered(sp.eval_chebyu, n, x))
_polynomial("eval_chebyu", unit, slope=_second_kind_slope)
_polynomial("eval_chebyc", any_real, slope=lambda n, x: n * _lowered(sp.eval_chebys, n, x))
_polynomial("eval_chebys", any_real, slope=lambda n, x: 0.5 * _second_kind_slope(n, 0.5 * x))
_polynomial("eval_gegenbauer", shape, unit, slope=_gegenbauer_slope)
_polynomial("eval_jacobi", shape, shape, unit, slope=_jacobi_slope)
_polynomial("eval_laguerre", positive, slope=lambda n, x: -_lowered(sp.eval_genlaguerre, n, 1.0, x))
_polynomial("eval_genlaguerre", shape, positive, slope=lambda n, a, x: -_lowered(sp.eval_genlaguerre, n, a + 1, x))
_polynomial("eval_hermite", any_real, slope=lambda n, x: 2 * n * _lowered(sp.eval_hermite, n, x))
_polynomial("eval_hermitenorm", any_real, slope=lambda n, x: n * _lowered(sp.eval_hermitenorm, n, x))
_polynomial("eval_sh_legendre", inner, slope=lambda n, x: 2 * _legendre_slope(n, 2 * x - 1))
_polynomial("eval_sh_chebyt", inner, slope=lambda n, x: 2 * n * _lowered(sp.eval_sh_chebyu, n, x))
_polynomial("eval_sh_chebyu", inner, slope=lambda n, x: 2 * _second_kind_slope(n, 2 * x - 1))
_polynomial(  # monic
    "eval_sh_jacobi",
    Domain(2, 4, kind="i"),
    shape,
    inner,
    slope=lambda n, p, q, x: n * _lowered(sp.eval_sh_jacobi, n, p + 2, q + 1, x),
)


def _lpmv_partials(y: Any, m: Any, v: Any, x: Any) -> Any:
    """Return differences of neighbours in the order, each over √(1 - x²).

    For orders other than 0 that quotient is a sum of other functions, so nothing is divided.
    """
    m, v = known(m), known(v)
    size = abs(m)

    def over_root(m: Any) -> Any:
        return -0.5 / m * (sp.lpmv(m + 1, v - 1, x) + (v + m - 1) * (v + m) * sp.lpmv(m - 1, v - 1, x))

    above, below = over_root(size + 1), over_root(chosen(size < 2, 1, size - 1))
    below = chosen(size == 1, sp.lpmv(0, v, x) / np.sqrt(1 - x * x), below)
    slope = chosen(size == 0, -above, 0.5 * ((v + size) * (v - size + 1) * below - above))
    turned = (1 - 2 * (size % 2)) / sp.poch(v - size + 1, 2 * size) * slope
    return unknown("lpmv in its order"), unknown("lpmv in its degree"), chosen(m < 0, turned, slope)


rule("lpmv", Domain(0, 2, kind="i"), Domain(2, 4, kind="i"), unit, partials=_lpmv_partials)
