"""Record NumPy's functions and ndarray's methods that change an array in place."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from tapec.errors import InPlaceError, UnsupportedError, at_user_line
from tapec.ir.static_index import Slot
from tapec.ir.types import normalize_axis
from tapec.ops.control.select_and_call import WHERE
from tapec.ops.core.define import as_operand, dtype_of, shape_of
from tapec.ops.core.op_helpers import as_array, fitting, where_mask
from tapec.ops.core.stand_in import ArrayLike, implements
from tapec.ops.indexing.getitem_and_scatter import GETITEM
from tapec.ops.indexing.setitem import setitem
from tapec.ops.indexing.take import along_index, within
from tapec.ops.layout.reshape_and_transpose import RESHAPE
from tapec.trace import classes
from tapec.trace.classes import PLAIN, TensorBase, unwrap
from tapec.trace.dispatch.call_plans import INTS
from tapec.trace.escape.fix_hints import detach_error
from tapec.trace.escape.to_plain import may_get_value, to_array, to_value
from tapec.trace.inplace.assign import assign, become, check_whose, write, write_places, written_while_read
from tapec.trace.inplace.overlaps import may_overlap
from tapec.trace.inplace.shared_memory import Step, Views, base_of
from tapec.trace.inplace.views import as_it_was
from tapec.trace.perform import perform, record
from tapec.trace.recording_stack import CURRENT, recordings

__all__ = [
    "Flat",
    "fill",
    "of_value",
    "partition",
    "put_method",
    "refusal",
    "refused",
    "set_flat",
    "set_imag",
    "set_real",
    "set_shape",
    "sort",
    "view",
    "view_base",
]


def _target(a: Any, function: Any, *args: Any, **kwargs: Any) -> TensorBase | None:
    """Return the tensor that an argument stands for; None for a plain array, which NumPy itself has changed then."""
    if isinstance(a, ArrayLike):
        t = a._tapec_read()
        if not isinstance(a, TensorBase):
            raise TypeError(at_user_line(f"np.{function.__name__} changes arrays, not a {type(a).__name__}"))
        return t
    function(a, *[_plain(x) for x in args], **kwargs)
    return None


def _plain(x: Any) -> Any:
    """Return a value that goes into a plain array; raise an error for a recorded one."""
    x = as_operand(x)
    if not isinstance(x, TensorBase):
        return x
    if x.dtype.kind in "fc" and recordings(x):
        if may_get_value(x):
            return x._value
        raise detach_error(x, "out")
    return to_array(x)


def _is_read(t: Any, values: Any, store: Callable[[np.ndarray, np.ndarray], Any]) -> bool:
    """Do a write, and return True, if NumPy reads elements of the values that the same write has changed."""
    if not isinstance(t, TensorBase) or not isinstance(values, TensorBase):
        return False
    t, values = t._tapec_read(), values._tapec_read()
    return may_overlap(t, values) and written_while_read(t, values, store)


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if dst is src and where is True:
        return  # NumPy does not even ask whether it may be written
    if _is_read(dst, src, lambda array, part: np.copyto(array, part, where=unwrap(where))):
        return
    mask = where if where is True or isinstance(dst, TensorBase) else _plain(where)
    t = dst if type(dst) is classes.Tensor else _target(dst, np.copyto, src, casting=casting, where=mask)
    if t is None:
        return
    src = _without_leading_axes(src, len(t.shape))
    if where is True:
        assign(t, src, casting)
    else:
        become(t, WHERE, (where_mask(where), src, t), casting)


def _without_leading_axes(src: Any, ndim: int) -> Any:
    """Return what is copied with so many axes: NumPy drops leading ones of length one, as it does in `a[:] = src`."""
    src, shape = as_operand(src), shape_of(src)
    extra = len(shape) - ndim
    return np.reshape(src, shape[extra:]) if extra > 0 and set(shape[:extra]) == {1} else src


def _write_flat(t: TensorBase, places: Any, values: Any) -> None:
    """Write elements by their number; values repeat as often as is needed."""
    if type(places) is not np.ndarray:
        places = np.array(places, np.intp) if _are_ints(places) else as_operand(places)
    if type(places) is not np.ndarray or places.ndim != 1:
        places = np.ravel(places)
    if places.dtype.kind == "b":
        places = places.astype(np.intp)
    n = places.shape[0]
    if not n:
        return
    if type(values) not in PLAIN:
        values = np.ravel(as_operand(values)) if shape_of(values) != (n,) else as_operand(values)
        m = shape_of(values)[0]
        if not m:
            return
        values = values if m in (1, n) else values[np.arange(n) % m]
        values = values if values.dtype == t.dtype else values.astype(t.dtype)
    index = _by_axes(t._value, places)
    if index is None:
        values = np.asarray(values, t.dtype)[None] if type(values) in PLAIN else values
        assign(t, np.reshape(setitem(np.ravel(t), values, (Slot(0),), (places,)), t.shape))
    else:
        write_places(t, index, values, places if len(index) > 1 else None)


def _are_ints(places: Any) -> bool:
    return type(places) is list and INTS.issuperset(map(type, places))


def _by_axes(value: np.ndarray, places: Any) -> Any:
    """Return the index of elements by their number; None where that is not known, or some count from the end."""
    if type(places) is not np.ndarray:
        return None
    if value.ndim == 1 and places.dtype.kind in "iu":
        return (places,)
    try:
        return _unravel(places, value.shape)
    except ValueError:
        return None


_unravel = np.unravel_index


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    t = a if type(a) is classes.Tensor else _target(a, np.put, ind, v, mode=mode)
    if t is not None:
        _check_array(t, "put")
        _write_flat(t, ind if mode == "raise" else within(ind, t.size, mode), fitting(v, t.dtype))


def _check_safe(t: TensorBase, values: Any) -> None:
    """Raise the error of np.place and np.putmask for arrays that would lose digits; lists and numbers are converted."""
    dtype = dtype_of(as_operand(values))
    if isinstance(values, (np.ndarray, ArrayLike)) and values.ndim and not np.can_cast(dtype, t.dtype, "safe"):
        raise TypeError(f"Cannot cast array data from {dtype!r} to {t.dtype!r} according to the rule 'safe'")
    if dtype.kind == "c" != t.dtype.kind:
        raise TypeError(f"a complex number is none of {t.dtype}")


def _mask(t: TensorBase, mask: Any, name: str) -> Any:
    """Return a mask in the tensor's shape: it may have another one with as many elements."""
    mask = as_operand(mask)
    if np.size(mask) != t.size:
        raise ValueError(at_user_line(f"{name}: mask and data must be the same size"))
    return mask if shape_of(mask) == t.shape else np.reshape(mask, t.shape)


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    if _is_read(arr, vals, lambda array, part: np.place(array, unwrap(mask), part)):
        return
    t = arr if type(arr) is classes.Tensor else _target(arr, np.place, mask, vals)
    if t is not None:
        _check_safe(t, vals)
        if type(vals) is list and len(vals) == 1 and type(vals[0]) in PLAIN:
            become(t, WHERE, (where_mask(_mask(t, mask, "place")), vals[0], t), "unsafe")
            return
        places = np.nonzero(np.ravel(_mask(t, mask, "place")))[0]
        if shape_of(places)[0] and not np.size(vals):
            raise ValueError("Cannot insert from an empty array!")
        _write_flat(t, places, vals)


