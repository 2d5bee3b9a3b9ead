"""What a plan computes an op by: functions of values alone, in C where there is one.

NumPy's functions ask for arrays in disguise, and hand over to the methods of arrays; here both is settled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import itemgetter, methodcaller
from typing import Any

import numpy as np

from tapec.ir import OPS, Node
from tapec.ir.index import Slot
from tapec.ops.indexing import FULL_SLICE, real_index
from tapec.tuples import NamedTuple

__all__ = ["Call", "computation", "direct"]

_ndarray = np.ndarray


class Call(NamedTuple):
    """A function that takes values, one by one or `together` as a tuple, and after them what is `fixed`.

    A plan writes the call out: a function of values alone that does so would be called at each operation.
    """

    function: Callable[..., Any]
    fixed: tuple[Any, ...] = ()
    together: bool = False

    def __call__(self, *values: Any) -> Any:
        return self.function(*((values,) if self.together else values), *self.fixed)


def computation(node: Node) -> Call:
    """The same, to the last bit, as the op does it: in the shortest way known here."""
    params = dict(node.params)
    name, first = node.op.name, node.inputs[:1]
    if node.op is OPS.get(name) and (name in _OF_NUMBERS or all([i.type.shape for i in first])) and name in _MAKERS:
        made = _MAKERS[name](node, params)
        if made is not None:
            return made if type(made) is Call else Call(made)
    run = direct(node.op.run)
    return Call(partial(run, **params) if params else run)


def direct(function: Any) -> Any:
    """What a function of NumPy's calls when it has asked all arguments whether they are more than arrays."""
    return getattr(function, "_implementation", function)


def _method(name: str, *keys: str) -> Callable[[Node, dict[str, Any]], Any]:
    """A method that takes the parameters in this order."""
    return lambda node, params: methodcaller(name, *[params[k] for k in keys])


def _reduce(node: Node, params: dict[str, Any]) -> Any:
    """A ufunc's `reduce` reads what has no names in half the time, and one axis or all sooner than several."""
    run, axis, keepdims = node.op.run, params["axis"], params["keepdims"]
    where = None if len(axis) == node.inputs[0].type.ndim else axis[0] if len(axis) == 1 else axis
    return Call(run, (where, None, None, True) if keepdims else (where,))


def _accumulate(ufunc: np.ufunc) -> Callable[[Node, dict[str, Any]], Any]:
    """What the methods `cumsum` and `cumprod` end in."""

    return lambda node, params: Call(ufunc.accumulate, (params["axis"],))


def _segment_sums(node: Node, params: dict[str, Any]) -> Any:
    return Call(np.add.reduceat, (params["axis"],) if params["axis"] else ())


def _choose(node: Node, params: dict[str, Any]) -> Any:
    mode = params["mode"]
    if mode == "raise" and len(node.inputs) > 2:
        return _ndarray.choose  # a single choice would be taken for a list of them
    return lambda places, *choices: places.choose(choices, mode=mode)


def _bincount(node: Node, params: dict[str, Any]) -> Any:
    return Call(direct(np.bincount), (params["minlength"],)) if len(node.inputs) == 2 else None


def _count_nonzero(node: Node, params: dict[str, Any]) -> Any:
    if len(params["axis"]) != node.inputs[0].type.ndim or params["keepdims"]:
        return None
    count = direct(np.count_nonzero)
    return lambda x: np.intp(count(x))  # until NumPy 2.2 it is Python's int


def _over_one(name: str) -> Callable[[Node, dict[str, Any]], Any]:
    """A method for one axis or none, where the op has a tuple."""

    def make(node: Node, params: dict[str, Any]) -> Any:
        axis, ndim = params["axis"], node.inputs[0].type.ndim
        if params["keepdims"] or (len(axis) != 1 and len(axis) != ndim):
            return None
        return methodcaller(name, axis[0] if len(axis) == 1 and ndim != 1 else None)

    return make


def _full(node: Node, params: dict[str, Any]) -> Any:
    shape, value, dtype = params["shape"], params["value"], params["dtype"]
    if not shape:
        return None
    if math.prod(shape) <= _LONG:
        return np.full(shape, value, dtype).copy
    return None if value or "-" in repr(value) else lambda: np.zeros(shape, dtype)


def _getitem(node: Node, params: dict[str, Any]) -> Any:
    index = params["index"]
    if not any([type(p) is Slot for p in index]):
        return itemgetter(real_index(index, ()))
    axis = len(index) - 1
    if index == (*[FULL_SLICE] * axis, Slot(0)) and node.inputs[1].type.shape and node.inputs[1].type.dtype.kind == "i":
        return Call(_ndarray.take, (axis,))
    return None


