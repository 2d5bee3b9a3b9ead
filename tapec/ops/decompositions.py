"""Say how ops are made of others, in NumPy on stand-ins, as derivatives are: for targets that do not write them.

The table has those of tapec's own ops, so that who imports tapec need not wait for them; an op that a user defines is
given `decompose`. A function returns None where it has no answer for these operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Node, Op, OpSet, OpTable, Type, ops
from tapec.ir.static_index import Slice, Slot
from tapec.ops.control.body_graphs import body_of
from tapec.ops.control.loop import loop
from tapec.ops.core.stand_in import apply
from tapec.ops.indexing.getitem_and_scatter import (
    GETITEM,
    SCATTER,
    completed,
    index_layout,
    is_added_up,
    picks_one,
)

__all__ = ["are_places", "decomposition"]

Decompose = Callable[..., Any]


def decomposition(op: Op) -> Decompose | None:
    """Return the function that makes an op of others; None where there is none."""
    return op.decompose or DECOMPOSITIONS.get(op)


# -- elementwise ------------------------------------------------------------------------------------------------------
def _of_bits(bits: Decompose) -> Decompose:
    """Return what an arithmetic op does to bools; other numbers it has no answer for."""
    return lambda *xs: bits(*xs) if _are_bools(*xs) else None


def _are_bools(*xs: Any) -> bool:
    return all([x.dtype.kind == "b" for x in xs])


def _rounded(x: Any, decimals: int) -> Any:
    if x.dtype.kind in "iu" and decimals >= 0:
        return x
    scale = 10.0 ** abs(decimals)
    return np.rint(x * scale) / scale if decimals >= 0 else np.rint(x / scale) * scale


def _frexp(x: Any) -> Any:
    tiny = 2.0**-1000 if x.dtype == np.dtype(float) else 2.0**-100
    small = np.abs(x) < tiny
    scaled = np.where(small, x * (1 / tiny), x)
    usual = np.isfinite(scaled) & (scaled != 0)
    e = np.where(usual, np.floor(np.log2(np.abs(np.where(usual, scaled, 1.0)))) + 1, 0.0)
    half = np.floor(e * 0.5)
    m = scaled * 2.0 ** (-half) * 2.0 ** (half - e)
    over, under = usual & (np.abs(m) >= 1), usual & (np.abs(m) < 0.5)
    m = np.where(over, m * 0.5, np.where(under, m * 2.0, m))
    e = e + over - under + np.where(small & usual, math.log2(tiny), 0.0)
    return m, e


def _ldexp(x: Any, n: Any) -> Any:
    half = n // 2
    return x * 2.0 ** (half * 1.0) * 2.0 ** ((n - half) * 1.0)


def _fmod(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f" or y.dtype.kind == "f":
        return np.copysign(np.remainder(np.abs(x), np.abs(y)), x)
    x, y = [z.astype(np.int8) if z.dtype.kind == "b" else z for z in (x, y)]
    return np.sign(x) * np.remainder(np.abs(x), np.abs(y))


def _modf(x: Any) -> Any:
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0.0, x - np.where(np.isinf(x), 0.0, whole)), x), whole


def _heaviside(x: Any, y: Any) -> Any:
    return np.where(np.isnan(x), x, np.where(x == 0, y, np.where(x > 0, 1.0, 0.0)))


def _logaddexp2(x: Any, y: Any) -> Any:
    top, low = np.maximum(x, y), np.minimum(x, y)
    return np.where(top == low, top + 1.0, top + np.log1p(np.exp2(low - top)) * (1 / math.log(2)))


def _ordered(strictly: Decompose, at_last: Decompose) -> Decompose:
    """Return the comparison of complex numbers as NumPy has it: by real parts, equal ones by imaginary parts."""

    def decompose(x: Any, y: Any) -> Any:
        if "c" not in (x.dtype.kind, y.dtype.kind):
            return None
        a, b, p, q = np.real(x), np.real(y), np.imag(x), np.imag(y)
        return (strictly(a, b) & ~np.isnan(p) & ~np.isnan(q)) | ((a == b) & at_last(p, q))

    return decompose


def _better(of_bools: Decompose, at_least: Decompose) -> Decompose:
    """Return the maximum, or the minimum, of bools and of complex numbers."""

    def decompose(x: Any, y: Any) -> Any:
        if x.dtype.kind == "b" and y.dtype.kind == "b":
            return of_bools(x, y)
        if "c" not in (x.dtype.kind, y.dtype.kind):
            return None
        return np.where(np.isnan(x) | (~np.isnan(y) & at_least(x, y)), x, y)

    return decompose


def _best(of_bools: Decompose, best: Decompose, worst: float) -> Decompose:
    """Return the largest, or the smallest, of bools and of complex numbers."""

    def decompose(x: Any, axis: Any, keepdims: bool) -> Any:
        if x.dtype.kind == "b":
            return of_bools(x, axis=axis, keepdims=keepdims)
        if x.dtype.kind != "c":
            return None
        nan = np.any(np.isnan(x), axis=axis, keepdims=keepdims)
        a = best(np.real(x), axis=axis, keepdims=True)
        b = best(np.where(np.real(x) == a, np.imag(x), worst), axis=axis, keepdims=keepdims)
        return np.where(nan, np.nan, np.reshape(a, b.shape) + 1j * b)

    return decompose


def _angle(x: Any) -> Any:
    return np.arctan2(np.imag(x), np.real(x))


def _spacing(x: Any) -> Any:
    size = np.abs(x)
    return np.copysign(np.nextafter(size, np.inf) - size, x)


def _count_bits(x: Any) -> Any:
    n = np.abs(x).astype(np.int64)
    total = n & 1
    for k in range(1, min(8 * x.dtype.itemsize, 63)):
        total = total + ((n >> k) & 1)
    return total


def _nan_to_num(x: Any, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    if x.dtype.kind not in "fc":
        return x
    if x.dtype.kind == "c":
        parts = _nan_to_num(np.real(x), nan, posinf, neginf), _nan_to_num(np.imag(x), nan, posinf, neginf)
        return parts[0] + 1j * parts[1]
    most = float(np.finfo(x.dtype).max)
    high, low = most if posinf is None else posinf, -most if neginf is None else neginf
    x = np.where(np.isnan(x), 0.0 if nan is None else nan, x)
    return np.where(x == np.inf, high, np.where(x == -np.inf, low, x))


def _choose(i: Any, *choices: Any, mode: str) -> Any:
    n = len(choices)
    if mode == "wrap":
        i = np.remainder(i, n)
    found = choices[0]
    for k in range(1, n):
        found = np.where(i >= k, choices[k], found)
    return found


def _i0(x: Any) -> Any:
    """Return the mean of exp(x cos t) over half a turn: 200 points are enough up to where it overflows."""
    size = np.abs(x)
    slopes = (np.cos((np.arange(200) + 0.5) * (math.pi / 200)) - 1).astype(x.dtype)
    return np.mean(np.exp(size[..., None] * slopes), axis=-1) * np.exp(size)


def _gcd(x: Any, y: Any) -> Any:
    """Return the greatest common divisor by Euclid's loop, until no element has a rest."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    dtype = np.result_type(x.dtype, y.dtype)
    a, b = [np.broadcast_to(np.abs(z), shape).astype(dtype) for z in (x, y)]
    types = [Type(shape, dtype)] * 2
    step = body_of("step", lambda a, b: (np.where(b > 0, b, a), np.where(b > 0, a % np.maximum(b, 1), b)), types)
    goes_on = body_of("goes_on", lambda a, b: (np.any(b > 0),), types)
    return loop((step, goes_on), carried=(a, b))[0]


