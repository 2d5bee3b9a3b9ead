"""Say from which domains the tests of an op draw its inputs.

`Op.sample` is a tuple of domains, one an input, for elementwise ops: the tests draw shapes and dtypes themselves. For
others it is a function `sample(rng) -> list[Case]`.
"""

from __future__ import annotations

from typing import Any

from tapec.fast_namedtuple import NamedTuple

__all__ = ["Case", "Domain", "any_real", "complex_only", "integer", "nonzero", "positive", "unit"]


class Domain(NamedTuple):
    """An interval of reals; `hole` keeps values at least so far away from zero.

    `kind` is "f" (real or complex, as the op takes them), "c" (complex only) or "i".
    """

    low: float
    high: float
    hole: float = 0.0
    kind: str = "f"


class Case(NamedTuple):
    """Inputs and static parameters as an op itself takes them."""

    inputs: tuple[Any, ...]
    params: dict[str, Any] = {}


any_real = Domain(-2.0, 2.0)
nonzero = Domain(-2.0, 2.0, hole=0.3)
positive = Domain(0.3, 2.5)
unit = Domain(-0.9, 0.9)
integer = Domain(-5, 5, kind="i")
complex_only = Domain(0.3, 2.0, kind="c")
