"""Answer `__array_ufunc__` on stand-ins: `out=`, `reduce`, `accumulate`, `outer`, `reduceat` and `at`.

Everything is put together from ops; only tensors, which can change in place, know what `out=` and `at` mean for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import note_user_line
from tapec.ir.types import normalize_axes
from tapec.ops import tuning
from tapec.ops.core.define import as_operand, dtype_of, ndim_of, shape_of
from tapec.ops.core.op_helpers import as_array, weak, where_mask
from tapec.ops.core.stand_in import FUNCTIONS, UFUNCS, ArrayLike, apply, check_fit, deliver, dtype_with_out
from tapec.ops.indexing.getitem_and_scatter import SCATTER, index_layout, real_index
from tapec.ops.indexing.index_encoding import encode_index
from tapec.ops.indexing.scatter_minmax import EXTREMES_AT, extremes_at
from tapec.ops.indexing.segment_sum import segment_sums
from tapec.ops.indexing.setitem import set_at
from tapec.ops.numpy_calls.ufunc_call import call_with, cast, plain
from tapec.ops.reductions.logsumexp import log_sum_exp
from tapec.ops.reductions.running_minmax import RUNNING, running

__all__ = ["call", "ufunc_method"]


def call(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer `__array_ufunc__` on stand-ins."""
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    try:
        if method == "__call__":
            return _deliver_all(out, call_with(ufunc, inputs, out, kwargs), kwargs.get("casting", "same_kind"))
        if method == "at":
            return _at(ufunc, *inputs)
        if out is not None and method != "outer" and ufunc not in _EXTREMES and kwargs.get("dtype") is None:
            kwargs["dtype"] = dtype_with_out(inputs[:1], out)
        result = _METHODS[method](ufunc, *inputs, **kwargs)
        if out is None or out[0] is None:
            return result
        if method != "outer":
            check_fit(ufunc, out[0], result)
        return deliver(out[0], result)
    except Exception as error:
        note_user_line(error)
        raise


def _deliver_all(out: Any, result: Any, casting: str) -> Any:
    if out is None:
        return result
    if not isinstance(result, tuple):
        return result if out[0] is None else deliver(out[0], result, casting)
    return tuple([r if o is None else deliver(o, r, casting) for o, r in zip(out, result, strict=True)])


# -- reduce, accumulate, outer, reduceat ------------------------------------------------------------------------------
_REDUCTIONS: dict[Any, Any] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_EXTREMES = frozenset({np.maximum, np.minimum, np.logical_and, np.logical_or})
_ACCUMULATIONS: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}


def _reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """Reduce by NumPy's function for the ufunc, if it has one (`np.add.reduce` is `np.sum`), else element by
    element.
    """
    array = as_operand(array)
    known = _REDUCTIONS.get(ufunc)
    if known is not None and (dtype is None or known not in (np.max, np.min, np.all, np.any)):
        more = {"dtype": dtype} if dtype is not None else {}
        more |= {"where": where} if where is not True else {}
        more |= {"initial": initial} if initial is not np._NoValue and initial is not None else {}
        if "initial" not in more or known not in (np.all, np.any):
            return FUNCTIONS[known](array, axis=axis, keepdims=keepdims, **more)
    if dtype is not None:
        array = array.astype(dtype)
    if ufunc is np.logaddexp and where is True and initial is np._NoValue and _is_long(array, axis):
        return log_sum_exp(array, axis, keepdims)
    return _fold(ufunc, array, axis, keepdims, initial, where)


def _is_long(array: Any, axis: Any) -> bool:
    """Return whether too many floats are added up to write out the sum term by term."""
    shape = shape_of(array)
    count = math.prod([shape[k] for k in normalize_axes(axis, len(shape))])
    is_small = math.prod(shape) <= tuning.LOGSUMEXP_SMALL_MAX_ELEMENTS
    least = tuning.LOGSUMEXP_MIN_TERMS if is_small else tuning.LOGSUMEXP_MIN_TERMS_OF_LARGE
    return dtype_of(array).kind == "f" and count >= least


