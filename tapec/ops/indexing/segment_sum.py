"""Define sums of segments along an axis, as `np.add.reduceat` computes them: one op, however many segments there are.

Each begins where the index says and ends where the next begins; if that is no later, it is its first element alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.flops import flops_of_first
from tapec.ir.param_types import AXIS, SIZE
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import as_operand, define
from tapec.ops.core.op_helpers import as_array, both, constants
from tapec.ops.core.stand_in import apply
from tapec.ops.numpy_calls.ufunc_call import cast
from tapec.ops.reductions.sums_and_extremes import sum_dtype

__all__ = ["SEGMENT_SUMS", "SPREAD_SEGMENTS", "segment_sums"]


def _with_length(t: Type, axis: int, n: int) -> tuple[int, ...]:
    return (*t.shape[:axis], n, *t.shape[axis + 1 :])


def _batch(batched: tuple[bool, ...], run: Any, x: Any, starts: Any, axis: int) -> Any:
    """Sum segments of a batch along one more axis, where all examples have the same segments."""
    return NotImplemented if batched[1] else run(x, starts, axis + 1)


# -- there ------------------------------------------------------------------------------------------------------------
def _sums_source(args: tuple[str, ...], node: Any) -> str:
    axis = f", axis={node.param('axis')}" if node.param("axis") else ""
    return f"np.add.reduceat({args[0]}, {args[1]}{axis})"


def _segments(first: Any, **params: Any) -> Any:
    """Return cases of segments in order; of segments that begin late, one of them empty; and of segments that
    overlap.
    """
    lists = [0, 1, 3], [1, 2, 2, 3], [2, 0, 3, 0, 0]
    return both(*[constants(np.array(starts), first=first(starts), **params) for starts in lists])


SEGMENT_SUMS = define(
    "segment_sums",
    lambda x, starts, axis: np.add.reduceat(x, starts, axis),
    lambda t, starts, axis: Type(_with_length(t, axis, starts.shape[0]), sum_dtype(t.dtype)),
    "segments",
    params={"axis": AXIS},
    vjp=lambda ct, y, x, starts, axis: (_spread(ct, starts, axis, x.shape[axis]), None),
    linear=(0,),
    batch=lambda batched, x, starts, axis: _batch(batched, segment_sums, x, starts, axis),
    source=_sums_source,
    sample=both(_segments(lambda starts: (4,), axis=0), _segments(lambda starts: (2, 4, 3), axis=1)),
    flops=flops_of_first,
)


def segment_sums(x: Any, starts: Any, axis: int = 0, dtype: Any = None) -> Any:
    """Return `np.add.reduceat(x, starts, axis, dtype)`."""
    x = as_array(x) if dtype is None else cast(as_operand(x), np.dtype(dtype))
    starts = as_array(starts).astype(np.intp) if isinstance(starts, (list, tuple)) else as_array(starts)
    if not np.can_cast(starts.dtype, np.intp, "safe"):
        message = f"Cannot cast array data from {starts.dtype!r} to dtype('int64') according to the rule 'safe'"
        raise TypeError(at_user_line(message))
    if not x.ndim:
        raise TypeError(at_user_line("cannot reduceat on a scalar"))
    if starts.ndim != 1:
        raise ValueError(at_user_line(f"the indices of reduceat must have one axis, not {starts.ndim}"))
    y = apply(SEGMENT_SUMS, (x, starts), (("axis", normalize_axis(axis, x.ndim)),))
    return y if dtype is None else cast(y, np.dtype(dtype))


# -- and back ---------------------------------------------------------------------------------------------------------
def spread_segments(sums: np.ndarray, starts: np.ndarray, axis: int, n: int) -> np.ndarray:
    """Each of the sums at all of the n places from which np.add.reduceat(x, starts, axis) takes it, added up.

    Segments in order have no place in common, but for those of their first element alone.
    """
    bounds = np.concatenate([[0], starts, [n]]).astype(np.intp, copy=False)
    gaps = bounds[1:] - bounds[:-1]
    lengths = gaps[1:]
    none = np.zeros((*sums.shape[:axis], 1, *sums.shape[axis + 1 :]), sums.dtype)
    if np.all(gaps >= 0):
        y = np.repeat(np.concatenate([none, sums], axis), gaps, axis)
        left = lengths == 0
    elif np.min(starts) < 0:
        raise IndexError(f"index {np.min(starts)} out-of-bounds in add.reduceat [0, {n})")
    else:
        y = np.repeat(none, n, axis)
        left = np.maximum(lengths, 1)
    which = np.repeat(np.arange(len(starts)), left)
    if len(which):
        places = starts[which] + np.arange(len(which)) - (np.cumsum(left) - left)[which]
        np.add.at(np.moveaxis(y, axis, 0), places, np.moveaxis(sums, axis, 0)[which])
    return y


def _spread(sums: Any, starts: Any, axis: int, n: int) -> Any:
    return apply(SPREAD_SEGMENTS, (sums, starts), (("axis", axis), ("n", n)))


SPREAD_SEGMENTS = define(
    "spread_segments",
    spread_segments,
    lambda t, starts, axis, n: Type(_with_length(t, axis, n), t.dtype),
    "segments",
    params={"axis": AXIS, "n": SIZE},
    vjp=lambda ct, y, sums, starts, axis, n: (segment_sums(ct, starts, axis), None),
    linear=(0,),
    batch=lambda batched, sums, starts, axis, n: _batch(batched, partial(_spread, n=n), sums, starts, axis),
    sample=both(
        _segments(lambda starts: (len(starts),), axis=0, n=4),
        _segments(lambda starts: (2, len(starts), 3), axis=1, n=4),
    ),
    note="the derivative of np.add.reduceat: each sum back to the elements of its segment",
)
