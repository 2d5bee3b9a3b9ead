"""Apply the derivative rule of one op, and bring what it gives into the type of the value that it belongs to.

Both modes and the rules of composites build on these functions, which know nothing of whole programs.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.autodiff.symbolic.signed_cotangents import Minus, Uniform, product
from tapec.autodiff.symbolic.symbolic_zeros import Zero, filled, is_zero
from tapec.ir import ITEM, Builder, Node, Op, Type, is_literal, ops
from tapec.ir.types import is_differentiable
from tapec.ops import Symbol
from tapec.ops.core.define import Missing, conj
from tapec.ops.core.op_helpers import real_dtype
from tapec.ops.layout.reshape_and_transpose import unbroadcast

__all__ = [
    "carries",
    "decomposition_of",
    "decompositions",
    "dependents",
    "fit",
    "fit_signed",
    "has_spectrum",
    "input_cotangents",
    "partials_of",
    "plain",
    "result_of",
    "scaled",
    "signed_cotangents",
    "summed",
]


def dependents(nodes: Sequence[Node], sources: Sequence[Node]) -> set[Node]:
    """Find the nodes through which a derivative with respect to the sources can flow, sources included."""
    active = set(sources)
    for node in nodes:
        if not active.isdisjoint(node.inputs) and carries(node):
            active.add(node)
    return active


def carries(node: Node) -> bool:
    """Return whether a derivative flows through this node. None does through what is piecewise constant."""
    if node.op.gradient == "none" or not _has_gradient(node.type):
        return False
    return node.op is not ITEM or not _is_constant(node)


def _is_constant(item: Node) -> bool:
    """Return whether this result of an op with several is piecewise constant, as the quotient of divmod is."""
    return item.param("index") in item.inputs[0].op.facts.get("constant", ())


def _has_gradient(t: Any) -> bool:
    return any(map(is_differentiable, t)) if isinstance(t, tuple) else is_differentiable(t)


def has_spectrum(node: Node) -> bool:
    """Return whether this node gives values with vectors, which are not determined where values are equal."""
    return "spectrum" in node.op.facts


Decompositions = dict[tuple[str, tuple[Node, ...]], list[Node]]  # by their names, and of what they are


def decompositions(nodes: Sequence[Node]) -> Decompositions:
    found: Decompositions = {}
    for node in nodes:
        if has_spectrum(node):
            found.setdefault((node.op.name, node.inputs), []).append(node)
    return found


def decomposition_of(node: Node, known: Decompositions) -> tuple[Node | None, int]:
    """Return the decomposition that a node is a result of, and which result it is.

    Values that were computed alone are those that a decomposition of the same matrix gives.
    """
    made, result = (node.inputs[0], node.param("index")) if node.op is ITEM else (node, 0)
    if node.op is ITEM and has_spectrum(made):
        return made, result
    values, name, params = made.op.facts.get("values_of", (None, "", ()))
    for found in known.get((name, made.inputs[:1]), ()) if result == values else ():
        given = dict(found.params)
        if all([given.get(key, value) == value for key, value in (*made.params, *params)]):
            return found, found.op.facts["spectrum"].values
    return None, 0


def result_of(builder: Builder, y: Node) -> Any:
    """Show a node's value as rules see it: a symbol, or a tuple of them."""
    if isinstance(y.type, tuple):
        return tuple([Symbol(n, builder) for n in builder.items(y)])
    return Symbol(y, builder)


def input_cotangents(node: Node, ct: Any, y: Any, xs: Sequence[Symbol]) -> Sequence[Any]:
    """Apply an op's rule: the cotangent of each input, still broadcast and in the dtype it came out in."""
    parts = signed_cotangents(node, ct, y, xs, [True] * len(xs))
    return [-part.value if type(part) is Minus else part for part in parts]


def signed_cotangents(
    node: Node, ct: Any, y: Any, xs: Sequence[Symbol], wanted: Sequence[bool], slopes: Sequence[Any] = ()
) -> Sequence[Any]:
    """Apply an op's rule as `input_cotangents` does, but leave signs apart; what is not wanted may be missing."""
    op = node.op
    params = dict(node.given)
    if slopes:
        params["slopes"] = slopes
    if "by_wanted" in op.facts:
        params["wanted"] = wanted
    if op.vjp is not None:
        return op.vjp(ct, y, *xs, **params)
    if op.partials is None:
        raise NotImplementedError(f"op {op.name} has no derivative rule")
    partials = partials_of(op, y, xs, params)
    return [None if p is None or not want else scaled(ct, p) for p, want in zip(partials, wanted, strict=True)]


