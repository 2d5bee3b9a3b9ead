"""Differentiate what exp(-abs(u)) puts together from both sides of zero: smooth there, though its parts are not.

where(u >= 0, 1, e) / (1 + e) is a sigmoid, and max(u, 0) + log(1 + e) a softplus, perhaps among other terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.autodiff.composite.composite_rule import Shortcut
from tapec.autodiff.composite.matchers import is_one, is_zero, one_plus_exp, same, signed_terms
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, OpTable, ops

__all__ = ["sigmoid_by_sides", "softplus"]


def sigmoid_by_sides(above: Node, below: Node, e: Node) -> Shortcut | None:
    """where(u >= 0, 1, e) / (1 + e) with e = exp(-abs(u)), or the other way round: smooth, though its parts are not."""
    u = _of_size(e)
    condition, *sides = above.inputs
    small = next((k for k in (0, 1) if is_one(sides[1 - k])), None)
    if u is None or small is None:
        return None
    again = _of_size(sides[small])  # computed once more, perhaps
    side = _side(condition, u)
    if again is None or not _same(again, u) or not side:
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


_SIDES = OpTable({"greater greater_equal": 1, "less less_equal": -1})


def _side(condition: Node, u: Node) -> int:
    """Return the side of zero on which u is where a condition holds; 0 where the condition says something else."""
    side = _SIDES.get(condition.op, 0)
    return side if side and _same(condition.inputs[0], u) and is_zero(condition.inputs[1]) else 0


def _of_size(e: Node) -> Node | None:
    """The u of exp(-abs(u))."""
    size = e.inputs[0].inputs[0] if e.op is ops.exp and e.inputs[0].op is ops.negative else None
    return size.inputs[0] if size is not None and size.op in (ops.absolute, ops.fabs) else None


def _between(e: Node) -> tuple[Node, Node]:
    return e.inputs[0], e.inputs[0].inputs[0]


def _same(a: Node, b: Node) -> bool:
    """Return whether two nodes are the same value; NumPy functions cast a Python number that others take as it is."""
    return same(_number(a), _number(b))


def _number(node: Node) -> Node:
    """Return the Python number that a node is a cast of; else the node."""
    of = node.inputs[0] if node.op is ops.cast else node
    return of if of.type.weak and of.type.dtype == node.type.dtype else node


def _twin(again: Node, u: Node) -> tuple[Node, ...]:
    """Return the node that was computed once more, which gets no cotangent of its own."""
    return () if again in (u, _number(u)) else (again,)


# -- max(u, 0) + log(1 + exp(-abs(u))), among other terms -------------------------------------------------------------
class Softplus(NamedTuple):
    """Describes a softplus that is added or taken away: of u where `side` is 1, else of -u."""

    sign: int
    side: int
    u: Node
    e: Node  # exp(-abs(u))

    def scaled(self, t: Any, u: Any, e: Any) -> Any:
        slope = t * (np.where(u >= 0 if self.side == 1 else u <= 0, 1, e) / (1 + e))
        return slope if self.sign == self.side else -slope


def softplus(node: Node) -> Shortcut | None:
    """Match a softplus: it is smooth, though at zero each of its parts has a slope by its own convention."""
    if all([_ramp(i) is None and _log_of_size(i) is None for i in node.inputs]):
        return None
    inner, rest = signed_terms(node)
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


def _log_of_size(node: Node) -> Node | None:
    """The e of log(1 + e) with e = exp(-abs(u))."""
    if node.op not in (ops.log1p, ops.log):
        return None
    e = node.inputs[0] if node.op is ops.log1p else one_plus_exp(node.inputs[0])
    return e if e is not None and _of_size(e) is not None else None


def _ramp(node: Node) -> tuple[int, Node] | None:
    """Return 1 and u of max(u, 0), or of where(u > 0, u, 0); -1 and u of min(u, 0), or of where(u < 0, u, 0)."""
    op = node.op
    if op in (ops.maximum, ops.minimum):
        a, b = node.inputs
        u = a if is_zero(b) else b if is_zero(a) else None
        return None if u is None else (1 if op is ops.maximum else -1, u)
    if op is ops.where:
        condition, u, zero = node.inputs
        if is_zero(zero) and (side := _side(condition, u)):
            return side, u
    return None


def _turn(of: Node, u: Node) -> tuple[int, tuple[Node, ...]]:
    """Return 1 if both are the same, -1 if one is the negative of the other, else 0; and the nodes between them."""
    if _same(of, u):
        return 1, _twin(of, u)
    if of.op is ops.negative and _same(of.inputs[0], u):
        return -1, (of, *_twin(of.inputs[0], u))
    below = _number(u)
    if below.op is ops.negative and _same(of, below.inputs[0]):
        return -1, _twin(of, below.inputs[0])
    return 0, ()
