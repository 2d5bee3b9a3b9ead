"""Take signs out of derivatives where sums, numbers and other signs take them up.

    d = t * -g                     d = t * g
    d_u = -(d.sum(axis=0) * e)     d_u = d.sum(axis=0) * e
    d_v = -s - (d * x).sum()       d_v = (d * x).sum() - s
    d = -2 * (x * (-1 / y))        d = 2 * (x * (1 / y))

Rules move a sign from a value to the one that reads it, and cannot where several do. Here a sign goes on through all
readers at once, as far as products and sums over axes lead: to differences and sums, which become each other, to
numbers, and to signs, which cancel.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain

from tapec.ir import Graph, Node, OpSet, constant, is_literal, ops, replaced
from tapec.ir.cost import elements
from tapec.ir.sizes import positive_name
from tapec.ops.indexing.getitem_and_scatter import SCATTER
from tapec.passes import tuning

__all__ = ["with_fewer_signs"]

LINEAR = OpSet("sum mean reshape transpose getitem broadcast_to")
PRODUCTS = OpSet("multiply divide matmul")
SUMS = OpSet("add subtract")
STARTS = OpSet("negative multiply divide")


def with_fewer_signs(graph: Graph) -> Graph:
    """Return the graph without the signs of derivatives that need not be."""
    for _ in range(tuning.MOVED_SIGNS_MAX):
        flipped = next(filter(None, (_flipped(graph, k) for k in _starts(graph))), None)
        if flipped is None:
            break
        graph = _without(graph, flipped)
    return _turned(graph)


def _turned(graph: Graph) -> Graph:
    """Return the graph with `b - a` for `-(a - b)`."""
    found = [n for n in graph.nodes if n.op is ops.negative and n.role is not None and n.inputs[0].op is ops.subtract]
    if not found:
        return graph
    uses = Counter(chain(chain.from_iterable([n.inputs for n in graph.nodes]), graph.outputs))
    turned = {n for n in found if n.inputs[0].role is not None and uses[n.inputs[0]] == 1}
    return replaced(graph, turned, _difference) if turned else graph


def _difference(node: Node, now: Node, nodes: list[Node]) -> Node:
    nodes.append(Node(ops.subtract, now.inputs[0].inputs[::-1], (), node.type, node.origin, node.name, node.role))
    return nodes[-1]


def _starts(graph: Graph) -> list[int]:
    """Return the places of signs, and of numbers in products, from which a sign may go on, if two of them may meet."""
    ours = [(k, n) for k, n in enumerate(graph.nodes) if n.role is not None and n.op in STARTS and _is_real(n)]
    signs = [k for k, n in ours if n.op is ops.negative]
    numbers = [k for k, n in ours if n.op is not ops.negative and any([_is_number(i) for i in n.inputs])]
    negative = [k for k in numbers if _is_negative(graph.nodes[k])]
    found = [*signs, *numbers] if signs else negative if len(negative) > 1 else []
    return found[: tuning.MOVED_SIGNS_MAX]


def _is_real(node: Node) -> bool:
    return not node.op.multi and node.type.dtype.kind == "f"


def _flipped(graph: Graph, place: int) -> dict[Node, bool]:
    """Return the nodes that change as the sign at a place goes, or the number there gets another one, and whether they
    become their opposites; none where that leaves no fewer signs, or more work.
    """
    sign, outputs = graph.nodes[place], set(graph.outputs)
    found = {sign: True}
    gone, made = [sign] if sign.op is ops.negative else [], []
    numbers = [] if sign.op is ops.negative else [sign]  # of which the signs change
    for node in graph.nodes[place + 1 : place + tuning.MOVED_SIGN_MAX_OPS]:
        hit = [i for i in node.inputs if found.get(i)]
        if not hit:
            continue
        flips = _flips(node, [bool(found.get(i)) for i in node.inputs])
        is_other = sign.op is not ops.negative and node.op in SUMS  # where a number would change places with a sign
        if flips is None or is_other or (flips and node.name is not None and node not in outputs):
            return {}
        found[node] = flips
        if node.op is ops.negative:
            gone.append(node)
        elif not flips and node.op in PRODUCTS:
            numbers.append(node)
        if flips and node in outputs:
            made.append(node)
    fewer = len(gone) - len(made) or 2 * sum(map(_is_negative, numbers)) - len(numbers)
    if sign in outputs or fewer <= 0 or sum(map(elements, made)) > sum(map(elements, gone)):
        return {}
    opposites = {n for n, flips in found.items() if flips}
    late = {i for n in graph.nodes[place + tuning.MOVED_SIGN_MAX_OPS :] for i in n.inputs}
    return {} if opposites & late or any([i in made for n in graph.nodes for i in n.inputs]) else found


def _flips(node: Node, hit: list[bool]) -> bool | None:
    """Return whether a value becomes its opposite as operands do; None where it becomes something else."""
    if node.role is None or not _is_real(node) or node.bodies:
        return None
    if node.op is ops.negative:
        return False
    if node.op in SUMS:
        return all(hit) or (node.op is ops.subtract and hit[0])
    if node.op in PRODUCTS:
        return not all(hit) and not (node.op is not ops.matmul and any([_is_number(i) for i in node.inputs]))
    return True if node.op in LINEAR or (node.op is SCATTER and not any(hit[1:])) else None


def _is_negative(node: Node) -> bool:
    return any([_is_number(i) and i.value < 0 for i in node.inputs])


def _is_number(node: Node) -> bool:
    """Return whether a node is a number of which the opposite can be written."""
    return is_literal(node) and (node.name is None or positive_name(node.name) is not None)


def _without(graph: Graph, flipped: dict[Node, bool]) -> Graph:
    """Return the graph in which these nodes have changed."""
    outputs = set(graph.outputs)
    opposites: list[Node] = []
    restored: list[tuple[Node, Node]] = []  # opposites of opposites, with the nodes that had their values
    known: dict[Node, Node | None] = {}  # what values without their signs are the derivatives by

    def make(node: Node, now: Node, nodes: list[Node]) -> Node:
        if node.op is ops.negative:
            restored.append((now.inputs[0], node))
            known.setdefault(now.inputs[0], now.inputs[0].of)
            return now.inputs[0]
        hit = [bool(flipped.get(i)) for i in node.inputs]
        inputs, op = now.inputs, node.op
        if op in SUMS and not all(hit):
            op = ops.add if op is ops.subtract else ops.subtract
            inputs = inputs[::-1] if op is ops.subtract and hit[0] else inputs
        elif op in PRODUCTS and not (any(hit) and (all(hit) or flipped[node])):
            numbers = [constant(-i.value, i.name and positive_name(i.name)) for i in inputs if _is_number(i)]
            nodes += numbers
            inputs = tuple([numbers[0] if _is_number(i) else i for i in inputs])
        made = Node(op, inputs, node.params, node.type, node.origin, node.name, node.role)
        nodes.append(made)
        if flipped[node]:
            opposites.append(made)
        if flipped[node] and node in outputs:
            nodes.append(Node(ops.negative, (made,), (), node.type, node.origin, node.name, node.role))
        return nodes[-1]

    made = replaced(graph, flipped, make)
    for node, of in known.items():
        node.of = of
    for node in opposites:  # they are not what they were called
        node.name = node.of = None
    for node, before in restored:
        if node in opposites and node.name is None:
            node.name, node.of = before.name, before.of
    return made
