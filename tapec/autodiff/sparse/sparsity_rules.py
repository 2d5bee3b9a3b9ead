"""Rules tell how each operation carries a pattern from its inputs to its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff.sparse.sparsity_walk import SparsityWalk
from tapec.ir import Node, OpTable, ops
from tapec.ops.indexing.getitem_and_scatter import real_index
from tapec.ops.linalg.named_axes import axis_names

__all__ = ["rule_of"]

Rule = Callable[[SparsityWalk, Node], Any]


def rule_of(node: Node) -> Rule:
    """The rule of an op, that of its kind, or the one that knows nothing."""
    found = RULES.get(node.op) or KINDS.get(node.op.kind)
    return found if found is not None else SparsityWalk.conservative


# -- element by element -------------------------------------------------------------------------------------------
def _elementwise(walk: SparsityWalk, node: Node) -> Any:
    shape = node.type[0].shape if isinstance(node.type, tuple) else node.type.shape
    parts = []
    for k, i in enumerate(node.inputs):
        pattern = walk.patterns.get(i)
        if pattern is not None:
            parts.append(walk.gathered(pattern, _kept(walk, node, k, spread_index(i.type.shape, shape))))
    found = walk.union(parts)
    return (found,) * len(node.type) if isinstance(node.type, tuple) else found


def spread_index(shape: tuple[int, ...], to: tuple[int, ...]) -> np.ndarray:
    """Return which element of an operand each element of a broadcast result reads."""
    return np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), to).ravel()


def _kept(walk: SparsityWalk, node: Node, k: int, rows: np.ndarray) -> np.ndarray:
    """-1 where a known factor is zero, or a known condition chooses the other operand."""
    shape = node.type[0].shape if isinstance(node.type, tuple) else node.type.shape
    if node.op is ops.where and node.inputs[0] in walk.values:
        chosen = np.broadcast_to(walk.values[node.inputs[0]], shape).ravel().astype(bool)
        return np.where(chosen if k == 1 else ~chosen, rows, -1)
    if node.op is ops.multiply and node.inputs[1 - k] in walk.values:
        factor = np.broadcast_to(walk.values[node.inputs[1 - k]], shape).ravel()
        return np.where(factor != 0, rows, -1) if np.size(factor) else rows
    return rows


# -- moving elements ----------------------------------------------------------------------------------------------
def _moved(walk: SparsityWalk, node: Node) -> Any:
    """The op itself, done on the numbers of the elements, tells where each comes from."""
    numbers: list[Any] = []
    patterns = []
    start = 1
    for i in node.inputs:
        pattern = walk.patterns.get(i)
        if pattern is not None:
            size = i.type.size
            numbers.append(np.arange(start, start + size, dtype=float).reshape(i.type.shape))
            patterns.append(pattern)
            start += size
        elif i.type.dtype.kind in "iub":
            if i not in walk.values:
                return walk.conservative(node)
            numbers.append(walk.values[i])
        else:
            numbers.append(np.zeros(i.type.shape))
    still = [np.zeros_like(x) if x.dtype.kind == "f" else x for x in map(np.asarray, numbers)]
    params = dict(node.params)
    found, constant = np.asarray(node.op.run(*numbers, **params)), np.asarray(node.op.run(*still, **params))
    rows = np.where(found == constant, 0, found).ravel().astype(int) - 1
    whole = patterns[0] if len(patterns) == 1 else walk.sparse.vstack(patterns, format="csr")
    return walk.gathered(whole, rows)


def _scatter(walk: SparsityWalk, node: Node) -> Any:
    """Return the pattern of elements added into zeros, some perhaps into the same place."""
    arrays = [walk.values.get(i) for i in node.inputs[1:]]
    if any(a is None for a in arrays):
        return walk.conservative(node)
    numbers = np.arange(node.type.size).reshape(node.type.shape)
    places = numbers[real_index(node.param("index"), tuple(arrays))].ravel()
    return walk.mixed(places, np.arange(len(places)), node.type.size, walk.patterns[node.inputs[0]])


# -- groups ---------------------------------------------------------------------------------------------------------
def _group_ids(shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    """The number of each element's group, elements along `axes` having the same."""
    rest = tuple([1 if k in axes else n for k, n in enumerate(shape)])
    return np.broadcast_to(np.arange(math.prod(rest)).reshape(rest), shape).ravel()


