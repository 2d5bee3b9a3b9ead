"""Define `pad` in all its modes: one op copies elements, the other modes are composed axis by axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Type
from tapec.ir.param_types import NUMBER, SIZE, maybe, one_of, pairs_of
from tapec.ir.static_index import Slice, Slot
from tapec.ops.core.define import define, holds_stand_in, ndim_of, shape_of
from tapec.ops.core.op_helpers import along, as_array, both, drawn, fitting, source_of_value
from tapec.ops.core.stand_in import ArrayLike, apply, implements
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, SCATTER

__all__ = ["PAD"]

Widths = tuple[tuple[int, int], ...]


# -- the op: elements copied outside, or a constant -------------------------------------------------------------------
def _vjp(ct: Any, y: Any, x: Any, width: Widths, mode: Any, value: float = 0.0) -> Any:
    """Return the inner part of the cotangent, with the frame added to the places that it was copied from."""
    if mode == "constant":
        return (ct[_inner(width)],)
    for axis, (before, after) in enumerate(width):
        if before or after:
            ct = _folded(ct, axis, before, x.shape[axis], np.pad(np.arange(x.shape[axis]), (before, after), mode))
    return (ct,)


def _inner(width: Widths) -> tuple[slice, ...]:
    parts = [slice(a or None, -b or None) for a, b in width]
    while parts and parts[-1] == slice(None):
        parts.pop()
    return tuple(parts)


def _folded(ct: Any, axis: int, before: int, n: int, source: np.ndarray) -> Any:
    """Return the inner part along one axis, plus both frames, added at the places that `source` names."""
    total = ct[along(axis, slice(before or None, before + n if before + n < len(source) else None))]
    shape = (*ct.shape[:axis], n, *ct.shape[axis + 1 :])
    for part in (slice(0, before), slice(before + n, len(source))):
        if part.stop > part.start:
            total = total + _placed(ct[along(axis, part)], shape, axis, source[part])
    return total


def _placed(ct: Any, shape: tuple[int, ...], axis: int, source: np.ndarray) -> Any:
    """Return zeros of this shape with a part added at `source`, by a slice if these places are one."""
    steps = set(np.diff(source).tolist())
    first, last = int(source[0]), int(source[-1])
    unique = len(set(source.tolist())) == len(source)
    index: Any
    arrays: tuple[Any, ...] = ()
    if steps == {1} or len(source) == 1:
        index = Slice(first, last + 1, None)
    elif steps == {-1}:
        index = Slice(first, last - 1 if last else None, -1)
    elif steps == {0}:
        ct = np.sum(ct, axis=axis, keepdims=True)
        index = Slice(first, first + 1, None)
    else:
        index, arrays = Slot(0), (source,)
    params = (("shape", shape), ("index", (*(FULL_SLICE,) * axis, index)))
    return apply(SCATTER, (ct, *arrays), (*params, ("unique", True)) if arrays and unique else params)


def _source(args: tuple[str, ...], node: Any) -> str:
    width, mode = node.param("width"), node.param("mode")
    written: Any = width
    if len(set(width)) == 1:
        written = width[0][0] if width[0][0] == width[0][1] else width[0]
    value = next((v for k, v in node.params if k == "value" and v), None)
    tail = "" if mode == "constant" else f", mode={mode!r}"
    if value is not None:
        tail = f", constant_values={source_of_value(value)}"
    return f"np.pad({args[0]}, {written}{tail})"


def _run(x: Any, width: Widths, mode: Any, value: float = 0.0) -> Any:
    return np.pad(x, width, constant_values=value) if mode == "constant" else np.pad(x, width, mode)


def _jvp(ts: Any, y: Any, x: Any, width: Widths, mode: str, value: float = 0.0) -> Any:
    return apply(PAD, (ts[0],), (("width", width), ("mode", mode)))


def _batch(batched: tuple[bool, ...], x: Any, width: Widths, mode: str, value: float = 0.0) -> Any:
    params = (("width", ((0, 0), *width)), ("mode", mode))
    return apply(PAD, (x,), (*params, ("value", value)) if value else params)


PAD = define(
    "pad",
    _run,
    lambda t, width, mode, value=0.0: Type(tuple([a + n + b for (a, b), n in zip(width, t.shape)]), t.dtype),
    "rearrangement",
    params={
        "width": pairs_of(SIZE),
        "mode": one_of("constant", "edge", "reflect", "symmetric", "wrap"),
        "value": maybe(NUMBER),
    },
    vjp=_vjp,
    jvp=_jvp,
    batch=_batch,
    source=_source,
    sample=both(
        drawn((3,), width=((1, 2),), mode="constant"),
        drawn((2, 3), width=((1, 1), (0, 2)), mode="constant", value=2.5),
        drawn((2, 3), width=((2, 1), (0, 2)), mode="edge"),
        drawn((3, 2), width=((2, 0), (1, 1)), mode="reflect"),
        drawn((3, 2), width=((5, 1), (1, 3)), mode="symmetric"),
        drawn((3, 2), width=((2, 4), (0, 1)), mode="wrap"),
    ),
    numpy=np.pad,
)


# -- what NumPy's pad takes -------------------------------------------------------------------------------------------
_COPYING = ("edge", "reflect", "symmetric", "wrap")
_STATISTICS: dict[str, Any] = {"maximum": np.max, "mean": np.mean, "median": np.median, "minimum": np.min}
_KEYWORDS = {"constant": "constant_values", "linear_ramp": "end_values", "reflect": "reflect_type"}
_KEYWORDS |= {"symmetric": "reflect_type"} | dict.fromkeys(_STATISTICS, "stat_length")


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    array = as_array(array)
    width = _widths(pad_width, ndim_of(array))
    if callable(mode):
        raise UnsupportedError(at_user_line("np.pad with a function as mode writes in place. Fix: name a mode."))
    if mode not in ("constant", "empty", "linear_ramp", *_COPYING, *_STATISTICS):
        raise ValueError(at_user_line(f"mode '{mode}' is not supported"))
    wrong = set(kwargs) - {_KEYWORDS.get(mode)}
    if wrong:
        raise ValueError(at_user_line(f"unsupported keyword arguments for mode '{mode}': {wrong}"))
    if any(n == 0 and a + b for n, (a, b) in zip(shape_of(array), width)) and mode not in ("constant", "empty"):
        message = "can't extend empty axis {} using modes other than 'constant' or 'empty'"
        axis = next(k for k, n in enumerate(shape_of(array)) if n == 0 and any(width[k]))
        raise ValueError(at_user_line(message.format(axis)))
    if not any(a or b for a, b in width):
        return array
    return _padded(array, width, mode, **kwargs)


def _padded(array: Any, width: Widths, mode: str, **kwargs: Any) -> Any:
    """Pad by the op where the frame is a number or copied; else put frames around the array, axis by axis."""
    params: tuple[tuple[str, Any], ...] = (("width", width), ("mode", "constant" if mode == "empty" else mode))
    if mode in ("constant", "empty"):
        values = kwargs.get("constant_values", 0)
        if not holds_stand_in(values) and np.size(values) == 1 and np.ravel(values)[0] == np.real(np.ravel(values)[0]):
            value = np.ravel(values)[0].item()
            return apply(PAD, (array,), (*params, ("value", value)) if value else params)
        return _by_axis(array, width, _pairs(values, len(width)), _constant)
    if mode in _COPYING and kwargs.get("reflect_type", "even") == "even":
        return apply(PAD, (array,), params)
    if mode in ("reflect", "symmetric"):
        return _by_axis(array, width, [(mode, mode)] * len(width), _odd)
    if mode == "linear_ramp":
        return _by_axis(array, width, _pairs(kwargs.get("end_values", 0), len(width)), _ramp)
    lengths = _pairs(kwargs.get("stat_length"), len(width))
    return _by_axis(array, width, [(mode, pair) for pair in lengths], _statistic)


def _widths(pad_width: Any, ndim: int) -> Widths:
    """Return the widths of the frame, before and after, for each axis."""
    if isinstance(pad_width, dict):
        given = dict.fromkeys(range(ndim), (0, 0))
        for axis, pair in pad_width.items():
            given[axis % ndim] = (pair, pair) if np.ndim(pair) == 0 else tuple(pair)
        pad_width = [given[k] for k in range(ndim)]
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu":
        raise TypeError(at_user_line("`pad_width` must be of integral type."))
    try:
        pairs = np.broadcast_to(widths, (ndim, 2)).tolist()
    except ValueError as error:
        raise ValueError(at_user_line(str(error))) from None
    if any(n < 0 for pair in pairs for n in pair):
        raise ValueError(at_user_line("index can't contain negative values"))
    return tuple([(a, b) for a, b in pairs])


def _pairs(values: Any, ndim: int) -> list[Any]:
    """A value for both sides of every axis, from one value, a pair, or a pair for each axis."""
    if isinstance(values, ArrayLike) and values.ndim:
        return [(row[0], row[1]) for row in np.broadcast_to(values, (ndim, 2))]
    if values is None or not isinstance(values, (tuple, list, np.ndarray)):
        return [(values, values)] * ndim
    if isinstance(values, np.ndarray) and values.dtype != object:
        values = np.broadcast_to(values, (ndim, 2)).tolist()
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = list(values) * ndim
    if all(isinstance(v, (tuple, list)) for v in values):
        return [(v[0], v[-1]) for v in values]
    return [(values[0], values[-1])] * ndim


# -- one axis after the other -----------------------------------------------------------------------------------------
def _by_axis(x: Any, width: Widths, given: list[Any], sides: Any) -> Any:
    """Put frames made by `sides(x, axis, before, after, given)` around x, axis by axis."""
    for axis, (before, after) in enumerate(width):
        if before or after:
            left, right = sides(x, axis, before, after, given[axis])
            x = np.concatenate([left.astype(x.dtype), x, right.astype(x.dtype)], axis)
    return x


def _frame(x: Any, axis: int, count: int, value: Any) -> Any:
    return np.broadcast_to(as_array(fitting(value, x.dtype)), (*shape_of(x)[:axis], count, *shape_of(x)[axis + 1 :]))


def _constant(x: Any, axis: int, before: int, after: int, values: Any) -> tuple[Any, Any]:
    return _frame(x, axis, before, values[0]), _frame(x, axis, after, values[1])


def _ramp(x: Any, axis: int, before: int, after: int, ends: Any) -> tuple[Any, Any]:
    """Return frames that go from the end value, which they reach, to the edge, which they do not."""
    spot = (-1,) + (1,) * (ndim_of(x) - axis - 1)
    first, last = x[along(axis, slice(0, 1))], x[along(axis, slice(-1, None))]
    up = np.reshape(np.arange(before) / max(before, 1), spot)
    down = np.reshape(np.arange(after)[::-1] / max(after, 1), spot)
    return ends[0] + (first - ends[0]) * up, ends[1] + (last - ends[1]) * down


def _statistic(x: Any, axis: int, before: int, after: int, given: Any) -> tuple[Any, Any]:
    """Return frames of a statistic of the elements at each end of an axis."""
    mode, lengths = given
    n = shape_of(x)[axis]
    frames = []
    for count, length, start in ((before, lengths[0], True), (after, lengths[1], False)):
        m = n if length is None else min(int(length), n)
        if m == 0 and mode in ("maximum", "minimum"):
            raise ValueError(at_user_line("stat_length of 0 yields no value for padding"))
        part = x if m == n else x[along(axis, slice(0, m) if start else slice(n - m, n))]
        value = _STATISTICS[mode](part, axis=axis, keepdims=True)
        frames.append(_frame(x, axis, count, np.round(value) if x.dtype.kind in "iu" else value))
    return frames[0], frames[1]


def _odd(x: Any, axis: int, before: int, after: int, given: Any) -> tuple[Any, Any]:
    """Return frames that reflect x through the edge value, as often as the width asks for."""
    keep_edge = given[0] == "symmetric"
    period = shape_of(x)[axis] - (0 if keep_edge else 1) or 1
    y, left, right = x, before, after
    while left or right:
        n = shape_of(y)[axis]
        reach = (n if keep_edge or n == 1 else n - 1) // period * period  # whole periods, as NumPy does it
        a, b = min(left, reach), min(right, reach)
        offset = 0 if keep_edge or n == 1 else 1
        parts = [y]
        if a:
            mirrored = y[along(axis, slice(offset, offset + a))]
            parts.insert(0, 2 * y[along(axis, slice(0, 1))] - np.flip(mirrored, axis))
        if b:
            mirrored = y[along(axis, slice(n - offset - b, n - offset))]
            parts.append(2 * y[along(axis, slice(-1, None))] - np.flip(mirrored, axis))
        y = np.concatenate(parts, axis)
        left, right = left - a, right - b
    n = shape_of(x)[axis]
    return y[along(axis, slice(0, before))], y[along(axis, slice(before + n, None))]
