"""Where the tests of an op draw its inputs from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Domain", "any_real", "integer", "nonzero", "positive", "unit"]


@dataclass(frozen=True)
class Domain:
    """An interval of reals; `hole` keeps values at least so far away from zero."""

    low: float
    high: float
    hole: float = 0.0
    kind: str = "f"


any_real = Domain(-2.0, 2.0)
nonzero = Domain(-2.0, 2.0, hole=0.3)
positive = Domain(0.3, 2.5)
unit = Domain(-0.9, 0.9)
integer = Domain(-5, 5, kind="i")