def _polyval(p: Any, x: Any) -> Any:
    y = np.zeros_like(x) * p[0] if p.shape[0] else np.zeros_like(x)
    for k in range(p.shape[0]):
        y = y * x + p[k]
    return y


def _sinc(x: Any) -> Any:
    y = math.pi * np.where(x == 0, 1.0, x)
    return np.where(x == 0, 1.0, np.sin(y) / y)


# -- reductions -------------------------------------------------------------------------------------------------------
def _variance(x: Any, axis: Any, keepdims: bool, ddof: Any = 0) -> Any:
    n = math.prod([x.shape[k] for k in axis])
    centred = np.abs(x - np.mean(x, axis=axis, keepdims=True))
    return np.sum(centred * centred, axis=axis, keepdims=keepdims) / (n - ddof)


def _nan_place(find: Decompose, worst: float) -> Decompose:
    def decompose(x: Any, axis: Any, keepdims: bool) -> Any:
        x = np.where(np.isnan(x), worst, x)
        return find(x, axis=axis[0] if len(axis) != x.ndim else None, keepdims=keepdims)

    return decompose


def _diagonal(x: Any, offset: int, axis1: int, axis2: int) -> Any:
    x = np.moveaxis(x, (axis1, axis2), (-2, -1))
    n, m = x.shape[-2:]
    first = offset if offset >= 0 else -offset * m
    count = max(0, min(n, m - offset) if offset >= 0 else min(n + offset, m))
    flat = np.reshape(x, (*x.shape[:-2], n * m))
    return flat[..., first : first + max(0, (count - 1) * (m + 1) + 1) if count else first : m + 1]


