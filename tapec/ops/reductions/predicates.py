"""Define reductions without gradient: any, all, counts, and the positions of extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Op
from tapec.ops.core.define import lanes_param
from tapec.ops.core.op_helpers import as_array
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements, method
from tapec.ops.reductions.sums_and_extremes import masked, reduction, reduction_cases, reduction_source

__all__ = ["ALL", "ANY", "ARGMAX", "ARGMIN", "COUNT_NONZERO", "count_all"]


def _bool(dtype: np.dtype) -> np.dtype:
    return np.dtype(bool)


def _index(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.intp)


ANY = reduction("any", np.any, _bool, sample=reduction_cases(complex=False))
ALL = reduction("all", np.all, _bool, sample=reduction_cases(complex=False))
# until NumPy 2.2 a count over a whole array is a Python int
_COUNTS_ARE_INT = type(np.count_nonzero(np.ones(1))) is int


def count_all(text: str) -> str:
    """The source of a count over a whole array, a NumPy number."""
    return f"np.intp(np.count_nonzero({text}))" if _COUNTS_ARE_INT else f"np.count_nonzero({text})"


def _count_source(args: tuple[str, ...], node: Any) -> str:
    whole = len(node.param("axis")) == node.inputs[0].type.ndim and not node.param("keepdims")
    return count_all(args[0]) if whole else reduction_source("count_nonzero")(args, node)


COUNT_NONZERO = reduction(
    "count_nonzero", np.count_nonzero, _index, source=_count_source, sample=reduction_cases(complex=False)
)


@method("any")
@implements(np.any)
def any_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    a = masked(as_array(a), where, False)
    return apply(ANY, (a,), lanes_param(a, axis, keepdims))


@method("all")
@implements(np.all)
def all_(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
    a = masked(as_array(a), where, True)
    return apply(ALL, (a,), lanes_param(a, axis, keepdims))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    a = as_array(a)
    return apply(COUNT_NONZERO, (a,), lanes_param(a, axis, keepdims))


def _run_arg(run: Any) -> Any:
    """Return NumPy's function, which takes one axis or None, for a tuple of one axis or of all."""

    def call(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
        return run(x, axis=axis[0] if len(axis) == 1 and np.ndim(x) != 1 else None, keepdims=keepdims)

    return call


def _arg_cases(rng: np.random.Generator) -> list[Case]:
    x = rng.standard_normal((2, 3, 4))
    axes: list[tuple[tuple[int, ...], bool]] = [((0, 1, 2), False), ((1,), False), ((2,), True)]
    return [Case((x,), {"axis": a, "keepdims": k}) for a, k in axes]


def _arg_batch(run: Any) -> Any:
    """Return the batch rule: one axis stays one; several, which are all axes, are reshaped to one."""

    def batch(batched: tuple[bool, ...], x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
        if len(axis) == 1:
            return run(x, axis[0] + 1, keepdims=keepdims)
        y = run(np.reshape(x, (x.shape[0], -1)), 1)
        return np.reshape(y, (x.shape[0], *[1] * len(axis))) if keepdims else y

    return batch


def _arg_op(run: Any) -> Op:
    return reduction(run.__name__, _run_arg(run), _index, sample=_arg_cases, numpy=run, batch=_arg_batch(run))


ARGMAX = _arg_op(np.argmax)
ARGMIN = _arg_op(np.argmin)
NANARGMAX = _arg_op(np.nanargmax)
NANARGMIN = _arg_op(np.nanargmin)


def _arg(op: Op, a: Any, axis: Any, keepdims: Any) -> Any:
    if isinstance(axis, (tuple, list)):
        raise TypeError(f"'{type(axis).__name__}' object cannot be interpreted as an integer")
    a = as_array(a)
    return apply(op, (a,), lanes_param(a, axis, keepdims))


@method("argmax")
@implements(np.argmax)
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _arg(ARGMAX, a, axis, keepdims)


@method("argmin")
@implements(np.argmin)
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _arg(ARGMIN, a, axis, keepdims)


@implements(np.nanargmax)
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _arg(NANARGMAX, a, axis, keepdims)


@implements(np.nanargmin)
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
    return _arg(NANARGMIN, a, axis, keepdims)
