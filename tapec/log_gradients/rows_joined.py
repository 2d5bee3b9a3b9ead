"""Join rows that a gradient adds up in an array, each in its place: they are stacked, and put into the array at once.

    scatter d2, index 2 + scatter d1, index 1 + scatter d0, index 0        ->        (stack d2, d1, d0)[::-1]

So the gradient of an array of which each round of a program reads a row has equal rounds, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tapec.ir import CT, Builder, Graph, Node, ops, prune
from tapec.ir.static_index import Slice, slice_of_rows
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE
from tapec.passes import tuning

__all__ = ["with_rows_joined"]


def with_rows_joined(graph: Graph) -> Graph:
    """Return the program in which rows that are added up in an array are put into it at once."""
    if sum([_row(n) is not None for n in graph.nodes]) < tuning.ROLLED_MIN_ROUNDS:
        return graph
    uses: dict[Node, int] = {}
    for x in [*[i for n in graph.nodes for i in n.inputs], *graph.outputs]:
        uses[x] = uses.get(x, 0) + 1
    terms: dict[Node, list[Node]] = {}  # of sums, as long as these are not read by another one
    for n in graph.nodes:
        if n.op is ops.add and n.role is CT and all([i.type == n.type for i in n.inputs]):
            first, second = [terms.pop(i) if uses[i] == 1 and i in terms else [i] for i in n.inputs]
            first += second
            terms[n] = first
    builder = Builder()
    new: dict[Node, Node] = {i: i for i in graph.inputs}
    for n in graph.nodes:
        builder.role = n.role
        whole = _joined(builder, n, terms[n], uses, new) if n in terms else None
        new[n] = whole or builder.add(n.with_inputs(tuple([new[i] for i in n.inputs])))
    return prune(Graph(graph.inputs, builder.nodes, [new[o] for o in graph.outputs], graph.name))


def _row(n: Node) -> tuple[int, int] | None:
    """Return the axis along which a row is put among zeros, and its place there."""
    if n.op is not ops.scatter or len(n.inputs) > 1:
        return None
    *before, place = n.param("index")
    return (len(before), place) if type(place) is int and place >= 0 and set(before) <= {FULL_SLICE} else None


def _fills_its_place(t: Node) -> bool:
    """Return whether what is put among zeros is an array as large as its place, and not spread out in it."""
    *before, _ = t.param("index")
    shape, axis = t.type.shape, len(before)
    return not t.inputs[0].type.weak and t.inputs[0].type.shape == (*shape[:axis], *shape[axis + 1 :])


def _joined(
    builder: Builder, total: Node, terms: Sequence[Node], uses: dict[Node, int], new: dict[Node, Node]
) -> Node | None:
    """Return a sum with its rows put in at once; None where these are few, or not equally far apart."""
    rows = [t for t in terms if uses[t] == 1 and _row(t) is not None and _fills_its_place(t)]
    places = [row for t in rows if (row := _row(t)) is not None]
    if len(rows) < tuning.ROLLED_MIN_ROUNDS or len({axis for axis, _ in places}) > 1:
        return None
    axis, first = places[0]
    distance, count, size = places[1][1] - first, len(rows), total.type.shape[axis]
    if not distance or [p for _, p in places] != [first + distance * k for k in range(count)]:
        return None
    whole = builder.emit(ops.stack, tuple([new[t.inputs[0]] for t in rows]), (("axis", 0),), total.origin)
    if distance < 0:
        whole = builder.emit(ops.getitem, (whole,), (("index", (Slice(None, None, -1),)),), total.origin)
        first, distance = first + distance * (count - 1), -distance
    if axis:
        axes = (*range(1, axis + 1), 0, *range(axis + 1, total.type.ndim))
        whole = builder.emit(ops.transpose, (whole,), (("axes", axes),), total.origin)
    index = slice_of_rows(first, distance, count, size)
    if index is not None:
        params = ("shape", total.type.shape), ("index", (*[FULL_SLICE] * axis, index))
        whole = builder.emit(ops.scatter, (whole,), params, total.origin)
    others = [new[t] for t in terms if t not in rows]
    found = reduce(lambda a, b: builder.emit(ops.add, (a, b), (), total.origin), [*others, whole])
    return found if found.type == total.type else None