def partials_of(op: Op, y: Any, xs: Sequence[Symbol], params: dict[str, Any]) -> Sequence[Any]:
    """Return the partial derivatives from an op's rule, of operands with as many digits as the result.

    Where a partial derivative is an operand, it is the operand as it was.
    """
    rule: Any = op.partials
    if len(xs) == 1:
        return rule(y, *xs, **params)
    wide = [_as_precise(x, y) for x in xs]
    partials = rule(y, *wide, **params)
    if all(map(operator.is_, xs, wide)):
        return partials
    return [next((x for x, w in zip(xs, wide, strict=True) if p is w), p) for p in partials]


def _as_precise(x: Symbol, y: Symbol) -> Symbol:
    """Return an operand in the precision of the result: a rule that divides by a float32 would have half of the
    digits."""
    own, whole = x.node.type, y.node.type
    if isinstance(whole, tuple) or own.weak or own.dtype == whole.dtype or own.dtype.kind not in "fc":
        return x
    if is_literal(x.node) or real_dtype(own.dtype).itemsize >= real_dtype(whole.dtype).itemsize:
        return x
    return x.astype(np.result_type(own.dtype, real_dtype(whole.dtype)))


def scaled(ct: Any, partial: Any) -> Any:
    """Return ct * conj(partial), without a multiplication by one; a boolean partial is a mask where it is one."""
    if isinstance(partial, (int, float)):
        if partial in (0, 1):
            return ct if partial else 0
        if partial != -1:
            return ct * partial
        return Minus(ct) if type(ct) is Symbol else -ct
    if isinstance(partial, Symbol):
        kind = partial.dtype.kind
        if kind == "b":
            return np.where(partial, ct, 0)
        if partial.node.op is ops.negative:
            return Minus(scaled(ct, Symbol(partial.node.inputs[0], partial.builder)))
        if kind != "c":
            return product(ct, partial)
    elif isinstance(partial, Missing):
        return partial
    return product(ct, conj(partial))


def fit_signed(builder: Builder, part: Any, minus: bool, t: Type) -> Any:
    """Apply `fit` to a cotangent, negated if it came from one that was; the sign stays apart where the type is
    right."""
    while type(part) is Minus:  # a sign of each of several factors
        part, minus = part.value, not minus
    if type(part) is Symbol and part.node.type == t and not t.weak:  # the commonest
        return Minus(part) if minus else part
    if type(part) is Uniform:
        if part.type == t:
            number: Any = part  # its operators are made at import, unknown to type checkers
            return -number if minus else number
        part = part.symbol
    if not minus or is_zero(part):
        return fit(builder, part, t)
    return Minus(part) if isinstance(part, Symbol) and part.node.type == t else fit(builder, -part, t)


def fit(builder: Builder, value: Any, t: Type) -> Any:
    """A cotangent or tangent in the shape and dtype of the value it belongs to.

    Summed where that was broadcast, repeated where the rule left it small, its real part where that is real.
    """
    if type(value) is Symbol and value.node.type == t and not t.weak:
        return value
    if is_zero(value):
        return Zero(plain(t), builder)
    if not isinstance(value, Symbol):
        if isinstance(value, Missing):
            value.refuse()
        value = Symbol(builder.constant(value), builder)
    if value.dtype.kind == "c" and t.dtype.kind == "f":
        value = np.real(value)
    if value.shape != t.shape:
        if not _spreads(value.shape, t.shape):
            value = unbroadcast(value, t.shape)
        if value.shape != t.shape:
            value = np.broadcast_to(value, t.shape)
    if value.dtype != t.dtype or value.weak:
        if value.weak and value.node.op.kind == "constant":
            return filled(builder, plain(t), value.node.value)
        value = value.astype(t.dtype)
    return value


def _spreads(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Return whether one shape broadcasts to the other."""
    return len(shape) <= len(to) and all(n in (1, m) for n, m in zip(reversed(shape), reversed(to), strict=False))


def plain(t: Type) -> Type:
    """The type of an array that stands for a weak scalar."""
    return Type(t.shape, t.dtype) if t.weak else t


def summed(parts: list[Any]) -> Any:
    """Add up the parts that are not None; None for nothing."""
    total: Any = None
    for p in parts:
        if p is None:
            continue
        if isinstance(p, tuple):
            total = p if total is None else tuple([summed([a, b]) for a, b in zip(total, p, strict=True)])
        else:
            total = p if total is None else total + p
    return total
