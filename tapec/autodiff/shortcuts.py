"""Derivatives of several operations taken as one, where the whole has a simpler one than its parts in turn.

1 / (1 + exp(-x)) has y * (1 - y), and so has the derivative of logaddexp, and what is put together from both sides of
zero with exp(-abs(x)), which is smooth there though its parts are not. The logarithm of exp(x) / s, even of some of
its elements, needs no quotient and cannot divide by one that is zero. log(abs(x)) has 1 / x, and log(cosh(x)) tanh(x),
which does not overflow. The square of a length has 2 * x, without a root. Values between that have other uses get their
cotangents from those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapec.autodiff.squares import WrittenOut, same, square_of
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
        return _sigmoid(1, *e.inputs, below, e)
    if above is None or _is_one(above):
        return _sigmoid(-1, *e.inputs, below, e)
    if above.op.name == "where":
        return _sigmoid_by_sides(above, below, e)
    return None


def _sigmoid(sign: int, u: Node, *inner: Node) -> Shortcut:
    def scaled(t: Any, y: Any) -> Any:
        slope = t * y * (1 - y)
        return slope if sign == 1 else -slope

    return Shortcut(
        inputs=(u,),
        inner=inner,
        vjp=lambda ct, y, u: (scaled(ct, y),),
        jvp=lambda ts, y, u: scaled(ts[0], y),
    )


def _sigmoid_by_sides(above: Node, below: Node, e: Node) -> Shortcut | None:
    """where(u >= 0, 1, e) / (1 + e) with e = exp(-abs(u)), or the other way round: smooth, though its parts are not."""
    u = _of_size(e)
    condition, *sides = above.inputs
    small = next((k for k in (0, 1) if _is_one(sides[1 - k])), None)
    if u is None or small is None:
        return None
    again = _of_size(sides[small])  # computed once more, perhaps
    side = _side(condition, u)
    if again is None or not same(again, u) or not side:
        return None
    sign = side if small == 1 else -side

    def scaled(t: Any, e: Any, below: Any) -> Any:
        slope = t * (e / (below * below))  # y * (1 - y) would cancel
        return slope if sign == 1 else -slope

    return Shortcut(
        inputs=(u, e, below),
        inner=(above, below, e, *_between(e), sides[small], *_between(sides[small]), *_twin(again, u)),
        vjp=lambda ct, y, u, e, below: (scaled(ct, e, below), None, None),
        jvp=lambda ts, y, u, e, below: scaled(ts[0], e, below),
    )


def _side(condition: Node, u: Node) -> int:
    """On which side of zero is u where a condition holds? 0 where it says something else."""
    side = {"greater": 1, "greater_equal": 1, "less": -1, "less_equal": -1}.get(condition.op.name, 0)
    return side if side and same(condition.inputs[0], u) and _is_zero(condition.inputs[1]) else 0


def _of_size(e: Node) -> Node | None:
    """The u of exp(-abs(u))."""
    size = e.inputs[0].inputs[0] if e.op.name == "exp" and e.inputs[0].op.name == "negative" else None
    return size.inputs[0] if size is not None and size.op.name in ("absolute", "fabs") else None


def _between(e: Node) -> tuple[Node, Node]:
    return e.inputs[0], e.inputs[0].inputs[0]


def _one_plus_exp(node: Node) -> Node | None:
    """The exp(u) of 1 + exp(u)."""
    if node.op.name != "add":
        return None
    for one, e in (node.inputs, node.inputs[::-1]):
        if _is_one(one) and e.op.name == "exp":
            return e
    return None


def _twin(again: Node, u: Node) -> tuple[Node, ...]:
    """What was computed once more gets no cotangent of its own."""
    return () if again is u else (again,)


def _is_one(node: Node) -> bool:
    return is_literal(node) and node.value == 1


def _is_zero(node: Node) -> bool:
    return is_literal(node) and node.value == 0


# -- max(u, 0) + log(1 + exp(-abs(u))), among other terms -------------------------------------------------------------
TERMS = 8
_SIGNS = {"add": (1, 1), "subtract": (1, -1), "negative": (-1,)}


class Softplus(NamedTuple):
    """One of u where `side` is 1, else of -u, which is added or taken away."""

    sign: int
    side: int
    u: Node
    e: Node  # exp(-abs(u))

    def scaled(self, t: Any, u: Any, e: Any) -> Any:
        slope = t * (np.where(u >= 0 if self.side == 1 else u <= 0, 1, e) / (1 + e))
        return slope if self.sign == self.side else -slope


def _softplus(node: Node) -> Shortcut | None:
    """Smooth, though at zero each of its parts has a slope by its own convention."""
    if all([_ramp(i) is None and _log_of_size(i) is None for i in node.inputs]):
        return None
    inner, rest = _terms(node)
    ramps = [(sign, term, *found) for sign, term in rest if (found := _ramp(term)) is not None]
    smooth = []
    for sign, term in tuple(rest):
        e = _log_of_size(term)
        u = None if e is None else _of_size(e)
        if e is None or u is None:
            continue
        for s, ramp, bound, of in ramps:
            turn, skipped = _turn(of, u)
            left = [(s, t) for s, t in rest if t is not term and t is not ramp]
            once = len(left) == len(rest) - 2
            if once and turn and s * bound == sign and _alike(u, term) and _alike(u, ramp):
                rest = left
                smooth.append(Softplus(sign, bound * turn, u, e))
                inner += [ramp, term, *term.inputs, e, *_between(e), *skipped]
                break
    return _with_softplus(smooth, rest, inner) if smooth else None


def _alike(a: Node, b: Node) -> bool:
    return a.type.shape == b.type.shape and a.type.dtype == b.type.dtype


def _with_softplus(smooth: Sequence[Softplus], rest: Sequence[tuple[int, Node]], inner: Sequence[Node]) -> Shortcut:
    n = len(smooth)

    def vjp(ct: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        slopes = [s.scaled(ct, u, e) for s, u, e in zip(smooth, xs, xs[n:])]
        return (*slopes, *[None] * n, *[ct if sign == 1 else -ct for sign, _ in rest])

    def jvp(ts: Any, y: Any, *xs: Any) -> Any:
        moved = [s.scaled(t, u, e) for s, t, u, e in zip(smooth, ts, xs, xs[n:]) if t is not None]
        moved += [t if sign == 1 else -t for (sign, _), t in zip(rest, ts[2 * n :], strict=True) if t is not None]
        return sum(moved[1:], moved[0])

    inputs = (*[s.u for s in smooth], *[s.e for s in smooth], *[t for _, t in rest])
    return Shortcut(inputs, tuple(inner), vjp, jvp)


def _terms(node: Node) -> tuple[list[Node], list[tuple[int, Node]]]:
    """The sums, differences and negatives within a sum, and its terms with their signs."""
    inner: list[Node] = []
    terms = [(1, node)]
    k = 0
    while k < len(terms) and len(terms) < TERMS:
        sign, term = terms[k]
        signs = _SIGNS.get(term.op.name, ())
        if signs and term.type == node.type:
            terms[k : k + 1] = [(sign * s, i) for s, i in zip(signs, term.inputs, strict=True)]
            inner.append(term)
        else:
            k += 1
    return inner[1:], terms


def _log_of_size(node: Node) -> Node | None:
    """The e of log(1 + e) with e = exp(-abs(u))."""
    if node.op.name not in ("log1p", "log"):
        return None
    e = node.inputs[0] if node.op.name == "log1p" else _one_plus_exp(node.inputs[0])
    return e if e is not None and _of_size(e) is not None else None


def _ramp(node: Node) -> tuple[int, Node] | None:
    """1 and u of max(u, 0), or of where(u > 0, u, 0); -1 and u of min(u, 0), or of where(u < 0, u, 0)."""
    name = node.op.name
    if name in ("maximum", "minimum"):
        a, b = node.inputs
        u = a if _is_zero(b) else b if _is_zero(a) else None
        return None if u is None else (1 if name == "maximum" else -1, u)
    if name == "where":
        condition, u, zero = node.inputs
        if _is_zero(zero) and (side := _side(condition, u)):
            return side, u
    return None


def _turn(of: Node, u: Node) -> tuple[int, tuple[Node, ...]]:
    """1 if they are the same, -1 if one is the negative of the other, else 0; and what lies between them."""
    if same(of, u):
        return 1, _twin(of, u)
    if of.op.name == "negative" and same(of.inputs[0], u):
        return -1, (of, *_twin(of.inputs[0], u))
    if u.op.name == "negative" and same(of, u.inputs[0]):
        return -1, _twin(of, u.inputs[0])
    return 0, ()


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
def _power(node: Node) -> Shortcut | None:
    exponent = node.inputs[1]
    return _quotient(node) if is_literal(exponent) and exponent.value == -1 else _square(node)


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
    lift = _within(program, xs)
    for node in program.nodes:
        if any([i in moving for i in node.inputs]):
            push(xs[0].builder, node, moving, (), lift)
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
    **dict.fromkeys(["add", "subtract"], _softplus),
    "divide": _quotient,
    "reciprocal": _quotient,
    "log": _log,
    **dict.fromkeys(["power", "float_power"], _power),
    **dict.fromkeys(["square", "multiply"], _square),
    "minimum": _share,
}