def _diag(v: Any, k: int) -> Any:
    n = v.shape[0] + abs(k)
    row = np.pad(v, (k, 0) if k > 0 else (0, -k))  # each row has its own column of it
    return np.where(np.eye(n, k=k, dtype=bool), row if k >= 0 else np.roll(row, k)[:, None] * 0 + row[None, :], 0)


def _running(better: Decompose) -> Decompose:
    """Return the running maximum: each element becomes that of itself and of the one 1, 2, 4, ... before it."""

    def decompose(x: Any, axis: int) -> Any:
        step, n = 1, x.shape[axis]
        while step < n:
            front = np.moveaxis(x, axis, 0)
            moved = np.concatenate([front[:step], better(front[step:], front[:-step])])
            x = np.moveaxis(moved, 0, axis)
            step *= 2
        return x

    return decompose


def _in_order(x: Any, axis: Any) -> Any:
    """Return the values along some axes in order, along one last axis."""
    rest = [k for k in range(x.ndim) if k not in axis]
    return np.sort(np.reshape(np.transpose(x, (*rest, *axis)), (*[x.shape[k] for k in rest], -1)), axis=-1)


def _with_kept_axes(value: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return np.reshape(value, tuple([1 if k in axis else n for k, n in enumerate(x.shape)])) if keepdims else value


def _median(x: Any, axis: Any, keepdims: bool) -> Any:
    """Return the value in the middle, or the mean of the two there, which may be infinite; nan where one is nan."""
    if x.dtype.kind == "c":
        return None
    y = _in_order(x, axis)
    n = y.shape[-1]
    value = y[..., n // 2] if n % 2 else (y[..., n // 2 - 1] + y[..., n // 2]) / 2
    return _with_kept_axes(np.where(np.any(np.isnan(y), axis=-1), np.nan, value), x, axis, keepdims)


def _quantile(x: Any, q: Any, axis: Any, keepdims: bool, method: str) -> Any:
    """Return the linear quantile; nan where a value is nan."""
    if method != "linear" or x.dtype.kind == "c":
        return None
    y = _in_order(x, axis)
    n, nan = y.shape[-1], np.any(np.isnan(y), axis=-1)

    def one(q: float) -> Any:
        at = q * (n - 1)
        low = min(math.floor(at), n - 1)
        a, b, t = y[..., low], y[..., min(low + 1, n - 1)], at - low
        value = a + (b - a) * t if t < 0.5 else b - (b - a) * (1 - t)
        return _with_kept_axes(np.where(nan, np.nan, value), x, axis, keepdims)

    def nested(q: Any) -> Any:
        return np.stack([nested(p) for p in q]) if isinstance(q, tuple) else one(float(q))

    return nested(q)


# -- layout -----------------------------------------------------------------------------------------------------------
def _window(x: Any, window: int, axis: int) -> Any:
    n = x.shape[axis] - window + 1
    places = np.arange(n)[:, None] + np.arange(window)
    taken = np.take(x, places.ravel(), axis=axis)
    taken = np.reshape(taken, (*x.shape[:axis], n, window, *x.shape[axis + 1 :]))
    return np.moveaxis(taken, axis + 1, -1)


def _pad(x: Any, width: Any, mode: str, value: Any = 0) -> Any:
    for axis, (before, after) in enumerate(width):
        if not before and not after:
            continue
        if mode == "constant":
            sides = [np.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), value, x.dtype) for n in (before, after)]
            x = np.concatenate([sides[0], x, sides[1]], axis=axis)
        else:
            x = np.take(x, np.pad(np.arange(x.shape[axis]), (before, after), mode=mode), axis=axis)  # type: ignore[call-overload]
    return x


