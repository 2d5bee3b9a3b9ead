"""Write sums of products without the product: `a.dot(b)`, `np.vdot`, `np.vecdot`, or an einsum.

A sum of terms of one sign is taken apart when one of them is such a product; what else there is is added up by itself:
`(100.0 * (t * t) + e * e).sum()` is `100.0 * t.dot(t) + e.dot(e)`, and `(-0.5 * (t * t) - exp(u) - 2.0).sum()`, for n
elements, is `-0.5 * t.dot(t) - exp(u).sum() - 2.0 * n`. Terms that may cancel one another, element by element, stay
together: apart they would cancel after they are added up, which can cost all digits.
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.numpy.target_ops import SUM_OF_PRODUCTS
from tapec.codegen.schedule.inlining import count_uses, is_view, readers_of
from tapec.ir import Graph, Node, Op, Type, constant, get_op, is_literal, ops, replaced
from tapec.ir.cost import elements
from tapec.ir.sizes import multiple_text, size_name
from tapec.passes.engine.node_facts import is_nonnegative

__all__ = ["contracted"]

Term = tuple[float, tuple[Node, ...]]  # a factor, and two arrays that are multiplied, or one value that is added up


def contracted(graph: Graph) -> Graph:
    """Return the program with sums of products of arrays of one shape as single operations."""
    if not any(n.op in (ops.sum, ops.mean) for n in graph.nodes):
        return graph
    graph = _with_numbers(graph)
    uses = count_uses(graph.nodes, graph.outputs)
    free = uses.keys() - _needed(graph, uses)
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    known: dict[Any, Node] = {}
    for node in graph.nodes:
        terms = _terms_of(node, free, uses)
        if terms is not None:
            moved = [(f, tuple([new.get(i, i) for i in operands])) for f, operands in terms]
            new[node] = _Summer(node, nodes, known).total(moved)
            continue
        inputs = tuple([new.get(i, i) for i in node.inputs])
        if inputs != node.inputs:
            new[node] = node = node.with_inputs(inputs)
        nodes.append(node)
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name) if new else graph


def _with_numbers(graph: Graph) -> Graph:
    """Return the program in which sums over all axes are numbers, where what reads them spreads them out anyway.

    The derivative of a softmax keeps axes of length one, which that of a vector does not need.
    """
    kept = {n for n in graph.nodes if _keeps_axes(n)}
    if not kept:
        return graph
    readers = readers_of(graph.nodes)
    bare = {n for n in kept if n not in graph.outputs and all([_spreads(r, kept) for r in readers.get(n, ())])}
    return replaced(graph, bare, _as_number) if bare else graph


def _keeps_axes(node: Node) -> bool:
    """Return whether a derivative is a sum over all axes, of which each has length one."""
    return node.op is ops.sum and node.role is not None and node.param("keepdims") and node.type.size == 1


def _spreads(reader: Node, kept: Container[Node]) -> bool:
    """Return whether an elementwise operation gives the same with numbers in place of sums that keep their axes."""
    others = [i.type.shape for i in reader.inputs if i not in kept]
    return reader.op.kind == "elementwise" and not reader.op.multi and reader.type.shape in others


def _as_number(_: Node, node: Node, nodes: list[Node]) -> Node:
    axes = ("axis", tuple(range(node.inputs[0].type.ndim)))
    t = Type((), node.type.dtype)
    nodes.append(Node(node.op, node.inputs, (axes, ("keepdims", False)), t, node.origin, node.name, node.role))
    return nodes[-1]


def _needed(graph: Graph, uses: dict[Node, int]) -> set[Node]:
    """Return the values that are read by anything besides sums that can be taken apart."""
    needed = set(graph.outputs)
    for node in reversed(graph.nodes):
        inner = node not in needed and uses.get(node) == 1 and _is_linear(node)
        if node in uses and not inner and not _is_taken_apart(node):
            needed.update(node.inputs)
    return needed


def _is_linear(node: Node) -> bool:
    """Return whether a node within a sum is taken apart."""
    return node.op in (ops.add, ops.subtract, ops.negative) or (node.op is ops.multiply and is_literal(node.inputs[0]))


class _Summer:
    """Makes the nodes that compute a sum or mean from its terms; the last of them has its name.

    `known` holds the sums that were made before: value and gradient share theirs.
    """

    def __init__(self, node: Node, nodes: list[Node], known: dict[Any, Node]):
        self.node = node
        self.nodes = nodes
        self.known = known

    def total(self, terms: list[Term]) -> Node:
        """Make the total of these terms, and the mean of it where one is wanted."""
        total: Node | None = None
        for factor, operands in terms:
            if total is None:
                total = self.multiple(factor, self.sum_of(operands))
            else:
                part = self.multiple(abs(factor), self.sum_of(operands))
                total = self.made(get_op("subtract" if factor < 0 else "add"), total, part)
        assert total is not None
        if self.node.op is ops.mean:
            size = size_name(self.node.inputs[0], self.node.param("axis"))
            total = self.made(get_op("divide"), total, self.number(self.count, size))
        if total.name is None:
            total.name = self.node.name
        return total

    @property
    def count(self) -> int:
        return self.node.inputs[0].type.size // self.node.type.size

    def sum_of(self, operands: tuple[Node, ...]) -> Node:
        """Return the sum of a product, of an array, or of a broadcast value."""
        params = self.node.params
        if len(operands) == 2:
            return self.shared(SUM_OF_PRODUCTS, operands, params)
        (x,) = operands
        if is_literal(x):
            size = size_name(self.node.inputs[0], self.node.param("axis"))
            name = None if size is None else f"({x.name or repr(x.value)}) * {size}"
            return self.number(x.value * self.count, name)
        axes = tuple(range(x.type.ndim))
        total = self.shared(get_op("sum"), operands, (("axis", axes), ("keepdims", False))) if axes else x
        whole = self.node.inputs[0]
        count = whole.type.size // x.type.size
        first = whole.type.ndim - x.type.ndim
        gone = [k for k, n in enumerate(whole.type.shape) if k < first or x.type.shape[k - first] != n]
        return (
            total
            if count == 1
            else self.made(get_op("multiply"), total, self.number(count, size_name(whole, tuple(gone))))
        )

    def multiple(self, factor: float, term: Node) -> Node:
        if is_literal(term) and factor != 1:
            return self.number(factor * term.value, term.name and multiple_text(factor, "*", term.name))
        if factor in (1, -1):
            return term if factor == 1 else self.made(get_op("negative"), term)
        return self.made(get_op("multiply"), self.number(factor), term)

    def shared(self, op: Op, inputs: tuple[Node, ...], params: Any) -> Node:
        key = (op, frozenset(inputs), len(inputs), params)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self.made(op, *inputs, params=params)
        return found

    def number(self, value: Any, name: str | None = None) -> Node:
        """Return one node for all equal numbers of one name, so that steps of a loop that divide by it are alike."""
        key = (type(value), repr(value), name)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = constant(value, name)
            self.nodes.append(found)
        return found

    def made(self, op: Op, *inputs: Node, params: Any = ()) -> Node:
        node = self.node
        self.nodes.append(Node(op, inputs, params, node.type, node.origin, None, node.role))
        return self.nodes[-1]


def _is_taken_apart(node: Node) -> bool:
    """Return whether a node is a sum or mean that may be one of products.

    It runs over all elements, or along an axis for which that pays.
    """
    if node.op not in (ops.sum, ops.mean):
        return False
    t, axis = node.inputs[0].type, node.param("axis")
    if t.dtype.char not in "fd" or not (t.size and t.ndim and node.type.size):
        return False
    if len(axis) < t.ndim:
        return _has_form(axis, t)
    return not node.param("keepdims") and (node.role is not None or _loses_nothing(node.inputs[0]))


def _loses_nothing(x: Node) -> bool:
    """Return whether an array is one term, or all of its terms have one sign, so that none cancel one another."""
    signs = {1, -1}  # that all terms may have
    count = 0
    stack = [(1, x)]
    while stack and count <= tuning.SUM_MAX_TERMS:
        sign, term = stack.pop()
        inputs = term.inputs
        if term.op in (ops.add, ops.subtract):
            stack += [(-sign if term.op is ops.subtract else sign, inputs[1]), (sign, inputs[0])]
        elif term.op is ops.negative:
            stack.append((-sign, inputs[0]))
        elif term.op is ops.multiply and is_literal(inputs[0]) and inputs[0].value:
            stack.append((sign if inputs[0].value > 0 else -sign, inputs[1]))
        else:
            count += 1
            if is_literal(term) and term.value < 0:
                signs.discard(sign)
            elif (is_literal(term) and term.value >= 0) or is_nonnegative(term):
                signs.discard(-sign)
            else:
                signs.clear()
    return not stack and (count == 1 or bool(signs))


def _terms_of(node: Node, free: Container[Node], uses: dict[Node, int]) -> list[Term] | None:
    """Return the products that a sum or mean adds up, and its other terms, each with its factor."""
    if not _is_taken_apart(node):
        return None
    x = node.inputs[0]
    if len(node.param("axis")) != x.type.ndim:
        product = _product(x) if x in free else None
        return None if product is None else [(1.0, product)]
    terms = _summands(x, free, uses)
    return terms if any([len(operands) == 2 for _, operands in terms]) and len(terms) <= tuning.SUM_MAX_TERMS else None


def _summands(node: Node, free: Container[Node], uses: dict[Node, int]) -> list[Term]:
    """Return the terms of an array: products of two arrays, arrays, and values that are broadcast to it."""
    t = node.type
    terms: list[Term] = []
    stack = [(1.0, node)]
    while stack and len(terms) <= tuning.SUM_MAX_TERMS:
        factor, term = stack.pop()
        inputs = term.inputs
        product = _product(term) if term.type == t and term in free else None
        taken_apart = term.type == t and term in free and uses[term] == 1
        if product is not None and not any(map(_is_scattered, product)):
            terms.append((factor, product))
        elif taken_apart and term.op in (ops.add, ops.subtract) and all([_may_stand_alone(i, t) for i in inputs]):
            stack += [(-factor if term.op is ops.subtract else factor, inputs[1]), (factor, inputs[0])]
        elif taken_apart and term.op is ops.multiply and is_literal(inputs[0]) and inputs[1].type == t:
            stack.append((factor * inputs[0].value, inputs[1]))
        elif taken_apart and term.op is ops.negative:
            stack.append((-factor, inputs[0]))
        else:
            terms.append((factor, (term,)))
    return terms


def _may_stand_alone(term: Node, t: Any) -> bool:
    """Return whether a term has the array's dtype, so that it can be added up by itself.

    A Python number has, beside arrays of float64 only.
    """
    if is_literal(term):
        return math.isfinite(term.value)
    return term.type.dtype == t.dtype and (not term.type.weak or t.dtype.char == "d")


def _has_form(axis: tuple[int, ...], t: Any) -> bool:
    """Return whether the sum of products along these axes has a form that beats the product and its sum."""
    return axis == (t.ndim - 1,) or (t.ndim == 2 and axis == (0,) and elements(t) >= tuning.EINSUM_MIN_ELEMENTS)


def _product(term: Node) -> tuple[Node, Node] | None:
    """Return the two arrays of one shape that a term multiplies; None for another term."""
    if term.op is ops.square:
        return term.inputs[0], term.inputs[0]
    if term.op is ops.multiply and all(i.type == term.type for i in term.inputs):
        return term.inputs[0], term.inputs[1]
    return None


def _is_scattered(node: Node) -> bool:
    """Return whether the elements of a value may lie apart, so that a flat product would have to copy them.

    Results lie in the order of their operands, so one that is computed of slices has no gaps.
    """
    computed = False
    for _ in range(tuning.LAYOUT_MAX_OPS):
        if is_view(node) and node.op is not ops.reshape:
            if not computed or node.op is not ops.getitem:
                return node.type.ndim > 1
            node = node.inputs[0]
            continue
        elementwise = node.op.kind == "elementwise"
        same = [i for i in node.inputs if i.type.size == node.type.size] if elementwise or is_view(node) else []
        if not same:
            return False
        computed = computed or elementwise
        node = same[0]
    return False
