"""Define choices among arrays or elements: select, choose, compress, extract, piecewise, interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Type, broadcast_shapes
from tapec.ir.param_types import NUMBER, one_of, optional
from tapec.ir.static_index import Slot
from tapec.ops.core.define import as_operand, define, dtype_of, ndim_of, shape_of
from tapec.ops.core.op_helpers import as_array, flat, source_of_value, weak
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import ArrayLike, apply, implements, method
from tapec.ops.core.symbol import is_batch_example
from tapec.ops.core.value_checks import checked
from tapec.ops.indexing.getitem_and_scatter import SCATTER

__all__ = ["CHOOSE", "INTERP", "choose", "compress", "extract", "interp", "piecewise", "select"]


# -- among arrays -------------------------------------------------------------------------------------------------
@implements(np.select, in_rows=True)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Choose by the first condition that holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    choices, y = [as_operand(c) for c in choicelist], as_operand(default)
    dtype = np.result_type(*[c if weak(c) else c.dtype for c in (*choices, y)])
    for condition, choice in reversed(list(zip(condlist, choices))):
        condition = as_operand(condition)
        if dtype_of(condition).kind != "b":
            raise TypeError("invalid entry in condlist: should be boolean ndarray")
        if weak(choice) and weak(y):
            y = dtype.type(y)  # `where` would make doubles of two Python numbers
        y = np.where(condition, choice, y)
    return y


def _choose_rule(a: Type, *choices: Type, mode: str) -> Type:
    shape = broadcast_shapes(a.shape, *[c.shape for c in choices])
    return Type(shape, np.result_type(*[c.dtype for c in choices]))


def _choose_vjp(ct: Any, y: Any, a: Any, *choices: Any, mode: str) -> Any:
    n = len(choices)
    a = a % n if mode == "wrap" else np.clip(a, 0, n - 1) if mode == "clip" else a
    return (None, *[np.where(a == k, ct, 0) for k in range(n)])


CHOOSE = define(
    "choose",
    lambda a, *choices, mode: np.choose(a, choices, mode=mode),
    _choose_rule,
    "elementwise",
    params={"mode": one_of("raise", "wrap", "clip")},
    vjp=_choose_vjp,
    source=lambda args, node: f"np.choose({args[0]}, [{', '.join(args[1:])}], mode={node.param('mode')!r})",
    sample=lambda rng: [
        Case((np.array([[0, 1], [1, 0]]), rng.standard_normal(2), rng.standard_normal((2, 1))), {"mode": "raise"}),
        Case((np.array([-1, 5]), rng.standard_normal(2), rng.standard_normal(2)), {"mode": "wrap"}),
    ],
    numpy=np.choose,
)


@method("choose")
@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    parts = [as_operand(c) for c in choices]
    dtype = np.result_type(*[p if weak(p) else p.dtype for p in parts])
    parts = [as_array(p).astype(dtype) if weak(p) else p for p in parts]
    return apply(CHOOSE, (as_array(a), *parts), (("mode", mode),))


# -- among elements -----------------------------------------------------------------------------------------------
@implements(np.compress, in_rows=True)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    a = as_array(a)
    if ndim_of(as_operand(condition)) != 1:
        raise ValueError(at_user_line("condition must be a 1-d array"))
    return np.take(a, np.flatnonzero(condition), axis)


@method("compress")
def compress_method(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return compress(condition, self, axis, out)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return np.take(flat(as_array(arr)), np.flatnonzero(condition))


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Call each function on the elements where its condition is the last that holds."""
    x = as_array(x)
    conditions = _conditions(x, condlist)
    funclist = list(funclist)
    if len(funclist) == len(conditions) + 1:
        rest = np.logical_not(conditions[0])  # of a truth value of Python's, `~` makes a number
        for c in conditions[1:]:
            rest = np.logical_and(rest, np.logical_not(c))
        conditions.append(rest)
    if len(funclist) != len(conditions):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = np.zeros_like(x)
    for condition, f in zip(conditions, funclist):
        y = np.where(condition, _piece(f, x, condition, args, kw), y).astype(x.dtype)
    return y._lie_as(x) if isinstance(y, ArrayLike) and isinstance(x, ArrayLike) else y


def _conditions(x: Any, condlist: Any) -> list[Any]:
    """Return the list of conditions, also of a single condition, which NumPy tells apart from a list in the same
    way.
    """
    several = isinstance(condlist, (list, tuple))
    rank = 1 + ndim_of(condlist[0]) if several else ndim_of(condlist)
    if rank == 0 or (rank == 1 and x.ndim):
        condlist = [condlist]
    return [as_operand(c) if isinstance(c, ArrayLike) else np.asarray(as_operand(c), bool) for c in condlist]


def _piece(f: Any, x: Any, condition: Any, args: Any, kw: Any) -> Any:
    """Return a function's values where its condition holds, and zeros elsewhere; a number in place of a function as it
    is.
    """
    if not callable(f):
        return f
    if not x.ndim:
        return f(x, *args, **kw)
    if is_batch_example(x) or is_batch_example(condition):
        return _whole(f, x, args, kw)
    places = np.nonzero(np.broadcast_to(condition, x.shape))
    index = tuple([Slot(k) for k in range(x.ndim)])
    values = f(x[tuple(places)], *args, **kw)
    values = np.broadcast_to(as_array(values), shape_of(places[0]))
    return apply(SCATTER, (values, *places), (("shape", x.shape), ("index", index)))


