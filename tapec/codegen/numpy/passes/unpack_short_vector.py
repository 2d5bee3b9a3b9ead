"""Unpack the numbers of a short vector at once, as Python floats: arithmetic takes half the time.

    w, x, y, z = q.tolist()                 w = q[0]; x = q[1]; y = q[2]; z = q[3]

Only where they come to nothing but sums and products, of which Python's are NumPy's, or meet arrays of float64.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapec.codegen import tuning
from tapec.codegen.common.made_names import wished_name
from tapec.codegen.numpy.scatter_forms import is_scatter
from tapec.codegen.numpy.target_ops import UNPACK
from tapec.codegen.schedule.inlining import readers_of
from tapec.ir import ITEM, Graph, Node, OpSet, replaced
from tapec.ir.cost import elements
from tapec.ir.types import weak_type
from tapec.ops.indexing.getitem_and_scatter import GETITEM

__all__ = ["unpacked"]

FLOAT = weak_type(float)
ARITHMETIC = OpSet("add subtract multiply negative")  # never an error on floats
CALLED = OpSet("exp log log1p expm1 sqrt sin cos tan tanh maximum minimum stack")
WITH_ARRAYS = ARITHMETIC | CALLED | OpSet("divide power hypot arctan2")


def unpacked(graph: Graph) -> Graph:
    """Return the program with such vectors taken apart; the same graph when there are none."""
    read = [n for n in graph.nodes if n.op is GETITEM and is_element(n)]
    if not read:
        return graph
    readers = readers_of(graph.nodes)
    floats = floats_from(read, graph, readers)
    items = [n for n in read if n in floats]
    vectors = {n.inputs[0] for n in items}
    spared = (
        tuning.UNPACKED_READ_GAIN * len(items)
        + tuning.UNPACKED_OP_GAIN * (len(floats) - len(items))
        - tuning.UNPACKED_VECTOR_COST * len(vectors)
    )
    return with_items(graph, floats) if spared >= tuning.UNPACKED_MIN_GAIN else graph


def is_element(node: Node) -> bool:
    """Return whether a node reads a number of a short vector."""
    if len(node.inputs) > 1 or node.type.shape or node.type.dtype.char != "d":
        return False
    t = node.inputs[0].type
    return t.ndim == 1 and elements(t) <= tuning.UNPACKED_MAX_ELEMENTS and type(node.param("index")[0]) is int


def floats_from(read: Sequence[Node], graph: Graph, readers: dict[Node, list[Node]]) -> set[Node]:
    """Return those of the nodes read that may be floats, and the values computed only from these."""
    given = {*graph.outputs}
    taken = set(read)
    while True:
        floats = set(taken)
        for node in graph.nodes:
            if node.op in ARITHMETIC and not node.type.shape and floats.issuperset(strong(node)) and strong(node):
                floats.add(node)
        wrong = [n for n in floats if n in given or not all([suits(r, floats) for r in readers.get(n, ())])]
        if not wrong:
            return floats
        left = taken - sources_of(wrong, floats)
        if left == taken or not left:
            return set()
        taken = left


def strong(node: Node) -> list[Node]:
    """Return the operands that are no numbers of the program's text."""
    return [i for i in node.inputs if not i.type.weak]


def sources_of(nodes: Sequence[Node], floats: set[Node]) -> set[Node]:
    """Return the floats that these are computed of, these included."""
    found: set[Node] = set()
    stack = [*nodes]
    while stack:
        node = stack.pop()
        if node in floats and node not in found:
            found.add(node)
            stack += node.inputs
    return found


def suits(reader: Node, floats: set[Node]) -> bool:
    """Return whether a reader gives the same result for a float as for a number of NumPy's."""
    op = reader.op
    if reader in floats or any([i.type.dtype.char != "d" for i in strong(reader)]):
        return reader in floats
    if is_scatter(reader):
        return not reader.inputs[0].type.shape and len(reader.inputs) == 1
    if any([i.type.shape for i in reader.inputs]):
        return op in WITH_ARRAYS
    return op in CALLED or op in ARITHMETIC


def with_items(graph: Graph, floats: set[Node]) -> Graph:
    """Return the program that takes a vector apart where the first of these elements is read.

    What is computed only of elements is a Python float, too.
    """
    parts: dict[Node, Node] = {}
    items: dict[tuple[Node, int], Node] = {}  # x[-1] and x[8] of nine elements are one

    def item(node: Node, moved: Node, nodes: list[Node]) -> Node:
        if node.op is not GETITEM:
            nodes.append(Node(node.op, moved.inputs, node.params, FLOAT, node.origin, node.name, node.role))
            return nodes[-1]
        (vector,) = moved.inputs
        n = vector.type.size
        if vector not in parts:
            parts[vector] = Node(UNPACK, (vector,), (), (FLOAT,) * n, node.origin, None, node.role)
            nodes.append(parts[vector])
        place = node.param("index")[0] % n
        if (vector, place) not in items:
            params = (("index", place),)
            items[vector, place] = Node(ITEM, (parts[vector],), params, FLOAT, None, wished_name(node), node.role)
            nodes.append(items[vector, place])
        return items[vector, place]

    return replaced(graph, floats, item)
