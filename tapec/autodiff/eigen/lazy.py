"""Import what eigenvectors need at equal eigenvalues on first use, and forward mode, which it calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tapec.autodiff import load_forward_mode
from tapec.ir import Builder, Node

if TYPE_CHECKING:
    from tapec.autodiff.eigen.degenerate_vectors import Slopes

__all__ = ["slopes_of"]


def slopes_of(builder: Builder, nodes: Sequence[Node], lift: Callable[[Node], Node]) -> Slopes:
    from tapec.autodiff.eigen.degenerate_vectors import Slopes

    load_forward_mode()
    return Slopes(builder, nodes, lift)
