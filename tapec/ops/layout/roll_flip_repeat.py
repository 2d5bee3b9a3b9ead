"""Roll, reverse and repeat elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Type
from tapec.ir.param_types import AXES, AXIS, INTEGERS, SIZE, SIZES
from tapec.ir.types import normalize_axes, normalize_axis, several
from tapec.ops.core.define import as_operand, define, dtype_of, ndim_of, shape_of
from tapec.ops.core.op_helpers import ALL, along, as_array, batch_with_shifted_axes, both, drawn, flat
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements, method
from tapec.ops.core.symbol import is_known
from tapec.ops.layout.split_and_insert import at_least

__all__ = ["REPEAT", "ROLL", "TILE"]

BACKWARDS = slice(None, None, -1)


@implements(np.flip, gives_views=True)
def flip(m: Any, axis: Any = None) -> Any:
    m = as_array(m)
    if axis is None and not ndim_of(m):
        return m[()]
    axes = normalize_axes(axis, ndim_of(m))
    return m[tuple([BACKWARDS if k in axes else ALL for k in range(max(axes, default=-1) + 1)])] if axes else m


@implements(np.fliplr, gives_views=True)
def fliplr(m: Any) -> Any:
    if ndim_of(m) < 2:
        raise ValueError(at_user_line("Input must be >= 2-d."))
    return flip(m, 1)


@implements(np.flipud, gives_views=True)
def flipud(m: Any) -> Any:
    if ndim_of(m) < 1:
        raise ValueError(at_user_line("Input must be >= 1-d."))
    return flip(m, 0)


@implements(np.rot90, gives_views=True)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    m = as_array(m)
    n = ndim_of(m)
    if len(axes) != 2 or abs(axes[0] - axes[1]) in (0, n):
        raise ValueError(at_user_line("Axes must be two different axes."))
    if not all(-n <= a < n for a in axes):
        raise ValueError(at_user_line(f"Axes={tuple(axes)} out of range for array of ndim={n}."))
    turns = int(k) % 4
    if turns == 2:
        return flip(m, axes)
    if turns == 1:
        return np.swapaxes(flip(m, axes[1]), *axes)
    return flip(np.swapaxes(m, *axes), axes[1]) if turns else m


# -- roll -------------------------------------------------------------------------------------------------------------
def _roll_rule(t: Type, shift: tuple[int, ...], axis: tuple[int, ...]) -> Type:
    if len(shift) != len(axis):
        raise ValueError(f"{shift} are not as many shifts as there are axes in {axis}")
    return Type(t.shape, t.dtype)


def _roll_source(args: tuple[str, ...], node: Any) -> str:
    """Return source that rolls by the shorter way, as `np.roll(x, -1)`."""
    axis, shape = node.param("axis"), node.inputs[0].type.shape
    shift = tuple([s if 2 * s <= shape[k] else s - shape[k] for s, k in zip(node.param("shift"), axis)])
    if len(shift) == 1:
        where = "" if node.inputs[0].type.ndim == 1 else f", axis={axis[0]}"
        return f"np.roll({args[0]}, {shift[0]}{where})"
    return f"np.roll({args[0]}, {shift}, axis={axis})"


ROLL = define(
    "roll",
    np.roll,
    _roll_rule,
    "layout",
    params={"shift": INTEGERS, "axis": AXES},
    vjp=lambda ct, y, x, shift, axis: (np.roll(ct, tuple([-s for s in shift]), axis),),
    linear=(0,),
    batch=batch_with_shifted_axes(np.roll, "axis"),
    source=_roll_source,
    sample=both(drawn((5,), shift=(2,), axis=(0,)), drawn((3, 4), shift=(-1, 3), axis=(0, 1))),
    numpy=np.roll,
)


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = as_array(a)
    if axis is None:
        return np.reshape(np.roll(flat(a), shift, 0), shape_of(a))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts, axes = np.broadcast_arrays(shift, [normalize_axis(k, ndim_of(a)) for k in given])
    if shifts.ndim > 1:
        raise ValueError(at_user_line("'shift' and 'axis' should be scalars or 1D sequences"))
    total: dict[int, int] = {}
    for s, k in zip(shifts.ravel().tolist(), axes.ravel().tolist()):
        total[k] = total.get(k, 0) + int(s)
    moved = {k: s % shape_of(a)[k] for k, s in sorted(total.items()) if shape_of(a)[k] and s % shape_of(a)[k]}
    if not moved:
        return a
    return apply(ROLL, (a,), (("shift", tuple(moved.values())), ("axis", tuple(moved))))


# -- tile -------------------------------------------------------------------------------------------------------------
def _tile_vjp(ct: Any, y: Any, x: Any, reps: tuple[int, ...]) -> Any:
    """Split each axis of the cotangent into its copies, and sum over them."""
    shape = [k for pair in zip(reps, x.shape) for k in pair]
    return (np.sum(np.reshape(ct, shape), axis=tuple(range(0, len(shape), 2))),)


def _tile_batch(batched: tuple[bool, ...], x: Any, reps: tuple[int, ...]) -> Any:
    return np.tile(x, (1, *reps))


TILE = define(
    "tile",
    lambda x, reps: np.tile(x, reps),
    lambda t, reps: Type(tuple([n * r for n, r in zip(t.shape, reps)]), t.dtype),
    "layout",
    params={"reps": SIZES},
    vjp=_tile_vjp,
    linear=(0,),
    batch=_tile_batch,
    source=lambda args, node: f"np.tile({args[0]}, {_short(node.param('reps'))})",
    sample=both(drawn((3,), reps=(2,)), drawn((1, 2, 3), reps=(3, 1, 2))),
    numpy=np.tile,
)


def _short(reps: tuple[int, ...]) -> Any:
    """Return repetitions as one number where only the last axis is repeated, as in `np.tile(x, 2)`."""
    return reps[-1] if all(r == 1 for r in reps[:-1]) else reps


@implements(np.tile)
def tile(A: Any, reps: Any) -> Any:
    A = as_array(A)
    counts = [*several(reps)]
    if min(counts, default=0) < 0:
        raise ValueError(at_user_line("negative dimensions are not allowed"))
    ndim = max(ndim_of(A), len(counts))
    A = at_least(A, ndim)
    counts = [1] * (ndim - len(counts)) + counts
    return A if all(r == 1 for r in counts) else apply(TILE, (A,), (("reps", tuple(counts)),))


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    a = flat(as_array(a))
    shape = several(new_shape)
    if min(shape, default=0) < 0:
        raise ValueError(at_user_line("all elements of `new_shape` must be non-negative"))
    wanted, size = math.prod(shape), shape_of(a)[0]
    if not size:
        return np.zeros(shape, a.dtype)
    return np.reshape(np.tile(a, -(-wanted // size))[:wanted], shape)


# -- repeat -----------------------------------------------------------------------------------------------------------
def _repeat_vjp(ct: Any, y: Any, x: Any, repeats: int, axis: int) -> Any:
    shape = (*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :])
    return (np.sum(np.reshape(ct, shape), axis=axis + 1),)


def _repeat_source(args: tuple[str, ...], node: Any) -> str:
    axis = f", axis={node.param('axis')}" if node.inputs[0].type.ndim > 1 else ""
    return f"np.repeat({args[0]}, {node.param('repeats')}{axis})"


REPEAT = define(
    "repeat",
    lambda x, repeats, axis: np.repeat(x, repeats, axis),
    lambda t, repeats, axis: Type((*t.shape[:axis], t.shape[axis] * repeats, *t.shape[axis + 1 :]), t.dtype),
    "layout",
    params={"repeats": SIZE, "axis": AXIS},
    vjp=_repeat_vjp,
    linear=(0,),
    batch=batch_with_shifted_axes(np.repeat, "axis"),
    source=_repeat_source,
    sample=both(drawn((3,), repeats=2, axis=0), drawn((2, 3, 2), repeats=3, axis=1), drawn((2, 2), repeats=0, axis=1)),
    numpy=np.repeat,
)


def _places_rule(t: Type) -> Any:
    raise UnsupportedError(at_user_line("the shape of np.repeat depends on values, which are not known here"))


# the places of elements by recorded counts, each place as often as its count says
REPEATED_PLACES = define(
    "repeated_places",
    lambda counts: np.repeat(np.arange(len(counts)), counts),
    _places_rule,
    "dynamic",
    source="np.repeat(np.arange(len({0})), {0})",
    sample=lambda rng: [Case((np.array([2, 0, 1]),))],
    facts={"letter": "i"},
)


@method("repeat")
@implements(np.repeat, in_rows=True)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Repeat elements: by an op where all have the same number of repeats, else by an index."""
    a = as_array(a)
    if axis is None or not ndim_of(a):  # a number counts as one element along an axis
        a, axis = flat(a), axis or 0
    axis = normalize_axis(axis, ndim_of(a))
    counts = as_operand(repeats)
    if np.size(counts) == 1 and not hasattr(counts, "_apply"):
        count = int(np.ravel(counts)[0])
        if count < 0:
            raise ValueError(at_user_line("repeats may not contain negative values."))
        return a if count == 1 else apply(REPEAT, (a,), (("repeats", count), ("axis", axis)))
    n = shape_of(a)[axis]
    if not is_known(counts) and shape_of(counts) == (n,) and np.can_cast(dtype_of(counts), np.intp, "safe"):
        return a[along(axis, apply(REPEATED_PLACES, (counts,)))]
    return a[along(axis, np.repeat(np.arange(n), np.asarray(counts)))]
