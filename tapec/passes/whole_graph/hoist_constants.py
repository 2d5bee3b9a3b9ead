"""The pass `shared_multiples` multiplies a value by the number by which all products of the value are multiplied.

    2.0 * (g * x), 2.0 * (g * y), 2.0 * (g * z)         h = 2.0 * g;  h * x, h * y, h * z

The gradients of sums of squares, `x * x + y * y + z * z`, have this form. Where `g` is a number times something
already, the two numbers become one. The pass changes cotangents only, where the order of factors is free.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Builder, Graph, Node, OpSet, ops, prune
from tapec.ops import Symbol
from tapec.passes.engine.node_facts import far_from_overflow, number_and_rest, uniform_value
from tapec.passes.engine.use_counts import Uses
from tapec.passes.engine.value_numbering import heads
from tapec.passes.whole_graph.conditions import is_multiple

__all__ = ["shared_multiples"]

FACTORED = OpSet("multiply divide")


class Multiple(NamedTuple):
    """A node `product * number`, where nothing else reads the product."""

    whole: Node
    product: Node
    number: float


def shared_multiples(graph: Graph) -> Graph:
    """Multiply values, rather than each of their products, by a number."""
    groups = by_factor(multiples(graph))
    if not groups:
        return graph
    uses = Uses(graph)
    found: dict[Node, list[Multiple]] = {}
    taken: set[Node] = set()  # products that an earlier factor took with it
    for factor, group in groups:
        if is_read_nowhere_else(factor, group, uses) and taken.isdisjoint([m.whole for m in group]):
            found[factor] = group
            taken.update([m.whole for m in group])
    return prune(Gathering(graph, found).run()) if found else graph


def multiples(graph: Graph) -> list[Multiple]:
    """Return the products and quotients among cotangents that are multiplied by numbers, in order."""
    places = [at for head, at in heads(graph).items() if is_multiple(head)]
    found = [multiple_of(graph.nodes[k]) for k in sorted(chain.from_iterable(places))]
    return [m for m in found if m is not None]


def multiple_of(node: Node) -> Multiple | None:
    """Return a product or quotient among cotangents, and the Python number by which it is multiplied; else None."""
    product, k = node.inputs
    if product.op is CONSTANT:
        product, k = k, product
    if product.op not in FACTORED or product.role is None or product.type != node.type:
        return None
    number: Any = uniform_value(k) if k.type.weak else None
    if type(number) not in (int, float) or not far_from_overflow(node, number):
        return None
    return Multiple(node, product, float(number))


def by_factor(found: list[Multiple]) -> list[tuple[Node, list[Multiple]]]:
    """Return the values that are read in several products with one number, each with these products."""
    groups: dict[tuple[Node, float], list[Multiple]] = {}
    for m in found:
        for factor in factors_of(m.product):
            groups.setdefault((factor, m.number), []).append(m)
    return [(factor, group) for (factor, _), group in groups.items() if len(group) > 1]


def is_read_nowhere_else(factor: Node, group: list[Multiple], uses: Uses) -> bool:
    """Return whether nothing but the group reads the factor, and nothing else reads one of the products."""
    return uses.of(factor) == len(group) and all([uses.of(m.product) == 1 for m in group])


def factors_of(product: Node) -> list[Node]:
    """Return the factors that may be multiplied in place of a product: cotangents as large as the product."""
    a, b = product.inputs
    candidates = () if a is b else (a, b) if product.op is ops.multiply else (a,)
    return [f for f in candidates if f.role is not None and f.type == product.type and uniform_value(f) is None]


class Gathering(Builder):
    """One walk over the graph, which makes the graph anew with the multiplied values."""

    def __init__(self, graph: Graph, found: dict[Node, list[Multiple]]):
        super().__init__()
        self.start = graph
        self.numbers = {factor: group[0].number for factor, group in found.items()}
        self.products = {m.whole: m.product for group in found.values() for m in group}
        self.new: dict[Node, Node] = {}

    def run(self) -> Graph:
        """Copy the graph, with each found value multiplied, and each multiple replaced by its product."""
        new, graph = self.new, self.start
        for node in graph.nodes:
            if node.op is CONSTANT:
                new[node] = self.add(node)
                continue
            made = self.products.get(node, node)
            inputs = tuple([new.get(i, i) for i in made.inputs])
            if inputs != node.inputs:
                made = Node(made.op, inputs, made.params, node.type, node.origin, node.name, node.role, made.bodies)
            new[node] = self.append(made) if node not in self.numbers else self.times(made, self.numbers[node])
        return Graph(graph.inputs, self.nodes, [new.get(o, o) for o in graph.outputs], graph.name)

    def times(self, node: Node, number: float) -> Node:
        """Return a value times a number, in one operation where the value is itself a number times something."""
        self.origin, self.role = node.origin, node.role
        known: Any = None
        rest = node
        if node.op is ops.multiply:
            known, rest = number_and_rest(node)
        if rest.type == node.type and type(known) in (int, float) and far_from_overflow(node, known):
            number *= known
        else:
            rest = self.append(node)
        product: Any = Symbol(rest, self) * number
        return product.node
