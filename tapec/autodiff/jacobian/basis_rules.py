"""Rules tell what operations do to values that are diagonal between batch and body axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.autodiff.jacobian.basis import Basis, Factor, Rows
from tapec.autodiff.jacobian.named_axis_product import contract
from tapec.autodiff.symbolic.symbolic_zeros import filled, matched
from tapec.ir import Node, OpSet, OpTable, Type, ops
from tapec.ir.static_index import Slice
from tapec.ops import Symbol, apply
from tapec.ops.elementwise.powers import number_of
from tapec.ops.linalg.named_axes import axis_names

__all__ = ["FACTORED", "RULES", "same_axis", "spelled_out"]

FULL_SLICE = Slice(None, None, None)


# -- elementwise --------------------------------------------------------------------------------------------------
def _elementwise(basis: Basis, node: Node, xs: list[Any]) -> Rows | None:
    """Keep diagonals, and the factor that all batched operands share: linear operations that give zero for zero do
    so."""
    if not _keeps_zeros(node, xs):
        return None
    lifted = [_lifted(basis, x, node.type.ndim) if isinstance(x, Rows) else x for x in xs]
    lifted, factor = _common_factor(node, lifted)
    rows = [x for x in lifted if isinstance(x, Rows)]
    shared = tuple(p for p in rows[0].pairs if all(p in r.pairs for r in rows))
    args = [basis.settled(x, shared).data if isinstance(x, Rows) else x for x in lifted]
    if node.op is ops.multiply:
        for one, other in (args, args[::-1]):  # the unit vectors themselves: the other operand is what is left
            if number_of(one) == 1 and isinstance(other, Symbol) and other.shape == node.type.shape:
                data = np.reshape(matched(other, node.type), (*[1] * basis.rank, *other.shape))
                return Rows(data, shared, factor)
    return Rows(apply(node.op, tuple(args), node.params), shared, factor)


def _keeps_zeros(node: Node, xs: list[Any]) -> bool:
    batched = [isinstance(x, Rows) for x in xs]
    op = node.op
    if op is ops.multiply:
        return sum(batched) == 1
    if op is ops.divide:
        return batched == [True, False]
    if op is ops.where:
        return not batched[0] and all(b or number_of(x) == 0 for x, b in zip(xs[1:], batched[1:], strict=True))
    return all(batched)


def _common_factor(node: Node, xs: list[Any]) -> tuple[list[Any], Factor | None]:
    """The operands without the factor that all batched ones have, and that; multiplied where they have none.

    Nor is a selection made before a factor, which may be infinite where nothing is selected.
    """
    lifted = [x.factor for x in xs if isinstance(x, Rows)]
    one = lifted[0]
    if one is None or node.op not in KEEPS_FACTOR or not all([one.is_same(f) for f in lifted]):
        return [x.product if isinstance(x, Rows) else x for x in xs], None
    return [x._replace(factor=None) if isinstance(x, Rows) else x for x in xs], one


def _lifted(basis: Basis, x: Rows, rank: int) -> Rows:
    """The body with ones in front, up to this rank."""
    body = basis.body(x)
    more = rank - len(body)
    if not more:
        return x
    k = basis.rank
    data = np.reshape(x.data, (*x.data.shape[:k], *[1] * more, *body))
    factor = x.factor and x.factor.moved(lambda p: p + more if p >= k else p)
    return Rows(data, tuple((i, j + more) for i, j in x.pairs), factor)


# -- reductions ---------------------------------------------------------------------------------------------------
def _sum(basis: Basis, node: Node, xs: list[Any]) -> Rows:
    """A sum along a diagonal picks the one element there is: its body axis becomes the batch axis."""
    (x,) = xs
    k, axes = basis.rank, node.param("axis")
    if x.factor is not None and any([k + a in x.factor.places for a in axes]):
        x = _weighed(basis, x, x.factor, axes)
    data, pairs = x.data, []
    for i, j in x.pairs:
        if j in axes:
            data = np.swapaxes(data, i, k + j)
        else:
            pairs.append((i, j))
    summed = tuple(k + a for a in axes if data.shape[k + a] != 1)
    if summed:
        data = np.sum(data, axis=summed, keepdims=True)
    if node.op is ops.mean:
        data = data / math.prod(node.inputs[0].type.shape[a] for a in axes)
    data = np.reshape(data, (*data.shape[:k], *node.type.shape))
    factor = x.factor
    if not node.param("keepdims"):
        pairs = [(i, j - sum(a < j for a in axes)) for i, j in pairs]
        factor = factor and factor.moved(lambda p: p - sum(k + a < p for a in axes))
    return Rows(data, tuple(pairs), factor)


def _weighed(basis: Basis, x: Rows, factor: Factor, axes: tuple[int, ...]) -> Rows:
    """The sum of a product with a factor along its axes, as a contraction if all of them are added up."""
    k = basis.rank
    inner = [p for p in factor.places if p >= k]
    lengths = list(x.data.shape)
    if not set(inner) <= {k + a for a in axes} or any([p < k and lengths[p] != 1 for p in factor.places]):
        return x.product
    if any([k + j in inner for _, j in x.pairs]):
        return x.product
    own = [p for p, n in enumerate(lengths) if n != 1 or p in inner]
    out = sorted([p for p in {*own, *factor.places} if p not in inner])
    for p in (*own, *factor.places):
        lengths[p] = 1 if p in inner else basis.shape[p] if p < k else lengths[p]
    data = np.reshape(x.data, [x.data.shape[p] for p in own])
    total = contract(factor.array, _names(factor.places), data, _names(own), _names(out))
    return Rows(np.reshape(total, lengths), x.pairs)


def _names(places: Sequence[int]) -> list[str]:
    return [str(p) for p in places]


# -- layout ---------------------------------------------------------------------------------------------------------
def _reshape(basis: Basis, node: Node, xs: list[Any]) -> Rows:
    (x,) = xs
    old, new = node.inputs[0].type.shape, node.type.shape
    if [n for n in old if n != 1] != [n for n in new if n != 1]:
        x = x.product
    moved = {(i, j): same_axis(old, new, j) for i, j in x.pairs}
    x = basis.settled(x, [p for p, to in moved.items() if to is not None])
    k = basis.rank
    to = dict(zip([j for j, n in enumerate(old) if n != 1], [j for j, n in enumerate(new) if n != 1]))
    factor = x.factor and x.factor.moved(lambda p: k + to[p - k] if p >= k else p)  # axes of length one come and go
    data = np.reshape(x.data, (*x.data.shape[:k], *new))
    return Rows(data, tuple((i, moved[i, j]) for i, j in x.pairs), factor)  # type: ignore[misc]


def same_axis(old: tuple[int, ...], new: tuple[int, ...], axis: int) -> int | None:
    """Return where an axis is found again after a reshape: same length, same number of elements before it."""
    before = math.prod(old[:axis])
    for j, n in enumerate(new):
        if n == old[axis] and math.prod(new[:j]) == before:
            return j
    return None


def _transpose(basis: Basis, node: Node, xs: list[Any]) -> Rows:
    (x,) = xs
    k, axes = basis.rank, node.param("axes")
    order = (*range(k), *[k + a for a in axes])
    factor = x.factor and x.factor.moved(order.index)
    return Rows(np.transpose(x.data, order), tuple((i, axes.index(j)) for i, j in x.pairs), factor)


def _broadcast_to(basis: Basis, node: Node, xs: list[Any]) -> Rows:
    x = _lifted(basis, xs[0], node.type.ndim)
    return x._replace(data=np.broadcast_to(x.data, (*x.data.shape[: basis.rank], *node.type.shape)))


# -- indexing -------------------------------------------------------------------------------------------------------
def _getitem(basis: Basis, node: Node, xs: list[Any]) -> Rows | None:
    """Basic indices that leave a diagonal axis whole leave it diagonal."""
    if len(xs) > 1:
        return None
    old = node.inputs[0].type.ndim
    index = spelled_out(node.param("index"), old)
    to = _axis_map(index)
    x = basis.settled(xs[0], [p for p in xs[0].pairs if p[1] in to])
    changed = {"index": (FULL_SLICE,) * basis.rank + index}
    data = apply(node.op, (x.data,), tuple([(key, changed.get(key, v)) for key, v in node.params]))
    return Rows(data, tuple((i, to[j]) for i, j in x.pairs))


def _scatter(basis: Basis, node: Node, xs: list[Any]) -> Rows | None:
    if len(xs) > 1:
        return None
    shape = node.type.shape
    index = spelled_out(node.param("index"), len(shape))
    back = {to: axis for axis, to in _axis_map(index).items()}
    x = basis.settled(xs[0], [p for p in xs[0].pairs if p[1] in back])
    k = basis.rank
    changed = {"shape": (*x.data.shape[:k], *shape), "index": (FULL_SLICE,) * k + index}
    data = apply(node.op, (x.data,), tuple([(key, changed.get(key, v)) for key, v in node.params]))
    return Rows(data, tuple((i, back[j]) for i, j in x.pairs))


def spelled_out(index: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """A basic index with a part for every axis: no ellipsis, nothing left out at the end."""
    used = sum(p is not None and p is not Ellipsis for p in index)
    rest = (FULL_SLICE,) * (ndim - used)
    if Ellipsis in index:
        at = index.index(Ellipsis)
        return (*index[:at], *rest, *index[at + 1 :])
    return (*index, *rest)


def _axis_map(index: tuple[Any, ...]) -> dict[int, int]:
    """Return which axis of the result each axis of the operand is that is taken whole."""
    found: dict[int, int] = {}
    axis = place = 0
    for p in index:
        if p == FULL_SLICE:
            found[axis] = place
        axis += p is not None
        place += p is None or type(p) is Slice
    return found


# -- products -------------------------------------------------------------------------------------------------------
def _product(basis: Basis, node: Node, xs: list[Any]) -> Rows | None:
    """A product with one batched operand; a diagonal axis that is summed over becomes a batch axis."""
    found = axis_names(node)
    if found is None or sum(isinstance(x, Rows) for x in xs) != 1:
        return None
    names, out = found
    w = 0 if isinstance(xs[0], Rows) else 1
    x, other, k = xs[w], xs[1 - w], basis.rank
    own, beside = list(names[w]), list(names[1 - w])
    batch = [f"batch{i}" for i in range(k)]
    picked = {own[j]: batch[i] for i, j in x.pairs if own[j] not in out}
    pairs = tuple((i, out.index(own[j])) for i, j in x.pairs if own[j] in out)
    own, beside = [picked.get(a, a) for a in own], [picked.get(a, a) for a in beside]
    if (
        picked
        and number_of(x.data) == 1
        and x.factor is None
        and set(own) <= {*out, *batch}
        and not set(out) <= set(beside)
    ):
        ones = filled(basis.builder, Type((1,) * k + node.type.shape, node.type.dtype), 1.0)
        places = [[*batch, *out].index(a) for a, n in zip(beside, other.shape, strict=True) if n != 1]
        array = np.reshape(matched(other, Type(other.shape, node.type.dtype)), [n for n in other.shape if n != 1])
        return Rows(ones, pairs, Factor(array, tuple(places)))
    factor = None
    if x.factor is not None:
        of_factor = [[*batch, *names[w]][p] for p in x.factor.places]
        along = {a for a in of_factor if a not in batch}
        if along <= set(out):
            factor = Factor(x.factor.array, tuple(map([*batch, *out].index, of_factor)))
        elif not along & {*out, *picked} and _is_less_beside(x, other, beside, k):
            both = [a for a in of_factor if a not in beside] + beside
            other, beside = contract(x.factor.array, of_factor, other, beside, both), both
        else:
            x = x.product
    data = np.reshape(x.data, [n for i, n in enumerate(x.data.shape) if i >= k or n != 1])
    own = [b for b, n in zip(batch, x.data.shape) if n != 1] + own
    present = [b for b in batch if b in own or b in beside]
    (a, left), (b, right) = [(data, own), (other, beside)][:: 1 if w == 0 else -1]
    y = contract(a, left, b, right, [*present, *out])
    lengths = [n if b in present else 1 for b, n in zip(batch, basis.shape, strict=True)]
    return Rows(np.reshape(y, (*lengths, *node.type.shape)), pairs, factor)


def _is_less_beside(x: Rows, other: Any, beside: list[str], rank: int) -> bool:
    """Return whether the other operand times the factor is no larger than the data times it.

    Each batch axis must be in one of the two.
    """
    assert x.factor is not None
    batch = [p for p in x.factor.places if p < rank]
    apart = all([x.data.shape[p] == 1 and f"batch{p}" not in beside for p in batch])
    return apart and math.prod(other.shape) <= math.prod(x.data.shape)


# -- barriers -------------------------------------------------------------------------------------------------------
def _again(basis: Basis, node: Node, xs: list[Any]) -> Any:
    """A value that waits for a cotangent depends on no basis vector by that."""
    x, ct = [v.data if isinstance(v, Rows) else v for v in xs]
    y = apply(node.op, (x, ct))
    return Rows(y, xs[0].pairs) if isinstance(xs[0], Rows) else y


KEEPS_FACTOR = OpSet("multiply divide add subtract negative positive")
_LINEAR = ["multiply", "divide", "add", "subtract", "where", "negative", "positive"]
_LINEAR += ["conjugate", "real", "imag", "cast"]
RULES: OpTable[Callable[[Basis, Node, list[Any]], Rows | None]] = OpTable(
    {
        **dict.fromkeys(_LINEAR, _elementwise),
        "sum": _sum,
        "mean": _sum,
        "reshape": _reshape,
        "transpose": _transpose,
        "broadcast_to": _broadcast_to,
        "getitem": _getitem,
        "scatter": _scatter,
        "matmul einsum tensordot": _product,
        "again": _again,
    }
)
FACTORED = OpSet([*_LINEAR, "sum", "mean", "reshape", "transpose", "broadcast_to", "matmul", "einsum", "tensordot"])
"""These take a factor beside the data; for all else it is multiplied first."""
