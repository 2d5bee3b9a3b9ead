"""Put sums and products of derivatives into the order in which a person writes them.

    x * 2.0                       2.0 * x
    x * a * 2.0                   2.0 * x * a
    d + x * -4.0                  d - 4.0 * x
    third + second + first        first + second + third       by the places in the program from which they come
    x * (1.0 / x.size)            x / x.size                   of few elements: to divide takes longer
    x.sum() * (1.0 / x.size)      x.mean()                     where the number comes from the size that is added up
    x * (1.0 / s)                 x / s                        of few elements
    np.where(c, x / n, y / n)     np.where(c, x, y) / n        of few elements
    x * s                         s * x                        where s has no axes

Reverse mode comes to the last use of a value first, and the rules move numbers outwards. A number with an expression
for its name stays last, as in `r * (2.0 / r.size)`. Sums of three and more large arrays stay as they are: the last
parts would have to be kept until the first is there.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain, pairwise
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import INPUT, Graph, Node, Op, OpSet, constant, is_literal, ops, replaced
from tapec.ir.cost import elements
from tapec.ir.sizes import has_size, inverse_of, is_size, multiple_text, positive_name, sizes_in
from tapec.ops.indexing.getitem_and_scatter import SCATTER
from tapec.passes import tuning
from tapec.passes.whole_graph.fewer_signs import with_fewer_signs

__all__ = ["in_written_order"]

SUMS = OpSet("add subtract")
PRODUCTS = OpSet("multiply divide")
ORDERED = OpSet("add subtract multiply where")


class Term(NamedTuple):
    """Describes a part of a sum: its node before and now, whether it is taken away, and its place, if that is known."""

    node: Node
    now: Node
    minus: bool
    place: Any


def in_written_order(graph: Graph) -> Graph:
    """Write sums of derivatives in the order of the program, and numbers first in products."""
    graph = with_fewer_signs(graph)
    ours = [
        n for n in graph.nodes if n.role is not None and (n.op in SUMS or n.op is ops.multiply or n.op is ops.where)
    ]
    if not ours:
        return graph
    uses = Counter(chain(chain.from_iterable([n.inputs for n in graph.nodes]), graph.outputs))
    is_capped = any([is_literal(n) and tuning.CAPS_MIN < abs(n.value) < math.inf for n in graph.nodes])
    writing = _Writing(uses, any([i.role is not None for i in graph.inputs]), is_capped)
    inner = {n.inputs[0] for n in ours if n.op in SUMS and writing.goes_on(n)}
    found = {n for n in ours if n not in inner and writing.is_unordered(n)}
    return replaced(graph, found, writing.written) if found else graph


def _is_unordered_product(node: Node) -> bool:
    a, k = node.inputs
    is_plain = is_literal(k) and k.name is None and not is_literal(a)
    return is_plain or _mean_of(node) is not None or _quotient_of(node) is not None


def _quotient_of(node: Node) -> tuple[Node, Node] | None:
    """Return the value and the size of which a product is the quotient; None for one with another number, or large."""
    a, k = node.inputs[::-1] if is_literal(node.inputs[0]) else node.inputs
    size = inverse_of(k.name) if is_literal(k) and k.name is not None else None
    if size is None or a.type != node.type or is_literal(a):
        return None
    n = round(1 / k.value)
    is_same = 1.0 / n == k.value and node.type.dtype.kind == "f" and elements(node) <= tuning.DIVIDED_MAX_ELEMENTS
    return (a, constant(n, size)) if is_same else None


def _mean_of(node: Node) -> Node | None:
    """Return the sum over an axis of rows of which a product is the mean, or its negative; None for another product."""
    k, total = node.inputs if is_literal(node.inputs[0]) else node.inputs[::-1]
    if not is_literal(k) or k.name is None or total.op is not ops.sum or total.role is None or node.role is None:
        return None
    x, axes = total.inputs[0], total.param("axis")
    axis = axes[0] if len(axes) == 1 else 0
    if not axis or x.type.dtype != node.type.dtype or node.type.dtype.char not in "fd":
        return None
    sizes = [size for size, _, _ in sizes_in(k.name)]
    is_mean = k.name in [multiple_text(one, "/", size) for one in (1.0, -1.0) for size in sizes]
    return total if is_mean and has_size(x, axis, sizes[0]) else None


class _Writing:
    """Writes sums and products in order. `uses` are the use counts of the nodes of the graph as it was.

    In a step, which takes derivatives from the step before, these come first in sums, as everywhere. Where values are
    capped at the largest numbers, so that zero times them is zero, no number is multiplied by another factor.
    """

    def __init__(self, uses: Counter[Node], is_step: bool, is_capped: bool):
        self.uses = uses
        self.is_step = is_step
        self.is_capped = is_capped

    def written(self, node: Node, moved: Node, nodes: list[Node]) -> Node:
        if node.op is ops.where:
            size = self.common_divisor(node, moved)
            made = moved if size is None else _choice(moved, size, nodes)
        elif node.op is ops.multiply:
            total, quotient = _mean_of(moved), _quotient_of(moved)
            if total is not None:
                made = _mean(node, total, nodes)
            elif quotient is not None:
                nodes.append(quotient[1])
                made = _made(node, ops.divide, quotient, nodes)
            elif (ratio := self.ratio_of(node, moved)) is not None:
                made = _made(node, ops.divide, ratio, nodes)
            elif is_literal(moved.inputs[1]):
                made = self.product(node, moved, nodes)
            else:
                made = _made(node, ops.multiply, moved.inputs[::-1], nodes)
        else:
            made = self.sum(node, moved, nodes)
        made.name, made.origin, made.type = node.name, node.origin, node.type
        return made

    # -- products -----------------------------------------------------------------------------------------------------
    def is_unordered(self, node: Node) -> bool:
        """Return whether a sum or a product is to be written in another way."""
        if node.op in SUMS:
            return self.is_unordered_sum(node)
        if node.op is ops.where:
            return self.common_divisor(node, node) is not None
        return self.ratio_of(node, node) is not None or _is_unordered_product(node) or self.is_scaled(node)

    def is_scaled(self, node: Node) -> bool:
        """Return whether an array without a number in front, which would stay there, is multiplied by a scalar."""
        a, k = node.inputs
        return not k.type.shape and bool(a.type.shape) and not is_literal(k) and self.leading(a) is None

    # -- choices ------------------------------------------------------------------------------------------------------
    def common_divisor(self, node: Node, now: Node) -> Node | None:
        """Return the size that both sides of a choice are divided by, if that is to come after the choice."""
        if node.type.dtype.kind != "f" or elements(node) > tuning.DIVIDED_MAX_ELEMENTS or self.is_capped:
            return None
        a, b = [self.divisor(*sides) for sides in zip(node.inputs[1:], now.inputs[1:])]
        return a if a is not None and b is not None and (a.value, a.name) == (b.value, b.name) else None

    def divisor(self, node: Node, now: Node) -> Node | None:
        """Return the size by which a value is divided, or the first of the factors of which it is the product."""
        while node.role is not None and self.uses[node] == 1:
            if now.op is ops.divide:
                k = now.inputs[1]
                return k if is_literal(k) and k.name is not None and is_size(k.name) else None
            if now.op is not ops.multiply or node.op is not ops.multiply:
                break
            if (quotient := _quotient_of(now)) is not None:
                return quotient[1]
            node, now = node.inputs[0], now.inputs[0]
        return None

    def ratio_of(self, node: Node, now: Node) -> tuple[Node, Node] | None:
        """Return x and s where the factors of a product are x and 1 / s; None where they are not."""
        if node.type.dtype.kind != "f" or elements(node) > tuning.DIVIDED_MAX_ELEMENTS or self.is_capped:
            return None
        for k, factor in enumerate(node.inputs):
            a, b = now.inputs[1 - k], now.inputs[k]
            if factor.op is ops.divide and factor.role is not None and self.uses[factor] == 1 and a.type == node.type:
                one, divisor = b.inputs if b.op is ops.divide else (b, b)
                if is_literal(one) and one.value == 1 and one.name is None and not is_literal(divisor):
                    return None if is_literal(a) else (a, divisor)
        return None

    def product(self, node: Node, now: Node, nodes: list[Node]) -> Node:
        """Put the number of a product in front of its first factor, or of all where there are many."""
        inner, k = now.inputs
        is_safe = 2.0**-10 < abs(k.value) < 2.0**10 and not self.is_capped
        before, most = node.inputs[0], tuning.ORDERED_PRODUCT_MAX_FACTORS if is_safe else 0
        factors: list[Node] = []  # after the first
        while len(factors) < most and self.goes_into(before, inner):
            factors.append(inner)
            before, inner = before.inputs[0], inner.inputs[0]
        if len(factors) == most:
            inner, factors = now.inputs[0], []
        made = _made(now, ops.multiply, (k, inner), nodes)
        for factor in reversed(factors):
            made = _made(now, ops.multiply, (made, factor.inputs[1]), nodes)
        return made

    def goes_into(self, node: Node, now: Node) -> bool:
        """Return whether to multiply the first factor of a product is as good as to multiply the product.

        It takes no more memory where the factor is a new array.
        """
        if node.role is None or self.uses[node] != 1 or node.op is not ops.multiply or now.op is not node.op:
            return False
        a, b = now.inputs
        before = node.inputs[0]
        is_new = before.role is not None and self.uses[before] == 1 and not before.op.view
        is_small = elements(now) <= tuning.ORDERED_PRODUCT_MAX_ELEMENTS
        return (is_new or is_small) and a.type == now.type and not is_literal(a) and not is_literal(b)

    # -- sums ---------------------------------------------------------------------------------------------------------
    def goes_on(self, node: Node) -> bool:
        """Return whether the first part of a sum is a sum that nothing else reads."""
        a = node.inputs[0]
        is_sum = a.op in SUMS and a.role is not None and self.uses[a] == 1 and a.type == node.type
        return is_sum and _code(a.origin) is _code(node.origin)

    def terms(self, node: Node, now: Node) -> list[Term]:
        """Return the parts of a sum. Each comes from where it is added, the first one from where it was made."""
        found = []
        while True:
            found.append(Term(node.inputs[1], now.inputs[1], node.op is ops.subtract, node.origin))
            if not self.goes_on(node):
                break
            node, now = node.inputs[0], now.inputs[0]
        a, b = node.inputs
        found.append(Term(a, now.inputs[0], False, None if a.role is None else a.origin))
        if node.op is ops.subtract and b.role is not None and b.origin != node.origin == a.origin:
            found[-2:] = found[-1], found[-2]._replace(place=b.origin)  # that was there, and the other one was added
        return found[::-1]

    def is_unordered_sum(self, node: Node) -> bool:
        terms = self.terms(node, node)
        is_real = node.type.dtype.kind == "f"
        return is_real and (self.in_order(terms) is not terms or any([self.turns(t, terms) for t in terms[1:]]))

    def turns(self, term: Term, terms: list[Term]) -> bool:
        """Return whether a part of a sum had better have the other sign, and its number, too.

        What is multiplied by a negative number is taken away; but what fills a place of its own is not.
        """
        k = self.leading(term.node)
        if k is None:
            return False
        return term.minus and k.name is None if _fill_places(terms) else k.value < 0

    def leading(self, node: Node) -> Node | None:
        """Return the number in front of a product, or of what is put among zeros, if its opposite can be written."""
        while self.uses[node] == 1 and node.role is not None and node.inputs:
            k = node.inputs[0]
            if node.op in PRODUCTS and (is_literal(k) or is_literal(node.inputs[1])):
                k = k if is_literal(k) or node.op is ops.divide else node.inputs[1]
                is_known = is_literal(k) and (k.name is None or positive_name(k.name) is not None)
                return k if is_known else None
            if node.op not in PRODUCTS and node.op is not SCATTER:
                return None
            node = k
        return None

    def sum(self, node: Node, now: Node, nodes: list[Node]) -> Node:
        """Add the parts up in order, each with the sign that is best."""
        terms = self.in_order(self.terms(node, now))
        added = [k for k, t in enumerate(terms) if not t.minus]
        first = next((k for k in added if not self.turns(terms[k], terms)), added[0])
        total = terms[first].now
        if terms[first].node.op is SCATTER and (terms[0].node.op is not SCATTER or not terms[0].minus):
            first, total = 0, _negative(terms[0].now, nodes) if terms[0].minus else terms[0].now
        for k, term in enumerate(terms):
            if k != first:
                turns = self.turns(term, terms)
                op = ops.add if term.minus is turns else ops.subtract
                value = _beside(total, _without_sign(term.now, nodes), op) if turns else term.now
                total = _made(node, op, (total, value), nodes, term.place)
        return total

    def in_order(self, terms: list[Term]) -> list[Term]:
        """Return the parts of a sum in the order of the program; values among zeros come last."""
        first, *others = terms
        codes = [_code(t.place) for t in others]
        if None in codes or any([code is not codes[0] for code in codes]):
            return terms
        whole = [t for t in terms if t.node.op is not SCATTER]
        if _fill_places(terms):
            return terms  # what is computed for single places may hold large arrays
        if self.is_step or first.node.op is INPUT:
            if whole != [first]:
                return terms
        elif _code(first.place) is codes[0]:
            others = terms
        elif len(others) < 2:
            return terms
        if not all([a.place[1] > b.place[1] for a, b in pairwise(others)]) or self.is_late(whole):
            return terms
        found = [*whole[::-1], *[t for t in reversed(terms) if t.node.op is SCATTER]]
        return terms if all([a is b for a, b in zip(found, terms)]) else found

    def is_late(self, terms: list[Term]) -> bool:
        """Return whether parts are better added in the order in which they are computed: large ones, and those of
        which one is computed from another.
        """
        values = {t.node for t in terms}
        if len({n.type.shape for n in values if not is_literal(n)}) > 1:
            return True
        if len(terms) > 2 and elements(terms[0].node) > tuning.ORDERED_MAX_ELEMENTS:
            return True
        return any([not values.isdisjoint(_below(n)) for n in values])


def _code(place: Any) -> Any:
    return None if place is None else place[0]


def _fill_places(terms: list[Term]) -> bool:
    """Return whether all parts of a sum are put among zeros, and one of them in few places."""
    parts = [t.node.inputs[0] for t in terms if t.node.op is SCATTER]
    return len(parts) == len(terms) and 2 * min(map(elements, parts)) < elements(terms[0].node)


def _below(node: Node) -> set[Node]:
    """Return what a value is computed of among derivatives, as far as a few operations go."""
    found: set[Node] = set()
    left = [node]
    while left and len(found) < tuning.ORDERED_PART_MAX_OPS:
        more = [i for i in left.pop().inputs if i.role is not None and i not in found]
        found.update(more)
        left += more
    return found


def _negative(node: Node, nodes: list[Node]) -> Node:
    """Return the opposite of a value, which is another number in front of a product."""
    if node.op is not ops.multiply or not is_literal(node.inputs[0]) or node.inputs[0].name is not None:
        return _made(node, ops.negative, (node,), nodes)
    k = constant(-node.inputs[0].value)
    nodes.append(k)
    return _made(node, ops.multiply, (k, node.inputs[1]), nodes)


def _mean(node: Node, total: Node, nodes: list[Node]) -> Node:
    """Append the mean that a product with a sum is."""
    made = Node(ops.mean, total.inputs, total.params, node.type, total.origin, None, node.role)
    nodes.append(made)
    is_negative = any([is_literal(i) and i.value < 0 for i in node.inputs])
    return _made(node, ops.negative, (made,), nodes) if is_negative else made


def _without_sign(node: Node, nodes: list[Node]) -> Node:
    """Return the opposite of a product, or of what it puts among zeros, by that of its number if it has one."""
    if node.op is ops.negative:
        return node.inputs[0]
    if node.op not in PRODUCTS and node.op is not SCATTER:
        return _made(node, ops.negative, (node,), nodes)  # the number has gone, as where 1 / s was multiplied by
    if node.op is ops.multiply and is_literal(node.inputs[1]):
        node = node.with_inputs(node.inputs[::-1])
    k, *others = node.inputs
    if is_literal(k):
        name = k.name and positive_name(k.name)
        k = constant(int(-k.value) if name and is_size(name) and others[0].type.dtype.kind == "f" else -k.value, name)
        nodes.append(k)
        if k.value == 1 and node.op is ops.multiply and others[0].type == node.type:
            return others[0]
    else:
        k = _without_sign(k, nodes)
    made = node.with_inputs((k, *others))
    made.name = made.of = None  # it is the opposite of what is called so
    nodes.append(made)
    return made


def _choice(now: Node, size: Node, nodes: list[Node]) -> Node:
    """Divide by a size after a choice instead of before."""
    sides = [_undivided(i, nodes) for i in now.inputs[1:]]
    return _made(now, ops.divide, (_made(now, ops.where, (now.inputs[0], *sides), nodes), size), nodes)


def _undivided(node: Node, nodes: list[Node]) -> Node:
    """Return what a value is before the division in it, or in its first factor."""
    quotient = node.inputs if node.op is ops.divide else _quotient_of(node)
    if quotient is not None:
        return quotient[0]
    return _made(node, ops.multiply, (_undivided(node.inputs[0], nodes), node.inputs[1]), nodes)


def _beside(total: Node, value: Node, op: Op) -> Node:
    """Return what is added to a total: whole numbers in place of their products with 1.0, if that is the same."""
    if value.op is ops.multiply and is_literal(value.inputs[0]) and value.inputs[0].value == 1:
        x = value.inputs[1]
        if x.type.shape == value.type.shape and op.rule(total.type, x.type) == op.rule(total.type, value.type):
            return x
    return value


def _made(like: Node, op: Op, inputs: tuple[Node, ...], nodes: list[Node], origin: Any = None) -> Node:
    """Append an operation of the kind of another one, and return it."""
    node = Node(op, inputs, (), op.rule(*[i.type for i in inputs]), origin or like.origin, None, like.role)
    nodes.append(node)
    return node
