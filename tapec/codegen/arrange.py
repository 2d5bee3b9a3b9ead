"""A program on floats with its loops in place: what each keeps for others, and in which order all comes.

A loop keeps what is read of its steps in lists. Who reads the last step alone reads the names that it leaves behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

from tapec.codegen.elements import FLOAT
from tapec.codegen.feeds import Block, Feed, Pick, aligned, computed_again, slice_text
from tapec.codegen.growing import CARRIED, OWN, SAME, Loop, Walk
from tapec.codegen.items import no_run
from tapec.codegen.plan import count_uses
from tapec.codegen.repeats import find_loops
from tapec.ir import INPUT, Graph, Node, Op, input_node

__all__ = ["Arranged", "Given", "arranged"]

MOST = 4  # steps in the middle of a loop of which others read something: with more, it is no loop to the reader
SEVERAL = 3  # values of one step that have a line for all
LEAST = 800  # operations that loops must spare: fewer are written out, which is up to a fifth faster


class Arranged(NamedTuple):
    """`order` has operations and blocks as they follow each other, `lists` the inputs that are read as whole lists,
    `rows` those of them that are lists of rows."""

    order: list[Node | Block | Pick]
    outputs: list[Node]
    lists: dict[int, Node]
    rows: set[int]


class Given(NamedTuple):
    """An input: its name, and how many columns it has if it may be read by rows."""

    name: str
    columns: int


def arranged(graph: Graph, groups: Sequence[Sequence[Node | None]], given: Sequence[Given]) -> Arranged | None:
    """The program with loops, where that spares something; `groups` are the elements of the inputs."""
    if len(graph.nodes) < LEAST:
        return None
    read = count_uses(graph.nodes, graph.outputs)
    graph = Graph(graph.inputs, [n for n in graph.nodes if n in read], graph.outputs, graph.name)
    loops = find_loops(graph.nodes, groups)
    while sum([(len(loop.steps) - 1) * len(loop.pattern) for loop in loops]) >= LEAST:
        arranger = _Arranger(graph, groups, given, loops)
        found = arranger.arranged()
        lost = {loop for loop, steps in arranger.single.items() if len(steps) > MOST}
        if not lost:
            return found
        for loop in loops:  # those that walk along others come after them
            if not lost.isdisjoint([w.base[0] for w in loop.walks if type(w.base) is tuple]):
                lost.add(loop)
        loops = [loop for loop in loops if loop not in lost]
    return None


def _text_op(name: str, source: str, kind: str = "float") -> Op:
    return Op(name=name, run=no_run, rule=no_run, kind=kind, source=source)


class _Arranger:
    def __init__(
        self, graph: Graph, groups: Sequence[Sequence[Node | None]], given: Sequence[Given], loops: list[Loop]
    ):
        self.graph = graph
        self.blocks = {loop: Block(loop) for loop in loops}
        self.home = {n: (loop, k, p) for loop in loops for k, step in enumerate(loop.steps) for p, n in enumerate(step)}
        self.groups = groups
        self.given = given
        walks = [w for loop in loops for w in loop.walks if type(w.base) is int]
        self.lists = {g: input_node("", FLOAT) for g in sorted({w.base for w in walks})}
        across = {w.base for w in walks if abs(w.stride) != given[w.base].columns}
        self.columns = {g: 0 if g in across or given[g].columns < 2 else given[g].columns for g in self.lists}
        self.element = {e: (g, k) for g in self.lists for k, e in enumerate(groups[g]) if e is not None}
        self.found: dict[Node, Node] = {}
        self.items: dict[tuple[str, Node], Node] = {}
        self.tuples: dict[tuple[str, ...], Node] = {}
        self.length = {values: len(groups[g]) // (self.columns[g] or 1) for g, values in self.lists.items()}
        self.picked: dict[tuple[Node, int], list[Node | None]] = {}
        self.single: dict[Loop, set[int]] = {}  # the steps in the middle of which something is read alone

    def arranged(self) -> Arranged | None:
        for loop, block in self.blocks.items():
            self.fill(loop, block)
        outer = [self.outside(n) for n in self.graph.nodes if n not in self.home]
        for block in self.blocks.values():
            block.first = {p: self.resolve(i) for p, i in block.loop.first.items()}
            for node in (*block.again, *block.body):  # made here, and before those outside of loops were
                node.inputs = tuple([self.found.get(i, i) for i in node.inputs])
        picks = self.picks()
        order = self.ordered([*self.tuples.values(), *self.items.values(), *outer], picks)
        if order is None:
            return None
        rows = {g for g, columns in self.columns.items() if columns}
        return Arranged(order, [self.resolve(o) for o in self.graph.outputs], self.lists, rows)

    # -- loops ------------------------------------------------------------------------------------------------------
    def fill(self, loop: Loop, block: Block) -> None:
        pattern = loop.pattern
        block.before = {(p, d): input_node(pattern[p].name or "", FLOAT) for p, d in loop.first}
        walking = self.feeds(loop, block)
        for sources, node in zip(loop.sources, pattern):
            inputs = []
            for kind, x in sources:
                if kind == OWN:
                    inputs.append(block.body[x])
                elif kind == CARRIED:
                    inputs.append(block.before[x])
                else:
                    inputs.append(self.resolve(x) if kind == SAME else walking[x])
            block.body.append(node.with_inputs(tuple(inputs)))

    def feeds(self, loop: Loop, block: Block) -> list[Node]:
        """What stands for each value that a loop walks along."""
        walking: dict[int, Node] = {}
        steps: dict[Loop, list[int]] = {}
        for w, walk in enumerate(loop.walks):
            if type(walk.base) is int:
                walking[w] = self.element_of(walk, block)
            elif walk.base[0] == "numbers":
                walking[w] = input_node("c", FLOAT)
                block.feeds.append(Feed(*self.listed(walk.base[1]), [walking[w]], []))
            else:
                steps.setdefault(walk.base[0], []).append(w)
        for other, ws in steps.items():
            groups = aligned(other, [(w, loop.walks[w]) for w in ws], len(loop.steps))
            if groups is None:
                self.single[loop] = set(range(MOST + 1))
                walking.update({w: input_node("", FLOAT) for w in ws})
            for (start, stride), found in groups or ():
                producer = self.blocks[other]
                members = sorted(found, key=lambda m: (not m[2], m[1]))
                elements = [producer.element(p, early) for _, p, early in members]
                made = computed_again(elements, producer, block)
                walking.update({w: made[e] for (w, _, _), e in zip(members, elements)})
                kept = [e for e in elements if made[e].op is INPUT]
                values = self.keep(producer, tuple(kept))
                block.feeds.append(Feed(values, producer.count, start, stride, [made[e] for e in kept], kept))
        return [walking[w] for w in range(len(loop.walks))]

    def element_of(self, walk: Walk, block: Block) -> Node:
        """What stands for an input's element in a loop that goes along it, or along its rows."""
        g, columns = walk.base, self.columns[walk.base]
        values, name = self.lists[g], self.given[g].name
        start, stride, size = walk.start, walk.stride, self.length[values]
        if not columns:
            block.feeds.append(Feed(values, size, start, stride, [input_node(f"{name}_k", FLOAT)], []))
            return block.feeds[-1].targets[0]  # type: ignore[return-value]
        row, column = divmod(start, columns)
        along = (values, size, row, stride // columns)
        found = [f for f in block.feeds if f[:4] == along]
        if not found:
            found = [Feed(*along, [None] * columns, [])]
            block.feeds += found
        node = found[0].targets[column] = input_node(f"{name}_k{column}", FLOAT)
        return node

    def listed(self, numbers: tuple[float, ...]) -> tuple[Node, int, int, int]:
        """Numbers in a list of the code: the list, its length, and where and which way they stand there."""
        texts = tuple(map(repr, numbers))  # 0.0 and -0.0 are equal, but not the same
        for known, values in self.tuples.items():
            for stride in (1, -1):
                along = known[::stride]
                for k in [k for k, text in enumerate(along) if text == texts[0]]:
                    if along[k : k + len(texts)] == texts:
                        return values, len(known), k if stride == 1 else len(known) - 1 - k, stride
        op = _text_op("numbers", f"[{', '.join(texts)}]")
        values = self.tuples[texts] = Node(op, (), (), FLOAT, None, "numbers")
        return values, len(numbers), 0, 1

    # -- what is outside of loops -----------------------------------------------------------------------------------
    def outside(self, node: Node) -> Node:
        inputs = node.inputs
        if node.op.kind == "creation" and len(inputs) > 1:
            made = self.packed(node)
        else:
            new = tuple([self.resolve(i) for i in inputs])
            made = node if all(map(lambda a, b: a is b, new, inputs)) else node.with_inputs(new)
        self.found[node] = made
        return made

    def resolve(self, node: Node) -> Node:
        """A value as the lines outside of loops read it."""
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
        if k == block.count - 1:
            block.left[node] = p
            return node
        made = self.kept_value(node)
        if made is None:
            made = self.item(k, self.keep(block, (block.body[p],)), (1, 0), node)
        self.single.setdefault(loop, set()).add(k)
        return made

    def kept_value(self, node: Node) -> Node | None:
        """A value of a step in the middle, from what is kept anyway."""
        loop, k, p = self.home[node]
        block = self.blocks[loop]
        for elements, values in block.kept.items():
            if block.body[p] in elements:
                return self.item(k, values, (len(elements), elements.index(block.body[p])), node)
            before = block.before.get((p, 1))
            if before in elements and k + 1 < block.count:
                return self.item(k + 1, values, (len(elements), elements.index(before)), node)
        return None

    def keep(self, block: Block, elements: tuple[Node, ...], name: str = "") -> Node:
        """The list of these values, one for each step."""
        values = block.kept.get(elements)
        if values is None:
            values = block.kept[elements] = input_node(name, FLOAT)
            self.length[values] = block.count
        return values

    def item(self, k: int, values: Node, at: tuple[int, int], node: Node) -> Node:
        """An element of a list, or of a tuple in it: of how many, and which."""
        size, j = at
        length = self.length[values]
        index = k if k < length / 2 else k - length
        source = f"{{0}}[{index}]" if size == 1 else f"{{0}}[{index}][{j}]"
        made = self.items.get((source, values))
        if made is None:
            op = _text_op("item of a list", source)
            made = self.items[source, values] = Node(op, (values,), (), FLOAT, node.origin, node.name, node.role)
            if size > 1:
                self.picked.setdefault((values, index), [None] * size)[j] = made
        return made

    def picks(self) -> list[Pick]:
        """Where several values of one element are read, it is taken apart."""
        made = [
            Pick(*at, targets) for at, targets in self.picked.items() if len(targets) - targets.count(None) >= SEVERAL
        ]
        unpacked = {t for pick in made for t in pick.targets}
        self.items = {key: node for key, node in self.items.items() if node not in unpacked}
        return made

    def packed(self, node: Node) -> Node:
        """An array of values, in which what a loop computes is taken from a list of it."""
        for width in (node.type.shape[1], 1) if node.type.ndim == 2 else (1,):
            runs = list(self.runs([node.inputs[k : k + width] for k in range(0, len(node.inputs), width)]))
            if any([len(run) > 1 for run in runs]):
                break
        else:
            return node.with_inputs(tuple(map(self.resolve, node.inputs)))
        parts: list[str] = []
        inputs: list[Node] = []
        flat = width == 1 and node.type.ndim != 1
        for run in runs:
            at = len(inputs)
            if len(run) == 1:
                inputs += map(self.resolve, run[0])
                texts = ", ".join([f"{{{k}}}" for k in range(at, len(inputs))])
                parts.append(texts if width == 1 else f"[{texts}]")
                continue
            (loop, k, _), (_, other, _) = self.home[run[0][0]], self.home[run[1][0]]
            block = self.blocks[loop]
            elements = tuple([block.body[self.home[e][2]] for e in run[0]])
            for j, e in enumerate(elements):
                if node.name and e.name and e.name.startswith(node.name):
                    e.name = f"{node.name}_k{j if width > 1 else ''}"
            inputs.append(self.keep(block, elements, node.name or ""))
            parts.append(f"*{slice_text(f'{{{at}}}', block.count, k, other - k, len(run))}")
        whole = parts[0][1:] if len(parts) == 1 else f"[{', '.join(parts)}]"
        text = f"np.array({whole})" + f".reshape({node.type.shape})" * flat
        op = _text_op(f"pack {text}", text, "creation")
        return Node(op, tuple(inputs), (), node.type, node.origin, node.name, node.role)

    def runs(self, rows: Sequence[Sequence[Node]]) -> Iterator[list[Sequence[Node]]]:
        """Neighbours that are the same places of steps at equal distances, together; all others alone."""
        run: list[Sequence[Node]] = []
        last: tuple[Loop, int, list[int]] | None = None
        step = 0
        for row in rows:
            here = self.same_step(row)
            if here is not None and last is not None and here[0] is last[0] and here[2] == last[2]:
                distance = here[1] - last[1]
                if distance and (len(run) == 1 or distance == step):
                    step = distance
                    run.append(row)
                    last = here
                    continue
            yield from _if_long(run)
            run, last = [row], here
        yield from _if_long(run)

    def same_step(self, row: Sequence[Node]) -> tuple[Loop, int, list[int]] | None:
        """The loop, the step and the places of values that are all of one step."""
        homes = [self.home.get(node) for node in row]
        first = homes[0]
        if first is None or any(h is None or h[:2] != first[:2] for h in homes):
            return None
        return first[0], first[1], [h[2] for h in homes if h is not None]

    # -- order ------------------------------------------------------------------------------------------------------
    def ordered(self, nodes: list[Node], picks: list[Pick]) -> list[Node | Block | Pick] | None:
        """Operations and loops, each after what it reads, and else as they were; None where that cannot be."""
        index = {n: k for k, n in enumerate(self.graph.nodes)}
        back = {made: node for node, made in self.found.items()}
        rank: dict[Any, int] = {n: index.get(back.get(n, n), 0) for n in nodes}
        maker: dict[Node, Any] = {n: n for n in nodes}
        reads: dict[Any, list[Node]] = {n: list(n.inputs) for n in nodes}
        for loop, block in self.blocks.items():
            rank[block] = index[loop.steps[0][0]]
            maker.update(dict.fromkeys([*block.left, *block.kept.values()], block))
            reads[block] = block.read
        for k, pick in enumerate(picks):
            reads[k] = [pick.values]
            maker.update(dict.fromkeys([t for t in pick.targets if t], k))
        waiting: Counter[Any] = Counter()
        readers: dict[Any, list[Any]] = {}
        for x, inputs in reads.items():
            for source in {maker[i] for i in inputs if i in maker}:
                waiting[x] += 1
                readers.setdefault(source, []).append(x)
        for item in (*self.items.values(), *range(len(picks))):
            rank[item] = min([rank[x] for x in readers.get(item, ())], default=0)
        places = {x: k for k, x in enumerate(reads)}
        ready = [(rank[x], places[x], x) for x in reads if not waiting[x]]
        ready.sort(key=lambda entry: entry[:2])
        order: list[Node | Block | Pick] = []
        while ready:
            *_, x = heappop(ready)
            order.append(picks[x] if type(x) is int else x)
            for reader in readers.get(x, ()):
                waiting[reader] -= 1
                if not waiting[reader]:
                    heappush(ready, (rank[reader], places[reader], reader))
        return order if len(order) == len(reads) else None


def _if_long(run: list[Sequence[Node]]) -> Iterator[list[Sequence[Node]]]:
    if len(run) > 3:
        yield run
    else:
        yield from [[row] for row in run]