def _diff(x: Any, n: int, axis: int) -> Any:
    for _ in range(n):
        front = np.moveaxis(x, axis, 0)
        d = front[1:] != front[:-1] if x.dtype.kind == "b" else front[1:] - front[:-1]
        x = np.moveaxis(d, 0, axis)
    return x


def _linspace(start: Any, stop: Any, num: int, endpoint: bool) -> Any:
    steps = num - 1 if endpoint else num
    ndim = max(start.ndim, stop.ndim)
    t = np.reshape(np.arange(num) * 1.0, (num, *(1,) * ndim))
    if num <= 1 or not steps:
        return start + t * (stop - start)
    y = start + t * ((stop - start) / steps)
    if not endpoint:
        return y
    return np.where(t == num - 1, stop * np.ones_like(y), y)


# -- indexing ---------------------------------------------------------------------------------------------------------
_PLACES = OpSet("argsort argpartition argmax argmin nonzero searchsorted digitize count_nonzero length")
_MOVED = OpSet("cast reshape broadcast_to transpose concatenate stack take_along_axis add multiply item getitem")


def are_places(node: Node) -> bool:
    """Return whether numbers are known not to be negative: places that are counted from the front."""
    if node.op is CONSTANT:
        return not np.size(node.value) or bool(np.min(node.value) >= 0)
    if node.type.__class__ is Type and node.type.dtype.kind in "ub":
        return True
    if node.op is ops.where:  # as `_from_front` makes it
        test, there, others = node.inputs
        is_test = test.op is ops.less and is_zero(test.inputs[1])
        return is_test and uncast(test.inputs[0]) is uncast(others) and uncast(there).op is ops.add
    return node.op in _PLACES or (node.op in _MOVED and all([are_places(i) for i in node.inputs]))


def uncast(node: Node) -> Node:
    while node.op is ops.cast:
        [node] = node.inputs
    return node


def is_zero(node: Node) -> bool:
    return node.op is CONSTANT and not np.any(node.value)


def _from_front(at: Any, n: int) -> Any:
    """Return places with those that count from the end counted from the front."""
    return at if are_places(at.node) else np.where(at < 0, at + n, at)


def _getitem(x: Any, *arrays: Any, index: Any, unique: bool = False) -> Any:
    """Return x[index] by one `take` of rows: slices first, then one place for all index arrays together."""
    full = completed(x.ndim, index)
    if not arrays:
        return _turned(x, full)
    layout = index_layout(x.shape, index, tuple([a.shape for a in arrays]))
    whole = [p for p in full if p is not None and p is not Ellipsis]
    x = x[tuple([slice(*p) if type(p) is Slice else slice(None) for p in whole])]
    axes = [k for k, p in enumerate(whole) if type(p) is not Slice]
    rest = [k for k in range(x.ndim) if k not in axes]
    front: Any = 0
    for k in axes:
        n, place = x.shape[k], whole[k]
        at = arrays[place.k] if type(place) is Slot else place % n
        at = _from_front(at, n) if type(place) is Slot else at
        front = at if k == axes[0] else front * n + at
    shape = np.shape(front)
    sizes = [math.prod([x.shape[k] for k in part]) for part in (axes, rest)]
    rows = np.reshape(np.transpose(x, (*axes, *rest)), tuple(sizes))
    if not rows.size and not x.size:
        return np.zeros(layout.shape, x.dtype)
    places = np.reshape(front, (math.prod(shape),))
    taken = apply(GETITEM, (rows, places), (("index", (Slot(0),)),))
    taken = np.reshape(taken, (*shape, *[x.shape[k] for k in rest]))
    taken = np.moveaxis(taken, tuple(range(len(shape))), tuple(range(layout.place, layout.place + len(shape))))
    return np.reshape(taken, layout.shape)


def _turned(x: Any, full: list[Any]) -> Any:
    """Return x[full] with the axes turned first that are read backwards."""
    there: list[Any] = []
    turned = []
    axis = 0
    for p in full:
        if type(p) is Slice and p.step is not None and p.step < 0:
            turned.append(axis)
            n = x.shape[axis]
            read = [n - 1 - k for k in range(n)[slice(*p)]]
            p = slice(read[0], read[-1] + 1, -p.step) if read else slice(0, 0)
        elif type(p) is Slice:
            p = slice(*p)
        axis += p is not None and p is not Ellipsis
        there.append(p)
    return np.flip(x, tuple(turned))[tuple(there)]


