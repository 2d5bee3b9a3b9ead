"""What operations do to values that are diagonal between batch and body axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff.basis import Basis, Rows
from tapec.autodiff.contract import contract
from tapec.ir import Node
from tapec.ir.index import Slice
from tapec.ops import Symbol, apply
from tapec.ops.named_axes import axis_names
from tapec.ops.powers import number_of

__all__ = ["RULES", "same_axis", "spelled_out"]

FULL_SLICE = Slice(None, None, None)


# -- elementwise --------------------------------------------------------------------------------------------------
def _elementwise(basis: Basis, node: Node, xs: list[Any]) -> Rows | None:
    """Linear operations that give zero for zero keep the diagonals that all batched operands share."""
    if not _keeps_zeros(node, xs):
        return None
    lifted = [_lifted(basis, x, node.type.ndim) if isinstance(x, Rows) else x for x in xs]
    rows = [x for x in lifted if isinstance(x, Rows)]
    shared = tuple(p for p in rows[0].pairs if all(p in r.pairs for r in rows))
    args = [basis.settled(x, shared).data if isinstance(x, Rows) else x for x in lifted]
    if node.op.name == "multiply":
        for one, factor in (args, args[::-1]):  # the unit vectors themselves: the factor is what is left
            if number_of(one) == 1 and isinstance(factor, Symbol) and factor.shape == node.type.shape:
                return Rows(np.reshape(factor, (*[1] * basis.rank, *factor.shape)), shared)
    return Rows(apply(node.op, tuple(args), node.params), shared)


def _keeps_zeros(node: Node, xs: list[Any]) -> bool:
    batched = [isinstance(x, Rows) for x in xs]
    name = node.op.name
    if name == "multiply":
        return sum(batched) == 1
    if name == "divide":
        return batched == [True, False]
    if name == "where":
        return not batched[0] and all(b or number_of(x) == 0 for x, b in zip(xs[1:], batched[1:], strict=True))
    return all(batched)


def _lifted(basis: Basis, x: Rows, rank: int) -> Rows:
    """The body with ones in front, up to this rank."""
    body = basis.body(x)
    more = rank - len(body)
    if not more:
        return x
    k = basis.rank
    data = np.reshape(x.data, (*x.data.shape[:k], *[1] * more, *body))
    return Rows(data, tuple((i, j + more) for i, j in x.pairs))


# -- reductions ---------------------------------------------------------------------------------------------------
def _sum(basis: Basis, node: Node, xs: list[Any]) -> Rows:
    """A sum along a diagonal picks the one element there is: its body axis becomes the batch axis."""
    (x,) = xs
    k, axes = basis.rank, node.param("axis")
    data, pairs = x.data, []
    for i, j in x.pairs:
        if j in axes:
            data = np.swapaxes(data, i, k + j)
        else:
            pairs.append((i, j))
    summed = tuple(k + a for a in axes if data.shape[k + a] != 1)
    if summed:
        data = np.sum(data, axis=summed, keepdims=True)
    if node.op.name == "mean":
        data = data / math.prod(node.inputs[0].type.shape[a] for a in axes)
    data = np.reshape(data, (*data.shape[:k], *node.type.shape))
    if not node.param("keepdims"):
        pairs = [(i, j - sum(a < j for a in axes)) for i, j in pairs]
    return Rows(data, tuple(pairs))


# -- layout ---------------------------------------------------------------------------------------------------------
def _reshape(basis: Basis, node: Node, xs: list[Any]) -> Rows:
    (x,) = xs
    old, new = node.inputs[0].type.shape, node.type.shape
    moved = {(i, j): same_axis(old, new, j) for i, j in x.pairs}
    x = basis.settled(x, [p for p, to in moved.items() if to is not None])
    data = np.reshape(x.data, (*x.data.shape[: basis.rank], *new))
    return Rows(data, tuple((i, moved[i, j]) for i, j in x.pairs))  # type: ignore[misc]


def same_axis(old: tuple[int, ...], new: tuple[int, ...], axis: int) -> int | None:
    """Where an axis is found again after a reshape: same length, same number of elements before it."""
    before = math.prod(old[:axis])
    for j, n in enumerate(new):
        if n == old[axis] and math.prod(new[:j]) == before:
            return j
    return None


def _transpose(basis: Basis, node: Node, xs: list[Any]) -> Rows:
    (x,) = xs
    k, axes = basis.rank, node.param("axes")
    data = np.transpose(x.data, (*range(k), *[k + a for a in axes]))
    return Rows(data, tuple((i, axes.index(j)) for i, j in x.pairs))


def _broadcast_to(basis: Basis, node: Node, xs: list[Any]) -> Rows:
    x = _lifted(basis, xs[0], node.type.ndim)
    return Rows(np.broadcast_to(x.data, (*x.data.shape[: basis.rank], *node.type.shape)), x.pairs)


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
    """Which axis of the operand is which of the result, for those taken whole."""
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
    x, k = xs[w], basis.rank
    operands = [list(names[0]), list(names[1])]
    batch = [f"batch{i}" for i in range(k)]
    pairs: list[tuple[int, int]] = []
    rename: dict[str, str] = {}
    for i, j in x.pairs:
        if operands[w][j] in out:
            pairs.append((i, out.index(operands[w][j])))
        else:
            rename[operands[w][j]] = batch[i]
    dropped = [i for i in range(k) if x.data.shape[i] == 1]
    data = np.reshape(x.data, tuple(n for i, n in enumerate(x.data.shape) if i not in dropped))
    axes = [[rename.get(a, a) for a in names_] for names_ in operands]
    axes[w] = [b for i, b in enumerate(batch) if i not in dropped] + axes[w]
    present = [b for b in batch if b in axes[w]]
    given = [data if v == w else xs[v] for v in (0, 1)]
    y = contract(given[0], axes[0], given[1], axes[1], [*present, *out])
    lengths = [n if b in present else 1 for b, n in zip(batch, basis.shape, strict=True)]
    return Rows(np.reshape(y, (*lengths, *node.type.shape)), tuple(pairs))


# -- barriers -------------------------------------------------------------------------------------------------------
def _again(basis: Basis, node: Node, xs: list[Any]) -> Any:
    """A value that waits for a cotangent depends on no basis vector by that."""
    x, ct = [v.data if isinstance(v, Rows) else v for v in xs]
    y = apply(node.op, (x, ct))
    return Rows(y, xs[0].pairs) if isinstance(xs[0], Rows) else y


_LINEAR = ["multiply", "divide", "add", "subtract", "where", "negative", "positive"]
_LINEAR += ["conjugate", "real", "imag", "cast"]
RULES: dict[str, Callable[[Basis, Node, list[Any]], Rows | None]] = {
    **dict.fromkeys(_LINEAR, _elementwise),
    "sum": _sum,
    "mean": _sum,
    "reshape": _reshape,
    "transpose": _transpose,
    "broadcast_to": _broadcast_to,
    "getitem": _getitem,
    "scatter": _scatter,
    **dict.fromkeys(["matmul", "einsum", "tensordot"], _product),
    "again": _again,
}