def _reduction(walk: SparsityWalk, node: Node) -> Any:
    shape, axes = node.inputs[0].type.shape, _axes(node)
    if axes is None or len(node.inputs) > 1:
        return walk.conservative(node)
    return walk.grouped(walk.patterns[node.inputs[0]], _group_ids(shape, axes), np.arange(node.type.size))


def _axes(node: Node) -> tuple[int, ...] | None:
    params = dict(node.params)
    axis = params.get("axis", params.get("axes"))
    if isinstance(axis, int):
        return (axis,)
    return axis if isinstance(axis, tuple) else None


def _trace(walk: SparsityWalk, node: Node) -> Any:
    shape, params = node.inputs[0].type.shape, dict(node.params)
    places = np.diagonal(np.arange(math.prod(shape)).reshape(shape), **params)
    rows = np.repeat(np.arange(node.type.size), places.shape[-1])
    return walk.mixed(rows, places.ravel(), node.type.size, walk.patterns[node.inputs[0]])


def _along(walk: SparsityWalk, node: Node) -> Any:
    """Return a pattern in which every element depends on all that share its place on the other axes."""
    axes, shape = _axes(node), node.inputs[0].type.shape
    if axes is None or len(node.type.shape) != len(shape):
        return walk.conservative(node)
    groups, results = _group_ids(shape, axes), _group_ids(node.type.shape, axes)
    same = [i for i in node.inputs if i.type.shape == shape]
    return walk.union([walk.grouped(walk.patterns.get(i), groups, results) for i in same])


