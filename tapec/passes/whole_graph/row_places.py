"""Tell which row or column of an array an index reads or writes: `x[k]`, `x[:, k]`, `x[k, 1:]`."""

from __future__ import annotations

from tapec.ir import Node, ops
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE

__all__ = ["row_axis_of", "row_index_of"]


def row_index_of(node: Node) -> int | None:
    """Return which row or column a node reads or writes, where its index begins with a number, or with whole axes
    before a number."""
    if (node.op is ops.getitem and len(node.inputs) == 1) or (node.op is ops.setitem and len(node.inputs) == 2):
        for i in node.param("index"):
            if i != FULL_SLICE:
                return i if type(i) is int and i >= 0 else None
    return None


def row_axis_of(node: Node) -> int:
    """Return the axis along which a node reads or writes a row or a column."""
    index = node.param("index")
    return next((k for k, i in enumerate(index) if i != FULL_SLICE), 0)
