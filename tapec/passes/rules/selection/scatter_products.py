"""These rules multiply before they scatter, among cotangents: `scatter(v, i) * b` becomes `scatter(v * b[i], i)`.

Around the part that was read the cotangent is zero because nothing flows there: an infinity or nan in `b` must not turn
it into nan, as in the gradient of `np.log(x)[x > 0]`. It is less work, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import Some, variables
from tapec.ops import Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import GETITEM
from tapec.passes.engine.node_facts import uniform_value
from tapec.passes.engine.rule import Rule

__all__ = ["SCATTER_PRODUCTS"]

a, b = variables("a b")


def _placed(y: Node) -> int | None:
    """Return the operand that is a part among zeros, where the other has a value for each element; None without one."""
    for k, node in enumerate(y.inputs):
        other = y.inputs[1 - k]
        if node.op is not ops.scatter or node.role is None or (k == 1 and y.op is ops.divide):
            continue
        if node.type.size == y.type.size and other.type.size > 1 and uniform_value(other) is None:
            # a scatter that adds more values than it has places is not multiplied before
            return k if elements(node.inputs[0]) <= elements(y) else None
    return None


def _has_placed(y: Node) -> bool:
    return _placed(y) is not None


def _in_place(y: Symbol) -> Any:
    """Multiply the part by the other factor at its places, and put the product among zeros."""
    k = _placed(y.node)
    assert k is not None
    scatter = y.node.inputs[k]
    v, *arrays = [Symbol(i, y.builder) for i in scatter.inputs]
    other = np.broadcast_to(Symbol(y.node.inputs[1 - k], y.builder), y.shape)
    other = np.reshape(other, scatter.type.shape)
    index = tuple([(name, value) for name, value in scatter.params if name != "shape"])
    part = apply(GETITEM, (other, *arrays), index)
    product = apply(y.node.op, (v, part) if k == 0 else (part, v))
    return np.reshape(apply(scatter.op, (product, *arrays), scatter.params), y.shape)


def _times_number(y: Node) -> int | None:
    """Return the operand that is a part among zeros, counted from one, where the other is a finite number; else None.

    A scalar that is computed counts as finite. The count begins at one because a condition's 0 would mean "no".
    """
    for k, node in enumerate(y.inputs[: 1 if y.op is ops.divide else 2]):
        other = y.inputs[1 - k]
        value = uniform_value(other) if other.type.shape else uniform_value(other) or 1.0
        if node.op is not ops.scatter or node.role is None or node.type != y.type:
            continue
        if value and np.isfinite(value):
            return k + 1 if elements(node.inputs[0]) < elements(node) else None  # counted from one: zero would be no
    return None


def _number_in_part(y: Symbol, fact: int) -> Any:
    """Multiply the part by the number, and put the product among zeros."""
    scatter, other = y.node.inputs[fact - 1], y.node.inputs[2 - fact]
    v, *arrays = [Symbol(i, y.builder) for i in scatter.inputs]
    number = Symbol(other, y.builder) if not other.type.shape else uniform_value(other)
    return apply(scatter.op, (apply(y.node.op, (v, number)), *arrays), scatter.params)


def _negated(y: Symbol) -> Any:
    """Return the part with its values negated; its zeros have no sign that counts."""
    inner = y.node.inputs[0]
    v, *arrays = [Symbol(i, y.builder) for i in inner.inputs]
    return apply(inner.op, (np.negative(v), *arrays), inner.params)


def _negative_part(y: Node) -> int | None:
    """Return the operand of a sum or difference that is a negated part, whose sign the operation can take up; else
    None.
    """
    for k in (1, 0) if y.op is ops.add else (1,):
        part = y.inputs[k]
        if part.op is ops.scatter and part.role is not None and part.inputs[0].op is ops.negative:
            return k if y.type == part.type == y.inputs[1 - k].type else None
    return None


def _has_negative_part(y: Node) -> bool:
    return _negative_part(y) is not None


def _other_sign(y: Symbol) -> Any:
    """Write a sum with a negated part as a difference, or a difference as a sum."""
    k = _negative_part(y.node)
    assert k is not None
    part, other = y.node.inputs[k], Symbol(y.node.inputs[1 - k], y.builder)
    v, *arrays = [Symbol(i, y.builder) for i in (part.inputs[0].inputs[0], *part.inputs[1:])]
    placed = apply(part.op, (v, *arrays), part.params)
    made = other - placed if y.node.op is ops.add else other + placed
    made.node.name = made.node.name or y.node.name
    return made


def _below(node: Node) -> Node:
    """Return the value of which a node is a reshape, through any number of them."""
    while node.op is ops.reshape:
        node = node.inputs[0]
    return node


def _reshaped(y: Node) -> int | None:
    """Return the operand that is a part among zeros in another shape, where the other has as many elements; else
    None.
    """
    for k, node in enumerate(y.inputs):
        below = _below(node)
        if below is not node and below.op is ops.scatter and below.role is not None:
            if node.type.size == y.type.size == y.inputs[1 - k].type.size and (k == 0 or y.op is ops.multiply):
                return k
    return None


def _has_reshaped(y: Node) -> bool:
    return _reshaped(y) is not None


def _before_reshape(y: Symbol) -> Any:
    """Multiply before a part among zeros is reshaped, so that other rules see the part."""
    k = _reshaped(y.node)
    assert k is not None
    scatter = Symbol(_below(y.node.inputs[k]), y.builder)
    other = np.reshape(Symbol(y.node.inputs[1 - k], y.builder), scatter.shape)
    return np.reshape(apply(y.node.op, (scatter, other) if k == 0 else (other, scatter)), y.shape)


def _within(y: Symbol, inner: Node, factor: Any, b: Any) -> Any:
    """Return the triangle or diagonal matrix of the product of its elements with another factor."""
    return np.reshape(apply(inner.op, (apply(y.node.op, (factor, b)),), inner.params), y.shape)


def _spread(y: Symbol, inner: Node, b: Any) -> Any:
    """Return the other factor in the shape of the matrix."""
    return np.reshape(np.broadcast_to(b, y.shape), inner.type.shape)


def _triangle(y: Symbol, a: Any, b: Any) -> Any:
    inner = _matrix(y.node, b.node)
    return _within(y, inner, a, _spread(y, inner, b))


def _diagonal(y: Symbol, a: Any, b: Any) -> Any:
    inner = _matrix(y.node, b.node)
    return _within(y, inner, a, np.diagonal(_spread(y, inner, b), inner.param("k")))


def _matrix(y: Node, b: Node) -> Node:
    return y.inputs[1] if y.inputs[0] is b else y.inputs[0]


def _keeps_shape(y: Node, b: Node) -> bool:
    """Return whether the other factor may be infinite, and broadcasts to the matrix, and not the other way round."""
    infinite = y.op is ops.divide or b.op in (ops.divide, ops.power, ops.reciprocal)
    return infinite and _says_more(y, b)


def _says_more(y: Node, b: Node) -> bool:
    return _matrix(y, b).type.size == y.type.size and b.type.size > 1 and uniform_value(b) is None


def _embeds(y: Node, a: Node, b: Node) -> bool:
    """Return whether the matrix holds a vector on its diagonal, and the other factor broadcasts to it.

    It does not matter whether that may be infinite: multiplying only its diagonal is less work in any case.
    """
    return a.type.ndim == 1 and _says_more(y, b)


def _rule(name: str, pattern: Any, replacement: Any, when: Any = None) -> Rule:
    return Rule(name, pattern, replacement, when, only="cotangents", changes="zeros", kinds="fc")


def _is_cotangent(y: Node) -> bool:
    return y.inputs[0].role is not None


def _adds_lines(y: Node) -> bool:
    """Return whether a sum over rows, or columns, is of a matrix with one element on its main diagonal in each."""
    return y.param("axis") in ((0,), (1,)) and y.inputs[0].param("k") == 0 and y.type.dtype == y.inputs[0].type.dtype


SCATTER_PRODUCTS = (
    _rule("part-times", Some("multiply", "divide", of=("scatter",)), _in_place, _has_placed),
    _rule("part-times-number", Some("multiply", "divide", of=("scatter",)), _number_in_part, _times_number),
    _rule("part-negative", Some("negative", of=("scatter", "tril", "triu", "diag")), _negated, _is_cotangent),
    _rule("plus-negative-part", Some("add", "subtract", of=("scatter",)), _other_sign, _has_negative_part),
    _rule("part-reshaped-times", Some("multiply", "divide", of=("reshape",)), _before_reshape, _has_reshaped),
    _rule("lower-triangle-times", np.tril(a) * b, _triangle, _keeps_shape),
    _rule("upper-triangle-times", np.triu(a) * b, _triangle, _keeps_shape),
    _rule("lower-triangle-over", np.tril(a) / b, _triangle, _keeps_shape),
    _rule("upper-triangle-over", np.triu(a) / b, _triangle, _keeps_shape),
    _rule("diagonal-times", np.diag(a) * b, _diagonal, _embeds),
    _rule("diagonal-over", np.diag(a) / b, _diagonal, _embeds),
    _rule("sum-of-diagonal", np.sum(np.diag(a)), lambda y, a: np.reshape(a, y.shape), _adds_lines),
)