def _running(walk: SparsityWalk, node: Node) -> Any:
    """An element depends on those before it along the axis (after it, when reversed)."""
    shape, axis = node.type.shape, node.param("axis")
    n = shape[axis]
    numbers = np.moveaxis(np.arange(math.prod(shape)).reshape(shape), axis, -1)
    numbers = numbers.reshape(math.prod(shape) // max(n, 1), n)
    late, early = np.tril_indices(n)
    if dict(node.params).get("reverse"):
        late, early = early, late
    walk.check(numbers.shape[0] * len(late))
    rows, sources = numbers[:, late].ravel(), numbers[:, early].ravel()
    return walk.union([walk.mixed(rows, sources, node.type.size, walk.patterns.get(i)) for i in node.inputs])


def _diff(walk: SparsityWalk, node: Node) -> Any:
    shape, axis = node.type.shape, node.param("axis")
    old = node.inputs[0].type.shape
    reach = old[axis] - shape[axis] + 1
    numbers = np.arange(math.prod(old)).reshape(old)
    parts = [np.take(numbers, range(k, k + shape[axis]), axis).ravel() for k in range(reach)]
    return walk.union([walk.gathered(walk.patterns[node.inputs[0]], rows) for rows in parts])


def _matrices(walk: SparsityWalk, node: Node) -> Any:
    """Return a pattern in which everything in a matrix of a stack depends on everything in it, as in linear algebra."""
    ndim, front = node.inputs[0].type.ndim, node.inputs[0].type.shape[:-2]
    types = node.type if isinstance(node.type, tuple) else (node.type,)
    inputs = [i for i in node.inputs if walk.patterns.get(i) is not None]
    if any(i.type.ndim != ndim or i.type.shape[:-2] != front for i in inputs):
        return walk.conservative(node)
    if any(t.shape[: len(front)] != front for t in types):
        return walk.conservative(node)
    stacked = walk.sparse.vstack([walk.patterns[i] for i in inputs], format="csr")
    groups = np.concatenate([_block_ids(i.type.shape, len(front)) for i in inputs])
    made = tuple([walk.grouped(stacked, groups, _block_ids(t.shape, len(front))) for t in types])
    return made if isinstance(node.type, tuple) else made[0]


def _block_ids(shape: tuple[int, ...], front: int) -> np.ndarray:
    return _group_ids(shape, tuple(range(front, len(shape))))


# -- products -------------------------------------------------------------------------------------------------------
def _product(walk: SparsityWalk, node: Node) -> Any:
    """Return a pattern in which each element reads a row of one operand and a column of the other.

    It does not read an element where the other operand is zero.
    """
    found = axis_names(node)
    if found is None:
        return walk.conservative(node)
    names, out = found
    size = {n: m for i, own in zip(node.inputs, names, strict=True) for n, m in zip(own, i.type.shape, strict=True)}
    order = [*out, *[n for n in names[0] if n not in out]]
    dims = [size[n] for n in order]
    walk.check(math.prod(dims))
    rows = np.broadcast_to(np.arange(node.type.size).reshape(*dims[: len(out)], *[1] * (len(dims) - len(out))), dims)
    parts = []
    for k, i in enumerate(node.inputs):
        if walk.patterns.get(i) is None:
            continue
        sources = np.broadcast_to(_element(i.type.shape, names[k], order), dims).ravel()
        targets = rows.ravel()
        other = walk.values.get(node.inputs[1 - k])
        if other is not None:
            reads = np.broadcast_to(_element(np.shape(other), names[1 - k], order), dims).ravel()
            nonzero = np.ravel(other)[reads] != 0
            targets, sources = targets[nonzero], sources[nonzero]
        parts.append(walk.mixed(targets, sources, node.type.size, walk.patterns[i]))
    return walk.union(parts)


def _element(shape: tuple[int, ...], names: list[str], order: list[str]) -> np.ndarray:
    """The number of an operand's element at each place of the common axes."""
    total = np.zeros((1,) * len(order), int)
    stride = 1
    for name, n in zip(reversed(names), reversed(shape), strict=True):
        spot = [1] * len(order)
        spot[order.index(name)] = n
        total = total + (np.arange(n) * stride).reshape(spot)
        stride *= n
    return total


def _convolve(walk: SparsityWalk, node: Node) -> Any:
    n, m = [i.type.shape[0] for i in node.inputs]
    start = {"full": 0, "same": (min(n, m) - 1) // 2, "valid": min(n, m) - 1}[node.param("mode")]
    at = np.arange(node.type.size) + start  # its place in the full convolution
    left, right = np.meshgrid(at, np.arange(m), indexing="ij")
    inside = (left - right >= 0) & (left - right < n)
    rows, a, v = (left - start)[inside], (left - right)[inside], right[inside]
    first, second = [walk.patterns.get(i) for i in node.inputs]
    size = node.type.size
    return walk.union([walk.mixed(rows, a, size, first), walk.mixed(rows, v, size, second)])


# -- the rest -------------------------------------------------------------------------------------------------------
def _cross(walk: SparsityWalk, node: Node) -> Any:
    """Return a pattern in which each component reads the two others of both operands."""
    parts = []
    for i in node.inputs:
        pattern = walk.patterns.get(i)
        if pattern is not None:
            read = spread_index(i.type.shape, node.type.shape).reshape(node.type.shape)
            parts += [walk.gathered(pattern, np.roll(read, -shift, axis=-1).ravel()) for shift in (1, 2)]
    return walk.union(parts)


def _custom(walk: SparsityWalk, node: Node) -> Any:
    """A function with a gradient of its own depends on what its results depend on."""
    args, results = node.param("args"), node.param("results")
    return tuple([walk.patterns.get(i) for i in node.inputs[args : args + results]])


def _interp(walk: SparsityWalk, node: Node) -> Any:
    if any(walk.patterns.get(i) is not None for i in node.inputs[1:]):
        return walk.conservative(node)
    return walk.patterns[node.inputs[0]]


def _sign(walk: SparsityWalk, node: Node) -> Any:
    """Constant wherever it has a derivative, unless it is complex."""
    return _same(walk, node) if node.type.dtype.kind == "c" else None


def _same(walk: SparsityWalk, node: Node) -> Any:
    return walk.patterns.get(node.inputs[0])


KINDS: dict[str, Rule] = {
    "elementwise": _elementwise,
    "layout": _moved,
    "reduction": _reduction,
    "linalg": _matrices,
    "transform": _along,
    "rearrangement": _moved,
}
RULES: OpTable[Rule] = OpTable(
    {
        "cast copy again": _same,
        "getitem setitem take_along_axis": _moved,
        "cumsum cumprod recurrence unwrap": _running,
        "sort partition": _along,
        "norm median": _reduction,
        "matmul einsum tensordot": _product,
        "scatter": _scatter,
        "sign": _sign,
        "trace": _trace,
        "diff": _diff,
        "convolve": _convolve,
        "cross": _cross,
        "interp": _interp,
        "custom_graph": _custom,
    }
)