@implements(np.putmask)
def putmask(a: Any, mask: Any, values: Any) -> None:
    t = a if type(a) is classes.Tensor else _target(a, np.putmask, mask, values)
    if t is not None:
        mask = _mask(t, mask, "putmask")
        _check_safe(t, values)
        v = as_operand(fitting(values, t.dtype))
        if type(v) not in PLAIN and shape_of(v) != t.shape:
            v = np.ravel(v)
            n = shape_of(v)[0]
            if not n:
                return
            v = np.reshape(v if n == t.size else v[np.arange(t.size) % n], t.shape)
        become(t, WHERE, (mask, v, t), "unsafe")


@implements(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    if _is_read(a, val, lambda array, part: np.fill_diagonal(array, part, wrap)):
        return
    t = a if type(a) is classes.Tensor else _target(a, np.fill_diagonal, val, wrap=wrap)
    if t is None:
        return
    shape = t.shape
    if len(shape) < 2:
        raise ValueError("array must be at least 2-d")
    if len(shape) > 2 and len(set(shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length")
    step = 1 + (shape[1] if len(shape) == 2 else sum([math.prod(shape[k:]) for k in range(1, len(shape))]))
    n = min(shape)
    if (type(val) in PLAIN or shape_of(val) == (n,)) and not wrap:
        index = (np.arange(n),) * len(shape)
        write_places(t, index, val, slice(0, n * step, step))
        return
    end = None if wrap or len(shape) > 2 else shape[1] * shape[1]
    _write_flat(t, np.arange(t.size)[:end:step], val)


@implements(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> None:
    t = arr if type(arr) is classes.Tensor else _target(arr, np.put_along_axis, indices, values, axis=axis)
    if t is None:
        return
    indices = indices.copy() if type(indices) is np.ndarray else as_array(indices)
    if indices.ndim != (1 if axis is None else t.ndim):
        raise ValueError("the indices must have as many dimensions as the array, or one if there is no axis")
    if axis is None:
        _write_flat(t, indices, values)
        return
    index = along_index(t.shape, indices, normalize_axis(axis, t.ndim))[1]
    if type(indices) is np.ndarray:
        write_places(t, index, values)
    else:
        write(t, index, values)


def _check_array(t: TensorBase, name: str) -> None:
    """Refuse what NumPy does to its scalars, as sums are, without an effect and without a word."""
    if type(t._value) is not np.ndarray and type(t._link) is not tuple:
        fix = "give the name another value, or take an array first, `y = np.array(y)`"
        raise InPlaceError(at_user_line(f"{name} changes arrays in place, and this is a number. Fix: {fix}"))


# -- methods ----------------------------------------------------------------------------------------------------------
def fill(self: TensorBase, value: Any) -> None:
    if type(value) not in PLAIN and shape_of(value):
        raise ValueError(at_user_line("fill takes one element, not a sequence"))
    _check_array(self, "fill")
    self[...] = value


def put_method(self: TensorBase, indices: Any, values: Any, mode: str = "raise") -> None:
    put(self, indices, values, mode)


def sort(self: TensorBase, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    assign(self, np.sort(self, axis))


def partition(self: TensorBase, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    assign(self, np.partition(self, kth, axis))


def refusal(name: str, fix: str) -> UnsupportedError:
    """Return the error for what would change the memory of a tensor."""
    return UnsupportedError(at_user_line(f"`{name}` would change the memory of a tensor. Fix: {fix}"))


def refused(name: str, fix: str) -> Any:
    """Make a method that would change the memory of a tensor, and raises that error."""

    def call(self: TensorBase, *args: Any, **kwargs: Any) -> Any:
        raise refusal(name, fix)

    return call


class Flat:
    """Stands for `t.flat`: the elements in C order, to be read, written and gone through."""

    __slots__ = ("_t",)

    def __init__(self, t: Any):
        self._t = t

    def __len__(self) -> int:
        return self._t.size

    def __iter__(self) -> Iterator[Any]:
        t = self._t
        return (t[place] for place in product(*map(range, t.shape)))

    def __getitem__(self, index: Any) -> Any:
        """Return a copy, as NumPy does, though `np.ravel` is a view where it can be."""
        part = np.ravel(self._t)[index]
        return part.copy() if part is self._t else part._own()

    def __setitem__(self, index: Any, value: Any) -> None:
        t = self._t
        if not _is_read(t, value, lambda array, part: array.flat.__setitem__(index, part)):
            _write_flat(t, np.arange(t.size)[index].ravel(), value)


def set_flat(self: TensorBase, value: Any) -> None:
    if _is_read(self, value, lambda array, part: setattr(array, "flat", part)):
        return
    _write_flat(self, np.arange(self.size), value)


def set_real(self: TensorBase, value: Any) -> None:
    assign(self, value + 1j * self.imag if self.dtype.kind == "c" else value, "unsafe")


def set_imag(self: TensorBase, value: Any) -> None:
    if self.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    assign(self, self.real + 1j * as_operand(value), "unsafe")


def set_shape(self: TensorBase, shape: Any) -> None:
    """Do `t.shape = shape`: the tensor stands for itself in another shape from now on, a view for another view."""
    t = self._tapec_read()
    check_whose(t)
    value, link = t._value, t._link
    new = np.reshape(np.asarray(value), shape)
    if new.shape == t.shape:
        return
    if type(value) is not np.ndarray or not np.may_share_memory(new, value):
        raise AttributeError(at_user_line(_NO_VIEW))
    if type(link) is Views:
        raise refusal("shape = ...", "`y = y.reshape(shape)`, since views of y may be in use")
    step: Step = (RESHAPE, (("shape", new.shape),), ())
    before = as_it_was(t)
    if type(link) is tuple:
        t._link = (link[0], (*link[1], step))
    t._value = new if type(link) is tuple else new.copy()
    rec = CURRENT.get()
    if rec is not None:
        record(rec, RESHAPE, (t,), step[1], t, before)


_NO_VIEW = (
    "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape. "
    "Fix: `y = y.reshape(shape)`"
)


def view_base(self: TensorBase) -> TensorBase | None:
    """Return the tensor whose memory this one is a view of."""
    base = base_of(self)
    return None if base is self else base


def view(self: TensorBase, dtype: Any = None, type: Any = None) -> TensorBase:
    if dtype is not None and np.dtype(dtype) != self.dtype:
        raise UnsupportedError(at_user_line("view(dtype) reinterprets the memory of a tensor. Fix: `.astype(dtype)`"))
    return perform(GETITEM, (self,), (("index", (Ellipsis,)),))


def of_value(name: str) -> Any:
    """Make the method of this name that asks the plain value."""
    return lambda self, *args, **kwargs: getattr(np.asarray(to_value(self)), name)(*args, **kwargs)
