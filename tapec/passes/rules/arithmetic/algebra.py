"""These rules drop neutral elements, signs and what cancels: bit for bit, unless a rule is for cotangents only."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir import Node, OpSet
from tapec.ir.cost import elements
from tapec.ir.pattern import number, params, variables
from tapec.ops import Symbol, apply
from tapec.ops.indexing.getitem_and_scatter import SCATTER, is_added_up
from tapec.ops.layout.creation import FULL
from tapec.passes.engine.node_facts import are_few, is_nonnegative, is_power_of_two, uniform_value
from tapec.passes.engine.rule import Rule

__all__ = ["ALGEBRA", "negated_at", "small_factor"]

a, b, c, d, x = variables("a b c d x")
i, j, k = number("i"), number("j"), number("k")
FACTORED = OpSet("multiply divide")
LARGEST = {"d": 709.0, "f": 88.0}  # the largest operand of exp without overflow, by dtype


def opposite(k: Any) -> Any:
    """Return -k, of which 0 and -0.0 are two numbers."""
    return -k if k else -float(k)


def same_number(j: Any, k: Any) -> bool:
    """Return whether j and k are one number, as 0 and 0.0 are, and 0.0 and -0.0 are not."""
    return j == k and (j != 0 or math.copysign(1.0, complex(j).real) == math.copysign(1.0, complex(k).real))


def is_cotangent(y: Node, a: Node) -> bool:
    return y.role is not None and _as_large(y, a)


def _as_large(y: Node, a: Node) -> bool:
    """Return whether a has no fewer elements than the result, so that it costs nothing more to negate a instead."""
    return elements(a) >= elements(y)


def _number_there(y: Node, x: Node, k: Any, walk: Any) -> Any:
    """Return the number equal to k, an integer or a float, of which the program has the quotient with x, if it has."""
    other = float(k) if type(k) is int else int(k) if type(k) is float and k.is_integer() else None
    known = None if other is None else walk.value_with_number(y.op, x, other, first=True)
    return other if known is not None and (known.role is None or type(other) is int) and walk.uses.of(known) else None


def _is_number_of_derivative(y: Node) -> bool:
    """Return whether a node is a number, and that and its first operand are derivatives, whatever else they are made
    of."""
    return not y.type.shape and y.role is not None and y.inputs[0].role is not None


def _is_free(y: Node, a: Node) -> bool:
    """Return whether a sign may go on for nothing; that of a factor of the user's stays where it was written."""
    return _as_large(y, a) and (y.role is not None)


def _is_of_its_dtype(y: Node, x: Node) -> bool:
    """Return whether the result is of the operand's dtype: truth values have no negative, unsigned numbers another."""
    return x.type.dtype == y.type.dtype


def _is_named(y: Node) -> bool:
    """Return whether a node is the derivative of a variable of the user's, and so has its name.

    The next step of a loop begins with it, and a sign that goes on from step to step would tell the steps apart where
    one of them is a result.
    """
    return y.name is not None


def small_factor(y: Node, a: Node, uses: Any) -> tuple[int, ...] | None:
    """Return the path, operand by operand, to a factor of a product that is smaller than the result; None without one.

    The path leads through products and quotients that nothing else reads. The factor has elements, and is of floats,
    since an unsigned number has no negative of its kind.
    """
    path: tuple[int, ...] = ()
    while a.op in FACTORED and uses(a) == 1 and a.type == y.type:
        for k, i in enumerate(a.inputs):
            if 0 < elements(i) < elements(y) and i.type.dtype.kind == "f":
                return *path, k
        inner = next((k for k, i in enumerate(a.inputs) if i.op in FACTORED), None)
        if inner is None:
            return None
        path, a = (*path, inner), a.inputs[inner]
    return None


def negated_at(a: Symbol, path: tuple[int, ...]) -> Any:
    """Return the product with a negative in place of the factor at the end of the path."""
    if not path:
        return -a
    operands = [Symbol(i, a.builder) for i in a.node.inputs]
    operands[path[0]] = negated_at(operands[path[0]], path[1:])
    return apply(a.node.op, tuple(operands))