def _matmul(node: Node, params: dict[str, Any]) -> Any:
    """Those who ask are np.dot and its kin, which is more than twice as fast with small arrays."""
    if all([0 < i.type.ndim <= 2 for i in node.inputs]):
        return _ndarray.dot
    return None


def _stack(node: Node, params: dict[str, Any]) -> Any:
    axis, first = params["axis"], node.inputs[0].type.shape
    if axis == 0:
        return Call(np.array, together=True)  # for a few small arrays much faster
    shape = (*first[:axis], 1, *first[axis:])
    return lambda *parts: _join([x.reshape(shape) for x in parts], axis)


def _concatenate(node: Node, params: dict[str, Any]) -> Any:
    return Call(_join, (params["axis"],), together=True)


_join = direct(np.concatenate)


def _broadcast_to(node: Node, params: dict[str, Any]) -> Any:
    """Steps of no bytes along new axes and those of length one."""
    shape, t = params["shape"], node.inputs[0].type
    steps, step = [], t.dtype.itemsize
    for n in reversed(t.shape):
        steps.append(step if n > 1 else 0)
        step *= n
    strides = (*[0] * (len(shape) - t.ndim), *reversed(steps))
    if not t.size or 0 in shape:
        return None

    def broadcast_to(x: Any) -> Any:
        if not x.flags.c_contiguous:
            return np.broadcast_to(x, shape)
        out: Any = np.ndarray(shape, x.dtype, x, 0, strides)
        out.flags.writeable = False
        return out

    return broadcast_to


def _einsum(node: Node, params: dict[str, Any]) -> Any:
    return partial(_C_EINSUM, params["subscripts"]) if len(node.inputs) <= 2 else None


_C_EINSUM = np._core.multiarray.c_einsum  # type: ignore[attr-defined]


def _set(node: Node, params: dict[str, Any]) -> Any:
    """NumPy gives one array where it was asked for no more."""
    run, flags = direct(node.op.numpy), dict(params["flags"])
    if any([value for name, value in flags.items() if name.startswith("return")]):
        return partial(run, **flags)
    return lambda *xs: (run(*xs, **flags),)


def _interp(node: Node, params: dict[str, Any]) -> Any:
    left, right = params["left"], params["right"]
    return None if node.inputs[2].type.dtype.kind == "c" else Call(_C_INTERP, (left, right))


_C_INTERP = np._core.multiarray.interp  # type: ignore[attr-defined]


def _polyval(node: Node, params: dict[str, Any]) -> Any:
    """The same steps as NumPy's, without its beginning."""
    if not node.inputs[1].type.shape:
        return None

    def polyval(p: Any, x: Any) -> Any:
        y: Any = np.zeros(x.shape, x.dtype, "F" if x.flags.fnc else "C")
        for coefficient in p:
            y = y * x + coefficient
        return y

    return polyval


def _tensordot(node: Node, params: dict[str, Any]) -> Any:
    """The axes that are summed over are brought together, as NumPy does it, but they are counted once."""
    first, second = [i.type.shape for i in node.inputs]
    summed, other = [tuple(axes) for axes in params["axes"]]
    kept = [k for k in range(len(first)) if k not in summed]
    rest = [k for k in range(len(second)) if k not in other]
    shape = tuple([first[k] for k in kept] + [second[k] for k in rest])
    n = math.prod([first[k] for k in summed])
    rows = (math.prod([first[k] for k in kept]), n)
    columns = (n, math.prod([second[k] for k in rest]))
    front, back = (*kept, *summed), (*other, *rest)
    return lambda x, y: x.transpose(front).reshape(rows).dot(y.transpose(back).reshape(columns)).reshape(shape)


def _quantile(node: Node, params: dict[str, Any]) -> Any:
    """The same steps as NumPy's, but it is known already between which elements in order the quantiles lie."""
    t, axis, q = node.inputs[0].type, params["axis"], np.asarray(params["q"])
    if t.dtype != float or q.dtype != float or params["method"] != "linear":
        return None
    if params["keepdims"] or len(axis) not in (1, t.ndim) or not t.size:
        return None
    n = math.prod([t.shape[k] for k in axis])
    place = q * (n - 1)
    is_last = place >= n - 1
    low, high = [np.where(is_last, -1, np.floor(place) + k) for k in (0, 1)]
    between = _between(place - low, t.ndim - len(axis))
    low, high = low.astype(np.intp), high.astype(np.intp)
    order = np.unique([0, -1, *low.ravel(), *high.ravel()])
    front = (*axis, *[k for k in range(t.ndim) if k not in axis]) if len(axis) < t.ndim else None

    def quantile(x: Any) -> Any:
        rows = x.flatten() if front is None else x.copy().transpose(front)
        rows.partition(order, 0)
        y = between(rows[low], rows[high])
        last = rows[-1]  # nan, where one is among them
        nans = np.isnan(last)
        if nans.any():
            if not y.shape:
                return last
            np.copyto(y, last, where=nans)
        return y

    return quantile


