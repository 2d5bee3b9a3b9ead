"""Collect values of many steps: arrays and results that are made of a list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.loops.found_loop import Loop
from tapec.codegen.loops.loop_model import Block, slice_text, text_op
from tapec.codegen.schedule.inlining import is_view
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, Node, OpSet
from tapec.ir.types import Type

__all__ = ["JOINING", "LIST", "Collector", "homes_of"]

JOINING = OpSet("stack concatenate")
LIST = Type((1,), np.dtype(object))  # what a list is to emission: no number, and nothing to write into
Home = tuple[Loop, int, int]  # loop, step, and place in the step


def homes_of(loops: Iterable[Loop]) -> dict[Node, Home]:
    """Return where values are computed. What a sum begins with is an addend, as in the other steps, and no sum."""
    homes: dict[Node, Home] = {}
    for loop in loops:
        for k, step in enumerate(loop.steps):
            for p, node in enumerate(step):
                homes.setdefault(node, (loop, k, p))
    return homes


class Run(NamedTuple):
    """A run is many rows of values, each column of which goes along the steps of a loop.

    A column has the place where it begins, and how many steps further the next row is.
    """

    rows: int
    columns: list[tuple[Home, int]]

    @property
    def width(self) -> int:
        return len(self.columns)

    @property
    def is_of_one(self) -> bool:
        """Return whether each row is of one step of one loop."""
        return len({(loop, k, stride) for (loop, k, _), stride in self.columns}) == 1


class Collector:
    """Finds the parts of a program that are made of many steps at once.

    `home` tells in which loop each value is computed, in which step, and where there; `blocks` has the block that is
    written for each loop.
    """

    graph: Graph
    blocks: dict[Loop, Block]
    home: dict[Node, Home]

    def resolve(self, node: Node) -> Node:
        """Return a value as the lines outside of loops read it."""
        raise NotImplementedError

    def keep(self, block: Block, elements: tuple[Node, ...], name: str = "") -> Node:
        """Return the list of these values, one for each step."""
        raise NotImplementedError

    def packed(self, node: Node) -> Node:
        """Write an array of values, in which those that loops compute are taken from lists of them."""
        joined = node.op in JOINING
        columns = node.type.shape[1] if node.type.ndim == 2 and not joined else 1
        runs = list(self.runs(node.inputs, self.home.get, columns))
        if columns > 1 and not any([isinstance(run, Run) for run in runs]):
            columns = 1
            runs = list(self.runs(node.inputs, self.home.get))
        if not any([isinstance(run, Run) for run in runs]):
            return node.with_inputs(tuple(map(self.resolve, node.inputs)))
        in_rows = columns > 1 or (len(runs) == 1 and node.type.ndim > 1 and not joined)
        inputs: list[Node] = []
        parts: list[str] = []
        for run in runs:
            at = len(inputs)
            if isinstance(run, Run):
                text, lists = self.text_of(run, node.name or "", at)
                inputs += lists
                parts.append(f"*{text if in_rows else flat(text, run)}")
            else:
                inputs += map(self.resolve, run)
                texts = ", ".join([f"{{{k}}}" for k in range(at, len(inputs))])
                parts.append(texts if columns == 1 else f"[{texts}]")
        listed = f"[{', '.join(parts)}]"
        whole = listed if len(parts) > 1 or parts[0].startswith("*zip") else parts[0][1:]
        if joined:
            text = node.op.source(tuple(parts), node).replace(listed, whole)
        else:
            text = f"np.array({whole})" + f".reshape({node.type.shape})" * (columns == 1 and node.type.ndim != 1)
        op = text_op(f"pack {text}", text, "creation")
        return Node(op, tuple(inputs), (), node.type, node.origin, node.name, node.role)

    def outputs(self) -> tuple[Node, ...]:
        """Return the results; those that are one or a few of each step of a loop are returned as a list."""
        wanted = self.graph.outputs
        made: list[Node] = []
        at = 0
        for run in self.runs(wanted, lambda node: None if is_view(node) else self.home.get(node)):
            values = wanted[at : at + (run.rows * run.width if isinstance(run, Run) else len(run))]
            at += len(values)
            if isinstance(run, Run) and len(set(values)) == len(values):
                text, lists = self.text_of(run)
                op = text_op("results of steps", f"*{flat(text, run)}", "starred")
                made.append(Node(op, tuple(lists), (), LIST))
            else:
                made += map(self.resolve, values)
        return tuple(made)

    # -- runs -------------------------------------------------------------------------------------------------------
    def runs(
        self, values: Sequence[Node], home: Callable[[Node], Home | None], columns: int = 1
    ) -> Iterator[Run | Sequence[Node]]:
        """Give neighbours that are the same places of steps at equal distances together, and all others as they are.

        The others come in rows of so many columns; where there are several columns, a row of a run is one of these.
        """
        homes = list(map(home, values))
        after: dict[tuple[Loop, int], int] = {}
        width = [0] * len(values)  # distance to the next value of the same place
        for at in reversed(range(len(values))):
            h = homes[at]
            if h is not None:
                place = h[0], h[2]
                width[at] = after.get(place, at) - at
                after[place] = at
        at = 0
        while at < len(values):
            run = None
            if 0 < width[at] <= tuning.LISTED_MAX_WIDTH and columns in (1, width[at]):
                run = run_of(homes, at, width[at])
            if run is not None:
                at += run.rows * run.width
                yield run
            else:
                yield values[at : at + columns]
                at += columns

    def text_of(self, run: Run, name: str = "", at: int = 0) -> tuple[str, list[Node]]:
        """Return the text for a run, in which lists are numbered from `at` on, and these lists."""
        blocks = [self.blocks[loop] for (loop, _, _), _ in run.columns]
        elements = [block.body[p] for block, ((_, _, p), _) in zip(blocks, run.columns)]
        for j, e in enumerate(elements):
            if name and e.name and e.name.startswith(name):
                e.name = f"{name}_k{j if run.width > 1 else ''}"
        if run.is_of_one:
            lists, columns = [self.keep(blocks[0], tuple(elements), name)], run.columns[:1]
        else:
            lists, columns = [self.keep(b, (e,)) for b, e in zip(blocks, elements)], run.columns
        texts = [
            slice_text(f"{{{at + j}}}", self.blocks[loop].count, k, stride, run.rows)
            for j, ((loop, k, _), stride) in enumerate(columns)
        ]
        return texts[0] if run.is_of_one else f"zip({', '.join(texts)})", lists


def run_of(homes: Sequence[Home | None], at: int, width: int) -> Run | None:
    """Return the run that begins at this place, if it is one."""
    columns: list[tuple[Home, int]] = []
    for j in range(at, at + width):
        first, second = homes[j], homes[j + width] if j + width < len(homes) else None
        if first is None or second is None or first[0] is not second[0] or first[2] != second[2]:
            return None
        if first[1] == second[1]:
            return None
        columns.append((first, second[1] - first[1]))
    count = 2
    while at + (count + 1) * width <= len(homes):
        row = homes[at + count * width : at + (count + 1) * width]
        if row != [(loop, k + count * stride, p) for (loop, k, p), stride in columns]:
            break
        count += 1
    return Run(count, columns) if count >= tuning.LISTED_MIN_STEPS else None


def flat(text: str, run: Run) -> str:
    """Return the text for a run, one value after the other."""
    return text if run.width == 1 else f"[part for step in {text} for part in step]"
