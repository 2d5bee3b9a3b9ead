"""These rules join sums of sums, and simplify sums and products of arrays that are one number everywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir import INPUT, Node, ops
from tapec.ir.cost import elements
from tapec.ir.pattern import Some, number, params, variables
from tapec.ops import Symbol
from tapec.ops.core.define import reduced_shape
from tapec.passes import tuning
from tapec.passes.engine.node_facts import are_few, far_from_overflow, is_identity, uniform_value
from tapec.passes.engine.rule import Rule
from tapec.passes.rules.reduction.layout_changes import reshaped

__all__ = ["SUMS_OF_SUMS", "SUMS_WITH_OTHER_KEEPDIMS"]

a, b, u, x = variables("a b u x")
k = number("k")


# -- sum(broadcast_to(x)) ---------------------------------------------------------------------------------------------
def sum_of_broadcast(y: Symbol, x: Symbol) -> Any:
    """Return n times a summand for n equal summands; only the axes that x itself has are added up."""
    axes, keepdims = y.node.param("axis"), y.node.param("keepdims")
    shape = y.node.inputs[0].type.shape
    own = (1,) * (len(shape) - x.ndim) + x.shape
    true = tuple([i for i in axes if own[i] == shape[i] != 1])
    count = math.prod([shape[i] for i in axes if i not in true])
    total: Any = np.sum(np.reshape(x, own), axis=true, keepdims=True) if true else x
    if count != 1:
        total = total * float(count)
    left = tuple([1 if i in true else n for i, n in enumerate(own)])
    return np.reshape(total, reduced_shape(left, axes, keepdims))


def _spreads_something(y: Node, x: Node) -> bool:
    shape = y.inputs[0].type.shape
    own = (1,) * (len(shape) - x.type.ndim) + x.type.shape
    return bool(y.inputs[0].type.size) and not x.type.weak and any([own[i] != shape[i] for i in y.param("axis")])


# -- sums of sums -----------------------------------------------------------------------------------------------------
def _joined_axes(y: Node) -> tuple[int, ...] | None:
    """Return the axes that sum(sum(x)) adds up; None when no single sum has that result."""
    inner = y.inputs[0]
    first, second = inner.param("axis"), y.param("axis")
    if inner.param("keepdims"):
        both = tuple(sorted({*first, *second}))
        return both if y.param("keepdims") or set(first) <= set(second) else None
    if y.param("keepdims"):
        return None
    left = [i for i in range(inner.inputs[0].type.ndim) if i not in first]
    return tuple(sorted([*first, *[left[i] for i in second]]))


def _has_joined_axes(y: Node) -> bool:
    return _joined_axes(y) is not None


def sum_of_sum(y: Symbol, x: Symbol) -> Any:
    return np.sum(x, axis=_joined_axes(y.node), keepdims=y.node.param("keepdims"))


def _is_mean_of_numbers(y: Node) -> bool:
    """Return whether a mean is of some numbers, and of none in half precision, which NumPy adds up in single
    precision.
    """
    return bool(y.inputs[0].type.size) and y.type.dtype.char != "e" and _has_joined_axes(y)


def mean_of_sum(y: Symbol, x: Symbol) -> Any:
    return sum_of_sum(y, x) / (y.node.inputs[0].type.size // y.node.type.size)


def _is_whole(y: Node) -> bool:
    """Return whether a sum is of all elements, to a scalar."""
    return not y.type.shape and len(y.param("axis")) == y.inputs[0].type.ndim


def _adds_single_elements(y: Node) -> bool:
    shape = y.inputs[0].type.shape
    return all([shape[i] == 1 for i in y.param("axis")])


def _is_of_single_truths(y: Node) -> bool:
    return y.inputs[0].type.dtype.kind == "b" and _adds_single_elements(y)


def operand_reshaped(y: Symbol) -> Any:
    return np.reshape(Symbol(y.node.inputs[0], y.builder), y.shape)


def _is_keepdims_shape(y: Node) -> bool:
    """Return whether a reshape gives a sum the axes of length one that `keepdims` would have left."""
    total = y.inputs[0]
    return not total.param("keepdims") and y.type.shape == reduced_shape(
        total.inputs[0].type.shape, total.param("axis"), True
    )


def _is_plain_shape(y: Node) -> bool:
    """Return whether a reshape drops the axes of length one that `keepdims` has left."""
    total = y.inputs[0]
    return total.param("keepdims") and y.type.shape == reduced_shape(
        total.inputs[0].type.shape, total.param("axis"), False
    )


def _picks_diagonal(y: Node, a: Node, x: Node) -> bool:
    """Return whether all of a product with an identity matrix is added up."""
    return not y.type.shape and a.type == x.type and is_identity(x)


def negative_sum(y: Symbol, x: Symbol) -> Any:
    return -np.sum(x, axis=y.node.param("axis"), keepdims=y.node.param("keepdims"))


def sum_of_multiple(y: Symbol, x: Symbol, k: Any) -> Any:
    return np.sum(x, axis=y.node.param("axis"), keepdims=y.node.param("keepdims")) * k


def _is_harmless_multiple(y: Node, x: Node, k: Any) -> bool:
    return x.type == y.inputs[0].type and elements(y) < elements(x) and far_from_overflow(y, k)


# -- sums of what lies otherwise --------------------------------------------------------------------------------------
def _added_axes(y: Node) -> list[int]:
    """Return the axes that are added up, counted as they were before the transpose."""
    axes = y.inputs[0].param("axes")
    return sorted([axes[k] for k in y.param("axis")])


def _leaves_order(y: Node) -> bool:
    """Return whether the axes that are not added up stand in the order that they had before the transpose."""
    added = _added_axes(y)
    left = [k for k in y.inputs[0].param("axes") if k not in added]
    return left == sorted(left)


def sum_untransposed(y: Symbol, x: Symbol) -> Any:
    return np.reshape(np.sum(x, axis=tuple(_added_axes(y.node))), y.shape)


def _ones_in_front(y: Node, x: Node) -> int:
    """Return how many axes of length one were put in front of x, if none of them is added up; else 0."""
    shape = y.inputs[0].type.shape
    ones = len(shape) - x.type.ndim
    return ones if shape == (1,) * ones + x.type.shape and min(y.param("axis"), default=0) >= ones > 0 else 0


def sum_without_ones(y: Symbol, x: Symbol, fact: int) -> Any:
    axis = tuple([k - fact for k in y.node.param("axis")])
    return np.reshape(np.sum(x, axis=axis, keepdims=y.node.param("keepdims")), y.shape)


# -- the same sum with and without axes of length one ----------------------------------------------------------------
def reshaped_sum(y: Symbol) -> Any:
    """Reshape the sum or mean of the same values that the program computes, and uses, with the other keepdims."""
    builder: Any = y.builder  # the walk, which knows what is there
    twin = builder.used_value(*_other_keepdims(y.node))
    return None if twin is None else np.reshape(Symbol(twin, builder), y.shape)


def _other_keepdims(y: Node) -> Any:
    return y.op, y.inputs, (("axis", y.param("axis")), ("keepdims", not y.param("keepdims")))


def _has_sum_with_other_keepdims(y: Node, walk: Any) -> bool:
    return bool(y.inputs[0].type.shape) and walk.has_seen(*_other_keepdims(y))


# -- factors that are the same for all that is added up ---------------------------------------------------------------
def _has_common_factor(y: Node, x: Node, b: Node, uses: Any) -> bool:
    """Return whether b can be multiplied by after the sum, and it saves work.

    It can if b is the same along all axes that are added up, and it does if b is much smaller than x. The product with
    b must not be needed otherwise, unless x is there anyway.
    """
    product, axis = y.inputs[0], y.param("axis")
    if (
        x.type != product.type
        or not are_few(elements(b), elements(x))
        or uniform_value(b) is not None
        or not y.type.size
    ):
        return False
    own = (1,) * (product.type.ndim - b.type.ndim) + b.type.shape
    if any([own[i] != 1 for i in axis]) or product.type.size == y.type.size:
        return False
    return uses(product) == 1 or uses(x) > 1 or x.op is INPUT


def _has_common_factor_beside(y: Node, x: Node, a: Node, b: Node, uses: Any) -> bool:
    """Return whether b can be multiplied by after the sum of x * b * a, where a is as large as x."""
    return a.type == x.type and uses(y.inputs[0]) == 1 and _has_common_factor(y, x, b, uses)


def _has_small_factors(y: Node, u: Node, b: Node, a: Node, uses: Any) -> bool:
    """Return whether u and b are much smaller than their product, and b is the same along all axes that are added
    up.
    """
    product, axis = y.inputs[0], y.param("axis")
    if a.type != product.type or not are_few(max(elements(u), elements(b)), elements(a)) or uses(product) > 1:
        return False
    own = (1,) * (product.type.ndim - b.type.ndim) + b.type.shape
    return all([own[i] == 1 for i in axis]) and 0 < elements(y) < elements(a)


def _of_sum(op: Any, y: Symbol, x: Any, b: Any) -> Any:
    """Return the sum of x, multiplied or divided by b, in the shape of the sum."""
    axis, keepdims = y.node.param("axis"), y.node.param("keepdims")
    total = np.sum(x, axis=axis, keepdims=keepdims)
    if keepdims or not b.ndim:
        return op(total, b)
    own = (1,) * (x.ndim - b.ndim) + b.shape
    return op(total, np.reshape(b, [n for k, n in enumerate(own) if k not in axis]))


def _has_common_mask(y: Node, x: Node, b: Node) -> bool:
    """Return whether the condition b is the same for all that is added up, and that is more than one element."""
    selected, axis = y.inputs[0], y.param("axis")
    own = (1,) * (selected.type.ndim - b.type.ndim) + b.type.shape
    true = any([selected.type.shape[i] != 1 for i in axis])
    return true and all([own[i] == 1 for i in axis]) and x.type.dtype == y.type.dtype and not x.type.weak


def mask_after_sum(y: Symbol, x: Symbol, b: Symbol) -> Any:
    """Select the sum instead of the elements; an element that was broadcast along a summed axis counts as often."""
    axis, shape = y.node.param("axis"), y.node.inputs[0].type.shape
    own = (1,) * (len(shape) - x.ndim) + x.shape
    whole = np.broadcast_to(np.reshape(x, own), tuple([n if i in axis else own[i] for i, n in enumerate(shape)]))
    return np.reshape(np.where(b, np.sum(whole, axis=axis, keepdims=True), 0), y.shape)


# -- sums of stacks ---------------------------------------------------------------------------------------------------
def _adds_parts(y: Node) -> bool:
    """Return whether a sum or mean goes along the axis of a stack of few arrays, or of large ones.

    Half precision does not count: NumPy adds it up in single precision.
    """
    stack, axes = y.inputs[0], y.param("axis")
    if stack.param("axis") not in axes or y.param("keepdims") or y.type.dtype != stack.type.dtype:
        return False
    if not y.type.size or y.type.dtype.char == "e":
        return False
    return len(stack.inputs) <= tuning.STACK_MAX_PARTS or elements(stack) >= tuning.STACK_PART_MIN_ELEMENTS * len(
        stack.inputs
    )


def sum_of_parts(y: Symbol) -> Any:
    """Add the parts of a stack, each summed over the other axes."""
    stack = y.node.inputs[0]
    k = stack.param("axis")
    rest = tuple([i - (i > k) for i in y.node.param("axis") if i != k])
    total: Any = None
    for node in stack.inputs:
        part: Any = Symbol(node, y.builder)
        part = np.sum(part, axis=rest) if rest else part
        total = part if total is None else total + part
    return total / (stack.type.size // y.node.type.size) if y.node.op is ops.mean else total


def sum_of_all(y: Symbol) -> Any:
    return np.sum(Symbol(y.node.inputs[0].inputs[0], y.builder))


def _is_of_the_program(x: Node) -> bool:
    """Return whether x is a value of the user's program, of which a gradient takes the negative."""
    return x.role is None


