"""Find out which axis of which input has the length of an axis of a value, whatever that length is.

Numbers that are such sizes have them for names: `size('y')` is the number of elements of y, `size('x', 0)` its length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from tapec.ir import tuning
from tapec.ir.node import INPUT, Node
from tapec.ir.op import OpTable
from tapec.ir.static_index import Slot

__all__ = ["input_like", "is_size", "size_name", "sizes_in", "tells_size"]

_SIZE = re.compile(r"size\('([^']*)'(?:, (\d+))?\)")

Place = tuple[Node, int]


def is_size(name: str) -> bool:
    """Tell whether a name says that a number is a size.

    >>> is_size("size('y')"), is_size("2.0 / size('y')")
    (True, False)
    """
    return _SIZE.fullmatch(name) is not None


def tells_size(name: str) -> bool:
    """Tell whether a name is an expression with sizes.

    >>> tells_size("2.0 / size('y')"), tells_size("y")
    (True, False)
    """
    return "size('" in name


def sizes_in(name: str) -> Iterator[tuple[str, str, int | None]]:
    """Give the sizes that a name tells of: their text, the name of the input, and the axis if it is of one.

    >>> list(sizes_in("2.0 / size('x', 1)"))
    [("size('x', 1)", 'x', 1)]
    """
    for match in _SIZE.finditer(name):
        yield match.group(0), match.group(1), int(match.group(2)) if match.group(2) else None


def size_name(node: Node, axes: tuple[int, ...]) -> str | None:
    """Name the number of elements along some axes of a value by an input that has as many, whatever their number is."""
    shape = node.type.shape
    axes = tuple([k for k in axes if shape[k] != 1])
    if not axes or 0 in shape:
        return None
    steps = iter(range(tuning.SIZE_MAX_STEPS))
    if len(axes) == sum([n != 1 for n in shape]):
        alike = _alike(node, steps)
        if alike is not None:
            return _text(alike, None)
    found = _source(node, axes[0], steps) if len(axes) == 1 else None
    return None if found is None else _text(*found)


def input_like(node: Node) -> Node | None:
    """Return an input from which a value of the same shape is computed element by element, if there is one."""
    return _alike(node, iter(range(tuning.SIZE_MAX_STEPS)))


def _text(node: Node, axis: int | None) -> str | None:
    if node.name is None or "'" in node.name:
        return None
    if axis is None or (node.type.ndim == 1 and not axis):
        return f"size({node.name!r})"
    return f"size({node.name!r}, {axis})"


def _alike(node: Node, steps: Iterator[int]) -> Node | None:
    """Return an input of the same shape from which a value is computed element by element."""
    if node.op is INPUT:
        return node
    if node.op.kind != "elementwise" or next(steps, None) is None:
        return None
    same = [i for i in node.inputs if i.type.shape == node.type.shape]
    for i in sorted(same, key=lambda i: i.op is not INPUT):
        found = _alike(i, steps)
        if found is not None:
            return found
    return None


def _source(node: Node, axis: int, steps: Iterator[int]) -> Place | None:
    """Return the input, and its axis, that the length of an axis comes from."""
    if node.op is INPUT:
        return node, axis
    if isinstance(node.type, tuple) or next(steps, None) is None:
        return None
    find = _aligned if node.op.kind == "elementwise" else _OPERANDS.get(node.op)
    places = [] if find is None else find(node, axis)
    n = node.type.shape[axis]
    for i, k in sorted(places, key=lambda place: place[0].op is not INPUT):
        if 0 <= k < len(i.type.shape) and i.type.shape[k] == n:
            found = _source(i, k, steps)
            if found is not None:
                return found
    return None


def _aligned(node: Node, axis: int) -> list[Place]:
    return [(i, axis - node.type.ndim + i.type.ndim) for i in node.inputs if not isinstance(i.type, tuple)]


def _of_product(node: Node, axis: int) -> list[Place]:
    a, b = node.inputs
    if not 0 < a.type.ndim < 3 or not 0 < b.type.ndim < 3:
        return []
    return [(a, 0)] if axis == 0 and a.type.ndim == 2 else [(b, 1)]


def _of_transpose(node: Node, axis: int) -> list[Place]:
    return [(node.inputs[0], node.param("axes")[axis])]


def _of_reduction(node: Node, axis: int) -> list[Place]:
    x, gone = node.inputs[0], node.param("axis")
    if node.param("keepdims"):
        return [(x, axis)]
    return [(x, [k for k in range(x.type.ndim) if k not in gone][axis])]


def _of_reshape(node: Node, axis: int) -> list[Place]:
    (x,) = node.inputs
    before = math.prod(node.type.shape[:axis])
    return [(x, k) for k in range(x.type.ndim) if math.prod(x.type.shape[:k]) == before]


def _of_index(node: Node, axis: int) -> list[Place]:
    x, *index = node.inputs
    slots = len(node.param("index"))
    if node.param("index") != tuple(map(Slot, range(slots))) or any([i.type.dtype.kind == "b" for i in index]):
        return []
    ndim = max([i.type.ndim for i in index], default=0)
    if axis < ndim:
        return [(i, axis - ndim + i.type.ndim) for i in index]
    return [(x, axis - ndim + slots)]


_OPERANDS: OpTable[Callable[[Node, int], list[Place]]] = OpTable(
    {
        "matmul": _of_product,
        "transpose": _of_transpose,
        "sum mean max min": _of_reduction,
        "reshape": _of_reshape,
        "broadcast_to": _aligned,
        "getitem": _of_index,
    }
)
