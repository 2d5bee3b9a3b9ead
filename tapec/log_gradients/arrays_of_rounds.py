"""Make arrays of the recorded values that the loops of a gradient go through: each is one input in place of many.

stack h2, h1, h0 -> loop; stack h1, h0, start -> loop        ->        hs[:3] -> loop; hs[1:] -> loop
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tapec.ir import Builder, Graph, Node, Type, input_node, ops
from tapec.ir.dead_code import with_inputs_read
from tapec.ir.source_location import name_for
from tapec.ir.static_index import slice_of_rows

__all__ = ["ArraysOfRounds", "Read"]

Read = int | tuple[int, ...]  # a slot, `~k` for the k-th given cotangent, or the slots whose values an array is made of


class ArraysOfRounds:
    """Makes one input of the `recorded` values that a loop goes through, with the rows in the order of the loop.

    So products that read all rows at once need no copy in another order. `past` is the program that has computed the
    values of the inputs, `slots` says where these are. Values of which loops read stretches that overlap, as `hs[:-1]`
    and `hs[1:]`, are one array.
    """

    def __init__(self, graph: Graph, past: Graph | None, slots: dict[Node, int], recorded: Collection[Node]):
        self.graph, self.before, self.slots, self.recorded = graph, past, slots, {*recorded}
        self.stacks = {n: [*n.inputs] for n in graph.nodes if self.is_stack(n)}
        self.wholes: list[list[Node]] = []  # the inputs that are the rows of each array
        for rows in self.stacks.values():
            self.enter(rows)
        self.arrays = [self.array(rows) for rows in self.wholes]

    def is_stack(self, n: Node) -> bool:
        if n.op is not ops.stack or n.param("axis") != 0 or not self.recorded.issuperset(n.inputs):
            return False
        return all([i.type == n.inputs[0].type for i in n.inputs])

    def enter(self, rows: list[Node]) -> None:
        """Let values be rows of an array of which they are a stretch, or which they go on from, or of a new one."""
        for whole in self.wholes:
            for first, second in ((whole, rows), (rows, whole)):
                place = first.index(second[0]) if second[0] in first else len(first)
                shared = len(first) - place
                if 2 * shared > len(first) and first[place:] == second[:shared]:
                    whole[:] = [*first, *second[shared:]]
                    return
            if _place(whole, rows) is not None:
                return
        self.wholes.append([*rows])

    def name(self, rows: list[Node]) -> str:
        """Return the user's name for the rows of an array."""
        names = {i.name or (None if i.origin is None else name_for(i)) for i in rows if i.name != f"v{self.slots[i]}"}
        return (names.pop() if len(names) == 1 else None) or "t"

    def array(self, rows: list[Node]) -> Node:
        name, t = self.name(rows), rows[0].type
        return input_node(f"{name}s", Type((len(rows), *t.shape), t.dtype))

    def part(self, builder: Builder, stack: Node) -> Node:
        """Return the rows of an array that were stacked."""
        rows = self.stacks[stack]
        k, first = next((k, at) for k, whole in enumerate(self.wholes) if (at := _place(whole, rows)) is not None)
        index = slice_of_rows(first, 1, len(rows), len(self.wholes[k]))
        return self.arrays[k] if index is None else builder.emit(ops.getitem, (self.arrays[k],), (("index", (index,)),))

    def program(self) -> tuple[Graph, list[Read]]:
        """Return the program, and where the values of its inputs come from."""
        builder = Builder()
        new: dict[Node, Node] = {i: i for i in self.graph.inputs}
        for node in self.graph.nodes:
            builder.role = node.role
            if node in self.stacks:
                new[node] = self.part(builder, node)
            else:
                new[node] = builder.add(node.with_inputs(tuple([new[i] for i in node.inputs])))
        inputs = [*self.graph.inputs, *self.arrays]
        places: list[Read] = [self.slots[i] for i in self.graph.inputs]
        places += [tuple([self.slots[i] for i in rows]) for rows in self.wholes]
        reads = dict(zip(inputs, places, strict=True))
        made = with_inputs_read(Graph(inputs, builder.nodes, [new[o] for o in self.graph.outputs], self.graph.name))
        made.past = self.past(made.inputs)
        return made, [reads[i] for i in made.inputs]

    def past(self, inputs: Sequence[Node]) -> Graph | None:
        """Return the program that computed the values of these inputs."""
        before = self.before
        if before is None:
            return None
        builder = Builder()
        builder.nodes.extend(before.nodes)
        computed = dict(zip(self.graph.inputs, before.outputs, strict=True))
        for x, rows in zip(self.arrays, self.wholes, strict=True):
            computed[x] = builder.emit(ops.stack, tuple([computed[i] for i in rows]), (("axis", 0),))
        return Graph(before.inputs, builder.nodes, [computed[i] for i in inputs], before.name)


def _place(whole: list[Node], rows: list[Node]) -> int | None:
    """Return from which place on rows are a stretch of others; None where they are not."""
    ways = [k for k in range(len(whole) - len(rows) + 1) if whole[k] is rows[0] and whole[k : k + len(rows)] == rows]
    return ways[0] if ways else None
