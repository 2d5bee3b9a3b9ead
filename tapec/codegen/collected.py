"""What steps compute, taken together: arrays and results that are made of a list of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from tapec.codegen.feeds import Block, slice_text, text_op
from tapec.codegen.pattern import Loop
from tapec.codegen.plan import is_view
from tapec.ir import Graph, Node
from tapec.ir.types import Type

__all__ = ["JOINING", "LIST", "SEVERAL", "Collector"]

JOINING = {"stack", "concatenate"}
LIST = Type((1,), np.dtype(object))  # what a list is to emission: no number, and nothing to write into
WIDTHS = (1, 2, 3, 4, 6)  # values of one step among the results
SEVERAL = 3  # values of one step that have a line for all


class Collector:
    """What of a program is made of many steps at once.

    `home` tells in which loop each value is computed, in which step, and where there; `blocks` has what is written for
    each loop.
    """

    graph: Graph
    blocks: dict[Loop, Block]
    home: dict[Node, tuple[Loop, int, int]]

    def resolve(self, node: Node) -> Node:
        """A value as the lines outside of loops read it."""
        raise NotImplementedError

    def keep(self, block: Block, elements: tuple[Node, ...], name: str = "") -> Node:
        """The list of these values, one for each step."""
        raise NotImplementedError

    def packed(self, node: Node) -> Node:
        """An array of values, in which what a loop computes is taken from a list of it."""
        joined = node.op.name in JOINING
        for width in (node.type.shape[1], 1) if node.type.ndim == 2 and not joined else (1,):
            runs = list(self.runs([node.inputs[k : k + width] for k in range(0, len(node.inputs), width)]))
            if any([len(run) > 1 for run in runs]):
                break
        else:
            return node.with_inputs(tuple(map(self.resolve, node.inputs)))
        parts: list[str] = []
        inputs: list[Node] = []
        flat = width == 1 and node.type.ndim != 1 and not joined
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
        if joined:
            text = node.op.source(tuple(parts), node).replace(f"[{', '.join(parts)}]", whole)
        op = text_op(f"pack {text}", text, "creation")
        return Node(op, tuple(inputs), (), node.type, node.origin, node.name, node.role)

    def outputs(self) -> tuple[Node, ...]:
        """The results; those that are one or a few of each step of a loop are given out as a list."""
        wanted = self.graph.outputs
        made: list[Node] = []
        at = 0
        while at < len(wanted):
            run = max([self.given_out(wanted[at:], width) for width in WIDTHS], key=len)
            if len(run) > SEVERAL and len(set(chain(*run))) == len(run) * len(run[0]):
                made.append(self.starred(run))
                at += len(run) * len(run[0])
            else:
                made.append(self.resolve(wanted[at]))
                at += 1
        return tuple(made)

    def given_out(self, values: Sequence[Node], width: int) -> list[Sequence[Node]]:
        """As many rows from the start as are the same places of steps that follow one another."""
        rows: list[Sequence[Node]] = []
        places: list[tuple[Loop, int, list[int]]] = []
        for k in range(0, len(values) - width + 1, width):
            here = self.same_step(values[k : k + width])
            if here is None or any(map(is_view, values[k : k + width])):
                break
            if places and (here[0] is not places[0][0] or here[2] != places[0][2]):
                break
            if len(places) > 1 and here[1] - places[-1][1] != places[1][1] - places[0][1]:
                break
            places.append(here)
            rows.append(values[k : k + width])
        return rows

    def starred(self, run: list[Sequence[Node]]) -> Node:
        (loop, k, places), (_, other, _) = map(self.same_step, run[:2])  # type: ignore[misc]
        block = self.blocks[loop]
        values = self.keep(block, tuple([block.body[p] for p in places]))
        text = slice_text("{0}", block.count, k, other - k, len(run))
        if len(places) > 1:
            text = f"[part for step in {text} for part in step]"
        return Node(text_op("results of steps", f"*{text}", "starred"), (values,), (), LIST)

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


def _if_long(run: list[Sequence[Node]]) -> Iterator[list[Sequence[Node]]]:
    if len(run) > 3:
        yield run
    else:
        yield from [[row] for row in run]