def _scatter(v: Any, *arrays: Any, shape: Any, index: Any, unique: bool = False) -> Any:
    """Put a block between zeros; where a block is not what is written, add at places of the flat array."""
    full = completed(len(shape), index)
    if not arrays and all([type(p) is not Slice or p.step in (None, 1) for p in full]):
        return _between_zeros(v, full, shape)
    if arrays and picks_one(index, [a.node for a in arrays], shape):
        last = np.arange(shape[-1]) == arrays[-1][..., None] % shape[-1]
        return np.where(last, np.broadcast_to(v, shape[:-1])[..., None], np.zeros((), v.dtype))
    if index == (Slot(0),) and arrays[0].ndim == 1 and not are_places(arrays[0].node):
        v = np.broadcast_to(v, (*arrays[0].shape, *shape[1:]))
        return apply(SCATTER, (v, _from_front(arrays[0], shape[0])), (("shape", shape), ("index", index)))
    size = math.prod(shape)
    places = np.reshape(np.arange(size), shape)
    region = index_layout(shape, index, tuple([a.shape for a in arrays])).shape
    if arrays:
        at = _places(arrays, full, shape, index)
    else:
        at = places[tuple([slice(*p) if type(p) is Slice else p for p in full])]
    values = np.reshape(np.broadcast_to(v, region), (-1,))
    flat = apply(SCATTER, (values, np.reshape(at, (-1,))), (("shape", (size,)), ("index", (Slot(0),))))
    return np.reshape(flat, shape)


def _places(arrays: Any, full: list[Any], shape: Any, index: Any) -> Any:
    """Return the places in the flat array that an index with arrays names."""
    places = np.reshape(np.arange(math.prod(shape)), shape)
    builder = next(a for a in arrays)
    return apply(GETITEM, (builder._constant(places), *arrays), (("index", index),))


def _between_zeros(v: Any, full: list[Any], shape: Any) -> Any:
    axes = [p for p in full if p is not Ellipsis]
    region = [
        1 if type(p) is int else len(range(*slice(*p).indices(n)))
        for p, n in zip([p for p in axes if p is not None], shape)
    ]
    dropped = index_layout(shape, tuple(full), ()).shape
    x = np.reshape(np.broadcast_to(v, dropped), region)
    for axis, (p, n) in enumerate(zip([p for p in axes if p is not None], shape)):
        first = p % n if type(p) is int and n else slice(*p).indices(n)[0] if type(p) is Slice else 0
        before, after = first, n - first - region[axis]
        if not region[axis]:
            before, after = 0, n
        sides = [np.zeros((*x.shape[:axis], k, *x.shape[axis + 1 :]), x.dtype) for k in (before, after)]
        parts = [part for part in (sides[0], x, sides[1]) if part.shape[axis]]
        if len(parts) > 1:
            x = np.concatenate(parts, axis=axis)
        elif parts:
            x = parts[0]
    return x


def _setitem(x: Any, v: Any, *arrays: Any, index: Any, unique: bool = False) -> Any:
    """Return x with v where an index has written: only where it writes to no place twice."""
    layout = index_layout(x.shape, index, tuple([a.shape for a in arrays]))
    ones = np.ones(layout.shape)
    if v.ndim > len(layout.shape):
        v = np.reshape(v, v.shape[v.ndim - len(layout.shape) :])
    params = (("shape", x.shape), ("index", index), ("unique", unique))
    mask = (
        _scatter(x._constant(ones), *arrays, shape=x.shape, index=index)
        if not arrays
        else apply(SCATTER, (x._constant(ones), *arrays), params)
    )
    if arrays and is_added_up(mask.node):
        return None
    value = np.broadcast_to(v.astype(x.dtype), layout.shape)
    if x.dtype.kind == "b":
        value = value.astype(np.int64)
    placed = apply(SCATTER, (value, *arrays), params)
    return np.where(mask > 0, placed.astype(x.dtype), x)


# -- products ---------------------------------------------------------------------------------------------------------
def _einsum(*xs: Any, subscripts: str) -> Any:
    """Sum the products of two operands at a time: as a matrix product over the axes that both have."""
    given, result = subscripts.split("->")
    terms = list(zip(given.split(","), xs))
    while len(terms) > 1:
        (a, x), (b, y) = terms[0], terms[1]
        later = set(result).union(*[t for t, _ in terms[2:]])
        terms[:2] = [_product(a, x, b, y, later)]
    (names, x) = terms[0]
    names, x = _summed(names, x, set(result))
    return np.transpose(x, [names.index(c) for c in result])


