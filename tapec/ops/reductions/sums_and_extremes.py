"""Define reductions over axes: sums, products, extremes, and those without gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Op, Type
from tapec.ir.param_types import AXES, BOOL
from tapec.ir.sizes import size_name
from tapec.ops.core.define import as_operand, axes_param, conj, define, lanes_param, reduced_shape, spread, strictly
from tapec.ops.core.op_helpers import as_array, real_dtype, source_of_value, weak, where_mask
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply, implements, method
from tapec.ops.core.symbol import Symbol

__all__ = ["MAX", "MEAN", "MIN", "PROD", "SUM", "count", "reduction", "reduction_cases"]


# -- kit --------------------------------------------------------------------------------------------------------
def reduction_source(name: str, *more: str) -> Any:
    """Return `np.sum(x)`, `np.sum(x, axis=0)` or `np.sum(x, axis=(0, 1), keepdims=True)`; `more` names further
    parameters.
    """

    def source(args: tuple[str, ...], node: Any) -> str:
        axis, keepdims = node.param("axis"), node.param("keepdims")
        text = args[0]
        if len(axis) != node.inputs[0].type.ndim:
            text += f", axis={axis[0] if len(axis) == 1 else axis}"
        for key in more:
            if node.param(key):
                text += f", {key}={source_of_value(node.param(key))}"
        if keepdims:
            text += ", keepdims=True"
        return f"np.{name}({text})"

    return source


def reduction_cases(*, complex: bool = True, **params: Any) -> Callable[[np.random.Generator], list[Case]]:
    """Return a sample: all axes, one and several, kept and dropped; a 0-d array; complex numbers."""

    def sample(rng: np.random.Generator) -> list[Case]:
        x = rng.standard_normal((2, 3, 4))
        axes = [((0, 1, 2), False), ((1,), False), ((0, 2), True)]
        cases = [Case((x,), {"axis": a, "keepdims": k, **params}) for a, k in axes]
        cases.append(Case((x[0, 0, 0],), {"axis": (), "keepdims": False, **params}))
        if complex:
            cases.append(Case((x + 1j * x[::-1],), {"axis": (2,), "keepdims": False, **params}))
        return cases

    return sample


def reduction(name: str, function: Any, dtype: Callable[[np.dtype], np.dtype], vjp: Any = None, **more: Any) -> Op:
    """Define an op that reduces over `axis`, a sorted tuple; `dtype` gives the result's from the operand's.

    It is computed by NumPy's function, or by `run`, which is quicker and gives the same.
    """

    def rule(t: Type, axis: tuple[int, ...], keepdims: bool, **params: Any) -> Type:
        return Type(reduced_shape(t.shape, axis, keepdims), dtype(t.dtype))

    more.setdefault("rule", rule)
    more.setdefault("sample", reduction_cases())
    more.setdefault("source", reduction_source(name))
    more.setdefault("numpy", function)
    return define(
        name,
        more.pop("run", function),
        more.pop("rule"),
        "reduction",
        params={"axis": AXES, "keepdims": BOOL, **more.pop("params", {})},
        vjp=vjp,
        **more,
    )


def masked(a: Any, where: Any, fill: Any) -> Any:
    if where is True:
        return a
    y = np.where(where_mask(where), a, fill)
    if y.shape != a.shape:
        raise ValueError(at_user_line(f"the mask has the shape {np.shape(where)}, the array {a.shape}"))
    return y


def count(x: Any, axis: tuple[int, ...]) -> int:
    n = 1
    for k in axis:
        n *= x.shape[k]
    return n


def size_along(x: Any, axis: tuple[int, ...], less: int = 0) -> Any:
    """Return the number of elements along some axes, at least 1, as a constant that says so while a graph is made.

    `less` is taken off it, which leaves at least 1.
    """
    n = (count(x, axis) or 1) - less
    if type(x) is not Symbol:
        return n
    size = size_name(x.node, axis)
    return Symbol(x.builder.constant(n, size and (f"{size} - {less}" if less else size)), x.builder)


# -- sums -------------------------------------------------------------------------------------------------------
def sum_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype of a sum: NumPy adds small integers and booleans up in the platform's own integer."""
    if dtype.kind in "bi":
        return np.result_type(dtype, np.dtype(int)) if dtype.kind == "i" else np.dtype(int)
    return np.result_type(dtype, np.dtype(np.uint)) if dtype.kind == "u" else dtype