def with_keepdims(y: Symbol, x: Symbol) -> Any:
    return np.sum(x, axis=y.node.inputs[0].param("axis"), keepdims=True)


def without_keepdims(y: Symbol, x: Symbol) -> Any:
    return np.sum(x, axis=y.node.inputs[0].param("axis"))


# -- products ---------------------------------------------------------------------------------------------------------
def product_with_uniform(y: Symbol, a: Symbol, k: Any) -> Any:
    """Return a @ full(k), of which each column is k times the sums of a's rows."""
    total = np.sum(a, axis=-1, keepdims=True) * k
    return np.reshape(total, total.shape[:-1]) if y.node.inputs[1].type.ndim == 1 else total


def uniform_times_product(y: Symbol, a: Symbol, k: Any) -> Any:
    total = np.sum(a, axis=-2, keepdims=True) * k
    return np.reshape(total, (*total.shape[:-2], total.shape[-1])) if y.node.inputs[0].type.ndim == 1 else total


def _is_matrix(a: Node, k: Any) -> bool:
    """Return whether a is a matrix, and k finite: with an infinite k, infinities of both signs would have met."""
    return a.type.ndim > 1 and uniform_value(a) is None and bool(np.isfinite(k))


def transpose_of_product(a: Symbol, b: Symbol) -> Any:
    return np.swapaxes(b, -1, -2) @ np.swapaxes(a, -1, -2)