def rolled_negative(y: Symbol, x: Symbol) -> Any:
    return -apply(y.node.op, (x,), y.node.params)


def _is_small_choice(y: Node, a: Node, b: Node, uses: Any) -> bool:
    """Return whether both branches of a selection are much smaller than the result, and nothing else reads it."""
    return are_few(max(elements(a), elements(b)), elements(y)) and uses(y.inputs[0]) == 1


def _is_spread_out(k: int) -> Any:
    """Return a condition: whether the operand number k of a selection is an array of one number."""
    return lambda y: y.inputs[k].op is FULL


def _is_bool(c: Node) -> bool:
    return c.type.dtype.kind == "b"


def _is_added_up(y: Node, x: Node) -> bool:
    """Return whether x is added up from zero, and so is never -0.0. A value that is only put in places keeps its
    sign.
    """
    return x.op is SCATTER and x.type == y.type and is_added_up(x)


def _neutral(name: str, op: Any, value: bool) -> Rule:
    """Return the rule that a logical operation with a neutral value is its other operand, if that is a condition."""
    return Rule(name, op(a, b), a, lambda a, b: _is_bool(a) and uniform_value(b) is value, kinds="b")


def _decides(y: Node, x: Node) -> bool:
    """Return whether x is a Python number, in an operation whose dtype is that of the other operand, too."""
    return x.type.weak and all([i.type.dtype == y.type.dtype for i in y.inputs])


def _is_difference(y: Node, a: Node, b: Node) -> bool:
    """Return whether a cotangent is a difference of a and b, which have its dtype and shape."""
    return y.role is not None and a.type == b.type == y.type


SHARE = np.minimum(np.exp(x - np.clip(np.logaddexp(k, x), j, i)), 1.0)  # the share of exp(x) in exp(k) + exp(x)


def _is_share(y: Node, i: Any, j: Any) -> bool:
    """Return whether a cotangent has the form that the derivative of logaddexp has, with bounds that only infinities
    exceed.
    """
    dtype = y.type.dtype
    return y.role is not None and dtype.char in LARGEST and i == -j == np.finfo(dtype).max


def _softened(y: Symbol) -> Symbol:
    """Return the logaddexp of which y is a share."""
    bounded = y.node.inputs[0].inputs[0].inputs[1]
    return Symbol(bounded.inputs[0], y.builder)


def _guarded(name: str, pattern: Any, replacement: Any) -> Rule:
    when = lambda j, k: k == 0 and j == math.inf
    return Rule(name, pattern, replacement, when, kinds="fb", only="cotangents", changes="zeros")


GUARDED: Any = np.where(np.equal(a, k), j, a)

