"""Name the outputs of a program with branches: the tests by which a path is chosen, and the results of each path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tapec.ir import Graph, is_literal
from tapec.ir.decision_tree import Branch, Leaf, Tree
from tapec.ir.source_location import place_of
from tapec.report.graph_picture.box_labels import short
from tapec.report.graph_picture.picture_layout import Mark

__all__ = ["marks_of"]

LABEL_CHARACTERS = 40

Taken = tuple[tuple[int, Any], ...]  # outputs that are tests, with the values that they have on a path


def marks_of(graph: Graph, tree: Tree | None) -> list[Mark]:
    """Return what the picture calls each output of a graph."""
    if tree is None:
        return named(graph)
    marks = [Mark("", "", "")] * len(graph.outputs)  # also of what says which path was taken, which nobody else reads
    for leaf, taken in leaves(tree):
        results = [k for k in leaf.outputs if not is_literal(graph.outputs[k])]
        for place, k in enumerate(results):
            title = graph.outputs[k].name or (f"result {place}" if len(results) > 1 else "result")
            also = f"{marks[k].subtitle} or " if marks[k].subtitle else ""
            marks[k] = Mark(title, short(also + conditions(graph, taken), LABEL_CHARACTERS))
    for k in tests(tree):
        marks[k] = Mark("test", short(test_text(graph, k), LABEL_CHARACTERS), "test")
    return marks


def named(graph: Graph) -> list[Mark]:
    """Name outputs as the user, or the transform, called them."""
    several = len([o for o in graph.outputs if not o.name]) > 1
    return [Mark(o.name or (f"result {k}" if several else "result")) for k, o in enumerate(graph.outputs)]


def leaves(tree: Tree, taken: Taken = ()) -> Iterator[tuple[Leaf, Taken]]:
    if isinstance(tree, Leaf):
        yield tree, taken
        return
    for value, below in tree.cases:
        yield from leaves(below, (*taken, (tree.output, value)))


def tests(tree: Tree) -> Iterator[int]:
    if isinstance(tree, Branch):
        yield tree.output
        for _, below in tree.cases:
            yield from tests(below)


def test_text(graph: Graph, k: int) -> str:
    origin = graph.outputs[k].origin
    return (place_of(origin).text if isinstance(origin, tuple) else "") or f"output {k}"


def conditions(graph: Graph, taken: Sequence[tuple[int, Any]]) -> str:
    """Write when a path is taken: `if x > 0`, `if not x > 0`, `if n is 3`; of many tests the last ones."""
    if not taken:
        return ""
    words = [_condition(test_text(graph, k), value) for k, value in taken[-2:]]
    return "if " + ("… and " if len(taken) > 2 else "") + " and ".join(words)


def _condition(text: str, value: Any) -> str:
    if isinstance(value, bool):
        return text if value else f"not {text}"
    return f"{text} is {value}"
