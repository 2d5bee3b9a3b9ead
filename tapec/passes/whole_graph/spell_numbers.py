"""Write numbers that come from sizes as they came about: `2.0 / y.size` for 0.03125, where a mean is of 64 values.

Derivatives of means divide by a size, and rules fold what they divide into one number. A number that the user has not
written, and that is a short number over a size, gets that quotient for a name; code generation reads the size from an
argument then. What a user's numbers explain as well is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tapec.ir import CONSTANT, Graph, Node, constant, is_literal, ops
from tapec.ir.sizes import is_size
from tapec.passes import tuning

__all__ = ["Numbers", "numbers_of", "with_numbers_spelled"]

SHORT = (1.0, 2.0, 0.5, 3.0, 4.0, 1.5, 0.25, 6.0)


class Numbers:
    """The numbers of a program before rules change it: `sizes` have their expressions, `written` are the others."""

    def __init__(self, sizes: dict[int, str], written: set[float]):
        self.sizes = sizes
        self.written = written


def numbers_of(graph: Graph) -> Numbers | None:
    """Return the numbers of a program; None where no derivative divides by a size."""
    sizes = {n.value: n.name for n in graph.nodes if is_literal(n) and n.name is not None and is_size(n.name)}
    if not sizes:
        return None
    read = [i for n in graph.nodes if n.role is None for i in n.inputs if is_literal(i)]
    return Numbers(sizes, {float(i.value) for i in read if type(i.value) in (int, float)})


def with_numbers_spelled(graph: Graph, numbers: Numbers | None) -> Graph:
    """Return the program with names for numbers that are quotients by a size; the same graph when there are none."""
    if numbers is None:
        return graph
    known = set(_multiples(numbers.written))
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        value = node.value if node.op is CONSTANT else node.param("value") if node.op is ops.full else None
        if type(value) is float and node.name is None and abs(value) not in known:
            text = _quotient(value, numbers)
            if text is not None and node.op is CONSTANT:
                new[node] = constant(value, text)
            elif text is not None:
                new[node] = Node(node.op, (), node.params, node.type, node.origin, text, node.role)
    if not new:
        return graph
    nodes = []
    for node in graph.nodes:
        inputs = tuple([new.get(i, i) for i in node.inputs])
        if node not in new and inputs != node.inputs:
            new[node] = node.with_inputs(inputs)
        nodes.append(new.get(node, node))
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name)


def _multiples(written: Iterable[float]) -> Iterator[float]:
    """Give the numbers that a derivative may make of the user's alone."""
    yield from SHORT
    values = [abs(v) for v in written if v and math.isfinite(v)][: tuning.SPELLED_MAX_NUMBERS]
    for v in values:
        for k in SHORT:
            yield from (v * k, v / k, k / v)
        for other in values:
            yield from (v * other, v / other, 2.0 * v * other)


def _quotient(value: float, numbers: Numbers) -> str | None:
    """Write a number as a short one, or a short multiple of one of the user's, over a size; None where it is none."""
    for size, text in numbers.sizes.items():
        for c in (*SHORT, *sorted(abs(v) for v in numbers.written)):
            for k in (1.0, 2.0):
                if c and size > 1 and c * k / size == abs(value):
                    return f"{math.copysign(c * k, value)!r} / {text}"
    return None