def _summed(names: str, x: Any, kept: set[str]) -> tuple[str, Any]:
    """Take the diagonal of a name that comes twice, and sum over those that nobody needs."""
    while len(set(names)) < len(names):
        c = next(c for c in names if names.count(c) > 1)
        i, j = [k for k, d in enumerate(names) if d == c][:2]
        names = "".join([d for k, d in enumerate(names) if k not in (i, j)]) + c
        x = np.diagonal(x, 0, i, j)
    gone = tuple([k for k, c in enumerate(names) if c not in kept])
    return "".join([c for c in names if c in kept]), np.sum(x, axis=gone) if gone else x


def _product(a: str, x: Any, b: str, y: Any, later: set[str]) -> tuple[str, Any]:
    a, x = _summed(a, x, later | set(b))
    b, y = _summed(b, y, later | set(a))
    both = [c for c in a if c in b]
    batch, summed = [c for c in both if c in later], [c for c in both if c not in later]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    size = {**dict(zip(b, y.shape)), **{c: n for c, n in zip(a, x.shape) if n != 1 or c not in b}}
    x = _wide(x, a, size)
    y = _wide(y, b, size)

    def arranged(x: Any, names: str, *groups: list[str]) -> Any:
        order = [names.index(c) for group in groups for c in group]
        kept = [size[c] for c in groups[0]]
        return np.reshape(np.transpose(x, order), (*kept, *[math.prod([size[c] for c in g]) for g in groups[1:]]))

    z = arranged(x, a, batch, rows, summed) @ arranged(y, b, batch, summed, columns)
    names = [*batch, *rows, *columns]
    return "".join(names), np.reshape(z, [size[c] for c in names])


def _wide(x: Any, names: str, size: dict[str, int]) -> Any:
    shape = tuple([size[c] for c in names])
    return x if x.shape == shape else np.broadcast_to(x, shape)


def _cross(a: Any, b: Any) -> Any:
    def parts(x: Any) -> list[Any]:
        return [x[..., k] for k in range(x.shape[-1])]

    p, q = parts(a), parts(b)
    z = p[0] * q[1] - p[1] * q[0]
    if len(p) == len(q) == 2:
        return z
    p, q = [*p, 0 * p[0]][:3], [*q, 0 * q[0]][:3]
    return np.stack(np.broadcast_arrays(p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], z), axis=-1)


