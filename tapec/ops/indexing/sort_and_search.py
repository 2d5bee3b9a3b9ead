"""Define sorting and searching. Indices have no gradient.

Places of equal elements are those that NumPy finds by the kind of sort that the user asks for, which says nothing
about their order unless it is a stable one. Derivatives of sorts pair equal elements in the stable order.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np

from tapec.ir import Op, Type
from tapec.ir.param_types import AXIS, BOOL, INTEGER, INTEGERS, either, maybe, one_of
from tapec.ir.types import normalize_axis, several
from tapec.ops.core.define import as_operand, define, ndim_of
from tapec.ops.core.op_helpers import as_array, batch_with_shifted_axes, both, drawn, flat, same_type
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements, method
from tapec.ops.indexing.take import along_vjp

__all__ = ["ARGPARTITION", "ARGSORT", "PARTITION", "SEARCHSORTED", "SORT"]


def _index_rule(t: Type, **params: Any) -> Type:
    return t.with_dtype(np.intp)


def _source(name: str, *positional: str) -> Any:
    """Return source such as `np.sort(x)`, `np.sort(x, axis=0)`, `np.partition(x, 3)`."""

    def source(args: tuple[str, ...], node: Any) -> str:
        text = ", ".join([args[0], *[repr(node.param(p)) for p in positional]])
        if node.param("axis") != node.inputs[0].type.ndim - 1:
            text += f", axis={node.param('axis')}"
        if "kind" in (params := dict(node.params)):
            text += f", kind={params['kind']!r}"
        return f"np.{name}({text})"

    return source


_CASES = both(drawn((5,), axis=0), drawn((2, 4, 3), axis=1), drawn((3, 4), axis=1, complex=True))
_CUT_CASES = both(drawn((5,), kth=2, axis=0), drawn((2, 6, 3), kth=(1, 3), axis=1))

KINDS = {"q": "quicksort", "h": "heapsort", "m": "stable", "s": "stable"}  # NumPy asks for the first letter alone

# -- orders -------------------------------------------------------------------------------------------------------
ARGSORT = define(
    "argsort",
    lambda x, axis, kind=None: np.argsort(x, axis, kind=kind),
    _index_rule,
    "sorting",
    params={"axis": AXIS, "kind": maybe(one_of("quicksort", "heapsort", "stable"))},
    batch=batch_with_shifted_axes(lambda x, axis, kind=None: np.argsort(x, axis, kind=kind), "axis"),
    source=_source("argsort"),
    sample=_CASES,
    numpy=np.argsort,
)
ARGPARTITION = define(
    "argpartition",
    lambda x, kth, axis: np.argpartition(x, kth, axis),
    _index_rule,
    "sorting",
    params={"kth": either(INTEGER, INTEGERS), "axis": AXIS},
    batch=batch_with_shifted_axes(lambda x, kth, axis: np.argpartition(x, kth, axis), "axis"),
    source=_source("argpartition", "kth"),
    sample=_CUT_CASES,
    numpy=np.argpartition,
)


def _stable_order(x: Any, axis: int) -> Any:
    return np.argsort(x, axis, kind="stable")


# -- values -------------------------------------------------------------------------------------------------------
def _put_back(ct: Any, x: Any, order: Any, axis: int) -> Any:
    """Return an array like x that has the elements of ct at these places along the axis, each place once."""
    return along_vjp(ct, None, x, order, axis, unique=True)[0]


def _sort_vjp(ct: Any, y: Any, x: Any, axis: int) -> Any:
    return (_put_back(ct, x, _stable_order(x, axis), axis),)


def _sort_jvp(ts: Any, y: Any, x: Any, axis: int) -> Any:
    return np.take_along_axis(ts[0], _stable_order(x, axis), axis)


def _partition_vjp(ct: Any, y: Any, x: Any, kth: Any, axis: int) -> Any:
    """Return the cotangent of a partition.

    Sorting x and y in the same way pairs each element with its place, however the partition was made.
    """
    ordered = np.take_along_axis(ct, _stable_order(y, axis), axis)
    return (_put_back(ordered, x, _stable_order(x, axis), axis),)


def _partition_jvp(ts: Any, y: Any, x: Any, kth: Any, axis: int) -> Any:
    place = _stable_order(_stable_order(y, axis), axis)
    return np.take_along_axis(np.take_along_axis(ts[0], _stable_order(x, axis), axis), place, axis)


SORT = define(
    "sort",
    np.sort,
    same_type,
    "sorting",
    params={"axis": AXIS},
    vjp=_sort_vjp,
    jvp=_sort_jvp,
    batch=batch_with_shifted_axes(np.sort, "axis"),
    source=_source("sort"),
    sample=_CASES,
    numpy=np.sort,
)
PARTITION = define(
    "partition",
    np.partition,
    same_type,
    "sorting",
    params={"kth": either(INTEGER, INTEGERS), "axis": AXIS},
    vjp=_partition_vjp,
    jvp=_partition_jvp,
    batch=batch_with_shifted_axes(np.partition, "axis"),
    source=_source("partition", "kth"),
    sample=_CUT_CASES,
    numpy=np.partition,
)


def _sorted(op: Op, a: Any, axis: Any, *more: tuple[str, Any]) -> Any:
    a = as_array(a)
    if axis is None or _is_row(op, a, axis):
        a, axis = flat(a), 0
    return apply(op, (a,), (*more, ("axis", normalize_axis(axis, ndim_of(a)))))


def _is_row(op: Op, a: Any, axis: Any) -> bool:
    """Return whether an op finds places in a single number, which NumPy takes as a row of one; sorting does not."""
    return not a.ndim and op in (ARGSORT, ARGPARTITION) and axis in (0, -1)


def _kth(kth: Any, n: int) -> Any:
    """Return places counted from the front; raise NumPy's error for a place that there is not."""
    if isinstance(kth, (tuple, list)) or getattr(kth, "shape", None):
        return tuple([_kth(k, n) for k in several(kth)])
    if not -n <= kth < n:
        raise ValueError(f"kth(={kth}) out of bounds ({n})")
    return operator.index(kth) % n


