"""Define sets and bits, mostly with results whose shapes depend on values.

Gradients of a set of real or complex numbers flow to where its elements come from: of equal ones to the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError
from tapec.ir import Op, Type, type_of
from tapec.ir.param_types import BOOL, INTEGER, SIZES, ParamType, either, keywords, maybe, one_of, optional, tuple_of
from tapec.ir.static_index import Slot
from tapec.ir.types import normalize_axes
from tapec.ops.core.define import define
from tapec.ops.core.op_helpers import as_array, available
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, SCATTER

__all__ = ["intersect1d", "isin", "setdiff1d", "setxor1d", "trim_zeros", "union1d", "unique"]


# -- results of unknown shape -------------------------------------------------------------------------------------
_FLAGS = keywords(
    axis=INTEGER,
    equal_nan=BOOL,
    assume_unique=BOOL,
    **dict.fromkeys(["return_index", "return_inverse", "return_counts", "return_indices"], BOOL),
)


def _no_rule(first: Any, *more: Any, **params: Any) -> Any:
    raise UnsupportedError("the shape of this result depends on values, which are not known here")


def _dynamic(run: Callable[..., Any], flags: Any = (), **more: Any) -> Op:
    """Define an op of several results whose shapes depend on values; `flags` are NumPy's keywords."""

    def call(*xs: Any, flags: tuple[tuple[str, Any], ...]) -> Any:
        found = run(*xs, **dict(flags))
        return tuple(found) if isinstance(found, tuple) else (found,)

    def source(args: tuple[str, ...], node: Any) -> str:
        flags = node.param("flags")
        text = f"np.{run.__name__}({', '.join([*args, *[f'{k}={v!r}' for k, v in flags]])})"
        return text if any(k.startswith("return") for k, _ in flags) else f"({text},)"

    def sample(rng: np.random.Generator) -> list[Case]:
        xs = [np.array([3.0, 1.0, 2.0, 1.0]), np.array([2.0, 5.0, 3.0])]
        return [Case(tuple(xs[: 1 if run is np.unique else 2]), {"flags": flags})]

    return define(
        run.__name__,
        call,
        _no_rule,
        "dynamic",
        params={"flags": _FLAGS},
        source=source,
        sample=sample,
        numpy=run,
        multi=True,
        **more,
    )


def _unique_vjp(ct: Any, y: Any, x: Any, flags: Any) -> Any:
    """Put the cotangent where the first element of each kind stands, which the second result tells."""
    axis = dict(flags).get("axis")
    shape, before = ((x.size,), 0) if axis is None else (x.shape, axis % x.ndim)
    places = (*[FULL_SLICE] * before, Slot(0))
    placed = apply(SCATTER, (ct[0], y[1]), (("shape", shape), ("index", places), ("unique", True)))
    return (np.reshape(placed, x.shape),)


_UNIQUE = _dynamic(np.unique, (("return_index", True),), vjp=_unique_vjp)
_INTERSECT = _dynamic(np.intersect1d)


def _sets(op: Op, *xs: Any, **flags: Any) -> Any:
    given = tuple(
        (k, v if k == "axis" else bool(v))
        for k, v in flags.items()
        if not (v is None or v is False) or k == "equal_nan"
    )
    found = apply(op, tuple(map(as_array, xs)), (("flags", given),))
    return found if len(found) > 1 else found[0]


def _has_gradient(*xs: Any) -> bool:
    return any([x.dtype.kind in "fc" for x in xs])


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    flags = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    if not equal_nan:
        flags["equal_nan"] = False
    x = as_array(ar)
    if axis is None and not _has_gradient(x):
        return _sets(_UNIQUE, x, **flags)
    values, index, *rest = _sets(_UNIQUE, x, **{**flags, "return_index": True}, axis=axis)
    found = (values, index, *rest) if return_index else (values, *rest)
    return found if len(found) > 1 else values


@implements(np.unique_values)
def unique_values(x: Any) -> Any:
    return unique(x, equal_nan=False)