def _whole(f: Any, x: Any, args: Any, kw: Any) -> Any:
    """Return a function's values at all elements, for each example of a batch.

    The function must go element by element, which is checked by calling it on half of them.
    """
    elements = np.ravel(x)
    values = f(elements, *args, **kw)
    if np.shape(values) == () or not x.size:
        return values
    if np.shape(values) != (x.size,) or not _agree(values, f(elements[x.size // 2 :], *args, **kw)):
        raise UnsupportedError(at_user_line(_ALL_AT_ONCE))
    return np.reshape(values, x.shape)


def _agree(values: Any, last: Any) -> bool:
    """Return whether `last` are the last of the values, in the example at hand."""
    every, some = [np.asarray(getattr(v, "_value", v)) for v in (values, last)]
    return some.ndim == 1 and np.allclose(every[-len(some) :], some, equal_nan=True)


_ALL_AT_ONCE = (
    "under vmap np.piecewise computes each function at all elements, and this one does not give a value for each. "
    "Fix: choose with np.where, or loop over the examples."
)


# -- interpolation ------------------------------------------------------------------------------------------------
def _interp_rule(x: Type, xp: Type, fp: Type, left: Any, right: Any) -> Type:
    if xp.ndim != 1 or xp.shape != fp.shape:
        raise ValueError("fp and xp are not of the same length.")
    return Type(x.shape, np.complex128 if fp.dtype.kind == "c" else float)


def _interp_vjp(ct: Any, y: Any, x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    """Return the cotangents of interp.

    Between two points each has a share of the value by distance; beyond the ends the value is constant.
    """
    n = xp.shape[0]
    k = np.clip(np.searchsorted(xp, x, side="right"), 1, n - 1) if n > 1 else np.zeros(x.shape, int)
    before = k - 1 if n > 1 else k
    x0, x1, f0, f1 = xp[before], xp[k], fp[before], fp[k]
    gap = np.where(x1 == x0, np.inf, x1 - x0)
    slope = (f1 - f0) / gap
    # at and beyond the last place the last value counts, also where several places are equal to the last
    share = np.where(x >= x1, 1, np.clip((x - x0) / gap, 0, 1))
    inside = (x >= xp[0]) & (x <= xp[-1])
    ct_x = np.where(inside, np.real(ct * np.conj(slope)), 0)
    if left is not None:
        ct = np.where(x < xp[0], 0, ct)
    if right is not None:
        ct = np.where(x > xp[-1], 0, ct)

    def back(low: Any, high: Any, like: Any) -> Any:
        params = (("shape", like.shape), ("index", (Slot(0),)))
        return apply(SCATTER, (low, before), params) + apply(SCATTER, (high, k), params)

    return ct_x, back(-ct_x * (1 - share), -ct_x * share, xp), back(ct * (1 - share), ct * share, fp)


def _interp_cases(rng: np.random.Generator) -> list[Case]:
    x = rng.uniform(-0.5, 4.5, (2, 4))
    xp, fp = np.arange(5.0) + rng.uniform(0, 0.5, 5), rng.standard_normal(5)
    return [Case((x, xp, fp), {"left": None, "right": None}), Case((x, xp, fp), {"left": 1.0, "right": -1.0})]


def _interp_source(args: tuple[str, ...], node: Any) -> str:
    ends = "".join(f", {k}={source_of_value(node.param(k))}" for k in ("left", "right") if node.param(k) is not None)
    return f"np.interp({', '.join(args)}{ends})"


INTERP = define(
    "interp",
    np.interp,
    _interp_rule,
    "selection",
    params={"left": optional(NUMBER), "right": optional(NUMBER)},
    vjp=_interp_vjp,
    batch=lambda batched, x, xp, fp, **ends: NotImplemented if any(batched[1:]) else np.interp(x, xp, fp, **ends),
    source=_interp_source,
    sample=_interp_cases,
    numpy=np.interp,
)


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    x, xp, fp = as_array(x), as_array(xp), as_array(fp)
    if period is not None:
        if ndim_of(xp) != 1 or ndim_of(fp) != 1:
            raise ValueError(at_user_line("Data points must be 1-D sequences"))
        if shape_of(xp) != shape_of(fp):
            raise ValueError(at_user_line("fp and xp are not of the same length"))
        period = checked(abs(period), period == 0, ValueError("period must be a non-zero value"))
        x, xp, fp = _wrapped(x, xp, fp, period)
        left = right = None
    if "c" in (x.dtype.kind, xp.dtype.kind):  # NumPy's own check overlooks an array without axes
        raise TypeError("np.interp: places are real numbers, only fp may be complex")
    plain = [v is None or isinstance(v, (int, float, complex)) for v in (left, right)]
    ends = (("left", left if plain[0] else None), ("right", right if plain[1] else None))
    y = apply(INTERP, (x, xp, fp), ends)
    y = y if plain[0] else np.where(x < xp[0], left, y)
    return y if plain[1] else np.where(x > xp[-1], right, y)


def _wrapped(x: Any, xp: Any, fp: Any, period: Any) -> Any:
    """One period of points, with a neighbour from the periods before and after."""
    x, xp = x.astype(float) % period, xp.astype(float) % period
    fp = fp.astype(complex if fp.dtype.kind == "c" else float)
    order = np.argsort(xp)
    xp, fp = xp[order], fp[order]
    xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, np.concatenate([fp[-1:], fp, fp[:1]])
