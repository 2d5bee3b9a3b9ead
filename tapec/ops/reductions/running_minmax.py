"""Define running maxima and minima along an axis, as `np.maximum.accumulate` computes them.

Each is an element of the array: the first of those as large. So what flows back goes there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Op
from tapec.ir.param_types import AXIS
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import as_operand, define, ndim_of
from tapec.ops.core.op_helpers import batch_with_shifted_axes, both, drawn, same_type
from tapec.ops.core.stand_in import apply
from tapec.ops.indexing.take import along_vjp

__all__ = ["RUNNING", "running"]


def _places(y: Any, axis: int) -> Any:
    """Return the place where each running extreme stood first: its own place, if it began there, or that of the one
    before.
    """
    n = y.shape[axis]
    shape = [n if k == axis else 1 for k in range(y.ndim)]
    rest = [slice(None)] * axis
    begins = y[(*rest, slice(1, None))] != y[(*rest, slice(None, -1))]
    first = np.zeros_like(begins[(*rest, slice(0, 1))]) if n > 1 else begins
    begins = np.concatenate([first, begins], axis=axis)
    return np.maximum.accumulate(np.where(begins, np.reshape(np.arange(n), shape), 0), axis=axis)


def _vjp(ct: Any, y: Any, x: Any, axis: int) -> Any:
    return (along_vjp(ct, None, x, _places(y, axis), axis)[0] if y.shape[axis] > 1 else ct,)


def _jvp(ts: Any, y: Any, x: Any, axis: int) -> Any:
    return np.take_along_axis(ts[0], _places(y, axis), axis) if y.shape[axis] > 1 else ts[0]


def _source(name: str) -> Any:
    def source(args: tuple[str, ...], node: Any) -> str:
        axis = f", axis={node.param('axis')}" if node.param("axis") else ""
        return f"np.{name}.accumulate({args[0]}{axis})"

    return source


def _defined(ufunc: np.ufunc) -> Op:
    """Define the running maximum or minimum."""
    run = lambda x, axis: ufunc.accumulate(x, axis=axis)
    return define(
        f"running_{ufunc.__name__}",
        run,
        same_type,
        "cumulative",
        params={"axis": AXIS},
        vjp=_vjp,
        jvp=_jvp,
        batch=batch_with_shifted_axes(run, "axis"),
        source=_source(ufunc.__name__),
        sample=both(drawn((5,), axis=0), drawn((2, 4, 3), axis=1), drawn((3, 1), axis=1)),
    )


RUNNING: dict[Any, Op] = {ufunc: _defined(ufunc) for ufunc in (np.maximum, np.minimum)}


def running(ufunc: np.ufunc, array: Any, axis: int) -> Any:
    """Return `ufunc.accumulate(array, axis)` for the maximum and the minimum."""
    array = as_operand(array)
    return apply(RUNNING[ufunc], (array,), (("axis", normalize_axis(axis, ndim_of(array))),))
