"""Write the shapes of new arrays as those of arrays at hand: `np.zeros(W.shape)`, `np.empty((len(xs), *h.shape))`.

Which axes are equally long whatever their length is follows from the operations: `a @ b` has as many rows as `a`, a
loop carries on what is as large as what it began with, and the gradient of W is as large as W. Axes that are equally
long by chance stay numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tapec.ir import INPUT, ITEM, Graph, Node
from tapec.ir.sizes import Place, equal_axes
from tapec.ir.source_location import name_for
from tapec.ops.control.cond import REGION
from tapec.ops.control.loop import LOOP, operands_of

__all__ = ["Shapes"]


class Shapes:
    """Knows which axes in a program are equally long; `arguments` are the arrays that are there to the end, by name."""

    def __init__(self, graph: Graph, arguments: Mapping[Node, str]):
        self.graph = graph
        self.arguments = arguments
        self.above: dict[Place, Place] | None = None  # found out when somebody asks
        self.inside: set[str | None] | None = None  # the variables of values that are computed

    def text(
        self, node: Node, near: Mapping[str, Node] | None = None, count: str | None = None, wish: str | None = None
    ) -> str | None:
        """Write the shape of a value, or of an array of `count` such values; None where nothing tells of it.

        `near` are arrays at hand besides arguments. Of arguments that are as large, one whose derivative is called
        `wish` comes first.
        """
        axes = range(node.type.ndim)
        own = [self.axis_class(node, k) for k in axes]
        arguments = sorted(self.arguments.items(), key=lambda argument: f"d_{argument[1]}" != wish)
        for name, x in [*[(name, x) for x, name in arguments], *(near or {}).items()]:
            if x.type.shape == node.type.shape and own == [self.axis_class(x, k) for k in axes] and own:
                return f"{name}.shape" if count is None else f"({count}, *{name}.shape)"
        sizes = [self.size(node, k) for k in axes]
        if not any(sizes) and (count is None or count.isdecimal()):
            return None
        parts = [text or str(n) for text, n in zip(sizes, node.type.shape)]
        parts = parts if count is None else [count, *parts]
        return f"({', '.join(parts)})" if len(parts) > 1 else parts[0]

    def size(self, node: Node, axis: int) -> str | None:
        """Write the length of an axis of a value by an argument that has one as long."""
        own = self.axis_class(node, axis)
        if own is None:
            return None
        places = [
            (k, name) for x, name in self.arguments.items() for k in range(x.type.ndim) if self.find((x, k)) == own
        ]
        k, name = min(places, key=lambda place: place[0] > 0, default=(0, None))
        return None if name is None else f"{name}.shape[{k}]" if k else f"len({name})"

    def as_long(self, node: Node, rather: Collection[Node] = ()) -> Node | None:
        """Return the argument that is as long as all axes of a value are, `rather` one of these."""
        (own, *others) = dict.fromkeys([self.axis_class(node, k) for k in range(node.type.ndim)])
        found = [x for x in self.arguments if x.type.ndim and self.find((x, 0)) == own]
        return min(found, key=lambda x: x not in rather) if found and own is not None and not others else None

    def axis_class(self, node: Node, axis: int) -> Place | None:
        """Return the axis that stands for all that are as long; None for an axis of length one."""
        return None if node.type.shape[axis] == 1 else self.find((node, axis))

    def find(self, place: Place) -> Place:
        if self.above is None:
            self.above = {}
            self.join_all(self.graph, {x.name: x for x in self.arguments})
        while place in self.above:
            place = self.above[place]
        return place

    def join(self, a: Place, b: Place) -> None:
        """Note that two axes are equally long."""
        a, b = self.find(a), self.find(b)
        if a != b:
            assert self.above is not None
            self.above[a] = b

    def join_all(self, graph: Graph, arguments: Mapping[str | None, Node]) -> None:
        """Join the axes of a graph, of whose values some are derivatives by these arguments."""
        for node in graph.nodes:
            if node.op is LOOP:
                self.join_loop(node)
            elif node.op is REGION:
                for x, i in zip(node.inputs, node.bodies[0].inputs):
                    self.join_values(x, i)
                self.join_all(node.bodies[0], arguments)
            elif node.op is ITEM and node.inputs[0].op is REGION:
                self.join_values(node, node.inputs[0].bodies[0].outputs[node.param("index")])
            elif node.op is ITEM and node.inputs[0].op is LOOP:
                self.join_item(node)
            elif not node.op.multi:
                for a, b in equal_axes(node):
                    self.join(a, b)
            by = arguments.get(self.derivative_by(node))
            if by is not None and by.type.shape == node.type.shape:
                self.join_values(node, by)

    def derivative_by(self, node: Node) -> str | None:
        """Return the name of the argument by which a value is a derivative; None where that is not known.

        A value inside of the program may be called like an argument: then a name tells nothing.
        """
        if node.of is not None:
            return node.of.name if node.of.op is INPUT else None
        is_derivative = node.role is not None or node.origin is None  # zeros, where nothing depends on an argument
        if not is_derivative or node.name is None or not node.name.startswith("d_"):
            return None
        if self.inside is None:
            self.inside = {name_for(n) for n in self.graph.nodes if n.op is not INPUT and n.role is None}
        name = node.name.removeprefix("d_")
        return None if name in self.inside else name

    def join_values(self, a: Node, b: Node, skip: int = 0) -> None:
        """Note that two values have one shape, `a` but for its first axes."""
        for axis in range(b.type.ndim):
            self.join((a, axis + skip), (b, axis))

    def join_loop(self, node: Node) -> None:
        of, body = operands_of(node.inputs, **dict(node.given)), node.bodies[0]
        first = len(of.constants) + len(of.carried)
        for i, x in zip(body.inputs, (*of.constants, *of.carried)):
            self.join_values(x, i)
        for i, x in zip(body.inputs[first:], of.rows):
            self.join_values(x, i, 1)
            self.join((x, 0), (of.rows[0], 0))
        for y, x in zip(body.outputs, of.carried):
            self.join_values(y, x)
        self.join_all(body, {})

    def join_item(self, node: Node) -> None:
        """Join a result of a loop with what the body hands on, or collects as rows."""
        loop, k = node.inputs[0], node.param("index")
        of = operands_of(loop.inputs, **dict(loop.given))
        collected = k >= len(of.carried)
        self.join_values(node, loop.bodies[0].outputs[k], int(collected))
        if collected and of.rows:
            self.join((node, 0), (of.rows[0], 0))
