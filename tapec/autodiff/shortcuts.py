"""Derivatives of several operations taken as one, where the whole has a simpler one than its parts in turn.

1 / (1 + exp(-x)) has y * (1 - y), and so has the derivative of logaddexp; the logarithm of exp(x) / s, even of some of
its elements, needs no quotient and cannot divide by one that is zero. log(abs(x)) has 1 / x, and log(cosh(x)) tanh(x),
which does not overflow. The square of a length has 2 * x, without a root. Values between that have other uses get their
cotangents from those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapec.autodiff.squares import WrittenOut, square_of
from tapec.ir import Node, is_literal
from tapec.ops import apply

__all__ = ["Shortcut", "shortcut"]


class Shortcut(NamedTuple):
    """Some operations as one."""

    inputs: tuple[Node, ...]
    inner: tuple[Node, ...]  # the values between
    vjp: Callable[..., tuple[Any, ...]]  # from ct, y and the inputs
    jvp: Callable[..., Any]  # from the tangents, y and the inputs


def shortcut(node: Node, apart: Collection[Node]) -> Shortcut | None:
    """The shortcut that ends in this node, if there is one that skips none of the nodes in `apart`."""
    find = _ENDS.get(node.op.name)
    if find is None or node.type.dtype.kind != "f":
        return None
    found = find(node)
    return None if found is None or any([n in apart for n in found.inner]) else found


# -- 1 / (1 + exp(u)), exp(u) / (1 + exp(u)) --------------------------------------------------------------------------
def _quotient(node: Node) -> Shortcut | None:
    above, below = node.inputs if node.op.name == "divide" else (None, node.inputs[0])
    e = _one_plus_exp(below)
    if e is None or e.type != node.type:
        return None
    if above is e:
        sign = 1
    elif above is None or _is_one(above):
        sign = -1
    else:
        return None

    def scaled(t: Any, y: Any) -> Any:
        slope = t * y * (1 - y)
        return slope if sign == 1 else -slope

    return Shortcut(
        inputs=e.inputs,
        inner=(below, e),
        vjp=lambda ct, y, u: (scaled(ct, y),),
        jvp=lambda ts, y, u: scaled(ts[0], y),
    )


def _one_plus_exp(node: Node) -> Node | None:
    """The exp(u) of 1 + exp(u)."""
    if node.op.name != "add":
        return None
    for one, e in (node.inputs, node.inputs[::-1]):
        if _is_one(one) and e.op.name == "exp":
            return e
    return None


def _is_one(node: Node) -> bool:
    return is_literal(node) and node.value == 1


# -- log(abs(u)), log(cosh(u)) ----------------------------------------------------------------------------------------
_SLOPES: dict[str, Callable[[Any, Any], Any]] = {"absolute": np.divide, "cosh": lambda t, u: t * np.tanh(u)}


def _log(node: Node) -> Shortcut | None:
    (value,) = node.inputs
    slope = _SLOPES.get(value.op.name)
    if slope is None or value.inputs[0].type.dtype.kind != "f":
        return _log_of_share(node)
    return Shortcut(
        inputs=value.inputs,
        inner=(value,),
        vjp=lambda ct, y, u: (slope(ct, u),),
        jvp=lambda ts, y, u: slope(ts[0], u),
    )


# -- log(exp(u) / s), and of what is read from it ---------------------------------------------------------------------
def _log_of_share(node: Node) -> Shortcut | None:
    (value,) = node.inputs
    reading = value if value.op.name in ("getitem", "take_along_axis") else None
    quotient = value if reading is None else reading.inputs[0]
    if quotient.op.name != "divide":
        return None
    e, s = quotient.inputs
    if e.op.name != "exp" or e.type != quotient.type or s.type.weak:
        return None

    def vjp(ct: Any, y: Any, u: Any, s: Any, *places: Any) -> tuple[Any, ...]:
        if reading is not None:
            rule = reading.op.vjp
            assert rule is not None
            ct = rule(ct, y, u, *places, **dict(reading.params))[0]
        return (ct, -ct / s, *[None] * len(places))

    def jvp(ts: Any, y: Any, u: Any, s: Any, *places: Any) -> Any:
        t_u, t_s = ts[:2]
        t = t_u if t_s is None else -(t_s / s) if t_u is None else t_u - t_s / s
        t = np.broadcast_to(t, e.type.shape)
        return t if reading is None else apply(reading.op, (t, *places), reading.params)

    places = () if reading is None else reading.inputs[1:]
    inner = (quotient, e) if reading is None else (value, quotient, e)
    return Shortcut((e.inputs[0], s, *places), inner, vjp, jvp)


# -- norm(x) ** 2 and the like ----------------------------------------------------------------------------------------
def _square(node: Node) -> Shortcut | None:
    found = square_of(node)
    if found is None:
        return None
    if found.result.op.name == "square":  # of abs(z)
        return Shortcut(
            inputs=found.inputs,
            inner=found.inner,
            vjp=lambda ct, y, z: (ct * 2 * z,),
            jvp=lambda ts, y, z: np.real(np.conj(z) * ts[0]) * 2,
        )
    return Shortcut(
        inputs=found.inputs,
        inner=found.inner,
        vjp=lambda ct, y, *xs: _back_through(found, ct, xs),
        jvp=lambda ts, y, *xs: _pushed_through(found, ts, xs),
    )


def _back_through(program: WrittenOut, ct: Any, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    from tapec.autodiff.reverse import backward  # which asks for shortcuts

    lift = _within(program, xs)
    return tuple(backward(xs[0].builder, program.nodes, [program.result], [ct], program.given, lift))


def _pushed_through(program: WrittenOut, ts: Sequence[Any], xs: tuple[Any, ...]) -> Any:
    from tapec.autodiff.forward import push  # likewise

    moving = {i: t for i, t in zip(program.given, ts, strict=True) if t is not None}
    for node in program.nodes:
        push(xs[0].builder, node, moving, (), _within(program, xs))
    return moving.get(program.result)


def _within(program: WrittenOut, xs: tuple[Any, ...]) -> Callable[[Node], Node]:
    """Gives the node that stands for a value of the program where its inputs are these."""
    known = {i: x.node for i, x in zip(program.given, xs, strict=True)}

    def lift(node: Node) -> Node:
        if node not in known:
            known[node] = xs[0].builder.add(node.with_inputs(tuple(map(lift, node.inputs))))
        return known[node]

    return lift


# -- min(exp(b - logaddexp(a, b)), 1) ---------------------------------------------------------------------------------
_SCALES = {"exp": ("logaddexp", 1.0), "exp2": ("logaddexp2", math.log(2.0))}


def _share(node: Node) -> Shortcut | None:
    """The share of exp(b) in exp(a) + exp(b), with bounds for infinities, as in the derivative of logaddexp."""
    e, most = node.inputs
    if not (_is_one(most) or most.op.name == "where") or e.op.name not in _SCALES or e.inputs[0].op.name != "subtract":
        return None
    name, scale = _SCALES[e.op.name]
    b, bounded = e.inputs[0].inputs
    if bounded.op.name != "clip" or bounded.inputs[0].op.name != name:
        return None
    whole = bounded.inputs[0]
    if b not in whole.inputs or not whole.type == b.type == node.type:
        return None
    a = whole.inputs[0] if whole.inputs[1] is b else whole.inputs[1]

    def slope(t: Any, y: Any) -> Any:
        return t * (y * (1 - y)) if scale == 1 else t * (y * (1 - y) * scale)

    def vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, ...]:
        ct_b = slope(ct, y)
        return -ct_b, ct_b

    def jvp(ts: Any, y: Any, a: Any, b: Any) -> Any:
        t_a, t_b = ts
        return slope(t_b if t_a is None else -t_a if t_b is None else t_b - t_a, y)

    return Shortcut((a, b), (e, e.inputs[0], bounded, whole), vjp, jvp)


_ENDS: dict[str, Callable[[Node], Shortcut | None]] = {
    "divide": _quotient,
    "reciprocal": _quotient,
    "log": _log,
    **dict.fromkeys(["power", "float_power", "square", "multiply"], _square),
    "minimum": _share,
}
