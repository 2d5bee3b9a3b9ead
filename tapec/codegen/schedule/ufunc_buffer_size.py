"""Choose the size of NumPy's ufunc buffers: no longer than the rows that an operation runs over.

Where operands do not advance together (one is a row or a column that is broadcast, or a slice of columns), NumPy's
inner loop runs over one row at a time. As long as a row is shorter than the buffer (8192 elements, unless
`np.setbufsize` says otherwise), NumPy first copies what is broadcast or sliced into the buffer, to run over several
rows at once. From a few hundred elements on the copy takes longer than the operation itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from tapec.codegen import tuning
from tapec.codegen.schedule.inlining import is_view
from tapec.ir import Node, ops

__all__ = ["buffer_size"]

USUAL = 8192  # elements of NumPy's buffer


def buffer_size(nodes: Iterable[Node]) -> int | None:
    """Return the size to set, in elements (a multiple of 16), or None when too little is gained by it."""
    gained, shortest, least = 0, USUAL, tuning.UNBUFFERED_MIN_ROW_BYTES
    for node in nodes:
        if node.op.kind != "elementwise" or node.op.multi or node.type.ndim < 2 or node.type.nbytes < least:
            continue
        row = _row(node)
        if row * node.type.dtype.itemsize >= least and row < USUAL:
            gained += node.type.size
            shortest = min(shortest, row)
    return shortest // 16 * 16 if gained >= tuning.UNBUFFERED_MIN_ELEMENTS else None


def _row(node: Node) -> int:
    """Count the elements over which all operands advance together, each in steps of one size.

    The size of the steps may be 0, where an operand is broadcast.
    """
    shape = node.type.shape
    arrays = [i for i in node.inputs if i.type.size > 1]
    row = shape[-1]
    for axis in range(len(shape) - 2, -1, -1):
        if any(_breaks(i, axis - len(shape), shape) for i in arrays):
            return row
        row *= shape[axis]
    return USUAL  # all elements are one row


def _breaks(operand: Node, axis: int, shape: tuple[int, ...]) -> bool:
    """Return whether an operand's step from one row to the next differs from its steps within a row."""
    own = operand.type.shape
    if -axis > len(own):
        return -axis == len(own) + 1 and own[0] != 1  # one row serves for all rows
    if (own[axis] == 1) != (own[axis + 1] == 1) and shape[axis] > 1 and shape[axis + 1] > 1:
        return True
    return axis == -2 and operand.op is ops.getitem and is_view(operand) and _is_cut(operand)


def _is_cut(node: Node) -> bool:
    """Return whether the rows of a slice are parts of rows of its source."""
    return node.type.shape[-1] != node.inputs[0].type.shape[-1]
