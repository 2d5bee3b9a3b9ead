"""Tell Python numbers apart for the structural key: by class, and by the sign of zero."""

from __future__ import annotations

from math import copysign
from typing import Any

__all__ = ["scalar_kind"]


def scalar_kind(x: Any) -> Any:
    """The class of a number; a negative zero is told from a zero."""
    kind = type(x)
    if kind is float:
        return "-0.0" if x == 0.0 and copysign(1.0, x) < 0.0 else float
    if kind is complex and not (x.real and x.imag):
        return complex, copysign(1.0, x.real), copysign(1.0, x.imag)
    return kind