def _convolve(a: Any, b: Any, mode: str) -> Any:
    if a.shape[0] < b.shape[0]:
        a, b = b, a
    k = b.shape[0]
    side = {"full": k - 1, "same": k // 2, "valid": 0}[mode]
    other = {"full": k - 1, "same": k - 1 - k // 2, "valid": 0}[mode]
    wide = np.pad(a, (side, other))
    return _window(wide, k, 0) @ b[::-1]


# -- linear algebra ---------------------------------------------------------------------------------------------------
def _upper(run: Decompose) -> Decompose:
    return lambda a, UPLO: run(np.conj(np.swapaxes(a, -1, -2))) if UPLO == "U" else None


def _solve_lower(a: Any, b: Any, transposed: bool) -> Any:
    a = np.tril(a)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


def _norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if ord == 2:
        return np.sqrt(np.sum(np.abs(x) ** 2, axis=axis, keepdims=keepdims))
    return None


def _interp(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    n = xp.shape[0]
    k = np.clip(np.searchsorted(xp, x, side="right") - 1, 0, max(n - 2, 0))
    x0, y0 = np.take(xp, k), np.take(fp, k)
    x1, y1 = np.take(xp, np.minimum(k + 1, n - 1)), np.take(fp, np.minimum(k + 1, n - 1))
    slope = (y1 - y0) / np.where(x1 == x0, 1.0, x1 - x0)
    y = y0 + slope * (x - x0)
    y = np.where(np.isnan(y), y1 + slope * (x - x1), y)  # from the other end, where one end is infinite
    y = np.where(np.isnan(y) & (y0 == y1), y0, y)
    y = np.where(x == x0, y0, np.where(x == x1, y1, y))
    y = np.where(x < xp[0], fp[0] if left is None else left, y)
    return np.where(np.isnan(x), np.nan, np.where(x > xp[-1], fp[-1] if right is None else right, y))


DECOMPOSITIONS: OpTable[Decompose] = OpTable(
    {
        "relu": lambda x: np.maximum(x, 0),
        "relu6": lambda x: np.minimum(np.maximum(x, 0), 6),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "add": _of_bits(np.logical_or),
        "multiply": _of_bits(np.logical_and),
        "positive": lambda x: x,
        "absolute floor ceil trunc": lambda x: x if x.dtype.kind == "b" else None,
        "matmul": lambda x, y: (x.astype(int) @ y.astype(int)) != 0 if _are_bools(x, y) else None,
        "vecdot": lambda x, y: np.any(x & y, axis=-1) if _are_bools(x, y) else None,
        "float_power": lambda x, y: x.astype(np.result_type(x.dtype, float)) ** y,
        "reciprocal": lambda x: 1 / x if x.dtype.kind in "fc" else np.trunc(1 / x),
        "exp2": lambda x: 2.0**x,
        "cbrt": lambda x: np.copysign(np.abs(x) ** (1 / 3), x),
        "logaddexp2": _logaddexp2,
        "deg2rad radians": lambda x: x * (math.pi / 180),
        "rad2deg degrees": lambda x: x * (180 / math.pi),
        "fabs": np.abs,
        "heaviside": _heaviside,
        "ldexp": _ldexp,
        "frexp": _frexp,
        "bitwise_count": _count_bits,
        "real": lambda x: x,
        "imag": lambda x: np.zeros_like(x),
        "conjugate": lambda x: x,
        "angle": _angle,
        "maximum": _better(np.logical_or, np.greater_equal),
        "minimum": _better(np.logical_and, np.less_equal),
        "max": _best(np.any, np.max, -np.inf),
        "min": _best(np.all, np.min, np.inf),
        "less": _ordered(np.less, np.less),
        "less_equal": _ordered(np.less, np.less_equal),
        "greater": _ordered(np.greater, np.greater),
        "greater_equal": _ordered(np.greater, np.greater_equal),
        "finite": lambda x: np.where(np.isfinite(x), x, 0.0),
        "fmax": lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.maximum(x, y))),
        "fmin": lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.minimum(x, y))),
        "clip capped": lambda x, low, high: np.minimum(np.maximum(x, low), high),
        "spacing": _spacing,
        "fmod": _fmod,
        "divmod": lambda x, y: (x // y, x % y),
        "modf": _modf,
        "round": _rounded,
        "round_number": lambda x, digits: np.rint(x) if digits == 0 else None,
        "choose": _choose,
        "nan_to_num": _nan_to_num,
        "sinc": _sinc,
        "i0": _i0,
        "gcd": _gcd,
        "lcm": lambda x, y: np.abs(x) // np.maximum(_gcd(x, y), 1) * np.abs(y),
        "polyval": _polyval,
        "isin": lambda x, known: np.any(x[..., None] == np.reshape(known, (-1,)), axis=-1),
        "count_nonzero": lambda x, axis, keepdims: np.sum(x != 0, axis=axis, keepdims=keepdims),
        "nanargmax": _nan_place(np.argmax, -np.inf),
        "nanargmin": _nan_place(np.argmin, np.inf),
        "var": _variance,
        "std": lambda x, axis, keepdims, ddof=0: np.sqrt(_variance(x, axis, keepdims, ddof)),
        "trace": lambda x, offset, axis1, axis2: np.sum(_diagonal(x, offset, axis1, axis2), axis=-1),
        "diagonal": _diagonal,
        "diag": _diag,
        "running_maximum": _running(np.maximum),
        "running_minimum": _running(np.minimum),
        "median": _median,
        "quantile": _quantile,
        "sliding_window": _window,
        "pad": _pad,
        "diff": _diff,
        "linspace": _linspace,
        "getitem": _getitem,
        "scatter": _scatter,
        "setitem": _setitem,
        "matvec": lambda a, v: (a @ v[..., None])[..., 0],
        "vecmat": lambda v, a: (np.conj(v)[..., None, :] @ a)[..., 0, :],
        "einsum": _einsum,
        "cross": _cross,
        "convolve": _convolve,
        "eigh": _upper(np.linalg.eigh),
        "eigvalsh": _upper(np.linalg.eigvalsh),
        "inv_lower": lambda a: np.linalg.inv(np.tril(a)),
        "solve_lower": _solve_lower,
        "interp": _interp,
    }
)