def _between(share: np.ndarray, axes: int) -> Callable[[Any, Any], Any]:
    """So far from one to the other, counted from the nearer one as NumPy does; and it warns of what NumPy warns of."""
    if not share.shape:
        part = float(share)
        rest = 1 - part

        def one(a: Any, b: Any) -> Any:
            gap = b - a
            y = a + gap * part
            return y if part < 0.5 else b - gap * rest

        return one
    shares = share.reshape(share.shape + (1,) * axes)
    rests, is_far = 1 - shares, shares >= 0.5

    def several(a: Any, b: Any) -> Any:
        gap = b - a
        y = a + gap * shares
        np.subtract(b, gap * rests, out=y, where=is_far)
        return y

    return several


def _norm(node: Node, params: dict[str, Any]) -> Any:
    order, axis, keepdims = params["ord"], params["axis"], params["keepdims"]
    if len(axis) == node.inputs[0].type.ndim <= 2 and order == 2 and not keepdims:
        return np.linalg.norm
    if len(axis) != 1 or (len(axis) == node.inputs[0].type.ndim and order == 2):
        return None
    return lambda x: np.linalg.norm(x, None if order == 2 else order, axis[0], keepdims)


def _pad(node: Node, params: dict[str, Any]) -> Any:
    inner, width, value = node.inputs[0].type.shape, params["width"], params.get("value", 0.0)
    if params["mode"] != "constant":
        return _pad_by_places(node, params)
    shape = tuple([a + n + b for (a, b), n in zip(width, inner)])
    place = tuple([slice(a, a + n) for (a, _), n in zip(width, inner)])

    def pad(x: Any) -> Any:
        out = np.empty(shape, x.dtype, "F" if x.flags.fnc else "C")
        out[...] = value
        out[place] = x
        return out

    return pad


def _pad_by_places(node: Node, params: dict[str, Any]) -> Any:
    """What is copied outside is looked for once."""
    inner = node.inputs[0].type.shape
    if not node.inputs[0].type.size or max(inner) > _LONG:
        return None
    run = partial(node.op.run, **params)
    places = np.ix_(*[np.pad(np.arange(n), w, params["mode"]) for n, w in zip(inner, params["width"])])
    return lambda x: run(x) if x.flags.fnc else x[places]


def _take_along_axis(node: Node, params: dict[str, Any]) -> Any:
    shape, axis = node.inputs[0].type.shape, params["axis"]
    if max(shape) > _LONG:
        return None
    index = [np.arange(n).reshape([-1 if j == k else 1 for j in range(len(shape))]) for k, n in enumerate(shape)]
    head, tail = index[:axis], index[axis + 1 :]
    return lambda x, places: x[(*head, places, *tail)]


_LONG = 512  # row numbers are kept up to this


_OF_NUMBERS = {"interp"}  # those that need no axes
_MAKERS: dict[str, Callable[[Node, dict[str, Any]], Any]] = {
    "any": _over_one("any"),
    "mean": lambda node, params: partial(node.op.run, **params),  # quicker than NumPy's
    "all": _over_one("all"),
    "argmax": _over_one("argmax"),
    "argmin": _over_one("argmin"),
    "bincount": _bincount,
    "broadcast_to": _broadcast_to,
    "choose": _choose,
    "concatenate": _concatenate,
    "cumprod": _accumulate(np.multiply),
    "cumsum": _accumulate(np.add),
    "einsum": _einsum,
    "interp": _interp,
    "norm": _norm,
    "pad": _pad,
    "polyval": _polyval,
    "quantile": _quantile,
    "take_along_axis": _take_along_axis,
    "count_nonzero": _count_nonzero,
    "matmul": _matmul,
    **dict.fromkeys(("max", "min", "prod", "sum"), _reduce),
    "diagonal": _method("diagonal", "offset", "axis1", "axis2"),
    "full": _full,
    "getitem": _getitem,
    "repeat": _method("repeat", "repeats", "axis"),
    "reshape": _method("reshape", "shape"),
    "round": _method("round", "decimals"),
    "segment_sums": _segment_sums,
    "stack": _stack,
    "tensordot": _tensordot,
    "trace": _method("trace", "offset", "axis1", "axis2"),
    "transpose": _method("transpose", "axes"),
    **dict.fromkeys(("intersect1d", "setdiff1d", "setxor1d", "union1d", "unique"), _set),
}
