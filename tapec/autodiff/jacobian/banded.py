"""`Bands` are values that are a few shifted diagonals: what slices make of unit vectors.

The Jacobian of `x[1:] - x[:-1]` and the Hessian of a sum over neighbours have bands. Kept as such they are multiplied,
added and sliced as vectors, and written into the matrix at the end: `H[i, i] += a; H[i, i + 1] += b`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.autodiff.jacobian.basis import Basis, Rows
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, OpTable, ops
from tapec.ir.static_index import Slice
from tapec.ops import apply
from tapec.ops.elementwise.powers import number_of
from tapec.ops.indexing.getitem_and_scatter import GETITEM, SCATTER

__all__ = ["Bands", "banded", "written_out"]


class Band(NamedTuple):
    """Holds one diagonal of a matrix: data[t] at body place a = start + t, for the basis vector a + offset."""

    offset: int
    start: int
    data: Any

    @property
    def stop(self) -> int:
        return self.start + int(self.data.shape[0])


class Bands:
    """Holds the sum of some diagonals, for a basis and a body of one axis each; `length` is the body's."""

    __slots__ = ("length", "parts")

    def __init__(self, length: int, parts: list[Band]):
        self.length = length
        self.parts = parts


def bands_of(basis: Basis, x: Any) -> Bands | None:
    """A diagonal as one band."""
    if isinstance(x, Bands):
        return x
    if not isinstance(x, Rows) or x.factor is not None:
        return None
    if x.pairs == ((0, 0),) and basis.rank == 1 and len(x.data.shape) == 2:
        n = x.data.shape[1]
        return Bands(n, [Band(0, 0, np.reshape(x.data, (n,)))])
    return None


def banded(basis: Basis, node: Node, xs: list[Any]) -> Any:
    """The node on bands, where its operands are such and the result is one; else None."""
    rule = RULES.get(node.op)
    if rule is None or basis.rank != 1:
        return None
    if not any(isinstance(x, Bands) for x in xs) and node.op is not GETITEM and node.op is not SCATTER:
        return None
    y = rule(basis, node, xs)
    return y if y is None or len(y.parts) <= most_bands(basis, y.length) else written_out(basis, y)


def most_bands(basis: Basis, length: int) -> int:
    """Steps of a stencil make ever more bands, and shorter ones: at some number the matrix itself is less work."""
    return min(max(tuning.BANDS_KEPT, basis.shape[0] * length // tuning.BAND_MIN_ELEMENTS), tuning.BANDS_MAX)


# -- slices -----------------------------------------------------------------------------------------------------------
def _slice_of(node: Node, length: int) -> range | None:
    """The places that `x[i:j]` takes."""
    index = node.param("index")
    if len(index) != 1 or type(index[0]) is not Slice or len(node.inputs) != 1:
        return None
    places = range(*slice(*index[0]).indices(length))
    return places if places.step == 1 and places else None


def _getitem(basis: Basis, node: Node, xs: list[Any]) -> Bands | None:
    x = bands_of(basis, xs[0])
    places = _slice_of(node, x.length) if x is not None else None
    if x is None or places is None:
        return None
    parts = []
    for p in x.parts:
        first, stop = max(p.start, places.start), min(p.stop, places.stop)
        if first < stop:
            data = _cut(p.data, first - p.start, stop - p.start)
            parts.append(Band(p.offset + places.start, first - places.start, data))
    return Bands(len(places), parts) if parts else None


def _scatter(basis: Basis, node: Node, xs: list[Any]) -> Bands | None:
    x = bands_of(basis, xs[0])
    places = _slice_of(node, node.type.shape[0]) if len(node.type.shape) == 1 else None
    if x is None or places is None or len(places) != x.length:
        return None
    return Bands(node.type.shape[0], [Band(p.offset - places.start, p.start + places.start, p.data) for p in x.parts])


def _cut(data: Any, start: int, stop: int) -> Any:
    return data if (start, stop) == (0, data.shape[0]) else data[start:stop]


# -- elementwise ------------------------------------------------------------------------------------------------------
def _each(basis: Basis, node: Node, xs: list[Any]) -> Bands | None:
    """An operation that is linear in its one batched operand."""
    batched = [k for k, x in enumerate(xs) if isinstance(x, (Bands, Rows))]
    at = batched[0]
    x = xs[at]
    if len(batched) > 1 or not isinstance(x, Bands) or node.type.shape != (x.length,):
        return None
    if (node.op is ops.divide and at != 0) or (node.op is ops.where and not _selects(xs, at)):
        return None
    parts = []
    for p in x.parts:
        args = [p.data if k == at else _along(v, p, x.length) for k, v in enumerate(xs)]
        parts.append(p._replace(data=apply(node.op, tuple(args), node.params)))
    return Bands(x.length, parts)


def _selects(xs: list[Any], at: int) -> bool:
    return at > 0 and all(number_of(v) == 0 for k, v in enumerate(xs) if k not in (0, at))


def _along(value: Any, p: Band, length: int) -> Any:
    """The elements of another operand that stand beside a band."""
    return _cut(value, p.start, p.stop) if np.shape(value) == (length,) else value


def _added(basis: Basis, node: Node, xs: list[Any]) -> Bands | None:
    a, b = [bands_of(basis, x) for x in xs]
    if a is None or b is None or a.length != b.length:
        return None
    parts = list(a.parts)
    for q in b.parts:
        for k, p in enumerate(parts):
            if (p.offset, p.start, p.stop) == (q.offset, q.start, q.stop):
                parts[k] = p._replace(data=apply(node.op, (p.data, q.data), ()))
                break
        else:
            parts.append(q if node.op is ops.add else q._replace(data=-q.data))
    return Bands(a.length, parts)


# -- to arrays --------------------------------------------------------------------------------------------------------
def written_out(basis: Basis, x: Bands) -> Rows:
    """The matrix, each band added at its places of the flat array."""
    n, m = basis.shape[0], x.length
    total: Any = None
    for p in x.parts:
        first = (p.start + p.offset) * m + p.start
        index = (Slice(first, first + (p.stop - p.start - 1) * (m + 1) + 1, m + 1),)
        part = apply(SCATTER, (p.data,), (("shape", (n * m,)), ("index", index)))
        total = part if total is None else total + part
    return Rows(np.reshape(total, (n, m)), ())


RULES: OpTable[Callable[[Basis, Node, list[Any]], Bands | None]] = OpTable(
    {
        "getitem": _getitem,
        "scatter": _scatter,
        "add": _added,
        "subtract": _added,
        "multiply divide where negative positive": _each,
        "conjugate real imag cast": _each,
    }
)