@implements(np.unique_counts)
def unique_counts(x: Any) -> Any:
    return _named("UniqueCountsResult", unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> Any:
    return _named("UniqueInverseResult", unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_all)
def unique_all(x: Any) -> Any:
    return _named("UniqueAllResult", unique(x, True, True, True, equal_nan=False))


def _named(name: str, found: Any) -> Any:
    """Return the results in NumPy's own named tuple."""
    from numpy.lib import _arraysetops_impl as sets

    return getattr(sets, name)(*found)


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    x, y = as_array(ar1), as_array(ar2)
    if not _has_gradient(x, y):
        return _sets(_INTERSECT, x, y, assume_unique=assume_unique, return_indices=return_indices)
    values, *places = _sets(_INTERSECT, x, y, assume_unique=assume_unique, return_indices=True)
    dtype = values.dtype
    values = np.ravel(x)[places[0]] if _has_gradient(x) else np.ravel(y)[places[1]]
    values = values if values.dtype == dtype else values.astype(dtype)
    return (values, *places) if return_indices else values


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(np.concatenate((as_array(ar1), as_array(ar2)), axis=None))


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    x = np.ravel(as_array(ar1)) if assume_unique else unique(ar1)
    return x[isin(x, ar2, invert=True)]


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    x, y = [as_array(x) if assume_unique else unique(x) for x in (ar1, ar2)]
    both = np.sort(np.concatenate((x, y), axis=None))
    differs, end = both[1:] != both[:-1], np.ones(1, bool)
    return both[np.concatenate((end, differs)) & np.concatenate((differs, end))] if both.size else both


@implements(np.trim_zeros, gives_views=True)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """Cut off zeros. What is left keeps its gradient; the place where the zeros end becomes a guard of the path."""
    x = as_array(filt)
    if not set(trim.lower()) <= set("fb"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    index = [slice(None)] * x.ndim
    for k in normalize_axes(axis, x.ndim):
        there = np.flatnonzero(np.any(x != 0, axis=tuple(j for j in range(x.ndim) if j != k)))
        if there.shape[0] == 0:
            index[k] = slice(0, 0)
            continue
        start = int(there[0]) if "f" in trim.lower() else 0
        stop = int(there[-1]) + 1 if "b" in trim.lower() else x.shape[k]
        index[k] = slice(start, stop)
    return x[tuple(index)]


# -- results of known shape ---------------------------------------------------------------------------------------
def _by_example(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return the type rule of a function of integers: the type of its result for zeros of these types."""

    def rule(*types: Type, **params: Any) -> Any:
        # a plan of a call may have shapes that depend on values; those have no rule
        if any([t.shape is None for t in types]):
            return _no_rule(*types)
        found = run(*[np.zeros(t.shape, t.dtype) for t in types], **params)
        return tuple(map(type_of, found)) if isinstance(found, tuple) else type_of(found)

    return rule


def _keywords(node: Any) -> str:
    return ", ".join([f"{k}={v!r}" for k, v in node.params])


def _integer(run: Callable[..., Any], sample: Any, *, multi: bool = False, **params: ParamType) -> Op:
    def source(args: tuple[str, ...], node: Any) -> str:
        return f"np.{run.__name__}({', '.join(args)}, {_keywords(node)})"

    return define(
        run.__name__,
        run,
        _by_example(run),
        "integer",
        params=params,
        source=source,
        sample=sample,
        numpy=run,
        multi=multi,
    )


_PLACES, _ORDER = one_of("raise", "wrap", "clip"), one_of("C", "F")
_BITS: Any = {"axis": optional(INTEGER), "bitorder": maybe(one_of("big", "little"))}


_ISIN = _integer(np.isin, lambda rng: [Case((np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([2.0, 4.0])), {})])
_PACK = _integer(np.packbits, lambda rng: [Case((np.array([[1, 0, 1]], bool),), {"axis": 1})], **_BITS)
_UNPACK = _integer(
    np.unpackbits,
    lambda rng: [Case((np.array([[2], [7]], np.uint8),), {"axis": 1})],
    count=maybe(optional(INTEGER)),
    **_BITS,
)
_UNRAVEL = _integer(
    np.unravel_index,
    lambda rng: [Case((np.array([3, 5]),), {"shape": (2, 3)})],
    multi=True,
    shape=SIZES,
    order=maybe(_ORDER),
)


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    found = apply(_ISIN, (as_array(element), as_array(test_elements)))
    return ~found if invert else found


@implements(*available("in1d"))  # np.in1d is there until NumPy 2.3
def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Any:
    return isin(np.ravel(as_array(ar1)), ar2, assume_unique, invert)


@implements(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    return apply(_PACK, (as_array(a),), (("axis", axis), ("bitorder", bitorder)))


@implements(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    return apply(_UNPACK, (as_array(a),), (("axis", axis), ("count", count), ("bitorder", bitorder)))


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    shape = tuple(shape) if np.ndim(shape) else (int(shape),)
    params = (("shape", shape),) if order == "C" else (("shape", shape), ("order", order))
    return apply(_UNRAVEL, (as_array(indices),), params)


def _flat_places(*indices: Any, **params: Any) -> Any:
    return np.ravel_multi_index(indices, **params)


_RAVEL = define(
    "ravel_multi_index",
    _flat_places,
    _by_example(_flat_places),
    "integer",
    params={"dims": SIZES, "mode": either(_PLACES, tuple_of(_PLACES)), "order": maybe(_ORDER)},
    source=lambda args, node: f"np.ravel_multi_index(({', '.join(args)},), {_keywords(node)})",
    sample=lambda rng: [Case((np.array([1, 0]), np.array([2, 5])), {"dims": (2, 3), "mode": "clip"})],
    numpy=np.ravel_multi_index,
)


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    dims = tuple(dims) if np.ndim(dims) else (int(dims),)
    indices = [as_array(multi_index[k]) for k in range(len(dims))]
    return apply(_RAVEL, tuple(indices), (("dims", dims), ("mode", mode), ("order", order)))
