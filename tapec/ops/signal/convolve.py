"""Define convolution, correlation, cross and Kronecker products."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type, broadcast_shapes
from tapec.ir.param_types import one_of
from tapec.ir.types import normalize_axis
from tapec.ops.core.define import conj, define, ufunc_dtypes
from tapec.ops.core.op_helpers import as_array, both, drawn
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.layout.reshape_and_transpose import unbroadcast

__all__ = ["CONVOLVE", "CROSS", "convolve", "correlate", "cross", "kron"]


# -- convolution --------------------------------------------------------------------------------------------------
def _extent(n: int, m: int, mode: str) -> tuple[int, int]:
    """Return where a mode's result starts in the full convolution of n and m numbers, and how long it is."""
    if mode == "full":
        return 0, n + m - 1
    short, long = min(n, m), max(n, m)
    return ((short - 1) // 2, long) if mode == "same" else (short - 1, long - short + 1)


def _convolve_rule(a: Type, v: Type, mode: str) -> Type:
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array")
    if not a.shape[0] or not v.shape[0]:
        raise ValueError("a cannot be empty" if not a.shape[0] else "v cannot be empty")
    return Type((_extent(a.shape[0], v.shape[0], mode)[1],), ufunc_dtypes(np.multiply, (a, v))[0])


def _convolve_vjp(ct: Any, y: Any, a: Any, v: Any, mode: str) -> Any:
    """Correlate the cotangent, put back where it lay in the full convolution, with the other factor."""
    n, m = a.shape[0], v.shape[0]
    back_a, back_v = conj(a[::-1]), conj(v[::-1])
    # a is the longer operand: its cotangent is a full correlation, that of v a short one
    if mode == "valid" and n >= m:
        return np.convolve(ct, back_v), np.convolve(ct, back_a, "valid")
    if mode == "valid":
        return np.convolve(ct, back_v, "valid"), np.convolve(ct, back_a)
    if mode == "same":
        start, length = _extent(n, m, mode)
        ct = np.pad(ct, (start, n + m - 1 - start - length))
    return np.convolve(ct, back_v, "valid")[:n], np.convolve(ct, back_a, "valid")[:m]


def _convolve_source(args: tuple[str, ...], node: Any) -> str:
    mode = node.param("mode")
    return f"np.convolve({args[0]}, {args[1]}{'' if mode == 'full' else f', {mode!r}'})"


CONVOLVE = define(
    "convolve",
    np.convolve,
    _convolve_rule,
    "product",
    params={"mode": one_of("full", "same", "valid")},
    vjp=_convolve_vjp,
    linear=(0, 1),
    source=_convolve_source,
    sample=both(
        drawn((5,), (3,), mode="full"),
        drawn((4,), (2,), mode="same"),
        drawn((2,), (5,), mode="same"),
        drawn((3,), (6,), mode="valid"),
        drawn((5,), (2,), mode="valid", complex=True),
    ),
    numpy=np.convolve,
)

_MODES = {"full": "full", "same": "same", "valid": "valid", 0: "valid", 1: "same", 2: "full"}


def _mode(mode: Any) -> str:
    found = _MODES.get(mode)
    if found is None:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    return found


def _signal(x: Any) -> Any:
    x = as_array(x)
    return np.reshape(x, (1,)) if not x.ndim else x


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    return apply(CONVOLVE, (_signal(a), _signal(v)), (("mode", _mode(mode)),))


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
    """Convolve with the mirrored other operand; of a shorter with a longer one, mirror the correlation of the two
    swapped.
    """
    a, v = _signal(a), _signal(v)
    if not (a.size and v.size):
        raise ValueError(f"{'second' if a.size else 'first'} array argument cannot be empty")
    if a.shape[0] < v.shape[0]:
        return conj(convolve(v, conj(a)[::-1], mode))[::-1]
    return convolve(a, conj(v)[::-1], mode)


# -- cross product ------------------------------------------------------------------------------------------------
def _cross_rule(a: Type, b: Type) -> Type:
    return Type(broadcast_shapes(a.shape, b.shape), ufunc_dtypes(np.multiply, (a, b))[0])


def _cross_batch(batched: tuple[bool, ...], a: Any, b: Any) -> Any:
    rank = max(x.ndim - flag for x, flag in zip((a, b), batched))
    parts = []
    for x, flag in zip((a, b), batched):
        ones = (1,) * (rank + 1 - x.ndim)
        parts.append(np.reshape(x, (x.shape[0], *ones, *x.shape[1:])) if flag and ones else x)
    return apply(CROSS, tuple(parts))


CROSS = define(
    "cross",
    np.cross,
    _cross_rule,
    "product",
    vjp=lambda ct, y, a, b: (
        unbroadcast(np.cross(conj(b), ct), a.shape),
        unbroadcast(np.cross(ct, conj(a)), b.shape),
    ),
    linear=(0, 1),
    batch=_cross_batch,
    source="np.cross({0}, {1})",
    sample=both(drawn((3,), (3,)), drawn((2, 3), (4, 1, 3)), drawn((2, 3), (3,), complex=True)),
    numpy=np.cross,
)


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    a, b = as_array(a), as_array(b)
    if axis is not None:
        axisa = axisb = axisc = axis
    if not a.ndim or not b.ndim:
        raise ValueError("At least one array has zero dimension")
    a, b = np.moveaxis(a, normalize_axis(axisa, a.ndim), -1), np.moveaxis(b, normalize_axis(axisb, b.ndim), -1)
    sizes = (a.shape[-1], b.shape[-1])
    if sizes == (2, 2):
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    if set(sizes) - {2, 3}:
        raise ValueError("incompatible dimensions for cross product (dimension must be 2 or 3)")
    y = apply(CROSS, (_three(a), _three(b)))
    return np.moveaxis(y, -1, axisc)


def _three(x: Any) -> Any:
    return x if x.shape[-1] == 3 else np.concatenate([x, np.zeros_like(x[..., :1])], -1)


@implements(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    a, b = as_array(x1), as_array(x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {a.shape[axis]} and {b.shape[axis]} dimensional instead."
        )
    return cross(a, b, axis=axis)


# -- Kronecker product --------------------------------------------------------------------------------------------
@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Return every element of a times all of b: the axes of both, side by side, and then joined."""
    a, b = as_array(a), as_array(b)
    n = max(a.ndim, b.ndim)
    sa, sb = (1,) * (n - a.ndim) + a.shape, (1,) * (n - b.ndim) + b.shape
    left = np.reshape(a, [k for m in sa for k in (m, 1)])
    right = np.reshape(b, [k for m in sb for k in (1, m)])
    return np.reshape(left * right, tuple(i * k for i, k in zip(sa, sb)))
