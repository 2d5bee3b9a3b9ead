"""Where paths part in a program with loops: what begins at its questions, in which step, and what that reads of the
steps before.

What a course reads of other steps than the last is kept in lists, and it may go along these as along its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapec.codegen.asked import Course
from tapec.codegen.collected import Collector
from tapec.codegen.counting import counted
from tapec.codegen.elements import FLOAT
from tapec.codegen.feeds import CHEAP, Block
from tapec.codegen.pattern import Loop
from tapec.codegen.schedule import put_off
from tapec.ir import CONSTANT, Graph, Node, input_node
from tapec.tuples import NamedTuple

__all__ = ["Branching", "Given", "Lists", "Parting"]

Lists = Sequence[Sequence[Node | None]]  # the elements of arrays or lists, row by row; None where nobody reads one


class Branching(NamedTuple):
    """A course that begins in this step of a loop, or outside of loops. `given` tells for what it reads what that is
    called there."""

    step: int | None
    program: Any
    given: dict[Node, Node]


class Place(NamedTuple):
    """Where something is kept: in which row and column of a list, and what these columns are in its loop."""

    values: Node
    row: int
    column: int
    elements: tuple[Node, ...]


class Given(NamedTuple):
    """An input: its name, and how many columns it has if it may be read by rows. Of a list that is there already, what
    stands for an element of each column, and what stands for the columns of its last row where these have names."""

    name: str
    columns: int
    elements: tuple[Node, ...] = ()
    last: tuple[Node, ...] = ()


class Parting(Collector):
    """What is known to begin where questions have the other answer (`ends`).

    `lists` are the inputs that are there as lists, `columns` how many columns each has, or 0, `element` which element
    of them a value is, and `given` what else is known of them. `maker` tells which loop keeps a list, `found` what is
    made of an operation outside of loops.
    """

    ends: dict[Node, Course]
    given: Sequence[Given]
    lists: dict[int, Node]
    columns: dict[int, int]
    element: dict[Node, tuple[int, int]]
    maker: dict[Node, Block]
    found: dict[Node, Node]

    def arranged_end(self, end: Course, lists: Lists, given: Sequence[Given]) -> Any:
        """The course as a program with loops, where it has some; None where it cannot be written."""
        raise NotImplementedError

    def branchings(self) -> dict[Node, list[Branching]] | None:
        """What begins where a question has the other answer; in loops this is noted at each. None where it would read
        what nobody can tell it."""
        self.ends = {question: self.lighter(question, end) for question, end in self.ends.items()}
        for question, end in self.ends.items():
            self.keep_for(question, end)
        outside: dict[Node, list[Branching]] = {}
        for question, end in self.ends.items():
            found = self.branching(question, end)
            if found is None:
                return None
            if question in self.home:
                loop, _, p = self.home[question]
                block = self.blocks[loop]
                block.branchings.setdefault(block.body[p], []).append(found)
            else:
                outside.setdefault(self.found[question], []).append(found)
        for block in self.blocks.values():
            if block.branchings:
                block.number = counted(tuple(range(block.count)), block)
        return outside

    def lighter(self, question: Node, end: Course) -> Course:
        """The course, which makes again what is made easily of what is kept anyway."""
        kept = {n for n in end.reads if isinstance(self.place_for(question, n), Place)}
        made = [n for n in end.reads if n not in kept and n in self.home and n.op in CHEAP]
        made = [n for n in made if all([i in kept or i.op is CONSTANT for i in n.inputs])]
        graph = end.graph
        again = dict.fromkeys([*[i for n in made for i in n.inputs if i.op is CONSTANT], *made])
        nodes = put_off(list(dict.fromkeys([*again, *graph.nodes])), set(made))
        reads = tuple([n for n in end.reads if n not in again])
        return end._replace(graph=Graph(graph.inputs, nodes, graph.outputs, graph.name), reads=reads)

    def keep_for(self, question: Node, end: Course) -> None:
        """What is read there of the steps before is kept, in one list for each loop."""
        missing: dict[Loop, list[Node]] = {}
        for node in end.reads:
            if node in self.home and self.place_for(question, node) is None:
                loop, _, p = self.home[node]
                missing.setdefault(loop, []).append(self.blocks[loop].body[p])
        for loop, elements in missing.items():
            self.keep(self.blocks[loop], tuple(dict.fromkeys(elements)))

    def place_for(self, question: Node, node: Node) -> Place | Node | None:
        """What a value is for who comes from there: an element of a list, which row and which column of which columns;
        or what has a name. None where it is not kept."""
        if node in self.element:
            g, k = self.element[node]
            columns = self.columns[g] or 1
            elements = self.given[g].elements or tuple([input_node(self.given[g].name, FLOAT)] * columns)
            return Place(self.lists[g], k // columns, k % columns, elements)
        at = self.home.get(question)
        if node not in self.home:
            return (at and self.begun(node, question)) or self.resolve(node)
        loop, k, p = self.home[node]
        block = self.blocks[loop]
        for elements, values in block.kept.items():
            rows = self.rows_kept(question, block, elements)
            for e, row in ((block.body[p], k), (block.before.get((p, 1)), k + 1)):
                if e in elements and row < rows:
                    return Place(values, row, elements.index(e), elements)
        if at is None or at[0] is not loop:
            return self.resolve(node) if k == block.count - 1 else None
        if k == at[1]:
            return block.body[p] if p < at[2] else None
        return block.before.get((p, 1)) if k == at[1] - 1 else None

    def begun(self, node: Node, question: Node) -> Place | None:
        """Where it is in a list of what steps find, of which the first one found it."""
        block = self.blocks[self.home[question][0]]
        found = [block.before[p, d] for (p, d), first in block.loop.first.items() if first is node and d == 1]
        lists = [(es, v) for es, v in block.kept.items() if self.rows_kept(question, block, es)]
        places = [Place(v, 0, es.index(b), es) for es, v in lists for b in found if b in es]
        return places[0] if places else None

    def rows_kept(self, question: Node, block: Block, elements: tuple[Node, ...]) -> int:
        """How many elements a list has by then."""
        at = self.home.get(question)
        if at is None or at[0] is not block.loop:
            return block.count
        made = [block.body.index(e) for e in elements if e in block.body]
        return at[1] + (max(made, default=-1) < at[2])

    def last_row(self, question: Node, values: Node, rows: int, elements: Sequence[Node]) -> tuple[Node, ...]:
        """What stands for the last of these rows, if it is that of the step which asks: there all of it has names."""
        loop, step, _ = self.home.get(question, (None, 0, 0))
        if values not in self.maker or self.maker[values].loop is not loop or rows != step + 1:
            return ()
        return tuple([input_node("", e.type) for e in elements])

    def branching(self, question: Node, end: Course) -> Branching | None:
        """What begins there, as a program that goes along the lists."""
        groups: dict[Node, list[Node | None]] = {}
        given: list[Given] = []
        called: dict[Node, Node] = {}
        for node in end.reads:
            place = self.place_for(question, node)
            if place is None:
                return None
            if not isinstance(place, Place):
                called[node] = place
                continue
            values, row, column, elements = place
            if values not in groups:
                maker = self.maker.get(values)
                rows = self.rows_kept(question, maker, elements) if maker else self.length[values]
                groups[values] = [None] * (rows * len(elements))
                last = self.last_row(question, values, rows, elements)
                given.append(Given(values.name or "x", len(elements), elements, last))
            groups[values][row * len(elements) + column] = node
        program = self.arranged_end(end, list(groups.values()), given)
        if program is None:
            return None
        for g, (values, list_) in enumerate(zip(groups, given)):
            called[program.lists[g]] = values
            called.update({i: e for i, e in zip(list_.last, list_.elements) if i in program.reads})
        at = self.home.get(question)
        found = Branching(None if at is None else at[1], program, called)
        if at is not None:
            self.blocks[at[0]].beside.update(dict.fromkeys(called.values()))
        return found
