"""Define counts and histograms: they are integer, but differentiable in their weights."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.param_types import SIZE
from tapec.ir.static_index import Slot
from tapec.ops.core.define import define, dtype_of, ndim_of
from tapec.ops.core.op_helpers import as_array, flat
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.core.symbol import holds, is_known
from tapec.ops.core.value_checks import checked
from tapec.ops.indexing.getitem_and_scatter import SCATTER
from tapec.ops.numpy_calls.ufunc_call import cast
from tapec.ops.reductions.sums_and_extremes import unsupported

__all__ = ["BINCOUNT", "bincount", "histogram", "histogram_bin_edges"]


def _bincount(x: Any, *weights: Any, minlength: int) -> Any:
    return np.bincount(x, weights[0] if weights else None, minlength)


def _bincount_rule(x: Type, *weights: Type, minlength: int) -> Type:
    """Return a type of `minlength` elements, as long as no values are known to need more."""
    return Type((minlength,), float if weights else np.intp)


def _bincount_jvp(ts: Any, y: Any, x: Any, *weights: Any, minlength: int) -> Any:
    return np.bincount(x, ts[1], minlength=y.shape[0])


def _bincount_cases(rng: np.random.Generator) -> list[Case]:
    x = np.array([0, 2, 2, 1, 0])
    return [Case((x, rng.standard_normal(5)), {"minlength": 4}), Case((x,), {"minlength": 3})]


BINCOUNT = define(
    "bincount",
    _bincount,
    _bincount_rule,
    "dynamic",
    params={"minlength": SIZE},
    vjp=lambda ct, y, x, *weights, minlength: (None, *[ct[x] for _ in weights]),
    jvp=_bincount_jvp,
    source=lambda args, node: f"np.bincount({', '.join(args)}, minlength={node.param('minlength')})",
    sample=_bincount_cases,
    numpy=np.bincount,
)


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    x = as_array(x)
    if dtype_of(x).kind not in "iub":
        raise TypeError(f"Cannot cast array data from {dtype_of(x)!r} to dtype('int64') according to the rule 'safe'")
    if weights is None:
        return apply(BINCOUNT, (x,), (("minlength", int(minlength)),))
    weights = as_array(weights)
    if not np.can_cast(weights.dtype, float, "safe"):
        raise TypeError(
            f"Cannot cast array data from {weights.dtype!r} to dtype('float64') according to the rule 'safe'"
        )
    if not is_known(x):
        return apply(BINCOUNT, (x, weights), (("minlength", int(minlength)),))
    n = np.bincount(x, np.zeros(weights.shape), int(minlength)).shape[0]  # x has values, so NumPy tells the length now
    return apply(SCATTER, (cast(weights, np.dtype(float)), x), (("shape", (n,)), ("index", (Slot(0),))))


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    a = flat(as_array(a))
    edges = _edges(a, bins, range)
    if np.ndim(bins):
        return edges
    dtype = np.result_type(a, *(range or ()))
    return edges.astype(dtype if dtype.kind in "fc" else np.result_type(dtype, float))


def _edges(a: Any, bins: Any, range: Any) -> Any:
    """The edges of bins: those given, or of so many equal ones."""
    if isinstance(bins, str):
        raise unsupported("np.histogram of a tensor needs a number of bins or their edges", f"replace bins={bins!r}")
    if np.ndim(bins):
        edges = as_array(bins)
        if ndim_of(edges) != 1:
            raise ValueError("`bins` must be 1d, when an array")
        return checked(edges, edges[:-1] > edges[1:], ValueError("`bins` must increase monotonically, when an array"))
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    return np.linspace(*_range(a, range), operator.index(bins) + 1)


def _range(a: Any, range: Any) -> tuple[Any, Any]:
    """Return where the bins begin and end; NumPy widens an empty range."""
    low, high = range if range is not None else (np.min(a), np.max(a)) if a.size else (0.0, 1.0)
    if range is not None and holds(low > high):
        raise ValueError("max must be larger than min in range parameter.")
    if holds(~(np.isfinite(low) & np.isfinite(high))):
        ends = ", ".join([str(x) if is_known(x) else f"{x:g}" for x in (low, high)])
        raise ValueError(f"{'autodetected' if range is None else 'supplied'} range of [{ends}] is not finite")
    if is_known(low) and is_known(high):
        return (low, high) if low != high else (low - 0.5, high + 0.5)
    flat = low == high
    return np.where(flat, low - 0.5, low), np.where(flat, high + 0.5, high)


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    a = as_array(a)
    if weights is not None and np.shape(weights) != np.shape(a):
        raise ValueError("weights should have the same shape as a.")
    a = flat(a)
    edges = histogram_bin_edges(a, bins, range)
    n = edges.shape[0] - 1
    w = None if weights is None else flat(as_array(weights))
    dtype = None if w is None else w.dtype
    if w is not None and w.dtype.char == "g":
        w = w.astype(float)
    place = _place(a, edges)
    if w is None or w.dtype.kind != "c":
        counts = np.bincount(place, w, minlength=n + 1)[:n]
    else:
        parts = [np.bincount(place, part, minlength=n + 1)[:n] for part in (w.real, w.imag)]
        counts = parts[0] + 1j * parts[1]
    if dtype is not None:
        counts = counts.astype(dtype)
    if density:
        return counts / np.diff(edges).astype(float) / np.sum(counts), edges
    return counts, edges


def _place(a: Any, edges: Any) -> Any:
    """Return the bin of each number.

    The last bin is closed; one more takes the numbers outside, and is left out later.
    """
    n = edges.shape[0] - 1
    place = np.where(a == edges[-1], n - 1, np.searchsorted(edges, a, side="right") - 1)
    return np.where((a >= edges[0]) & (a <= edges[-1]), place, n)


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    if np.ndim(bins) == 1 and len(bins) != 2:
        bins = [bins, bins]
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """Count each point's bins along all axes as one number, and take the counts apart again."""
    if not isinstance(sample, (list, tuple)):
        sample = as_array(sample)
        sample = list(sample.T) if sample.ndim == 2 else [sample]
    columns = [flat(as_array(c)) for c in sample]
    if len({c.shape for c in columns}) > 1:
        raise ValueError("x and y must have the same length.")
    bins = [bins] * len(columns) if not np.ndim(bins) and not isinstance(bins, (list, tuple)) else bins
    ranges = [None] * len(columns) if range is None else range
    edges = [_edges(c, b, r) for c, b, r in zip(columns, bins, ranges, strict=True)]
    sizes = [e.shape[0] for e in edges]  # one more than bins: the last takes what lies outside
    total: Any = 0
    for column, edge, size in zip(columns, edges, sizes, strict=True):
        total = total * size + _place(column, edge)
    w = None if weights is None else flat(as_array(weights))
    counted = np.bincount(total, w, minlength=math.prod(sizes))
    counts: Any = np.reshape(counted, sizes)[tuple(slice(0, n - 1) for n in sizes)]
    counts = counts.astype(float)
    if density:
        whole = np.sum(counts)
        for k, edge in enumerate(edges):
            counts = counts / np.reshape(np.diff(edge), (-1,) + (1,) * (len(edges) - 1 - k))
        counts = counts / whole
    return counts, edges
