"""Unite the tables of decompositions.

They have those of tapec's own ops, so that who imports tapec need not wait for them; an op that a user defines is given
`decompose`. A function returns None where it has no answer for these operands.
"""

from __future__ import annotations

from tapec.ir import Op, OpTable
from tapec.ops.decompositions import elementwise, layout_and_indexing, products_and_systems, reductions
from tapec.ops.decompositions.elementwise import Decompose
from tapec.ops.decompositions.layout_and_indexing import are_places

__all__ = ["are_places", "decomposition"]

DECOMPOSITIONS: OpTable[Decompose] = OpTable(
    elementwise.TABLE | reductions.TABLE | layout_and_indexing.TABLE | products_and_systems.TABLE
)


def decomposition(op: Op) -> Decompose | None:
    """Return the function that makes an op of others; None where there is none."""
    return op.decompose or DECOMPOSITIONS.get(op)
