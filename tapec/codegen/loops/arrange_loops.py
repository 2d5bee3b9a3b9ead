"""Arrange a program with its loops: the lists that each fills for others, and the order of all.

A loop keeps the values of its steps that are read elsewhere in lists. A reader of only the last step reads the names
that the loop leaves behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapec.codegen import tuning
from tapec.codegen.common.made_names import wished_name
from tapec.codegen.floats.scalar_ops import FLOAT
from tapec.codegen.loops.collected_results import JOINING, LIST, Collector, homes_of
from tapec.codegen.loops.find_repeats import find_loops
from tapec.codegen.loops.found_loop import CARRIED, OWN, SAME, Loop, Walk
from tapec.codegen.loops.induction_variables import counted, seen_again
from tapec.codegen.loops.loop_model import CHEAP, Block, Feed, Pick, aligned, computed_again, text_op
from tapec.codegen.loops.node_order import in_order
from tapec.codegen.schedule.inlining import is_view
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import INPUT, Graph, Node, input_node, ops, prune
from tapec.ir.types import type_of

__all__ = ["Arranged", "Given", "arranged"]


class Given(NamedTuple):
    """An input whose elements are known.

    It has a name, the number of its columns if it may be read by rows, and its elements, row by row; None for one that
    nobody reads.
    """

    name: str
    columns: int
    elements: Sequence[Node | None]


class Arranged(NamedTuple):
    """A program with its loops.

    `order` has operations and blocks as they follow each other, `lists` the inputs that are read as whole lists, and
    `rows` those of them that are lists of rows.
    """

    order: list[Node | Block | Pick]
    outputs: tuple[Node, ...]
    lists: dict[int, Node]
    rows: set[int]


def arranged(graph: Graph, least: int, given: Sequence[Given] = ()) -> Arranged | None:
    """Return the program with loops, where they spare so many operations; `given` are the inputs on floats."""
    graph = prune(graph)
    loops = find_loops(graph, [x.elements for x in given])
    while sum(map(spared, loops)) >= least:
        arranger = _Arranger(graph, given, loops)
        found = arranger.arranged()
        unwritable = arranger.unwritable | {x for x, read in arranger.single.items() if is_taken_apart(x, read)}
        if not unwritable:
            return found
        for loop in loops:  # a loop comes after those that it walks along, and cannot do without their lists
            if not unwritable.isdisjoint([w.loop for w in loop.walks]):
                unwritable.add(loop)
        loops = [loop for loop in loops if loop not in unwritable]
    return None


def spared(loop: Loop) -> int:
    """Return how many operations a loop spares from being written out."""
    return (len(loop.steps) - 1) * len(loop.pattern)


def is_taken_apart(loop: Loop, read: set[tuple[int, int]]) -> bool:
    """Return whether much of what a loop computes is read one by one; `read` has the steps and places that are."""
    if len({k for k, _ in read}) <= tuning.READ_STEPS_MAX:
        return False
    return len(read) * tuning.READ_VALUE_MIN_SPARED_OPS > spared(loop)


class _Arranger(Collector):
    """Rewrites the operations outside of loops (`found`), and the values in loops that these read.

    `lists` are the inputs that loops go along, `element` tells which of their elements a value is; `tuples` are the
    lists of numbers, `along` those of inputs, `items` the elements of all of these that are read one by one, `picked`
    such elements that are one value of several. `length` is how long each list is.
    """

    def __init__(self, graph: Graph, given: Sequence[Given], loops: list[Loop]):
        self.graph = graph
        self.blocks = {loop: Block(loop) for loop in loops}
        self.home = homes_of(loops)
        joined = {i for n in self.graph.nodes if n.op in JOINING for i in n.inputs if i in self.home}
        # values of these places are joined into arrays
        self.joined = {(loop, p) for loop, _, p in map(self.home.__getitem__, joined)}
        self.given = given
        walks = [w for loop in loops for w in loop.walks if type(w.base) is int]
        self.lists = {g: input_node("", LIST) for g in sorted({w.base for w in walks})}
        across = {w.base for w in walks if abs(w.stride) != given[w.base].columns}
        self.columns = {g: 0 if g in across else given[g].columns for g in self.lists}
        self.element = {e: (g, k) for g in self.lists for k, e in enumerate(given[g].elements) if e is not None}
        self.found: dict[Node, Node] = {}
        self.items: dict[tuple[str, Node], Node] = {}
        self.tuples: dict[tuple[str, ...], Node] = {}
        self.along: dict[tuple[Node, ...], Node] = {}  # lists of inputs that loops walk along
        self.length = {values: len(given[g].elements) // (self.columns[g] or 1) for g, values in self.lists.items()}
        self.picked: dict[tuple[Node, int], list[Node | None]] = {}
        self.seen: list[Node] = []  # values of steps that are made once more outside of loops
        self.single: dict[Loop, set[tuple[int, int]]] = {}  # step and place of values that are read one by one
        self.unwritable: set[Loop] = set()  # loops that cannot be written

    def arranged(self) -> Arranged | None:
        for loop, block in self.blocks.items():
            self.fill(loop, block)
        outer = [self.outside(n) for n in self.graph.nodes if n not in self.home]
        for block in self.blocks.values():
            block.first = {p: self.resolve(i) for p, i in block.loop.first.items()}
            # they were made before the values outside of loops had their new nodes
            for node in (*block.recomputed, *block.body):
                node.inputs = tuple([self.resolve(i) if i in self.home else self.found.get(i, i) for i in node.inputs])
        outputs = self.outputs()
        starts = {n: None for b in self.blocks.values() for n in b.first.values() if n.op is ops.full}
        outer += [n for n in starts if n not in self.found]  # arrays that sums begin with
        outer += [*self.seen, *[o for o in outputs if o.op.kind == "starred"]]
        picks = self.picks()
        index = {n: k for k, n in enumerate(self.graph.nodes)}
        stood = {made: index.get(node, 0) for node, made in self.found.items()}
        nodes = [*self.tuples.values(), *self.along.values(), *self.items.values(), *outer]
        rank = {n: stood.get(n, index.get(n, 0)) for n in nodes}
        order = in_order(index, rank, list(self.items.values()), list(self.blocks.values()), picks)
        if order is None:
            return None
        rows = {g for g, columns in self.columns.items() if columns}
        return Arranged(order, outputs, self.lists, rows)

    # -- loops ------------------------------------------------------------------------------------------------------
    def fill(self, loop: Loop, block: Block) -> None:
        pattern = loop.pattern
        block.before = {(p, d): input_node(wished_name(pattern[p]) or "", pattern[p].type) for p, d in loop.first}
        walking = self.feeds(loop, block)
        for sources, node in zip(loop.sources, pattern):
            inputs = []
            for kind, x in sources:
                if kind == OWN:
                    inputs.append(block.body[x])
                elif kind == CARRIED:
                    inputs.append(block.before[x])
                else:
                    inputs.append(self.read(x) if kind == SAME else walking[x])
            last = loop.steps[-1][len(block.body)]
            made = node.with_inputs(tuple(inputs))
            # in one step the user may have computed what is part of a derivative in the others
            made.role = made.role or last.role
            if node.name and node.name != last.name:
                made.name = node.name.rstrip("_0123456789")  # the name must fit all steps: `h3` becomes `h`
            block.body.append(made)

    def read(self, node: Node) -> Node:
        """Return a value as steps read it; a value of another loop is resolved when that loop has been filled."""
        return node if node in self.home else self.resolve(node)

    def feeds(self, loop: Loop, block: Block) -> list[Node]:
        """Return the node in the body for each walk of a loop."""
        walking: dict[int, Node] = {}
        steps: dict[Loop, list[int]] = {}
        for w, walk in enumerate(loop.walks):
            if type(walk.base) is int:
                walking[w] = self.element_of(walk, block)
            elif walk.base == "inputs":
                walking[w] = self.input_of(walk, block)
            elif walk.is_numbers:
                walking[w] = self.number_of(walk.base[1], block)
            else:
                seen = seen_again(walk, len(loop.steps), block, self.read)
                if seen is None:
                    steps.setdefault(walk.base[0], []).append(w)
                else:
                    walking[w] = seen
        for other, ws in steps.items():
            groups = aligned(other, [(w, loop.walks[w]) for w in ws], len(loop.steps), self.joined)
            for (start, stride), found in groups:
                producer = self.blocks[other]
                members = sorted(found, key=lambda m: (not m[2], m[1]))
                elements = [producer.element(p, early) for _, p, early in members]
                made = computed_again(elements, producer, block)
                walking.update({w: made[e] for (w, _, _), e in zip(members, elements)})
                kept = [e for e in elements if made[e].op is INPUT]
                values = self.keep(producer, tuple(kept))
                block.feeds.append(Feed(values, producer.count, start, stride, [made[e] for e in kept], kept))
        return [walking[w] for w in range(len(loop.walks))]

    def input_of(self, walk: Walk, block: Block) -> Node:
        """Return the node for an input in a loop that goes along several inputs."""
        values = tuple([self.graph.inputs[walk.at(k)] for k in range(block.count)])
        first = values[0]
        if any([v.type != first.type for v in values]):
            self.unwritable.add(block.loop)
        stem = (first.name or "x").rstrip("_0123456789") or "x"
        target = input_node(f"{stem}_k", first.type)
        for known, made in self.along.items():
            for stride in (1, -1):
                along = known[::stride]
                start = along.index(first) if first in along else len(along)
                if along[start : start + len(values)] == values:
                    at = start if stride == 1 else len(known) - 1 - start
                    block.feeds.append(Feed(made, len(known), at, stride, [target], []))
                    return target
        op = text_op("arrays", f"[{', '.join([f'{{{k}}}' for k in range(len(values))])}]")
        self.along[values] = Node(op, values, (), LIST, None, f"{stem}s")
        block.feeds.append(Feed(self.along[values], len(values), 0, 1, [target], []))
        return target

    def number_of(self, numbers: tuple[float, ...], block: Block) -> Node:
        """Return the node for a number that is another in each step."""
        found = counted(numbers, block)
        if found is None:
            found = input_node("c", type_of(numbers[0]))
            block.feeds.append(Feed(*self.listed(numbers), [found], []))
        return found

    def element_of(self, walk: Walk, block: Block) -> Node:
        """Return the node for an input's element in a loop that goes along the input, or along its rows."""
        g, columns = walk.base, self.columns[walk.base]
        values, name = self.lists[g], self.given[g].name
        start, stride, size = walk.start, walk.stride, self.length[values]
        if not columns:
            target = input_node(f"{name}_k", FLOAT)
            block.feeds.append(Feed(values, size, start, stride, [target], []))
            return target
        row, column = divmod(start, columns)
        along = (values, size, row, stride // columns)
        found = [f for f in block.feeds if f[:4] == along]
        if not found:
            found = [Feed(*along, [None] * columns, [])]
            block.feeds += found
        node = found[0].targets[column] = found[0].targets[column] or input_node(f"{name}_k{column}", FLOAT)
        return node

    def listed(self, numbers: tuple[float, ...]) -> tuple[Node, int, int, int]:
        """Put numbers into a list of the code; return the list, its length, and where and which way they stand."""
        texts = tuple(map(repr, numbers))  # 0.0 and -0.0 are equal, but not the same number
        for known, values in self.tuples.items():
            for stride in (1, -1):
                along = known[::stride]
                for k in [k for k, text in enumerate(along) if text == texts[0]]:
                    if along[k : k + len(texts)] == texts:
                        return values, len(known), k if stride == 1 else len(known) - 1 - k, stride
        op = text_op("numbers", f"[{', '.join(texts)}]")
        values = self.tuples[texts] = Node(op, (), (), LIST, None, "numbers")
        return values, len(numbers), 0, 1

    # -- what is outside of loops -----------------------------------------------------------------------------------
    def outside(self, node: Node) -> Node:
        inputs = node.inputs
        if (node.op.kind in ("creation", "pack") or node.op in JOINING) and len(inputs) > 1:
            made = self.packed(node)
        else:
            new = tuple([self.resolve(i) for i in inputs])
            made = node if all(map(lambda a, b: a is b, new, inputs)) else node.with_inputs(new)
        self.found[node] = made
        return made

    def resolve(self, node: Node) -> Node:
        """Return a value as the lines outside of loops read it."""
        found = self.found.get(node)
        if found is not None:
            return found
        if node in self.element:
            g, k = self.element[node]
            columns = self.columns[g] or 1
            return self.item(k // columns, self.lists[g], (columns, k % columns), node)
        if node not in self.home:
            return node
        loop, k, p = self.home[node]
        block = self.blocks[loop]
        if node.op.multi:  # an operation with several results stays together with them
            self.unwritable.add(loop)
        if k == block.count - 1:
            block.final_values[node] = p
            return node
        if self.is_found_outside(node):
            return self.found[node]
        made = self.kept_value(node)
        if made is None:
            if is_view(node) or self.is_cheap_of_kept(node):  # made of values that are kept, it need not be kept itself
                self.see(node)
                return self.found[node]
            made = self.item(k, self.keep(block, (block.body[p],)), (1, 0), node)
        self.single.setdefault(loop, set()).add((k, p))
        return made

    def is_found_outside(self, node: Node) -> bool:
        """Return whether a value is a view of what no loop computes, or cheap to make of that, and if so, make it."""
        chain = [node]
        while is_view(chain[-1]) and chain[-1].inputs[0] in self.home:
            chain.append(chain[-1].inputs[0])
        if not (is_view(chain[-1]) or chain[-1].op in CHEAP):
            return False
        if any([i in self.home for n in chain for i in n.inputs if i not in chain]):
            return False
        for n in reversed(chain):
            if n not in self.found:
                self.see(n)
        return True

    def is_cheap_of_kept(self, node: Node) -> bool:
        """Return whether a value is cheap to make of values of steps that are kept anyway."""
        return node.op in CHEAP and all([i not in self.home or self.place_kept(i) is not None for i in node.inputs])

    def see(self, node: Node) -> None:
        """Make a value of a step once more, outside of its loop."""
        self.found[node] = node.with_inputs(tuple(map(self.resolve, node.inputs)))
        self.seen.append(self.found[node])

    def kept_value(self, node: Node) -> Node | None:
        """Return a value of a step in the middle, read from a list that is kept anyway; None where there is none."""
        place = self.place_kept(node)
        return None if place is None else self.item(*place, node)

    def place_kept(self, node: Node) -> tuple[int, Node, tuple[int, int]] | None:
        """Return where a value is kept: the number of the element, its list, and how many values it has, and which."""
        loop, k, p = self.home[node]
        block = self.blocks[loop]
        for elements, values in block.kept.items():
            if block.body[p] in elements:
                return k, values, (len(elements), elements.index(block.body[p]))
            before = block.before.get((p, 1))
            if before in elements and k + 1 < block.count:
                return k + 1, values, (len(elements), elements.index(before))
        return None

    def keep(self, block: Block, elements: tuple[Node, ...], name: str = "") -> Node:
        """Return the list of these values, one for each step."""
        values = block.kept.get(elements)
        if values is None:
            values = block.kept[elements] = input_node(name, LIST)
            self.length[values] = block.count
        return values

    def item(self, k: int, values: Node, at: tuple[int, int], node: Node) -> Node:
        """Return an element of a list, or one of several values in it; `at` tells of how many, and which."""
        size, j = at
        length = self.length[values]
        index = k if k < length / 2 else k - length
        source = f"{{0}}[{index}]" if size == 1 else f"{{0}}[{index}][{j}]"
        made = self.items.get((source, values))
        if made is None:
            op = text_op("item of a list", source, view=True)
            made = self.items[source, values] = Node(op, (values,), (), node.type, node.origin, node.name, node.role)
            if size > 1:
                self.picked.setdefault((values, index), [None] * size)[j] = made
        return made

    def picks(self) -> list[Pick]:
        """Return the elements of lists that are taken apart, since several of their values are read."""
        made = [
            Pick(*at, targets)
            for at, targets in self.picked.items()
            if len(targets) - targets.count(None) >= tuning.PICKED_MIN_VALUES
        ]
        unpacked = {t for pick in made for t in pick.targets}
        self.items = {key: node for key, node in self.items.items() if node not in unpacked}
        return made
