"""Small parts of large arrays that are read when the rest is over are copied: the memory of the rest is free then.

d = np.diagonal(s).copy()         what is computed of `s` next may take its place, `np.exp(s, out=s)`,
...                               though the diagonal is wanted once more after that
"""

from __future__ import annotations

from tapec.codegen.large import WORTH
from tapec.codegen.plan import is_view, readers_of
from tapec.ir import INPUT, Graph, Node, get_op

__all__ = ["small_parts_copied"]

SHARE = 16  # times as large as the part it must be


def small_parts_copied(graph: Graph) -> Graph:
    """The program with such copies; the same graph when there are none. Its nodes stand in the order of the lines."""
    parts = [n for n in graph.nodes if is_view(n) and _is_small_part(n)]
    copied = _read_late(graph, parts) if parts else {}
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
    return ours and whole.type.nbytes >= max(WORTH, SHARE * view.type.nbytes) and view.type.size > 0


def _read_late(graph: Graph, parts: list[Node]) -> dict[Node, list[Node]]:
    """Those that are read after the last operation on the whole, by that: one by elements, which may take its place."""
    place = {n: k for k, n in enumerate(graph.nodes)}
    readers = readers_of(graph.nodes)
    found: dict[Node, list[Node]] = {}
    for part in parts:
        whole = part.inputs[0]
        others = [r for r in readers[whole] if r is not part]
        if not others or whole in graph.outputs or part in graph.outputs or any(map(is_view, others)):
            continue
        last = max(others, key=place.__getitem__)
        ends = readers.get(part, ())
        late = bool(ends) and min([place[r] for r in ends]) > place[last] and not any(map(is_view, ends))
        if late and last.op.kind == "elementwise" and last.type == whole.type:
            found.setdefault(last, []).append(part)
    return found
