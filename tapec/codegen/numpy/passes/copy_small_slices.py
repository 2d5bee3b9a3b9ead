"""Copy small parts of large arrays that are read later, so that the rest is freed.

d = np.diagonal(s).copy()         what is computed of `s` next may take its place, `np.exp(s, out=s)`,
...                               though the diagonal is wanted once more after that

row = g[k].copy()                 the array can be written in place, `g[k] = 0.0`, which would have to be copied
"""

from __future__ import annotations

from collections.abc import Mapping

from tapec.codegen import tuning
from tapec.codegen.numpy.scatter_forms import is_scatter, is_write
from tapec.codegen.schedule.inlining import is_view, readers_of
from tapec.ir import INPUT, Graph, Node, get_op, ops
from tapec.ir.cost import bytes_of

__all__ = ["small_parts_copied"]


def small_parts_copied(graph: Graph) -> Graph:
    """Return the program with such copies; the same graph when there are none.

    Its nodes stand in the order of the lines.
    """
    parts = [n for n in graph.nodes if is_view(n) and _is_small_part(n)]
    if not parts:
        return graph
    place = {n: k for k, n in enumerate(graph.nodes)}
    readers = readers_of(graph.nodes)
    copied = _read_late(graph, parts, place, readers) | _read_when_written(graph, parts, place, readers)
    if not copied:
        return graph
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        for part in copied.get(node, ()):
            view = part.with_inputs((new.get(part.inputs[0], part.inputs[0]),))
            new[part] = Node(get_op("copy"), (view,), (), part.type, part.origin, None, part.role)
            nodes += [view, new[part]]
        if node in new:
            continue
        inputs = tuple([new.get(i, i) for i in node.inputs])
        if inputs != node.inputs:
            new[node] = node = node.with_inputs(inputs)
        nodes.append(node)
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name)


def _is_small_part(view: Node) -> bool:
    (whole, *others) = view.inputs
    ours = whole.op is not INPUT and not is_view(whole) and not others
    least = max(tuning.SMALL_PART_MIN_WHOLE_BYTES, tuning.SMALL_PART_MIN_RATIO * bytes_of(view))
    return ours and bytes_of(whole) >= least and view.type.size > 0


def _read_late(
    graph: Graph, parts: list[Node], place: Mapping[Node, int], readers: Mapping[Node, list[Node]]
) -> dict[Node, list[Node]]:
    """Return parts that are read only after the last operation on the whole, by that operation.

    It is an elementwise one, which may take the place of the whole once the part is copied.
    """
    found: dict[Node, list[Node]] = {}
    for part in parts:
        whole = part.inputs[0]
        others = [r for r in readers[whole] if r is not part]
        if not others or bytes_of(whole) < tuning.LATE_PART_MIN_WHOLE_BYTES:
            continue
        if _is_given_back(part, graph) or any(map(is_view, others)):
            continue
        last = max(others, key=place.__getitem__)
        ends = readers.get(part, ())
        late = bool(ends) and min([place[r] for r in ends]) > place[last] and not any(map(is_view, ends))
        if late and last.op.kind == "elementwise" and last.type == whole.type:
            found.setdefault(last, []).append(part)
    return found


def _read_when_written(
    graph: Graph, parts: list[Node], place: Mapping[Node, int], readers: Mapping[Node, list[Node]]
) -> dict[Node, list[Node]]:
    """Return parts that are read after a write into the whole, of which nothing else is read; each by itself.

    A part is copied where it is made, so that the whole can be written in place.
    """
    found: dict[Node, list[Node]] = {}
    for part in parts:
        whole = part.inputs[0]
        if _is_given_back(part, graph) or not readers.get(part) or any(map(is_view, readers[part])):
            continue
        last = max(readers[whole], key=place.__getitem__)
        written = last.inputs[0] is whole if is_write(last) else _is_added_to(whole, last)
        if written and place[part] < place[last] < max([place[r] for r in readers[part]]):
            found[part] = [part]
    return found


def _is_added_to(whole: Node, node: Node) -> bool:
    """Return whether a node adds a scatter to the whole."""
    return node.op in (ops.add, ops.subtract) and whole is node.inputs[0] and is_scatter(node.inputs[1])


def _is_given_back(part: Node, graph: Graph) -> bool:
    return part in graph.outputs or part.inputs[0] in graph.outputs