def _cut(op: Op, a: Any, kth: Any, axis: Any) -> Any:
    a = as_array(a)
    if axis is None or _is_row(op, a, axis):
        a, axis = flat(a), 0
    return _sorted(op, a, axis, ("kth", _kth(kth, a.shape[normalize_axis(axis, a.ndim)])))


def _check(how: Any, **given: Any) -> None:
    """Raise NumPy's own error for a way to sort that NumPy does not know."""
    if any([value is not None for value in given.values()]):
        how(np.zeros(1), **given)


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    _check(np.sort, kind=kind, order=order, stable=stable)
    return _sorted(SORT, a, axis)


@method("argsort")
@implements(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    _check(np.argsort, kind=kind, order=order, stable=stable)
    if stable:
        kind = "stable"
    return _sorted(ARGSORT, a, axis, *([] if kind is None else [("kind", KINDS[kind[0].lower()])]))


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    _check(partial(np.partition, kth=0), kind=kind, order=order)
    return _cut(PARTITION, a, kth, axis)


@method("argpartition")
@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    _check(partial(np.argpartition, kth=0), kind=kind, order=order)
    return _cut(ARGPARTITION, a, kth, axis)


@method("sort")
def sort_in_place(self: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    self[...] = sort(self, axis, kind, order, stable=stable)


@method("partition")
def partition_in_place(self: Any, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    self[...] = partition(self, kth, axis, kind, order)


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    y = sort(a)
    if y.dtype.kind == "c":
        return y
    narrow = y.dtype.char in "bBhH"
    return y.astype(np.complex64 if narrow else np.clongdouble if y.dtype.char == "g" else np.complex128)


def _lexsort_cases(rng: np.random.Generator) -> list[Case]:
    return [Case((rng.standard_normal((2, 3)), rng.integers(0, 2, (2, 3)).astype(float)), {"axis": 1})]


LEXSORT = define(
    "lexsort",
    lambda *keys, axis: np.lexsort(keys, axis),
    lambda *types, axis: types[0].with_dtype(np.intp),
    "sorting",
    params={"axis": AXIS},
    source=lambda args, node: f"np.lexsort(({', '.join(args)},), axis={node.param('axis')})",
    sample=_lexsort_cases,
    numpy=np.lexsort,
)


@implements(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    parts = tuple([as_array(k) for k in keys])
    return apply(LEXSORT, parts, (("axis", normalize_axis(axis, parts[0].ndim)),))


# -- searching ----------------------------------------------------------------------------------------------------
def _search_cases(rng: np.random.Generator) -> list[Case]:
    a, v = np.sort(rng.standard_normal(5)), rng.standard_normal((2, 3))
    return [Case((a, v), {"side": side}) for side in ("left", "right")]


def _search_source(args: tuple[str, ...], node: Any) -> str:
    side = f', side="{node.param("side")}"' if node.param("side") != "left" else ""
    return f"np.searchsorted({args[0]}, {args[1]}{side})"


SEARCHSORTED = define(
    "searchsorted",
    np.searchsorted,
    lambda a, v, side: v.with_dtype(np.intp),
    "sorting",
    params={"side": one_of("left", "right")},
    batch=lambda batched, a, v, side: NotImplemented if batched[0] else np.searchsorted(a, v, side),
    source=_search_source,
    sample=_search_cases,
    numpy=np.searchsorted,
)


@method("searchsorted")
@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    a = as_array(a)
    if sorter is not None:
        if np.size(sorter) != np.size(a):
            raise ValueError("sorter.size must equal a.size")
        a = a[sorter]
    return apply(SEARCHSORTED, (a, as_operand(v)), (("side", side),))


DIGITIZE = define(
    "digitize",
    np.digitize,
    lambda x, bins, right: x.with_dtype(np.intp),
    "sorting",
    params={"right": BOOL},
    batch=lambda batched, x, bins, right: NotImplemented if batched[1] else np.digitize(x, bins, right),
    source=lambda args, node: f"np.digitize({args[0]}, {args[1]}{', right=True' if node.param('right') else ''})",
    sample=lambda rng: [
        Case((rng.standard_normal((2, 3)), np.array([-1.0, 0.0, 1.0])), {"right": False}),
        Case((rng.standard_normal(4), np.array([1.0, 0.0, -1.0])), {"right": True}),
    ],
    numpy=np.digitize,
)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    return apply(DIGITIZE, (as_operand(x), as_operand(bins)), (("right", bool(right)),))