def mean_dtype(dtype: np.dtype) -> np.dtype:
    return dtype if dtype.kind in "fc" else np.dtype(float)


SUM = reduction(
    "sum",
    np.sum,
    sum_dtype,
    lambda ct, y, x, axis, keepdims: (spread(ct, x, axis, keepdims),),
    run=np.add.reduce,
    linear=(0,),
    out=True,
)


_ndarray, _total, _FLOAT64 = np.ndarray, np.add.reduce, np.dtype(np.float64)


def _mean(x: Any, axis: tuple[int, ...], keepdims: Any) -> Any:
    """NumPy adds up and divides as well, but looks at much before. Other dtypes it adds up in wider ones."""
    if type(x) is not _ndarray or x.dtype is not _FLOAT64 or not x.size:
        return np.mean(x, axis=axis, keepdims=keepdims)
    total = _total(x, axis, keepdims=keepdims)
    return total / (x.size // total.size)


MEAN = reduction(
    "mean",
    np.mean,
    mean_dtype,
    # the mean of no elements has no element to pass the cotangent to
    lambda ct, y, x, axis, keepdims: (spread(ct / size_along(x, axis), x, axis, keepdims),),
    run=_mean,
    linear=(0,),
    out=True,
)


@method("sum")
@implements(np.sum, sums=True)
def sum_(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    return _folded(SUM, np.add, 0, a, axis, dtype, keepdims, initial, where)


def _folded(
    op: Op, pair: Any, identity: int, a: Any, axis: Any, dtype: Any, keepdims: Any, initial: Any, where: Any
) -> Any:
    """Return all elements and `initial`, put together by `pair`."""
    a = masked(as_array(a), where, identity)
    if dtype is not None:
        a = a.astype(dtype)
    y = in_dtype(apply(op, (a,), lanes_param(a, axis, keepdims)), dtype)
    return y if initial is None else pair(y, _first(initial, y.dtype))


def in_dtype(total: Any, dtype: Any) -> Any:
    """Return a sum or a product in the dtype that was asked for: of small integers and booleans it has a wider one."""
    return total if dtype is None or total.dtype == dtype else total.astype(dtype)


def _first(initial: Any, dtype: np.dtype) -> Any:
    """Return the initial value of a reduction in the dtype of the result; a Python number of that kind stays one."""
    initial = as_operand(initial)
    if weak(initial) and np.result_type(dtype, initial) == dtype:
        return initial
    return as_array(initial).astype(dtype)


@method("mean")
@implements(np.mean, sums=True)
def mean_(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    a = as_array(a)
    if dtype is not None:
        if np.dtype(dtype).kind in "biu":
            number = taken(where, a, axis, keepdims)
            return (np.sum(a, axis, dtype, keepdims=keepdims, where=where) / number).astype(dtype)
        a = a.astype(dtype)
    if where is not True:
        number = taken(where, a, axis, keepdims).astype(real_dtype(mean_dtype(a.dtype)))
        return np.sum(a, axis, keepdims=keepdims, where=where) / number
    return apply(MEAN, (a,), axes_param(a, strictly(axis), keepdims))


def taken(where: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    """Return how many elements of an array a mask takes along these axes."""
    return np.sum(np.broadcast_to(where_mask(where), a.shape), axis=axis, keepdims=keepdims)


# -- products ---------------------------------------------------------------------------------------------------
def _prod_vjp(ct: Any, y: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """Return ct times the product of all other elements.

    That is a product from the left times one from the right, which is right with zeros, too, at every order of
    derivative.
    """
    if not axis:
        return (ct,)
    rest = tuple(k for k in range(x.ndim) if k not in axis)
    flat = np.reshape(
        np.transpose(x, (*rest, *axis)), (*[x.shape[k] for k in rest], math.prod([x.shape[k] for k in axis]))
    )
    ones = np.ones_like(flat[..., :1])
    left = np.cumprod(np.concatenate([ones, flat[..., :-1]], axis=-1), axis=-1)
    right = np.flip(np.cumprod(np.concatenate([ones, np.flip(flat[..., 1:], -1)], axis=-1), axis=-1), -1)
    others = np.reshape(left * right, tuple(x.shape[k] for k in (*rest, *axis)))
    back = tuple(int(k) for k in np.argsort((*rest, *axis)))
    return (spread(ct, x, axis, keepdims) * conj(np.transpose(others, back)),)


PROD = reduction("prod", np.prod, sum_dtype, _prod_vjp, run=np.multiply.reduce, out=True)


@method("prod")
@implements(np.prod, sums=True)
def prod_(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = True,
) -> Any:
    return _folded(PROD, np.multiply, 1, a, axis, dtype, keepdims, initial, where)


# -- extremes ---------------------------------------------------------------------------------------------------
def _extreme_rule(t: Type, axis: tuple[int, ...], keepdims: bool) -> Type:
    if 0 in [t.shape[k] for k in axis] and 0 not in reduced_shape(t.shape, axis, False):
        raise ValueError("zero-size array to reduction operation which has no identity")
    return Type(reduced_shape(t.shape, axis, keepdims), t.dtype)


def _extreme_vjp(ct: Any, y: Any, x: Any, axis: tuple[int, ...], keepdims: Any) -> Any:
    """Share the gradient evenly among ties, as TensorFlow does."""
    hit = x == spread(y, x, axis, keepdims)
    share = ct / np.sum(hit, axis=axis, keepdims=keepdims, dtype=real_dtype(x.dtype))
    return (np.where(hit, spread(share, x, axis, keepdims), 0),)


def _same(dtype: np.dtype) -> np.dtype:
    return dtype


MAX = reduction("max", np.max, _same, _extreme_vjp, rule=_extreme_rule, run=np.maximum.reduce, out=True)
MIN = reduction("min", np.min, _same, _extreme_vjp, rule=_extreme_rule, run=np.minimum.reduce, out=True)


def _extreme(op: Op, pair: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    """Return the maximum or minimum, with the identity that `initial` gives for masks and for no elements."""
    a = as_array(a)
    initial = None if initial is None else _first(initial, a.dtype)
    if where is not True:
        if initial is None:
            raise ValueError(
                f"reduction operation '{pair.__name__}' does not have an identity, "
                "so to use a where mask one has to specify 'initial'"
            )
        a = masked(a, where, initial)
    params = lanes_param(a, axis, keepdims)
    if initial is not None and not a.size:
        axes, keepdims = dict(params).values()
        return np.zeros(reduced_shape(a.shape, axes, keepdims), a.dtype) + initial
    y = apply(op, (a,), params)
    return y if initial is None else pair(y, initial)


@method("max")
@implements(np.max, np.amax)
def max_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    return _extreme(MAX, np.maximum, a, axis, keepdims, initial, where)


@method("min")
@implements(np.min, np.amin)
def min_(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None, where: Any = True
) -> Any:
    return _extreme(MIN, np.minimum, a, axis, keepdims, initial, where)


@implements(np.ptp, sums=True)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, dtype: Any = None) -> Any:
    a = as_array(a) if dtype is None else as_array(a).astype(dtype)
    return np.max(a, axis, keepdims=keepdims) - np.min(a, axis, keepdims=keepdims)


def unsupported(what: str, mend: str) -> UnsupportedError:
    return UnsupportedError(at_user_line(f"{what}. Fix: {mend}."))


__all__ += ["in_dtype", "masked", "mean_dtype", "reduction_source", "sum_dtype", "taken", "unsupported"]
