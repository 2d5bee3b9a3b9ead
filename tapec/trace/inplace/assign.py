"""Record in-place code on tensors: `y[i] = v`, `y += z`, `out=y`, `y.sort()`, `np.copyto` and the like.

Underneath everything is pure: the tensor object stands for a new value from then on, and recordings note the change
together with what was there before. Tensors that share memory (`views`) change with it.

Refused is what would change something behind a recording's back: arguments and captured state of a traced function,
tensors that a tape watches, tensors of a tape that records no longer, and plain arrays that would receive a recorded
tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tapec.errors import InPlaceError, at_user_line, note_user_line
from tapec.ir import Op, ops
from tapec.ir.types import NUMBERS, WEAK_NUMBERS
from tapec.ops import UFUNCS
from tapec.ops.control.select_and_call import WHERE
from tapec.ops.core.define import as_operand, shape_of
from tapec.ops.core.stand_in import ArrayLike
from tapec.ops.indexing.getitem_and_scatter import GETITEM, real_index
from tapec.ops.indexing.index_encoding import encode_index
from tapec.ops.indexing.setitem import SETITEM
from tapec.ops.layout.copies import COPY
from tapec.ops.layout.reshape_and_transpose import BROADCAST_TO
from tapec.trace import classes
from tapec.trace.classes import PLAIN, TensorBase, unwrap, wrap
from tapec.trace.dispatch.getitem import SLOTS, encoded
from tapec.trace.escape.fix_hints import detach_error
from tapec.trace.escape.to_plain import may_get_value, to_array
from tapec.trace.inplace.overlaps import elements_read, may_overlap
from tapec.trace.inplace.shared_memory import Step, Views, base_of, is_shown, made_in
from tapec.trace.inplace.unread_values import forget_unread
from tapec.trace.inplace.views import as_it_was, carry, expire
from tapec.trace.perform import computed, perform, quickly, record
from tapec.trace.recording_stack import CURRENT, Recorder, recordings

__all__ = [
    "assign",
    "augmented",
    "become",
    "check_whose",
    "check_writable",
    "own",
    "writable",
    "write",
    "write_into",
    "write_places",
    "written_while_read",
]


# -- may it change? ---------------------------------------------------------------------------------------------------
def check_writable(t: TensorBase) -> None:
    """Raise an InPlaceError, before anything has changed, if some recording forbids the change."""
    if type(t._value) is np.ndarray and not t._value.flags.writeable:
        raise ValueError("assignment destination is read-only")
    rec = CURRENT.get()
    base = base_of(t)
    _check_one(base, rec)
    if base is not t:
        _check_marks(t, rec)
    link = base._link
    if type(link) is Views:
        if is_shown(base):
            raise _refusal("np.asarray has made an array of its elements, which would have to change too")
        for reference in link.refs:
            view = reference()
            if view is not None and base_of(view) is base:
                _check_marks(view, rec)


def check_whose(t: TensorBase) -> None:
    """Raise an InPlaceError if the tensor itself belongs to somebody else; what shares its memory does not matter."""
    _check_one(t, CURRENT.get())


def _check_one(t: TensorBase, rec: Recorder | None) -> None:
    if t._mark is not None:
        _check_marks(t, rec)
    elif rec is not None and rec.trace is not None and made_in(t) is not rec.trace.token:
        raise _refusal("this tensor was made outside the function, and the compiled function would change it once only")


def _check_marks(t: TensorBase, rec: Recorder | None) -> None:
    mark = t._mark
    if mark is None:
        return
    for token in mark.tokens:
        if token.alive and (rec is None or token not in rec.mark.tokens):
            raise _refusal("a tape that does not record at the moment knows this tensor, and would not see the change")
    for tape in recordings(t):
        if not tape.log.made(t):
            raise _refusal(_whose(tape, t))


def _whose(tape: Any, t: TensorBase) -> str:
    if not tape.is_trace:
        return "a tape watches this tensor"
    name = tape.inputs.get(id(t))
    return f"this would change {name or 'an argument'}, which belongs to the caller"


def _refusal(reason: str) -> InPlaceError:
    return InPlaceError(
        at_user_line(
            f"in-place change refused: {reason}. Fix: take a copy first, `y = x.copy()`, or write `x = x + ...`"
        )
    )


# -- the change itself ------------------------------------------------------------------------------------------------
def change(t: TensorBase, op: Op, inputs: tuple[Any, ...], params: Any, value: Any) -> None:
    """Let a tensor stand for the result of an op from now on; `check_writable` was asked before."""
    before = as_it_was(t)
    rec = CURRENT.get()
    t._value = value[()] if type(value) is np.ndarray and not value.ndim else value
    if rec is not None:
        record(rec, op, inputs, params, t, before)
        if op is SETITEM and rec.only_log is not None:
            forget_unread(rec.only_log, t, before)
    link = t._link
    if type(link) is tuple:
        carry(t)
    elif type(link) is Views:
        expire(t)


def own_copy(t: TensorBase) -> np.ndarray:
    """Return the value as an array of its own, laid out as before."""
    value = t._value
    return value.copy(order="K") if type(value) is np.ndarray else np.array(value)


# -- elements ---------------------------------------------------------------------------------------------------------
def write(t: TensorBase, index: Any, value: Any) -> None:
    """Do `t[index] = value`."""
    try:
        check_writable(t)
        v = _storable(value, t)
        if _is_everything(index, t._value):
            if may_overlap(t, v) and written_while_read(t, v, partial(_store, index), index):
                return
            _replace(t, np.reshape(v, shape_of(v)[-t.ndim :]) if len(shape_of(v)) > t.ndim else v, "unsafe")
            return
        if _is_mask(index, t) and math.prod(shape_of(v)) == 1:
            _write_masked(t, np.bool_(index) if type(index) is bool else as_operand(index), v)
            return
        if not t.shape and _holds_flag(index) and _writes_nothing(t, index, v):
            return
        params, arrays, real = _encoded(t, index)
        if _is_part(v, t, params, arrays):
            return
        if may_overlap(t, v) and written_while_read(t, v, partial(_store, real), None if arrays else real):
            return
        new = own_copy(t)
        new[real] = unwrap(v)
        change(t, SETITEM, (t, v, *arrays), params, new)
    except Exception as error:
        note_user_line(error)
        raise


def write_places(t: TensorBase, arrays: tuple[np.ndarray, ...], value: Any, flat: Any = None) -> None:
    """Do `t[arrays] = value`, with an array of places for each axis.

    `flat` says the same by the numbers of the elements: an array, or a slice.
    """
    check_writable(t)
    v = _storable(value, t)
    new = own_copy(t)
    try:
        if flat is None:
            new[arrays] = unwrap(v)
        else:
            new.flat[flat] = unwrap(v)
    except Exception as error:
        note_user_line(error)
        raise
    change(t, SETITEM, (t, v, *arrays), (("index", SLOTS[: len(arrays)]),), new)


def _encoded(t: TensorBase, index: Any) -> tuple[Any, tuple[Any, ...], Any]:
    """Return what an index says: the parameters of the op, the index arrays, and the index as NumPy takes it."""
    kind = type(index)
    if kind is int:
        return (("index", (index,)),), (), index
    found = encoded(t, index) if kind is not slice and type(t._value) is np.ndarray else None
    if found is not None and found[0] is GETITEM and found[1]:
        return found[1:]
    if _holds_flag(index):
        index = np.unravel_index(np.arange(t.size).reshape(t.shape)[unwrap_index(index)], t.shape)
    static, arrays, unique = encode_index(t, index)
    params: Any = (("index", static), ("unique", True)) if unique else (("index", static),)
    return params, arrays, real_index(static, tuple(map(unwrap, arrays)))


def _store(index: Any, array: np.ndarray, part: np.ndarray) -> None:
    array[index] = part


def written_while_read(
    t: TensorBase, v: TensorBase, store: Callable[[np.ndarray, np.ndarray], Any], index: Any = None
) -> bool:
    """Do `store(t, v)` and return True, if NumPy reads elements of `v` that the same write has changed."""
    check_writable(t)
    numbers = elements_read(t, v, store, index)
    if numbers is None:
        return False
    assign(t, np.ravel(base_of(t))[numbers], "unsafe")
    return True


def _is_everything(index: Any, value: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    if not parts or not all(map(_is_whole, parts)):
        return False
    dots = sum(p is Ellipsis for p in parts)
    return dots <= 1 and len(parts) - dots <= np.ndim(value)


def _is_whole(part: Any) -> bool:
    """Return whether a part of an index is `...` or `:`, without comparing the bounds of slices, which may be
    arrays."""
    if type(part) is slice:
        return part.start is None and part.stop is None and part.step is None
    return part is Ellipsis


def _is_part(v: Any, t: TensorBase, params: Any, arrays: tuple[Any, ...]) -> bool:
    """Return whether a value is the part it is written to: `t[index] += w` has changed the view, and writes it back."""
    link = v._link if type(v) is classes.Tensor else None
    if type(link) is not tuple or link[0] is not base_of(t) or len(v._value.shape) == 0:
        return False
    mine = t._link[1] if type(t._link) is tuple else ()
    steps = link[1]
    if len(steps) != len(mine) + 1 or not all(map(_is_same_step, steps, mine)):
        return False
    return _is_same_step(steps[-1], (GETITEM, params, arrays))


def _is_same_step(a: Step, b: Step) -> bool:
    return a[:2] == b[:2] and len(a[2]) == len(b[2]) and all([x is y for x, y in zip(a[2], b[2])])


def _storable(value: Any, t: TensorBase) -> Any:
    """Return an operand that can be put into the tensor; text and objects cannot."""
    if type(value) is classes.Tensor or type(value) in PLAIN:
        return value
    v = as_operand(value)
    if isinstance(v, np.ndarray) and v.dtype.kind not in "fciub":
        v = v.astype(t.dtype)  # NumPy's own error, or number
    return v


def _writes_nothing(t: TensorBase, index: Any, v: Any) -> bool:
    """Return whether a write to a value without axes stores nothing: its mask is false, and so is what it reads."""
    real = unwrap_index(index)
    own_copy(t)[real] = unwrap(v)  # NumPy's error, where the value does not fit
    return not np.zeros(())[real].size


def _holds_flag(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return any(
        [
            isinstance(p, (bool, np.bool_)) or (isinstance(p, TensorBase) and not p.shape and p.dtype == bool)
            for p in parts
        ]
    )


def unwrap_index(index: Any) -> Any:
    parts = index if isinstance(index, tuple) else (index,)
    return tuple([bool(p) if isinstance(p, TensorBase) and p.dtype == bool and not p.shape else p for p in parts])


def _is_mask(index: Any, t: TensorBase) -> bool:
    if not t.ndim and isinstance(index, (bool, np.bool_)):
        return True
    return (
        isinstance(index, (ArrayLike, np.ndarray))
        and index.dtype == bool
        and (index.ndim > 0 or not t.ndim)
        and (index.shape == t.shape[: index.ndim])
    )


def _write_masked(t: TensorBase, mask: Any, v: Any) -> None:
    """Write one number where a mask is true: by a selection, whose shape does not depend on values."""
    wide = np.reshape(mask, mask.shape + (1,) * (t.ndim - mask.ndim)) if mask.ndim < t.ndim else mask
    v = _cast(np.reshape(v, ()) if shape_of(v) else v, t)
    new = own_copy(t)
    new[unwrap(mask)] = unwrap(v)
    change(t, WHERE, (wide, v, t), (), new)


def _cast(v: Any, t: TensorBase) -> Any:
    """Return a value in the dtype of the tensor it goes into, as assignment casts."""
    if type(v) in NUMBERS:
        return v if type(v) is float and t.dtype == np.float64 else np.asarray(v, t.dtype)[()]
    if v.dtype == t.dtype:
        return v
    if not isinstance(v, ArrayLike):
        return np.asarray(v).astype(t.dtype)[()]
    return (np.real(v) if v.dtype.kind == "c" and t.dtype.kind == "f" else v).astype(t.dtype)


# -- taking over a whole result ---------------------------------------------------------------------------------------
def assign(t: TensorBase, result: Any, casting: str = "same_kind") -> TensorBase:
    """Take over the elements of a result, for `out=t`, as far as NumPy would cast and broadcast them."""
    r = as_operand(result)
    if r is not t:
        check_writable(t)
        _replace(t, r, casting)
    return t


def _replace(t: TensorBase, r: Any, casting: str) -> None:
    """Take over the elements of an operand; `check_writable` was asked before."""
    if r is t:
        return
    dtype = np.result_type(r) if type(r) in NUMBERS else r.dtype
    if dtype != t.dtype and not np.can_cast(dtype, t.dtype, casting):  # type: ignore[arg-type]
        message = f"Cannot cast output from {dtype!r} to {t.dtype!r} with casting rule {casting!r}"
        raise TypeError(at_user_line(message))
    shape = shape_of(r)
    if shape != t.shape and np.broadcast_shapes(shape, t.shape) != t.shape:
        message = f"non-broadcastable output operand with shape {t.shape} doesn't match the broadcast shape {shape}"
        raise ValueError(at_user_line(message))
    r = _cast(r, t)
    new = np.empty_like(t._value)
    new[...] = unwrap(r)
    if shape != t.shape:  # of a number, what is filled with it: nobody else has that, so nobody changes it
        r = perform(BROADCAST_TO, (r,), (("shape", t.shape),)) if type(r) is classes.Tensor else wrap(new)
    change(t, COPY, (r,), (), new)


def become(t: TensorBase, op: Op, inputs: tuple[Any, ...], casting: str = "same_kind", compute: Any = None) -> None:
    """Let a tensor stand for the result of an op, as far as NumPy would cast and broadcast it.

    `compute` gives the value where NumPy has a quicker way than the op's own.
    """
    check_writable(t)
    value = computed(op, inputs, ()) if compute is None else quickly(compute, *map(unwrap, inputs))
    if value.dtype == t.dtype and value.shape == t.shape:
        change(t, op, inputs, (), value)
    else:
        if isinstance(op.numpy, np.ufunc) and op is not ops.matmul:  # NumPy's error where it would not cast
            op.numpy.resolve_dtypes((*map(_dtype, inputs), t.dtype))
        assign(t, perform(op, inputs, ()), casting)


def _dtype(x: Any) -> Any:
    return type(x) if type(x) in WEAK_NUMBERS else np.asarray(unwrap(x)).dtype


def augmented(ufunc: np.ufunc, compute: Any) -> Any:
    """Make the method of `y += z` from a ufunc, and from the operator of Python, which is NumPy's to the last bit.

    What stands for a number, and is no view, is no array: then Python rebinds the name to `y + z`.
    """
    op = UFUNCS[ufunc]

    def call(t: TensorBase, other: Any) -> Any:
        is_number = type(t._value) is not np.ndarray and type(t._link) is not tuple
        if is_number or other is None or isinstance(other, (str, bytes, dict, set)):
            return NotImplemented
        try:
            become(t, op, (t, other if type(other) in PLAIN else as_operand(other)), compute=compute)
        except Exception as error:
            note_user_line(error)
            raise
        return t

    return call


def write_into(self: TensorBase, array: np.ndarray, casting: str = "same_kind") -> np.ndarray:
    """Write a result into a plain array: by elements into an array of objects, else only what carries no gradient.

    Plain integers and truth values are looked at for that, so that a traced function is recorded at each call, or
    once more with a tensor in the place of the array.
    """
    t = self._tapec_read()
    if recordings(t) and t.dtype.kind in "fc":
        if array.dtype != object and may_get_value(t):
            np.copyto(array, t._value, casting=casting)  # type: ignore[arg-type]
            return array
        if array.dtype != object:
            raise detach_error(t, "out")
        if not array.flags.writeable:
            message = "np.asarray(t) of a recorded tensor is read-only. Fix: change t itself, or a copy, np.array(t)"
            raise InPlaceError(at_user_line(message))
        array[...] = np.asarray(t)
        return array
    np.copyto(array, to_array(t), casting=casting)  # type: ignore[arg-type]
    return array


def writable(self: TensorBase) -> TensorBase:
    """Let a view be written, if its base may be."""
    if type(self._value) is np.ndarray and type(self._link) is tuple:
        self._value.flags.writeable = base_of(self)._value.flags.writeable
    return self


def own(self: TensorBase) -> TensorBase:
    """Give a tensor writable memory that it shares with nobody from now on."""
    value = self._value
    if type(self._link) is tuple:
        self._link = made_in(self)
    if type(value) is np.ndarray and not value.flags.writeable:
        self._value = value.copy()
    return self
