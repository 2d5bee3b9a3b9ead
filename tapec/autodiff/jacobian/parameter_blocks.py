"""Differentiate vectors of parameters that are read in parts, each part as an input of its own.

`W, b = p[:20].reshape(4, 5), p[20:25]`: along the unit vectors of `W` nothing moves in `b`, and along those of the last
layer nothing in the first. A Hessian by all of `p` at once would carry these zeros through the whole program.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tapec.autodiff import tuning
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Builder, Graph, Node, Type, input_node
from tapec.ir.static_index import Slice
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM
from tapec.ops.layout.reshape_and_transpose import RESHAPE

__all__ = ["Part", "starting_from", "taken_apart"]


class Part(NamedTuple):
    """Holds some elements of an input, and the nodes that read them from it, one after the other; no nodes for the
    whole input."""

    of: int
    elements: range
    chain: tuple[Node, ...]
    type: Type

    def body(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the part in an input of this shape."""
        return (len(self.elements),) if self.chain else shape

    def place(self, shape: tuple[int, ...]) -> tuple[Slice, ...]:
        """Return the index of this part in an array of a shape."""
        if self.chain:
            return (Slice(self.elements.start, self.elements.stop, None),)
        return (FULL_SLICE,) * len(shape)

    def read(self, builder: Builder, whole: Node) -> Node:
        for node in self.chain:
            whole = builder.add(node.with_inputs((whole,)))
        return whole


def taken_apart(graph: Graph, wrt: Sequence[int]) -> tuple[Graph, list[Part]]:
    """The graph with parts as inputs, after its own ones, and these parts, in the order in which it needs them."""
    builder = Builder()
    graph = builder.graph(graph.inputs, copy_into(builder, graph, graph.inputs), graph.name)
    users: dict[Node, list[int]] = {}
    for k, node in enumerate(graph.nodes):
        for i in node.inputs:
            users.setdefault(i, []).append(k)
    last = len(graph.nodes)
    parts = [part for w in dict.fromkeys(wrt) for part in _parts_of(w, graph, users)]
    parts.sort(key=lambda part: users.get(part.chain[-1] if part.chain else graph.inputs[part.of], [last])[0])
    ends = [part.chain[-1] if part.chain else graph.inputs[part.of] for part in parts]
    return starting_from(graph, ends), parts


def starting_from(graph: Graph, values: Sequence[Node]) -> Graph:
    """The program from these values on, which are inputs after its own ones."""
    known: dict[Node, Node] = {i: i for i in graph.inputs}
    inputs = [input_node(v.name, v.type, v.origin) for v in values]
    known |= dict(zip(values, inputs, strict=True))
    nodes = []
    for node in graph.nodes:
        if node not in known:
            new = tuple([known[i] for i in node.inputs])
            known[node] = node if new == node.inputs else node.with_inputs(new)
            nodes.append(known[node])
    return Graph([*graph.inputs, *inputs], nodes, [known[o] for o in graph.outputs], graph.name)


def _parts_of(w: int, graph: Graph, users: dict[Node, list[int]]) -> list[Part]:
    """The parts of an input, if it is a vector and they do not overlap; else all of it."""
    x = graph.inputs[w]
    whole = [Part(w, range(x.type.size), (), x.type)]
    if x.type.ndim != 1 or x in graph.outputs:
        return whole
    parts = []
    for k in users.get(x, []):
        elements = _elements(graph.nodes[k], x.type.size)
        if elements is None:
            return whole
        chain = _chain(graph.nodes[k], graph, users)
        parts.append(Part(w, elements, chain, chain[-1].type))
    parts.sort(key=lambda part: part.elements.start)
    apart = all([a.elements.stop <= b.elements.start for a, b in pairwise(parts)])
    return parts if apart and 1 < len(parts) <= tuning.VECTOR_MAX_PARTS else whole


def _elements(node: Node, size: int) -> range | None:
    """Return the elements that a node reads of a vector of this size, if they are neighbours."""
    if node.op is not GETITEM or len(node.inputs) > 1 or len(node.param("index")) != 1:
        return None
    (index,) = node.param("index")
    if type(index) is int:
        return range(index % size, index % size + 1)
    if type(index) is not Slice or index.step not in (None, 1):
        return None
    return range(size)[slice(*index)] or None


def _chain(read: Node, graph: Graph, users: dict[Node, list[int]]) -> tuple[Node, ...]:
    """A node, and the change of shape that is all that happens to it."""
    after = [graph.nodes[k] for k in users.get(read, [])]
    shaped = len(after) == 1 and after[0].op is RESHAPE and read not in graph.outputs
    return (read, after[0]) if shaped else (read,)
