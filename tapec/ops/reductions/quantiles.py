"""Define median, percentiles and quantiles, and their variants that leave nan out."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.param_types import AXES, BOOL, NUMBER, ParamType, one_of
from tapec.ir.static_index import Slot
from tapec.ops.core.define import as_operand, axes_param, define, dtype_of, reduced_shape
from tapec.ops.core.op_helpers import as_array, real_dtype, weak
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.core.symbol import is_known
from tapec.ops.core.value_checks import checked
from tapec.ops.indexing.getitem_and_scatter import SCATTER
from tapec.ops.reductions.quantiles_by_sort import checked_weights, flat_fractions, middle, ranked, weighted
from tapec.ops.reductions.sums_and_extremes import count, mean_dtype

__all__ = ["MEDIAN", "QUANTILE", "median", "percentile", "quantile"]


def _last(x: Any, axis: tuple[int, ...]) -> Any:
    """Return x with the reduced axes as one, last, and the others as one, first."""
    rest = [k for k in range(x.ndim) if k not in axis]
    return np.reshape(np.transpose(x, (*rest, *axis)), (count(x, tuple(rest)), count(x, axis)))


def _back(rows: Any, shape: tuple[int, ...], axis: tuple[int, ...]) -> Any:
    """Undo `_last`."""
    order = [k for k in range(len(shape)) if k not in axis] + list(axis)
    return np.transpose(np.reshape(rows, [shape[k] for k in order]), [order.index(k) for k in range(len(shape))])


def _selected(ct: Any, x: Any, axis: tuple[int, ...], q: Any, method: str) -> Any:
    """Return the cotangent of a quantile, which belongs to the one or two elements between which the quantile lies.

    Their places are found by the quantile of 0, 1, ..., n - 1, which is its own place among sorted numbers.
    """
    n = count(x, axis)
    if not n:
        return np.zeros_like(x)
    places = np.ravel(np.quantile(np.arange(n, dtype=float), q, method=method))  # type: ignore[call-overload]
    low = np.floor(places).astype(int)
    high, share = np.ceil(places).astype(int), (places - low).astype(real_dtype(ct.dtype))
    rows = _last(x, axis)
    order = np.argpartition(rows, tuple(sorted({*low.tolist(), *high.tolist()})), 1)
    cts = np.reshape(ct, (len(places), -1)).T
    parts, picks = [cts * (1.0 - share)], [order[:, low]]
    if share.any():
        parts.append(cts * share)
        picks.append(order[:, high])
    values = np.concatenate(parts, 1) if len(parts) > 1 else parts[0]
    pick = np.concatenate(picks, 1) if len(picks) > 1 else picks[0]
    row = np.arange(rows.shape[0])[:, None]
    found = apply(SCATTER, (values, row, pick), (("shape", rows.shape), ("index", (Slot(0), Slot(1)))))
    return _back(found, x.shape, axis)


def _median_vjp(ct: Any, y: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    return (_selected(ct, x, axis, 0.5, "linear"),)


def _quantile_vjp(ct: Any, y: Any, x: Any, q: Any, axis: tuple[int, ...], keepdims: bool, method: str) -> Any:
    return (_selected(ct, x, axis, q, method),)


def _median_rule(t: Type, axis: tuple[int, ...], keepdims: bool) -> Type:
    return Type(reduced_shape(t.shape, axis, keepdims), mean_dtype(t.dtype))


def _quantile_rule(t: Type, q: Any, axis: tuple[int, ...], keepdims: bool, method: str) -> Type:
    shape = reduced_shape(t.shape, axis, keepdims)
    dtype = np.quantile(np.ones(1, t.dtype), q, method=method).dtype  # type: ignore[call-overload]
    return Type((*np.shape(q), *shape), dtype)


def _source(args: tuple[str, ...], node: Any) -> str:
    axis, given = node.param("axis"), dict(node.params)
    text = f"{args[0]}, {_written(given['q'])}" if "q" in given else args[0]
    if len(axis) != node.inputs[0].type.ndim:
        text += f", axis={axis[0] if len(axis) == 1 else axis}"
    if node.param("keepdims"):
        text += ", keepdims=True"
    if given.get("method", "linear") != "linear":
        text += f", method={given['method']!r}"
    return f"np.{node.op.name}({text})"


def _written(q: Any) -> str:
    return f"[{', '.join(map(_written, q))}]" if isinstance(q, tuple) else repr(q)


def _batch(run: Any) -> Any:
    def batch(batched: Any, x: Any, axis: tuple[int, ...], keepdims: bool, q: Any = 0.5, **more: Any) -> Any:
        y = run(x, q, tuple(k + 1 for k in axis), keepdims, **more)
        return np.moveaxis(y, np.ndim(q), 0) if np.ndim(q) else y

    return batch


def _cases(**params: Any) -> Any:
    def sample(rng: np.random.Generator) -> list[Case]:
        x = rng.standard_normal((2, 3, 4))
        axes: list[tuple[tuple[int, ...], bool]] = [((0, 1, 2), False), ((1,), False), ((0, 2), True)]
        return [Case((x,), {**params, "axis": a, "keepdims": k}) for a, k in axes]

    return sample


def _quantile_cases(rng: np.random.Generator) -> list[Case]:
    made = [_cases(q=0.3, method="linear"), _cases(q=(0.1, 0.9), method="linear"), _cases(q=0.4, method="midpoint")]
    return [case for cases in made for case in cases(rng)]


METHODS = (
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf"),
    *("hazen", "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"),
)


def _are_fractions(q: Any) -> bool:
    return all(map(_are_fractions, q)) if type(q) is tuple else NUMBER.holds(q)


FRACTIONS = ParamType("a number, or nested tuples of numbers", _are_fractions)

MEDIAN = define(
    "median",
    np.median,
    _median_rule,
    "sorting",
    params={"axis": AXES, "keepdims": BOOL},
    vjp=_median_vjp,
    batch=_batch(lambda x, q, axis, keepdims: np.median(x, axis=axis, keepdims=keepdims)),
    source=_source,
    sample=_cases(),
    numpy=np.median,
)
QUANTILE = define(
    "quantile",
    np.quantile,
    _quantile_rule,
    "sorting",
    params={"q": FRACTIONS, "axis": AXES, "keepdims": BOOL, "method": one_of(*METHODS)},
    vjp=_quantile_vjp,
    batch=_batch(lambda x, q, axis, keepdims, method: np.quantile(x, q, axis=axis, keepdims=keepdims, method=method)),
    source=_source,
    sample=_quantile_cases,
    numpy=np.quantile,
)


@implements(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    a = as_array(a)
    return apply(MEDIAN, (a,), axes_param(a, axis, keepdims))


@implements(np.quantile, fills_out=True)
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    a = as_array(a)
    if dtype_of(a).kind == "c":
        raise TypeError("a must be an array of real numbers")
    q = as_operand(q)
    if weights is not None or not is_known(q):
        return _by_sorting(a, q, axis, method, keepdims, weights, leave_nan=False)
    params = (("q", _fractions(q)), *axes_param(a, axis, keepdims), ("method", method))
    found = apply(QUANTILE, (a,), params)
    dtype = _dtype(np.quantile, a, q, method)
    return found if found.dtype == dtype else found.astype(dtype)


def _dtype(of: Any, a: Any, q: Any, method: str) -> np.dtype:
    """Return the dtype of a quantile: a fraction that is a Python number takes the precision of the elements, others do
    not.
    """
    if is_known(q):
        some: Any = q
    else:
        some = 0.5 if weak(q) else np.full(q.shape, 0.5, q.dtype)
    return of(np.ones(1, dtype_of(a)), some, method=method).dtype


def _fractions(q: Any) -> Any:
    """Return fractions as numbers or nested tuples of them; integers choose elements, and are kept as they are."""
    q = np.asarray(q)
    q = q if q.dtype.kind in "iu" else q.astype(float)
    return _nested(_within(q, "Quantiles must be in the range [0, 1]").tolist())


def _within(q: Any, message: str) -> Any:
    return checked(q, np.logical_not((q >= 0) & (q <= 1)), ValueError(message))


def _nested(q: Any) -> Any:
    return tuple(map(_nested, q)) if isinstance(q, list) else q


def _percents(q: Any) -> Any:
    """Return percentages as fractions."""
    q = as_operand(q)
    q = q / 100 if weak(q) else np.true_divide(q, 100)
    return _within(q, "Percentiles must be in the range [0, 100]")


@implements(np.percentile, fills_out=True)
def percentile(a: Any, q: Any, axis: Any = None, out: Any = None, *args: Any, **kwargs: Any) -> Any:
    return quantile(a, _percents(q), axis, out, *args, **kwargs)


# -- leaving nan out ------------------------------------------------------------------------------------------------
@implements(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    a = as_array(a)
    if dtype_of(a).kind not in "fc":
        return median(a, axis, keepdims=keepdims)
    if not a.size:
        return np.nanmean(a, axis, keepdims=keepdims)
    axes = dict(axes_param(a, axis, keepdims))["axis"]
    return np.reshape(middle(_last(a, axes)), reduced_shape(a.shape, axes, bool(keepdims)))


@implements(np.nanpercentile, fills_out=True)
def nanpercentile(a: Any, q: Any, axis: Any = None, out: Any = None, *args: Any, **kwargs: Any) -> Any:
    return nanquantile(a, _percents(q), axis, out, *args, **kwargs)


@implements(np.nanquantile, fills_out=True)
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    a = as_array(a)
    if dtype_of(a).kind == "c":
        raise TypeError("a must be an array of real numbers")
    if not a.size:
        # of no elements NumPy gives the mean, whatever the number of fractions
        return np.nanmean(a, axis, keepdims=keepdims)
    return _by_sorting(a, as_operand(q), axis, method, keepdims, weights, leave_nan=True)


def _by_sorting(a: Any, q: Any, axis: Any, method: str, keepdims: Any, weights: Any, leave_nan: bool) -> Any:
    """Compute quantiles that the op does not: without nan, with weights, or at fractions that are tensors."""
    axes = dict(axes_param(a, axis, keepdims))["axis"]
    dtype = _dtype(np.nanquantile if leave_nan else np.quantile, a, q, method)
    q = np.asarray(_fractions(q)) if is_known(q) else _within(q, "Quantiles must be in the range [0, 1]")
    fractions, rows = flat_fractions(q), _last(a, axes)
    if weights is not None:
        found = weighted(rows, _last(checked_weights(a, weights, axis, method), axes), fractions, leave_nan)
    else:
        rows = rows if a.dtype.kind == "f" else rows.astype(float)
        found = [ranked(rows, f, dtype, method, leave_nan).astype(dtype) for f in fractions]
    shape = reduced_shape(a.shape, axes, bool(keepdims))
    if not q.ndim:
        return np.reshape(found[0], shape)
    return np.reshape(np.stack(found), (*q.shape, *shape))
