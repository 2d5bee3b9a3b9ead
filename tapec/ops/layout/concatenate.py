"""Join arrays along an axis that they have, or along a new one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Type
from tapec.ir.param_types import AXIS, SIZE
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import define, ndim_of
from tapec.ops.core.op_helpers import along, as_array, as_part, batch_axis_first, both, drawn, flat
from tapec.ops.core.stand_in import apply, implements

__all__ = ["CONCATENATE", "STACK"]


def _concatenate_rule(*types: Type, axis: int) -> Type:
    total = 0
    first = types[0].shape
    for t in types:
        total += t.shape[axis]
        if t.shape[:axis] != first[:axis] or t.shape[axis + 1 :] != first[axis + 1 :]:
            raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    return Type((*first[:axis], total, *first[axis + 1 :]), np.result_type(*[t.dtype for t in types]))


def _concatenate_vjp(ct: Any, y: Any, *xs: Any, axis: int) -> Any:
    n, ends = y.shape[axis], [0]
    for x in xs:
        ends.append(ends[-1] + x.shape[axis])
    bounds = [k if 2 * k <= n or k == n else k - n for k in ends]  # counted from the nearer end
    spans = [slice(a or None, None if b == n else b) for a, b in pairwise(bounds)]
    return tuple([ct[along(axis, span)] for span in spans])


def _joining_source(name: str) -> Any:
    def source(args: tuple[str, ...], node: Any) -> str:
        axis = f", axis={node.param('axis')}" if node.param("axis") else ""
        return f"np.{name}([{', '.join(args)}]{axis})"

    return source


CONCATENATE = define(
    "concatenate",
    lambda *xs, axis: np.concatenate(xs, axis),
    _concatenate_rule,
    "layout",
    params={"axis": AXIS},
    vjp=_concatenate_vjp,
    linear=(0,),
    batch=lambda batched, *xs, axis: np.concatenate(batch_axis_first(batched, xs), axis + 1),
    source=_joining_source("concatenate"),
    out=True,
    sample=both(drawn((2, 3), (1, 3), axis=0), drawn((2, 3), (2, 0), (2, 1), axis=1), drawn((2,), axis=0)),
    numpy=np.concatenate,
)


@implements(np.concatenate)
def concatenate(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [as_array(a) for a in arrays]
    if not parts:
        raise ValueError(at_user_line("need at least one array to concatenate"))
    if axis is None:
        parts, axis = [flat(p) for p in parts], 0
    if not ndim_of(parts[0]):
        raise ValueError(at_user_line("zero-dimensional arrays cannot be concatenated"))
    if any(ndim_of(p) != ndim_of(parts[0]) for p in parts):
        raise ValueError(at_user_line("all the input array dimensions must match in number"))
    parts = [_with_dtype(p, dtype, casting) for p in parts]
    return apply(CONCATENATE, tuple(parts), (("axis", normalize_axis(axis, ndim_of(parts[0]))),))


def _with_dtype(x: Any, dtype: Any, casting: Any) -> Any:
    return x if dtype is None else x.astype(dtype, casting=casting)


def _stack_rule(*types: Type, axis: int) -> Type:
    first = types[0].shape
    if any(t.shape != first for t in types):
        raise ValueError("all input arrays must have the same shape")
    if axis > len(first):
        raise np.exceptions.AxisError(axis, len(first) + 1)
    return Type((*first[:axis], len(types), *first[axis:]), np.result_type(*[t.dtype for t in types]))


def _stack(*xs: Any, axis: int) -> Any:
    """Stack operands; numbers make an array at once."""
    return np.stack(xs, axis) if any([isinstance(x, np.ndarray) for x in xs]) else np.array(xs)


def _stack_source(args: tuple[str, ...], node: Any) -> str:
    """Return source that makes a matrix of rows by `np.array`, which is several times as fast as `np.stack`."""
    return f"np.array([{', '.join(args)}])" if node.param("axis") == 0 else _joining_source("stack")(args, node)


STACK = define(
    "stack",
    _stack,
    _stack_rule,
    "layout",
    params={"axis": SIZE},
    vjp=lambda ct, y, *xs, axis: tuple([ct[along(axis, i)] for i in range(len(xs))]),
    linear=(0,),
    batch=lambda batched, *xs, axis: np.stack(batch_axis_first(batched, xs), axis + 1),
    source=_stack_source,
    sample=both(drawn((2, 3), (2, 3), axis=1), drawn((), (), (), axis=0)),
    numpy=np.stack,
)


@implements(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    parts = [_with_dtype(as_part(a), dtype, casting) for a in arrays]
    if not parts:
        raise ValueError(at_user_line("need at least one array to stack"))
    return apply(STACK, tuple(parts), (("axis", normalize_axis(axis, ndim_of(parts[0]) + 1)),))