def _fold(ufunc: np.ufunc, array: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """Reduce by any binary ufunc, one element after the other."""
    array = _in_loop(ufunc, array)
    ndim, name = ndim_of(array), f"reduction operation '{ufunc.__name__}'"
    axes = normalize_axes(axis, ndim)
    if len(axes) > 1 and ufunc.identity is None and ufunc not in (np.fmax, np.fmin):
        raise ValueError(f"{name} is not reorderable, so at most one axis may be specified")
    front = np.moveaxis(array, axes, tuple(range(len(axes))))
    kept = shape_of(front)[len(axes) :]
    lanes = np.reshape(front, (math.prod(shape_of(front)[: len(axes)]), *kept)) if axes else front[None]
    start = ufunc.identity if initial is np._NoValue else initial
    masks = None
    if where is not True:
        mask = np.moveaxis(np.broadcast_to(where_mask(where), array.shape), axes, tuple(range(len(axes))))
        masks = np.reshape(mask, shape_of(lanes))
        if start is None:
            raise ValueError(f"{name} does not have an identity, so to use a where mask one has to specify 'initial'")
    n = shape_of(lanes)[0]
    if n == 0 and start is None:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    first = n > 0 and masks is None and initial is np._NoValue
    result = lanes[0] if first else np.broadcast_to(np.asarray(start, dtype_of(array)), kept)
    for i in range(1 if first else 0, n):
        new = plain(ufunc, (result, lanes[i]))
        result = new if masks is None else np.where(masks[i], new, result)
    if keepdims:
        result = np.reshape(result, tuple(1 if k in axes else m for k, m in enumerate(array.shape)))
    return result


def _in_loop(ufunc: np.ufunc, array: Any) -> Any:
    """An array in the dtype of the loop that NumPy would choose, which the first element has as well."""
    chosen = ufunc.resolve_dtypes((None, dtype_of(array), None), reduction=True)[1]
    return array if chosen.hasobject else cast(array, chosen)


def _accumulate(ufunc: np.ufunc, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """Accumulate by NumPy's function for the ufunc, if it has one, else element by element."""
    array = as_operand(array)
    known = _ACCUMULATIONS.get(ufunc)
    if known is not None:
        return FUNCTIONS[known](array, axis=axis, dtype=dtype)
    array = _in_loop(ufunc, array if dtype is None else array.astype(dtype))
    if ufunc in RUNNING and dtype_of(array).kind in "fiu":
        return running(ufunc, array, axis)
    lanes = np.moveaxis(array, axis, 0)
    results: list[Any] = []
    for i in range(shape_of(lanes)[0]):
        results.append(lanes[i] if i == 0 else plain(ufunc, (results[-1], lanes[i])))
    return np.stack(results, axis) if results else array


def _outer(ufunc: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    a, b = as_array(a), as_array(b)
    left = np.reshape(a, shape_of(a) + (1,) * ndim_of(b)) if ndim_of(b) else a
    return call_with(ufunc, (left, b), None, kwargs)


def _reduceat(ufunc: np.ufunc, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """Reduce segments [i, j) between consecutive indices; a segment that would be empty is its first element."""
    if ufunc is np.add:
        return segment_sums(array, indices, axis, dtype)
    array = as_operand(array)
    lanes = np.moveaxis(array, axis, 0)
    n = shape_of(lanes)[0]
    starts = [int(i) for i in np.asarray(indices)]
    for i in starts:
        if not 0 <= i < n:
            raise IndexError(f"index {i} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})")
    ends = [*starts[1:], n]
    parts = [_reduce(ufunc, lanes[i:j] if i < j else lanes[i : i + 1], 0, dtype) for i, j in zip(starts, ends)]
    return np.stack(parts, axis)


_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
    "reduceat": _reduceat,
}


# -- at ---------------------------------------------------------------------------------------------------------------
def _at(ufunc: np.ufunc, array: Any, indices: Any, *operand: Any) -> None:
    """Change an array in place without buffering: an index that comes several times counts several times.

    Equal places are told apart by rounds: the first occurrence of each, then the second of each, and so on.
    """
    if not isinstance(array, ArrayLike):
        deliver(array, _changed(ufunc, np.array(array), indices, operand))
        return
    array._assign(_changed(ufunc, array, indices, operand), "same_kind")


def _changed(ufunc: np.ufunc, array: Any, indices: Any, operand: tuple[Any, ...]) -> Any:
    """Return an array as `ufunc.at` changes it: by a sum of what goes to each place, by an op, or in rounds."""
    shape = shape_of(array)
    if ufunc in (np.add, np.subtract):
        found = ufunc(array, _spread(array, indices, *operand))
        of_integers = dtype_of(array).kind in "iu" and dtype_of(found).kind in "iu"
        return cast(found, dtype_of(array)) if of_integers else found  # which wrap around, in any order
    if ufunc in EXTREMES_AT and dtype_of(array).kind in "fiu":
        return extremes_at(ufunc, array, indices, *operand)
    places = np.arange(array.size).reshape(shape)[_plain_index(array, indices)]
    flat = np.ravel(array)
    operands = [np.ravel(np.broadcast_to(as_operand(b), places.shape)) for b in operand]
    places = np.ravel(places)
    for chosen in _rounds(places):
        at = places[chosen]
        new = plain(ufunc, (flat[at], *[b[chosen] for b in operands]))
        flat = set_at(flat, at, cast(new, dtype_of(flat)))
    return np.reshape(flat, shape)


def _spread(array: Any, indices: Any, operand: Any) -> Any:
    """Return zeros, with the sum of the values at each place of the index, in the dtype in which NumPy adds them up."""
    static, arrays, unique = encode_index(array, indices)
    region = index_layout(shape_of(array), static, tuple(map(shape_of, arrays))).shape
    v = as_operand(operand)
    v = np.broadcast_to(cast(v, np.result_type(dtype_of(array), v if weak(v) else dtype_of(v))), region)
    params: Any = (("shape", shape_of(array)), ("index", static)) + ((("unique", True),) if unique else ())
    return apply(SCATTER, (v, *arrays), params)


def _plain_index(array: Any, indices: Any) -> tuple[Any, ...]:
    """The index without stand-ins: index tensors answer with their values."""
    static, arrays, _ = encode_index(array, indices)
    return real_index(static, tuple([np.asarray(a) for a in arrays]))


def _rounds(places: np.ndarray) -> list[np.ndarray]:
    """Return the positions of the first occurrences of all places, of the second ones, and so on."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.r_[True, ordered[1:] != ordered[:-1]] if len(places) else np.zeros(0, bool)
    begin = np.maximum.accumulate(np.where(starts, np.arange(len(places)), 0)) if len(places) else order
    rank = np.arange(len(places)) - begin
    return [np.sort(order[rank == r]) for r in range(int(rank.max()) + 1)] if len(places) else []


# -- entry ------------------------------------------------------------------------------------------------------------
def ufunc_method(self: Any, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer `__array_ufunc__` in the general case: keywords, `out`, `reduce` and its kin."""
    return call(ufunc, method, inputs, kwargs)


def _array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    if method == "__call__" and not kwargs:
        op = UFUNCS.get(ufunc)
        if op is not None and not op.multi:
            return apply(op, inputs)
    return call(ufunc, method, inputs, kwargs)


ArrayLike.__array_ufunc__ = _array_ufunc  # type: ignore[method-assign]
