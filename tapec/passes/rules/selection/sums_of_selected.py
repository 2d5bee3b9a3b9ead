"""These rules sum selected elements first, and multiply afterwards by factors that are the same along the axes.

In `sum(where(c, a / s * t, 0), axis=0)`, with a number s for each column, as the gradients have that go through a
selection and a normalisation: sums of `where(c, a, 0)` and `where(c, a * t, 0)` then serve scales, shifts, means and
variances together. Where nothing is selected, and the sum is zero, the factors do not count, whatever they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, get_op, is_literal, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import Some
from tapec.ops import Symbol
from tapec.passes import tuning
from tapec.passes.engine.may_be_nonfinite import may_be_nonfinite
from tapec.passes.engine.node_facts import are_few, is_positive, is_zero, uniform_value
from tapec.passes.engine.rule import Rule
from tapec.passes.engine.value_numbering import key_of

__all__ = ["SUMS_OF_SELECTED"]


class Product(NamedTuple):
    """A selected product: a sign, whole arrays, and factors and divisors that are the same along the axes.

    `spared` counts the operations on whole arrays that nothing else needs.
    """

    sign: int
    whole: tuple[Node, ...]
    factors: tuple[Node, ...] = ()
    divisors: tuple[Node, ...] = ()
    spared: int = 0

    def times(self, other: Product) -> Product:
        a, b = self, other
        factors, divisors = a.factors + b.factors, a.divisors + b.divisors
        return Product(a.sign * b.sign, a.whole + b.whole, factors, divisors, a.spared + b.spared)


def taken_apart(node: Node, axis: tuple[int, ...], uses: Callable[[Node], int], far: int) -> Product:
    """Return a node as a product of whole arrays, and of smaller ones that are the same along the axes.

    It follows as many operations as `far` says.
    """
    op, inputs, alone = node.op, node.inputs, uses(node) == 1
    found = None
    if far and op in (ops.multiply, ops.divide, ops.negative):
        rest = partial(taken_apart, axis=axis, uses=uses if alone else _shared, far=far - 1)
        if op is ops.negative:
            found = rest(inputs[0])
            found = found._replace(sign=-found.sign)
        elif inputs[0].type == node.type and _is_same_along(inputs[1], node, axis):
            small = Product(1, (), inputs[1:]) if op is ops.multiply else Product(1, (), (), inputs[1:])
            found = rest(inputs[0]).times(small)
        elif op is ops.multiply and inputs[1].type == node.type and _is_same_along(inputs[0], node, axis):
            found = rest(inputs[1]).times(Product(1, (), inputs[:1]))
        elif op is ops.multiply and inputs[0].type == inputs[1].type == node.type:
            found = rest(inputs[0]).times(rest(inputs[1]))
    return Product(1, (node,)) if found is None else found._replace(spared=found.spared + alone)


def _shared(node: Node) -> int:
    """Return two uses for any node, for the operands of a value that others read: these are needed, too."""
    return 2


def _is_same_along(small: Node, whole: Node, axis: tuple[int, ...]) -> bool:
    """Return whether a small array is the same along the summed axes of a whole one, of one dtype, and much smaller."""
    t = small.type
    own = (1,) * (whole.type.ndim - t.ndim) + t.shape
    if t.dtype != whole.type.dtype and not t.weak:
        return False
    return are_few(elements(t), elements(whole)) and all([own[k] == 1 for k in axis])


def _product(y: Node, uses: Any) -> Product | None:
    """Return the selected product of a sum, if it has factors that may come after the sum, and are more than
    numbers.
    """
    selection, axis = y.inputs[0], y.param("axis")
    if not is_zero(selection.inputs[2]) or selection.inputs[1].type != selection.type or not y.type.size:
        return None
    found = taken_apart(selection.inputs[1], axis, uses, tuning.SELECTED_PRODUCT_MAX_OPS)
    alone = uses(selection) == 1
    found = found._replace(spared=found.spared + 1 if alone else 0)
    return found if any([uniform_value(f) is None for f in (*found.factors, *found.divisors)]) else None


def factors_last(y: Symbol, fact: Product) -> Any:
    """Write the sum of the whole arrays, times the factors; decline where that is more work."""
    selection, builder = y.node.inputs[0], y.builder
    if _work(selection, fact.whole, builder) > fact.spared:
        return None
    axis, keepdims = y.node.param("axis"), y.node.param("keepdims")
    product: Any = Symbol(fact.whole[0], builder)
    for node in fact.whole[1:]:
        product = product * Symbol(node, builder)
    condition = Symbol(selection.inputs[0], builder)
    first: Any = np.sum(np.where(condition, product, 0), axis=axis, keepdims=keepdims)
    total = first if fact.sign > 0 else -first
    for op, nodes in ((np.multiply, fact.factors), (np.divide, fact.divisors)):
        for node in nodes:
            factor = _laid_out(Symbol(node, builder), y.node)
            safe = is_finite_for_finite_inputs(node, tuning.SELECTED_FACTOR_MAX_OPS)
            safe = safe and (op is np.multiply or is_positive(node))
            # where the user selected, the user's arrays may be infinite in other places
            safe = safe and selection.inputs[0].role is not None
            safe = safe or (is_literal(node) and math.isfinite(abs(node.value)) and node.value != 0)
            total = op(total, factor if safe else np.where(first != 0, factor, 1))
    return total


def _work(selection: Node, whole: tuple[Node, ...], builder: Any) -> int:
    """Return how many operations on whole arrays remain, besides those that the program does already."""
    work, product = 0, whole[0]
    for k, node in enumerate(whole[1:], start=1):
        known = _known(builder, "multiply", (product, node))
        if known is None:
            return len(whole) - k + work + 1
        product = known
    return work + (_known(builder, "where", (selection.inputs[0], product, selection.inputs[2])) is None)


def _known(builder: Any, name: str, inputs: tuple[Node, ...]) -> Node | None:
    """Return the node of an operation that the program does, and uses, already; else None."""
    known = builder.placed_node(key_of(get_op(name), inputs, ()), builder.role)
    return known if known is not None and builder.uses.of(known) else None


def _laid_out(factor: Any, total: Node) -> Any:
    """Return a factor in a shape that broadcasts to the sum, which may have fewer axes than the summed array."""
    if total.param("keepdims") or not factor.ndim:
        return factor
    own = (1,) * (total.inputs[0].type.ndim - factor.ndim) + factor.shape
    return np.reshape(factor, [n for k, n in enumerate(own) if k not in total.param("axis")])


def is_finite_for_finite_inputs(node: Node, deep: int) -> bool:
    """Return whether a value is known to be finite where the user's arrays are."""
    if may_be_nonfinite(node, ()) or not deep:
        return False
    return all([is_finite_for_finite_inputs(i, deep - 1) for i in node.inputs])


SUMS_OF_SELECTED = (
    Rule(
        "factors-after-chosen-sum",
        Some("sum", of=("where",)),
        factors_last,
        _product,
        only="cotangents",
        changes="zeros",
    ),
)
