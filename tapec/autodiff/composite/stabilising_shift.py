"""Find shifts that cancel: the maximum, or minimum, that is subtracted before exponentials are taken.

exp(s - m) / sum(exp(s - m)) and m + log(sum(exp(s - m))) are the same for every m; m = max(s) only keeps them from
overflowing, as the minimum does in exp(m - s). So the derivative with respect to m is zero, and nothing of it need be
computed. With it gradients of a softmax take 1.5 times as long, of a log-softmax 1.8 times.

Let m grow by d, which may differ from row to row. A value then grows by k * d, or by the factor exp(k * d), or it stays
as it is; `_RULES` tells which for each op from its operands. Where all that the targets read of m stays, m cancels.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, OpTable, is_literal, ops
from tapec.ir.static_index import Slice
from tapec.ops.indexing.getitem_and_scatter import picks_one

__all__ = ["cancelling_shifts"]

WHOLE = Slice(None, None, None)
Axes = tuple[int | None, ...]


class Reaction(NamedTuple):
    """A reaction tells what a value does when m grows by d."""

    factor: bool  # it grows by the factor exp(k * d), not by the term k * d
    k: float
    axes: Axes  # for each axis of the value, the axis of d that runs along it; None where d is the same all along


class Unknown(Exception):
    """An op that does something else with a value that is not the same for every m."""


def cancelling_shifts(nodes: Sequence[Node], targets: Collection[Node], sources: Collection[Node]) -> frozenset[Node]:
    """The maxima and minima among the nodes that no target depends on, sources apart."""
    found = [n for n in nodes if n.op in (ops.max, ops.min) and n.type.dtype.kind == "f" and n not in sources]
    if not found:
        return frozenset()
    users: dict[Node, list[int]] = {}
    for k, node in enumerate(nodes):
        for i in dict.fromkeys(node.inputs):
            users.setdefault(i, []).append(k)
    ends = set(targets)
    twins: dict[Any, list[Node]] = {}
    for m in found:
        twins.setdefault((m.op, m.inputs, m.param("axis")), []).append(m)
    cancelled: list[Node] = []
    for same in twins.values():
        together = _cancel(same, nodes, users, ends)
        cancelled += same if together else [m for m in same if len(same) > 1 and _cancel([m], nodes, users, ends)]
    return frozenset(cancelled)


def _cancel(same: list[Node], nodes: Sequence[Node], users: dict[Node, list[int]], ends: set[Node]) -> bool:
    """Follow what depends on m, with and without its axes of length one, until all of it stays as it is."""
    known = {m: Reaction(False, 1.0, _own_axes(m)) for m in same}
    waiting = sorted([k for m in same for k in users.get(m, ())])
    done: set[int] = set()
    if not ends.isdisjoint(same) or not waiting:
        return False
    while waiting:
        k = waiting.pop(0)
        node = nodes[k]
        if k in done or node.op.gradient != "yes":  # a comparison, say: no derivative flows through it
            continue
        done.add(k)
        try:
            reaction = _reaction(node, [known.get(i) for i in node.inputs])
        except Unknown:
            return False
        if reaction is None:
            continue
        if node in ends or len(done) > tuning.SHIFT_MAX_OPS:
            return False
        known[node] = reaction
        for user in users.get(node, ()):
            insort(waiting, user)
    return True


def _own_axes(m: Node) -> Axes:
    """The axes of a maximum, by their numbers in what it is the maximum of."""
    axis, keepdims = m.param("axis"), m.param("keepdims")
    kept = [k for k in range(m.inputs[0].type.ndim) if keepdims or k not in axis]
    return tuple([k if n != 1 else None for k, n in zip(kept, m.type.shape, strict=True)])


def _reaction(node: Node, given: list[Reaction | None]) -> Reaction | None:
    rule = _RULES.get(node.op)
    if rule is None:
        raise Unknown
    reaction = rule(node, given)
    return None if reaction is None or reaction.k == 0 else reaction


def _expect(holds: bool) -> None:
    if not holds:
        raise Unknown


def _number(node: Node) -> float:
    """The number that an operand is everywhere."""
    value = node.value if is_literal(node) else node.param("value") if node.op is ops.full else None
    if not isinstance(value, (int, float)):
        raise Unknown
    return float(value)


# -- elementwise ------------------------------------------------------------------------------------------------------
def _broadcast(r: Reaction, ndim: int) -> Reaction:
    return r._replace(axes=(None,) * (ndim - len(r.axes)) + r.axes)


def _operands(node: Node, given: list[Reaction | None]) -> list[Reaction | None]:
    """Return the reactions of operands, laid out as the result is. Two must follow the same axes."""
    laid = [None if r is None else _broadcast(r, node.type.ndim) for r in given]
    _expect(len({r.axes for r in laid if r is not None}) == 1)
    return laid


def _sum(sign: int) -> Callable[..., Reaction | None]:
    def rule(node: Node, given: list[Reaction | None]) -> Reaction | None:
        a, b = _operands(node, given)
        if a is not None and b is not None:
            _expect(a.factor == b.factor and (not a.factor or a.k == b.k))
            return a if a.factor else a._replace(k=a.k + sign * b.k)
        if a is not None:
            _expect(not a.factor or _number(node.inputs[1]) == 0)
            return a
        assert b is not None
        _expect(not b.factor or _number(node.inputs[0]) == 0)
        return b if b.factor else b._replace(k=sign * b.k)

    return rule


def _product(sign: int) -> Callable[..., Reaction | None]:
    def rule(node: Node, given: list[Reaction | None]) -> Reaction | None:
        a, b = _operands(node, given)
        if a is not None and b is not None:
            _expect(a.factor and b.factor)
            return a._replace(k=a.k + sign * b.k)
        if a is not None:
            if a.factor:
                return a
            number = _number(node.inputs[1])
            _expect(number != 0 or sign == 1)
            return a._replace(k=a.k * number**sign)
        assert b is not None
        _expect(b.factor or sign == 1)
        return b._replace(k=sign * b.k if b.factor else b.k * _number(node.inputs[0]))

    return rule


def _unary(factor: bool, change: Callable[[Reaction], Reaction]) -> Callable[..., Reaction | None]:
    """An op that takes values of one kind of reaction."""

    def rule(node: Node, given: list[Reaction | None]) -> Reaction | None:
        (r,) = given
        assert r is not None
        _expect(r.factor == factor)
        return change(r)

    return rule


def _negative(node: Node, given: list[Reaction | None]) -> Reaction | None:
    (r,) = given
    assert r is not None
    return r if r.factor else r._replace(k=-r.k)


def _power(node: Node, given: list[Reaction | None]) -> Reaction | None:
    r = given[0]
    _expect(r is not None and r.factor and given[1] is None)
    assert r is not None
    return _broadcast(r, node.type.ndim)._replace(k=r.k * _number(node.inputs[1]))


def _where(node: Node, given: list[Reaction | None]) -> Reaction | None:
    a, b = _operands(node, given)[1:]
    if a is not None and b is not None:
        _expect(a == b)
        return a
    r, other = (a, node.inputs[2]) if a is not None else (b, node.inputs[1])
    assert r is not None
    _expect(_number(other) == 0 if r.factor else bool(np.isinf(_number(other))))
    return r


# -- along axes -------------------------------------------------------------------------------------------------------
def _reduction(node: Node, given: list[Reaction | None]) -> Reaction | None:
    r, *_ = given
    assert r is not None
    shape, axes = node.inputs[0].type.shape, node.param("axis")
    _expect(all([r.axes[k] is None for k in axes]) and not any(given[1:]))
    if node.param("keepdims"):
        kept = r.axes
    else:
        kept = tuple([a for k, a in enumerate(r.axes) if k not in axes])
    total = node.op is ops.sum and not r.factor
    return Reaction(r.factor, r.k * np.prod([shape[k] for k in axes]) if total else r.k, kept)


def _along(node: Node, given: list[Reaction | None]) -> Reaction | None:
    """An op that takes each line of one axis to such a line, factors common to the line going through."""
    r = given[0]
    _expect(r is not None and not any(given[1:]))
    assert r is not None
    _expect(r.axes[node.param("axis")] is None and (r.factor or node.op is ops.take_along_axis))
    return r


def _matmul(node: Node, given: list[Reaction | None]) -> Reaction | None:
    """A product with something that stays: the axis that is summed must not be one of d's."""
    a, b = given
    _expect((a is None) != (b is None))
    r, left = (a, True) if a is not None else (b, False)
    assert r is not None
    summed = -1 if left or len(r.axes) == 1 else -2
    _expect(r.factor and r.axes[summed] is None)
    x, y = node.inputs
    rows = list(r.axes[:-2]) if len(r.axes) > 1 else []
    ends: list[int | None] = []
    if x.type.ndim > 1:
        ends.append(r.axes[-2] if left else None)
    if y.type.ndim > 1:
        ends.append(None if left else r.axes[-1])
    axes = [*rows, *ends]
    return r._replace(axes=(None,) * (node.type.ndim - len(axes)) + tuple(axes))


