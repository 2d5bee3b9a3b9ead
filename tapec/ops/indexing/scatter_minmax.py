"""Define maxima and minima by index, as `np.maximum.at` computes them: one op, however often an index is repeated.

Each is what stood there or one of the values that came: what flows back goes there, evenly where several are as large.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tapec.ir import Op, Type, broadcast_shapes
from tapec.ir.param_types import BOOL, INDEX, maybe
from tapec.ir.static_index import Slot
from tapec.ops.core.define import as_operand, define, dtype_of, shape_of
from tapec.ops.core.op_helpers import both, constants
from tapec.ops.core.stand_in import apply
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM, SCATTER, index_layout, index_source, real_index
from tapec.ops.indexing.index_encoding import encode_index
from tapec.ops.numpy_calls.ufunc_call import cast

__all__ = ["EXTREMES_AT", "extremes_at"]


def _spread(values: Any, x: Any, arrays: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Sum values by place into zeros of the shape of x."""
    return apply(SCATTER, (values, *arrays), (("shape", shape_of(x)), *params.items()))


def _shares(y: Any, x: Any, v: Any, arrays: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return the masks of old and new values that are the result, and the share of the gradient that each has."""
    stays, came = x == y, v == apply(GETITEM, (y, *arrays), tuple(params.items()))
    count = cast(stays, y.dtype) + _spread(cast(came, y.dtype), x, arrays, params)
    return stays, came, 1 / np.maximum(count, 1)  # at nan nothing is equal, and the count is zero


def _vjp(ct: Any, y: Any, x: Any, v: Any, *arrays: Any, **params: Any) -> Any:
    stays, came, part = _shares(y, x, v, arrays, params)
    share = ct * part
    d_v = apply(GETITEM, (share, *arrays), tuple(params.items()))
    return np.where(stays, share, 0), np.where(came, d_v, 0), *[None for _ in arrays]


def _jvp(ts: Any, y: Any, x: Any, v: Any, *arrays: Any, **params: Any) -> Any:
    stays, came, part = _shares(y, x, v, arrays, params)
    moved = [] if ts[0] is None else [np.where(stays, ts[0], 0)]
    if ts[1] is not None:
        moved.append(_spread(np.where(came, ts[1], 0), x, arrays, params))
    return sum(moved[1:], moved[0]) * part


_ROWS = np.array([2, 0, 2, 2])
_CASES = both(
    constants(np.array([0.3, -0.2, 0.5, 0.1]), _ROWS, first=(4,), index=(Slot(0),)),
    constants(np.linspace(-0.8, 0.9, 8).reshape(4, 2), _ROWS, first=(3, 2), index=(Slot(0),)),
    constants(np.linspace(-0.8, 0.9, 4), _ROWS, first=(2, 3), index=(1, Slot(0))),
    constants(np.linspace(-0.8, 0.9, 8).reshape(2, 4), _ROWS, first=(2, 3), index=(FULL_SLICE, Slot(0))),
    constants(np.array([0.3, -0.2]), np.array([0, 2]), first=(3,), index=(Slot(0),), unique=True),
)


def changed_at(ufunc: np.ufunc, x: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A copy of x that ufunc.at has changed."""
    y = np.array(x)
    ufunc.at(y, index, values)
    return y


def _source(name: str, args: tuple[str, ...], node: Any) -> str:
    index = node.param("index")
    written = args[2] if index == (Slot(0),) else f"np.s_[{index_source(index, args[2:])}]"
    return f"changed_at(np.{name}, {args[0]}, {written}, {args[1]})"


def _rule(t: Type, v: Type, *arrays: Type, index: Any, unique: bool = False) -> Type:
    region = index_layout(t.shape, index, tuple([a.shape for a in arrays])).shape
    if v.shape != region and broadcast_shapes(v.shape, region) != region:
        raise ValueError(f"the shape {v.shape} does not fit the places, which have the shape {region}")
    return Type(t.shape, t.dtype)


def _defined(ufunc: np.ufunc) -> Op:
    def run(x: Any, v: Any, *arrays: Any, index: Any, unique: bool = False) -> Any:
        return changed_at(ufunc, x, real_index(index, arrays), v)  # type: ignore[arg-type]  # of a tuple

    return define(
        f"{ufunc.__name__}_at",
        run,
        _rule,
        "segments",
        params={"index": INDEX, "unique": maybe(BOOL)},
        vjp=_vjp,
        jvp=_jvp,
        source=partial(_source, ufunc.__name__),
        facts={"helper": changed_at},
        sample=_CASES,
        flops=lambda node: node.inputs[1].type.size,
    )


EXTREMES_AT: dict[Any, Op] = {ufunc: _defined(ufunc) for ufunc in (np.maximum, np.minimum)}


def extremes_at(ufunc: np.ufunc, x: Any, indices: Any, operand: Any) -> Any:
    """Return x as `ufunc.at(x, indices, operand)` changes it, for a maximum or minimum."""
    x = as_operand(x)
    static, arrays, unique = encode_index(x, indices)
    region = index_layout(shape_of(x), static, tuple(map(shape_of, arrays))).shape
    v = cast(np.broadcast_to(as_operand(operand), region), dtype_of(x))
    params: Any = (("index", static),) + ((("unique", True),) if unique else ())
    return apply(EXTREMES_AT[ufunc], (x, v, *arrays), params)
