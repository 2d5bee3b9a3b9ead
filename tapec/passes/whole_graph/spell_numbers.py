"""Write numbers that come from sizes as they came about: `2.0 / y.size` for 0.03125, where a mean is of 64 values.

Derivatives of means divide by a size, and rules fold what they divide into one number. To find out which numbers these
are, the passes run once more on the same program with other numbers in the place of the sizes:

    d = multiply 0.03125, r     64 values       ->  2 / 64
    d = multiply 0.00019984..., r     10007 values

A number that has become that multiple of the other size comes from it, and gets the quotient for a name; code
generation reads the size from an argument then. All others stay numbers, whatever they are equal to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from tapec.ir import CONSTANT, Graph, Node, constant, is_literal, ops
from tapec.ir.sizes import tells_size
from tapec.passes import tuning

__all__ = ["with_numbers_spelled"]

FACTORS = (1.0, 2.0, 0.5, 3.0, 4.0, 1.5, 0.25, 6.0)  # of a size in a quotient that reads well, besides those written
OTHERS = (10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079, 10091, 10093)  # primes: sizes that nobody has


def with_numbers_spelled(lean: Graph, graph: Graph, run: Callable[[Graph], Graph]) -> Graph:
    """Return what passes have made of a graph, with names for numbers that come from sizes.

    `run` are the passes. No number has a name where other sizes lead to another program, nor in a program of so many
    operations that to run the passes once more takes long.
    """
    found = {n: _parted(n) for n in graph.nodes if n.name is not None and tells_size(n.name)}
    others = dict(zip(dict.fromkeys([size for _, size, _ in found.values()]), OTHERS, strict=False))
    told = {n: parts for n, parts in found.items() if parts[1] in others}
    if not told:
        return lean
    if len(graph.nodes) > tuning.SPELLED_MAX_NODES:
        return _named(lean, None, None)
    changed = {n: others[size] if c is None else c / others[size] for n, (c, size, _) in told.items()}
    twins = _twins(lean, run(_with_numbers(graph, changed)))
    if twins is None:
        return _named(lean, None, None)
    dividends = [abs(c) for c, _, _ in told.values() if c is not None]
    written = [abs(float(n.value)) for n in graph.nodes if n not in told and _is_factor(n)]
    factors = dict.fromkeys([*dividends, *FACTORS, *written])
    known = dict.fromkeys([(n, others[size], size) for _, size, n in told.values()])

    def text_of(value: Any, now: Any) -> str | None:
        return next((t for size in known for c in factors if (t := _quotient(value, now, c, *size))), None)

    return _named(lean, twins, text_of)


def _parted(node: Node) -> tuple[float | None, str, int]:
    """Return the dividend of a number that was divided by a size, None for a size itself; its name, and the size."""
    value = node.param("value")
    dividend, _, size = str(node.name).rpartition(" / ")
    return (float(dividend), size, round(float(dividend) / value)) if dividend else (None, size, value)


def _is_factor(node: Node) -> bool:
    """Return whether a node is a number that may stand over a size."""
    return is_literal(node) and type(node.value) in (int, float) and node.value != 0 and math.isfinite(node.value)


def _quotient(value: Any, now: Any, factor: float, size: int, other: int, name: str) -> str | None:
    """Write a number that became `now`, as the size became another one: as the size, or a factor over it."""
    if type(value) is int:
        return name if (value, now) == (size, other) else None
    if not isinstance(value, float):
        return None  # a quotient is a real number, also where an array of complex numbers is filled with it
    for c in (factor, -factor):
        if c / size == value and math.isclose(c / other, now, rel_tol=1e-14):
            return f"{c!r} / {name}"
    return None


def _with_numbers(graph: Graph, values: Mapping[Node, float]) -> Graph:
    """Return a graph with other numbers for some, which are literals or fill arrays."""
    new: dict[Node, Node] = {}
    for n, v in values.items():
        params = tuple([(key, v if key == "value" else x) for key, x in n.params])
        new[n] = constant(v) if is_literal(n) else Node(n.op, (), params, n.type, n.origin, None, n.role)
    nodes = []
    for node in graph.nodes:
        inputs = tuple([new.get(i, i) for i in node.inputs])
        if node not in new and inputs != node.inputs:
            new[node] = node.with_inputs(inputs)
        nodes.append(new.get(node, node))
    made = Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name)
    made.past = graph.past
    return made


def _twins(lean: Graph, other: Graph) -> dict[Node, Node] | None:
    """Map the nodes of a program to those of another one that is the same but for numbers; None where it is not."""
    a, b = ([n for n in g.nodes if not is_literal(n)] for g in (lean, other))
    if len(a) != len(b):
        return None
    twins = dict(zip([*lean.inputs, *a], [*other.inputs, *b]))
    for x, y in zip(a, b):
        alike = x.op is y.op and x.type == y.type and (x.op is ops.full or _are_equal(x, y))
        pairs = zip(x.inputs, y.inputs)
        if not alike or len(x.inputs) != len(y.inputs) or not all([_is_twin(i, j, twins) for i, j in pairs]):
            return None
    return twins if all([_is_twin(i, j, twins) for i, j in zip(lean.outputs, other.outputs)]) else None


def _are_equal(x: Node, y: Node) -> bool:
    """Return whether nodes of one op and type have the same parameters, and constants the same bytes."""
    if x.op is CONSTANT:
        return x.value is y.value or x.value.tobytes() == y.value.tobytes()
    return x.params == y.params


def _is_twin(x: Node, y: Node, twins: Mapping[Node, Node]) -> bool:
    return (is_literal(y) and x.type == y.type) if is_literal(x) else twins.get(x) is y


def _named(lean: Graph, twins: Mapping[Node, Node] | None, text_of: Callable[[Any, Any], str | None] | None) -> Graph:
    """Return a program in which each use of a number that comes from a size has a number of that name.

    Without twins none has such a name: rules may have put one number in the place of an equal one.
    """
    new: dict[Node, Node] = {}
    made: dict[tuple[Node, str | None], Node] = {}
    nodes: list[Node] = []

    def number(old: Node, now: Node) -> Node:
        text = None if text_of is None else text_of(old.value, now.value)
        if text == old.name or (text is None and (old.name is None or not tells_size(old.name))):
            return old
        found = made.get((old, text))
        if found is None:
            found = made[old, text] = constant(old.value, text)
            nodes.append(found)
        return found

    for node in lean.nodes:
        if is_literal(node):
            nodes.append(node)
            continue
        twin = node if twins is None else twins[node]
        inputs = tuple([number(i, j) if is_literal(i) else new.get(i, i) for i, j in zip(node.inputs, twin.inputs)])
        moved = node if inputs == node.inputs else node.with_inputs(inputs)
        if node.op is ops.full:
            text = None if text_of is None else text_of(node.param("value"), twin.param("value"))
            if text is not None or (node.name is not None and tells_size(node.name)):
                moved = Node(node.op, inputs, node.params, node.type, node.origin, text, node.role)
        if moved is not node:
            new[node] = moved
        nodes.append(moved)
    if not new:
        return lean
    outputs = [new.get(o, o) for o in lean.outputs]
    read = {i for n in nodes for i in n.inputs}.union(outputs)
    kept = [n for n in nodes if n.op is not CONSTANT or n in read]
    return Graph(lean.inputs, kept, outputs, lean.name)
