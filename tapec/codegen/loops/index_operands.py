"""Turn the numbers of indices into operands while loops are looked for.

An operation that reads `x[3]` in one step and `x[4]` in the next is then the same operation on another number. Numbers
that are the same in all steps go back into the index afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.schedule.order import views_late
from tapec.ir import CONSTANT, Graph, Node, OpTable, constant, get_op, is_literal
from tapec.ir.static_index import Slice, Slot
from tapec.ir.types import Type

__all__ = ["FIRST", "exchanged", "lifted", "put_numbers_back"]

FIRST = OpTable({"getitem": 1, "scatter": 1, "setitem": 2})  # the first operand that is of the index


def lifted(graph: Graph) -> Graph:
    """Return the program, with those numbers of indices that differ as operands."""
    alike = Counter([_kind(n) for n in graph.nodes if n.op in FIRST])
    numbers = {n.value: n for n in graph.nodes if is_literal(n) and type(n.value) is int}
    new = turned(graph.nodes)
    nodes: list[Node] = []
    for node in graph.nodes:
        if node in new:
            nodes.append(new[node])
            continue
        inputs = tuple([new.get(i, i) for i in node.inputs])
        params = node.params
        plain = node.op in FIRST and len(inputs) == FIRST[node.op]
        if plain and alike[_kind(node)] >= tuning.INDEX_OPERANDS_MIN_OPS:
            found: list[int] = []
            index = exchanged(node.param("index"), found)
            inputs += tuple([numbers.setdefault(n, constant(n)) for n in found])
            params = tuple([(k, index if k == "index" else v) for k, v in params])
        if inputs != node.inputs:
            new[node] = node = Node(node.op, inputs, params, node.type, node.origin, node.name, node.role, node.bodies)
        nodes.append(node)
    first = dict.fromkeys(numbers.values())
    order = [*first, *views_late([n for n in nodes if n not in first])]
    return Graph(graph.inputs, order, [new.get(o, o) for o in graph.outputs], graph.name)


def turned(nodes: Sequence[Node]) -> dict[Node, Node]:
    """Return the constant matrices that are others transposed, as `transpose` of these.

    So what the first step begins with is read like what the others find.
    """
    matrices = [n for n in nodes if n.op is CONSTANT and n.type.ndim == 2][: tuning.TRANSPOSED_CONSTANTS_MAX]
    found: dict[Node, Node] = {}
    for k, node in enumerate(matrices):
        for other in matrices[:k]:
            same = other.type == Type(node.type.shape[::-1], node.type.dtype)
            if same and other not in found and np.array_equal(node.value, other.value.T):
                found[node] = Node(get_op("transpose"), (other,), (("axes", (1, 0)),), node.type)
                break
    return found


def put_numbers_back(nodes: Iterable[Node]) -> None:
    """Put numbers back into indices, where they still are numbers."""
    for node in nodes:
        first = FIRST.get(node.op)
        if first is None or not any(map(is_literal, node.inputs[first:])):
            continue
        operands = node.inputs[first:]
        kept = [i for i in operands if not is_literal(i)]
        places: list[Any] = [i.value if is_literal(i) else Slot(kept.index(i)) for i in operands]
        index = exchanged(node.param("index"), [], places)
        node.inputs = (*node.inputs[:first], *kept)
        node.params = tuple([(k, index if k == "index" else v) for k, v in node.params])


def _kind(node: Node) -> Any:
    """Return a key that stays the same where only numbers in the index differ."""
    return node.op, node.type, node.inputs[0].type, len(node.param("index"))


def exchanged(index: tuple[Any, ...], numbers: list[int], places: Sequence[Any] = ()) -> tuple[Any, ...]:
    """Return an index with an operand for each of its numbers, which are put on the list.

    If `places` are given, operands are replaced by these instead.
    """

    def other(part: Any) -> Any:
        if type(part) is Slice:
            return Slice(*map(other, part))
        if places:
            return places[part.k] if type(part) is Slot else part
        if type(part) is not int:
            return part
        numbers.append(part)
        return Slot(len(numbers) - 1)

    return tuple(map(other, index))