ALGEBRA = (
    # neutral elements; x + 0.0 is not x when x is -0.0
    Rule("times-one", x * 1, x, kinds="fiu"),
    Rule("over-one", x / 1, x),
    # a seed of one, an array scalar, makes an array scalar of a Python number; beside arrays that can stay a number
    Rule(
        "python-number-times-one",
        x * 1,
        lambda y, x: np.astype(x, y.dtype),
        lambda y, x: x.type.weak and not y.type.weak,
    ),
    Rule("times-python-number", a * np.astype(x, params), a * x, _decides),
    Rule("python-number-over", np.astype(x, params) / a, x / a, _decides),
    Rule("number-of-other-kind", k / x, lambda x, fact: fact / x, _number_there, only="cotangents"),
    Rule("minus-zero", x - 0, x, kinds="fiu"),
    Rule("plus-negative-zero", x + -0.0, x),
    Rule("plus-integer-zero", x + 0, x, kinds="iu"),
    Rule("plus-zero-added-up", x + 0.0, x, _is_added_up, kinds="fc"),
    *[_neutral(f"{op.__name__}-true", op, True) for op in (np.logical_and, np.bitwise_and)],
    *[_neutral(f"{op.__name__}-false", op, False) for op in (np.logical_or, np.bitwise_or)],
    Rule("positive", np.positive(x), x, kinds="fciu"),
    # signs: a negation moves outwards until it meets a sum, a number, or another negation, which takes it up
    Rule("times-minus-one", x * -1, -x, _is_of_its_dtype, kinds="fi"),
    Rule("over-minus-one", x / -1, -x, _is_of_its_dtype),
    Rule("negative-of-negative", np.negative(-x), x, kinds="fci"),
    Rule("plus-negative", a + -b, a - b, kinds="fc"),
    Rule("minus-negative", a - -b, a + b, kinds="fc"),
    Rule("plus-negative-times", a + -b * c, a - b * c, once=True),
    Rule("minus-negative-times", a - -b * c, a + b * c, once=True),
    Rule("negative-of-negative-times", -(-a * b), a * b, once=True),
    Rule("negative-of-negative-over", -(-a / b), a / b, once=True),
    Rule("negatives-multiplied", -a * -b, a * b),
    Rule("negatives-divided", -a / -b, a / b),
    Rule("negative-times-number", -x * k, lambda x, k: x * opposite(k)),
    Rule("negative-over-number", -x / k, lambda x, k: x / opposite(k)),
    Rule("number-over-negative", k / -x, lambda x, k: opposite(k) / x),
    Rule("negative-of-product", -(x * k), lambda x, k: x * opposite(k), once=True),
    Rule(
        "negative-of-reshaped-product",
        -np.reshape(x * k, params),
        lambda y, x, k: np.reshape(x * opposite(k), y.shape),
        lambda y, x: x.type.size == y.type.size,  # an array of one number repeated may be the larger
        once=True,
    ),
    Rule(
        "negative-of-reshaped-reciprocal",
        -np.reshape(k / x, params),
        lambda y, x, k: np.reshape(opposite(k) / x, y.shape),
        lambda y, x: x.type.size == y.type.size,
        once=True,
    ),
    Rule("negative-of-quotient", -(x / k), lambda x, k: x / opposite(k), once=True),
    Rule("negative-of-reciprocal", -(k / x), lambda x, k: opposite(k) / x, once=True),
    Rule("roll-of-negative", np.roll(-x, params), rolled_negative, only="cotangents", once=True),
    Rule("negative-times", -a * b, -(a * b), lambda y, a: _is_free(y, a), once=True),
    Rule("negative-over", -a / b, -(a / b), lambda y, a: _as_large(y, a), once=True),
    Rule("over-negative", a / -b, -(a / b), lambda y, b: _as_large(y, b), once=True),
    # but a negation stays at, and moves into, a small factor of a large product
    Rule("negative-of-product-with-smaller", -a, lambda a, fact: negated_at(a, fact), small_factor),
    # cotangents are added up in the end almost always, and a sum takes up a sign, so each product passes its sign on
    Rule("negative-times-shared", -a * b, -(a * b), is_cotangent),
    Rule("negative-over-shared", -a / b, -(a / b), is_cotangent),
    Rule("negative-minus", -a - b, -(a + b), lambda y: not _is_named(y), only="cotangents", changes="zeros", once=True),
    Rule("negative-of-difference", -(a - b), b - a, only="cotangents", changes="zeros", once=True),
    # the derivative of a cross-entropy: labels and probabilities, each times one minus the other
    Rule("rests-multiplied", (1 - a) * b - (1 - b) * a, b - a, _is_difference, changes="zeros"),
    Rule("rests-multiplied-and-added", (1 - a) * b + (b - 1) * a, b - a, _is_difference, changes="zeros"),
    # absolute values and squares
    Rule("absolute-of-nonnegative", np.absolute(x), x, when=lambda x: is_nonnegative(x)),
    Rule("absolute-of-negative", np.absolute(-x), np.absolute(x), kinds="f"),
    Rule("square", np.square(x), x * x, kinds="fiu"),
    Rule("absolute-squared", np.absolute(x) * np.absolute(x), x * x),
    Rule("absolute-times-sign", np.absolute(x) * np.sign(x), x, lambda y: y.role is not None, changes="zeros"),
    # sums of a value with itself
    Rule("twice", x + x, x * 2.0),
    Rule("twice-beside", a + x + x, a + x * 2.0, only="cotangents", changes="rounding", once=True),
    # selection
    Rule("where-both-same", np.where(c, x, x), x, kinds="fciub"),
    Rule("where-again-then", np.where(c, np.where(c, a, j), k), np.where(c, a, j), same_number, kinds="fciub"),
    Rule("where-again-else", np.where(c, k, np.where(c, j, a)), np.where(c, j, a), same_number, kinds="fciub"),
    Rule("where-same-condition-then", np.where(c, np.where(c, a, b), d), np.where(c, a, d), kinds="fciub"),
    Rule("where-same-condition-else", np.where(c, a, np.where(c, b, d)), np.where(c, a, d), kinds="fciub"),
    Rule("where-not", np.where(np.invert(c), a, b), np.where(c, b, a), _is_bool, kinds="fcib"),
    Rule("negative-of-numbers-chosen", -np.where(c, j, k), lambda c, j, k: np.where(c, opposite(j), opposite(k))),
    Rule("negative-of-small-chosen", -np.where(c, a, b), np.where(c, -a, -b), _is_small_choice, kinds="f"),
    Rule("number-chosen-then", np.where(c, k, a), lambda c, k, a: np.where(c, k, a), _is_spread_out(1)),
    Rule("number-chosen-else", np.where(c, a, k), lambda c, k, a: np.where(c, a, k), _is_spread_out(2)),
    Rule(
        "where-constant-condition",
        np.where(c, a, b),
        lambda c, a, b: a if uniform_value(c.node) else b,
        when=lambda c: uniform_value(c) is not None,
        kinds="fciub",
    ),
    # a root at zero: what has been divided by it is not finite any more
    _guarded("divisor-guarded-again", x / a / GUARDED, x / a / a),
    _guarded("divisor-guarded-in-product", x * (b / a) / GUARDED, x * (b / a) / a),
    Rule("root-divided-by-twice", a / np.sqrt(x) / np.sqrt(x), a / x, _is_number_of_derivative, changes="rounding"),
    Rule(
        "root-in-product-divided-by-twice",
        a * (b / np.sqrt(x)) / np.sqrt(x),
        a * (b / x),
        _is_number_of_derivative,
        changes="rounding",
    ),
    # exact changes of numbers
    Rule("over-power-of-two", x / k, lambda x, k: x * (1.0 / k), when=lambda k: is_power_of_two(k)),
    Rule(
        "powers-of-two-gathered",
        x * j * k,
        lambda x, j, k: x * (j * k),
        when=lambda j, k: is_power_of_two(j) and is_power_of_two(k) and abs(j) >= 1 and abs(k) >= 1,
    ),
    # the derivative of logaddexp of a number: without its value, and by its value where that is needed anyway
    Rule(
        "share-of-logaddexp",
        SHARE,
        lambda x, k: 1.0 / (1.0 + np.exp(np.minimum(k - x if k else -x, LARGEST[x.dtype.char]))),
        when=lambda y, i, j, k: _is_share(y, i, j) and math.isfinite(k),
        once=True,
        changes="rounding",
    ),
    Rule(
        "share-of-softplus",
        SHARE,
        lambda y: -np.expm1(-_softened(y)),
        when=lambda y, i, j, k: _is_share(y, i, j) and k == 0,
        changes="rounding",
    ),
    # complex parts of reals
    Rule("conjugate-of-conjugate", np.conjugate(np.conjugate(x)), x, kinds="c"),
    Rule("conjugate-of-real", np.conjugate(x), x, kinds="fiu"),
)