# -- layout -----------------------------------------------------------------------------------------------------------
def _same(node: Node, given: list[Reaction | None]) -> Reaction | None:
    r = given[0]
    assert r is not None
    _expect(node.type.dtype.kind == "f")
    return _broadcast(r, node.type.ndim)


def _transpose(node: Node, given: list[Reaction | None]) -> Reaction | None:
    r = given[0]
    assert r is not None
    return r._replace(axes=tuple([r.axes[k] for k in node.param("axes")]))


def _reshape(node: Node, given: list[Reaction | None]) -> Reaction | None:
    """Axes of length one come and go."""
    r = given[0]
    assert r is not None
    before, after = node.inputs[0].type.shape, node.type.shape
    _expect([n for n in before if n != 1] == [n for n in after if n != 1])
    rest = iter([a for a, n in zip(r.axes, before, strict=True) if n != 1])
    return r._replace(axes=tuple([None if n == 1 else next(rest) for n in after]))


def _getitem(node: Node, given: list[Reaction | None]) -> Reaction | None:
    """Slices and numbers on axes that d does not follow, whole axes, and one element along the last for all others."""
    r = given[0]
    assert r is not None
    index = node.param("index")
    if picks_one(index, node.inputs[1:], node.inputs[0].type.shape):
        _expect(r.axes[-1] is None)
        return r._replace(axes=r.axes[:-1])
    taken = sum([part is not None and part is not Ellipsis for part in index])
    left = iter(r.axes)
    axes: list[int | None] = []
    for part in index:
        if part is None:
            axes.append(None)
        elif part is Ellipsis:
            axes += [next(left) for _ in range(len(r.axes) - taken)]
        else:
            axis = next(left)
            _expect(part == WHOLE or (axis is None and isinstance(part, (int, Slice))))
            if isinstance(part, Slice):
                axes.append(axis)
    return r._replace(axes=(*axes, *left))


_RULES: OpTable[Callable[[Node, list[Reaction | None]], Reaction | None]] = OpTable(
    {
        "add": _sum(1),
        "subtract": _sum(-1),
        "multiply": _product(1),
        "divide": _product(-1),
        "negative": _negative,
        "exp": _unary(False, lambda r: r._replace(factor=True)),
        "log": _unary(True, lambda r: r._replace(factor=False)),
        "sqrt": _unary(True, lambda r: r._replace(k=r.k / 2)),
        "square": _unary(True, lambda r: r._replace(k=r.k * 2)),
        "reciprocal": _unary(True, lambda r: r._replace(k=-r.k)),
        "absolute": _unary(True, lambda r: r),
        "power": _power,
        "where": _where,
        "matmul": _matmul,
        "transpose": _transpose,
        "reshape": _reshape,
        "getitem": _getitem,
        "sum mean max min": _reduction,
        "cumsum take_along_axis": _along,
        "cast copy broadcast_to positive": _same,
    }
)
