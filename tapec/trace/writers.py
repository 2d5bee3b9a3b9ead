"""NumPy's functions and ndarray's methods that change an array in place, on tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir.index import Slot
from tapec.ops.array import ArrayLike, implements
from tapec.ops.define import as_operand, shape_of
from tapec.ops.indexing import GETITEM
from tapec.ops.reading import along_index
from tapec.ops.setitem import setitem
from tapec.trace.convert import to_array, to_value
from tapec.trace.inplace import assign, write
from tapec.trace.links import base_of
from tapec.trace.mends import detach_error
from tapec.trace.recorder import recordings
from tapec.trace.tensor import Tensor, perform

__all__ = ["Flat"]


def _target(a: Any, function: Any, *args: Any, **kwargs: Any) -> Tensor | None:
    """The tensor to change; None when it is a plain array, which NumPy itself has changed then."""
    if isinstance(a, ArrayLike):
        t = a._tapec_read()
        if not isinstance(a, Tensor):
            raise TypeError(at_user_line(f"np.{function.__name__} changes arrays, not a {type(a).__name__}"))
        return t
    function(a, *[_plain(x) for x in args], **kwargs)
    return None


def _plain(x: Any) -> Any:
    """A value that goes into a plain array: no recorded one may."""
    x = as_operand(x)
    if not isinstance(x, Tensor):
        return x
    if x.dtype.kind in "fc" and recordings(x):
        raise detach_error(x, "out")
    return to_array(x)


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    mask = where if where is True or isinstance(dst, Tensor) else _plain(where)
    t = _target(dst, np.copyto, src, casting=casting, where=mask)
    if t is not None:
        assign(t, src if where is True else np.where(where, as_operand(src), t), casting)


def _write_flat(t: Tensor, places: Any, values: Any) -> None:
    """Elements by their number; values repeat as often as is needed."""
    places = np.ravel(as_operand(places))
    values = np.ravel(as_operand(values))
    n, m = shape_of(places)[0], shape_of(values)[0]
    if not n:
        return
    if m not in (1, n):
        values = values[np.arange(n) % m]
    if type(places) is np.ndarray and np.all((places >= -t.size) & (places < t.size)):
        write(t, np.unravel_index(places % t.size, t.shape), values.astype(t.dtype))
        return
    flat = np.ravel(t)
    v = values if values.dtype == t.dtype else values.astype(t.dtype)
    assign(t, np.reshape(setitem(flat, v, (Slot(0),), (places,)), t.shape))


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    t = _target(a, np.put, ind, v, mode=mode)
    if t is None:
        return
    places = as_operand(ind)
    if mode == "clip":
        places = np.clip(places, 0, t.size - 1)
    elif mode == "wrap":
        places = np.remainder(places, t.size)
    _write_flat(t, places, v)


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    t = _target(arr, np.place, mask, vals)
    if t is not None:
        places = np.nonzero(np.ravel(as_operand(mask)))[0]
        if shape_of(places)[0] and not np.size(vals):
            raise ValueError("Cannot insert from an empty array!")
        _write_flat(t, places, vals)


@implements(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    t = _target(a, np.putmask, mask, values)
    if t is not None:
        values = np.ravel(as_operand(values))
        if shape_of(values)[0] != t.size:
            values = values[np.arange(t.size) % shape_of(values)[0]]
        assign(t, np.where(mask, np.reshape(values, t.shape), t), "unsafe")


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    t = _target(a, np.fill_diagonal, val, wrap=wrap)
    if t is None:
        return
    if t.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if t.ndim == 2:
        step, end = t.shape[1] + 1, None if wrap else t.shape[1] * t.shape[1]
    else:
        if len(set(t.shape)) != 1:
            raise ValueError("All dimensions of input must be of equal length")
        step, end = 1 + sum(t.shape[0] ** k for k in range(1, t.ndim)), None
    _write_flat(t, np.arange(t.size)[:end:step], val)


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    t = _target(arr, np.put_along_axis, indices, values, axis=axis)
    if t is None:
        return
    if axis is None:
        _write_flat(t, indices, values)
        return
    indices = as_operand(indices)
    write(t, along_index(t.shape, indices, axis % t.ndim)[1], values)


# -- methods ----------------------------------------------------------------------------------------------------------
def _fill(self: Tensor, value: Any) -> None:
    write(self, Ellipsis, value)


def _put(self: Tensor, indices: Any, values: Any, mode: str = "raise") -> None:
    put(self, indices, values, mode)


def _sort(self: Tensor, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    assign(self, np.sort(self, axis))


def _partition(self: Tensor, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    assign(self, np.partition(self, kth, axis))


def _refused(name: str, mend: str) -> Any:
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(at_user_line(f"`{name}` would change the memory of a tensor. Mend: {mend}"))

    return call


class Flat:
    """`t.flat`: the elements in C order, to be read, written and gone through."""

    __slots__ = ("_t",)

    def __init__(self, t: Any):
        self._t = t

    def __len__(self) -> int:
        return self._t.size

    def __iter__(self) -> Iterator[Any]:
        return iter(np.ravel(self._t))

    def __getitem__(self, index: Any) -> Any:
        return np.ravel(self._t)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        t = self._t
        _write_flat(t, np.arange(t.size)[index], value)


def _set_flat(self: Tensor, value: Any) -> None:
    _write_flat(self, np.arange(self.size), value)


def _set_real(self: Tensor, value: Any) -> None:
    assign(self, value + 1j * self.imag if self.dtype.kind == "c" else value, "unsafe")


def _set_imag(self: Tensor, value: Any) -> None:
    if self.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    assign(self, self.real + 1j * as_operand(value), "unsafe")


def _base(self: Tensor) -> Tensor | None:
    """The tensor whose memory this one is a view of."""
    base = base_of(self)
    return None if base is self else base


def _view(self: Tensor, dtype: Any = None, type: Any = None) -> Tensor:
    if dtype is not None and np.dtype(dtype) != self.dtype:
        raise UnsupportedError(at_user_line("view(dtype) reinterprets the memory of a tensor. Mend: `.astype(dtype)`"))
    return perform(GETITEM, (self,), (("index", (Ellipsis,)),))


def _of_value(name: str) -> Any:
    return lambda self, *args, **kwargs: getattr(np.asarray(to_value(self)), name)(*args, **kwargs)


for _name, _given in {
    "base": property(_base),
    "view": _view,
    "device": property(lambda self: "cpu"),
    "tofile": _of_value("tofile"),
    "dump": _of_value("dump"),
    "dumps": _of_value("dumps"),
    "setflags": _refused("setflags", "take a copy, `x.copy()`, of what must not change"),
    "fill": _fill,
    "put": _put,
    "sort": _sort,
    "partition": _partition,
    "resize": _refused("resize", "np.resize makes a new array"),
    "byteswap": _refused("byteswap", "`.numpy().byteswap()`"),
    "shape": vars(Tensor)["shape"].setter(_refused("shape = ...", "`y = y.reshape(shape)`")),
    "dtype": vars(Tensor)["dtype"].setter(_refused("dtype = ...", "`y = y.astype(dtype)`")),
    "flat": property(Flat, _set_flat),
    "real": property(lambda self: np.real(self), _set_real),
    "imag": property(lambda self: np.imag(self), _set_imag),
}.items():
    setattr(Tensor, _name, _given)