def _swaps_matrices(y: Node, a: Node, b: Node) -> bool:
    """Return whether a transpose swaps the last two axes of two matrices, or of two stacks of matrices as deep."""
    n = y.type.ndim
    return a.type.ndim == b.type.ndim == n and y.param("axes") == (*range(n - 2), n - 1, n - 2)


def _rule(name: str, pattern: Any, replacement: Any, when: Any = None, changes: str = "rounding", **more: Any) -> Rule:
    return Rule(name, pattern, replacement, when, kinds="fc", changes=changes, **more)


def _factor(name: str, pattern: Any, replacement: Any) -> Rule:
    when = _has_common_factor_beside if "product" in name else _has_common_factor
    return Rule(name, pattern, replacement, when, only="cotangents", changes="zeros")


CT: Any = {"only": "cotangents"}
REVERSED = np.reshape(-x, params)
RESHAPED_SUM = Some("sum", of=("reshape", "transpose"))

SUMS_OF_SUMS = (
    _rule("sum-of-broadcast", np.sum(np.broadcast_to(x, params)), sum_of_broadcast, _spreads_something),
    _rule("sum-of-sum", np.sum(np.sum(x)), sum_of_sum, _has_joined_axes, once=True),
    _rule("mean-of-sum", np.mean(np.sum(x)), mean_of_sum, _is_mean_of_numbers, once=True),
    _rule("sum-of-stack", Some("sum", "mean", of=("stack",)), sum_of_parts, _adds_parts),
    _rule("sum-of-reshape", RESHAPED_SUM, sum_of_all, _is_whole),
    _rule("sum-of-transpose", np.sum(np.transpose(x)), sum_untransposed, _leaves_order),
    _rule("sum-with-ones-in-front", np.sum(np.reshape(x, params)), sum_without_ones, _ones_in_front, changes=""),
    _rule("keepdims", np.reshape(np.sum(x), params), with_keepdims, _is_keepdims_shape, changes="", once=True),
    _rule("no-keepdims", np.reshape(np.sum(x), params), without_keepdims, _is_plain_shape, changes="", once=True),
    _rule("reshape-of-negative", np.reshape(-x, params), lambda y, x: -np.reshape(x, y.shape), changes="", once=True),
    # among cotangents
    _rule(
        "reshape-of-shared-negative",
        REVERSED,
        lambda y, x: -np.reshape(x, y.shape),
        _is_of_the_program,
        changes="",
        **CT,
    ),
    _rule("sum-of-negative", np.sum(-x), negative_sum, changes="zeros", once=True, **CT),
    _rule("sum-of-multiple", np.sum(x * k), sum_of_multiple, _is_harmless_multiple, once=True, **CT),
    # an infinity of b may come out where infinities of both signs, or none, were added up
    _factor("factor-out-of-sum", np.sum(x * b), lambda y, x, b: _of_sum(np.multiply, y, x, b)),
    _factor("divisor-out-of-sum", np.sum(x / b), lambda y, x, b: _of_sum(np.divide, y, x, b)),
    _factor("factor-out-of-sum-of-product", np.sum(x * b * a), lambda y, x, a, b: _of_sum(np.multiply, y, x * a, b)),
    Rule(
        "factor-out-of-sum-of-outer",
        np.sum(u * b * a),
        lambda y, u, a, b: _of_sum(np.multiply, y, a * u, b),
        _has_small_factors,
        changes="zeros",
        **CT,
    ),
    _factor("divisor-out-of-sum-of-product", np.sum(x / b * a), lambda y, x, a, b: _of_sum(np.divide, y, x * a, b)),
    Rule(
        "mask-out-of-sum",
        np.sum(np.where(b, x, 0)),
        mask_after_sum,
        _has_common_mask,
        kinds="fb",
        changes="zeros",
        **CT,
    ),
    _rule("sum-of-single-elements", np.sum(x), reshaped, _adds_single_elements, changes="zeros", **CT),
    Rule("truth-of-single-elements", Some("any", "all"), operand_reshaped, _is_of_single_truths, kinds="b"),
    _rule("sum-with-identity", np.sum(a * x), lambda a: np.trace(a), _picks_diagonal, changes="zeros", once=True, **CT),
    _rule("product-with-uniform", a @ k, product_with_uniform, _is_matrix, **CT),
    _rule("uniform-times-product", np.matmul(k, a), uniform_times_product, _is_matrix, **CT),
    _rule("transpose-of-product", np.transpose(a @ b), transpose_of_product, _swaps_matrices, once=True, **CT),
)

# a table of its own, which only one pass has: the rule looks for another sum at each sum
SUMS_WITH_OTHER_KEEPDIMS = (
    _rule("sum-with-other-keepdims", Some("sum", "mean"), reshaped_sum, _has_sum_with_other_keepdims, changes=""),
)
