"""Let rules run a mode that stands above them in the imports.

The rule of a composite, of a checkpoint, or of equal eigenvalues differentiates a program of its own, by the mode that
applies the rule. `reverse` and `forward` enter their functions here when they are imported; rules call them by `MODES`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["MODES", "Modes"]


class Modes:
    """Holds the functions of both modes that rules call."""

    backward: Callable[..., list[Any]]  # of `reverse`
    push: Callable[..., None]  # of `forward`, as are the others
    tangent: Callable[..., Any]
    jvp_graph: Callable[..., Any]


MODES = Modes()
