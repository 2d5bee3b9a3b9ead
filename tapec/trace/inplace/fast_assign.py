"""Change tensors in place where no view, tape or snapshot stands in the way.

The tensor was computed on the one tape that records, or nobody watches it; or it is itself a part of such a tensor
(`y[i] += v`). Where that does not hold, or NumPy would refuse, a function here changes nothing and returns False;
`inplace/assign.py` then goes the general way, and raises the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import setitem
from typing import Any

import numpy as np

from tapec.ir import Op
from tapec.ir.static_index import Slice
from tapec.ir.types import NUMBERS
from tapec.ops.control.select_and_call import WHERE
from tapec.ops.core.stand_in import ArrayLike
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM, real_index
from tapec.ops.indexing.setitem import SETITEM
from tapec.ops.layout.copies import COPY
from tapec.ops.layout.reshape_and_transpose import BROADCAST_TO
from tapec.trace import classes, tuning
from tapec.trace.classes import NUMERIC, PLAIN, TensorBase, raw_value, unwrap
from tapec.trace.dispatch.call_plans import BOUNDS
from tapec.trace.dispatch.getitem import BY_PLACES, SLOTS, encoded
from tapec.trace.inplace.shared_memory import Views, base_of, is_shown
from tapec.trace.inplace.views import expire
from tapec.trace.log import Log
from tapec.trace.perform import as_seen, record
from tapec.trace.recording_stack import Recorder, current

__all__ = [
    "are_same",
    "chosen",
    "forget_unread",
    "is_whole",
    "placed",
    "recorder_of",
    "replaced",
    "update",
    "updated",
    "written",
]

_new = object.__new__
_new_slice = tuple.__new__
_ndarray = np.ndarray


# -- may it be changed at once? ---------------------------------------------------------------------------------------
def recorder_of(t: TensorBase) -> Recorder | None:
    """The recordings, if they are one tape, and it has computed this tensor or does not know it."""
    rec, value = current(), t._value
    if rec is None or rec.append is None or rec.trace is not None:
        return None
    if type(value) is not _ndarray or not value.flags.writeable:
        return None
    if t._mark is None:
        return rec
    if t._mark is not rec.mark:
        return None
    records = rec.log.records
    return rec if (records and records[-1][3] is t) or _made(rec, t) else None  # mostly it was made last


def _made(rec: Recorder, t: TensorBase) -> bool:
    """Return whether a tensor was computed on this tape.

    The last records are asked first: that spares scanning the log each time.
    """
    for entry in rec.log.records[:-9:-1]:
        if entry[3] is t:
            return True
    return rec.log.made(t)


def _may_change(t: TensorBase, rec: Recorder) -> bool:
    """Return whether a tensor may change in place here: it is no view, or a plain one of a tensor that may change.

    A view of it that somebody else watches forbids that.
    """
    link = t._link
    if link is None:
        return True
    if type(link) is tuple:
        return _is_plain_view(t)
    if type(link) is not Views or link.made is not None or (link.arrays and is_shown(t)):
        return False
    for reference in link.refs:
        view = reference()
        if view is not None and view._mark is not None:
            if view._mark is not rec.mark or not _made(rec, view):
                return False
    return True


def _is_plain_view(t: TensorBase) -> bool:
    """Return whether a tensor was taken by one index from a tensor that may change."""
    base, steps = t._link[:2]
    if len(t._link) > 2 or len(steps) != 1 or steps[0][0] is not GETITEM:
        return False
    rec = recorder_of(base)
    return rec is not None and _may_change(base, rec)


def _operand(x: Any, rec: Recorder) -> Any:
    """The operand as it is recorded; None where that is not plain."""
    kind = type(x)
    if kind is classes.Tensor or kind in PLAIN:
        return x
    if isinstance(x, ArrayLike):  # a Variable
        read = x._operand()
        return read if type(read) is classes.Tensor else None
    return rec.log.seen(x) if kind is _ndarray and x.dtype.kind in NUMERIC else None


# -- changes ----------------------------------------------------------------------------------------------------------
def updated(t: TensorBase, op: Op, compute: Any, other: Any) -> bool:
    """Do `t += other`, where the result has the dtype and shape of the tensor; return whether it was done."""
    rec = recorder_of(t)
    x = None if rec is None else _operand(other, rec)
    return x is not None and update(rec, t, op, compute, x)  # type: ignore[arg-type]


def update(rec: Recorder, t: TensorBase, op: Op, compute: Any, x: Any) -> bool:
    """The same with an operand as it is recorded, where it is known what records."""
    if not _may_change(t, rec):
        return False
    value = t._value
    try:
        new = compute(value, x._value if type(x) is classes.Tensor else x)
    except Exception:  # whatever refuses: nothing has changed, and the long way raises it again with the user's line
        return False
    if type(new) is not _ndarray or new.dtype != value.dtype or new.shape != value.shape:
        return False
    _renew(rec, t, op, (t, x), (), new)
    return True


def _renew(
    rec: Recorder,
    t: TensorBase,
    op: Op,
    inputs: tuple[Any, ...],
    params: Any,
    new: Any,
    part: TensorBase | None = None,
) -> TensorBase:
    """Let the tensor `t` stand for the value `new` from now on, and record that; return a tensor for the old value.

    If `t` is a view, its base gets a new array too. If it is a base, its views are stale, except `part`, which has the
    new value already.
    """
    before = _new(classes.Tensor)
    before._value = t._value
    before._mark = t._mark
    before._link = None
    t._value = new
    record(rec, op, inputs, params, t, before)
    if t._link is not None:
        if type(t._link) is tuple:
            _carry(rec, t)
        else:
            expire(t, part)
    return before


def _carry(rec: Recorder, view: TensorBase) -> None:
    """Give the base of a view that has changed a new array, of which the view is a part."""
    base, ((_, params, places),) = view._link[:2]
    whole = base._value.copy("K")
    part = whole[real_index(params[0][1], tuple(map(unwrap, places)))]
    part[...] = view._value
    view._value = part
    _renew(rec, base, SETITEM, (base, view, *places), params, whole, view)


def written(t: TensorBase, index: Any, value: Any) -> bool:
    """Do `t[index] = value`; return whether it was done."""
    rec = recorder_of(t)
    if rec is None:
        return False
    if type(value) is classes.Tensor and type(value._link) is tuple and value._link[0] is t:
        return is_part(value, t, index)  # `t[index] += w` has changed it already
    if type(t._link) is tuple and isinstance(value, TensorBase) and base_of(value) is t._link[0]:
        return False
    code = index.dtype.kind if type(index) is _ndarray else ""
    static = None if code else _static_index(index)
    x = _operand(value, rec) if _may_change(t, rec) else None
    if x is None:
        return False
    params: Any = (("index", static),)
    arrays: Any = ()
    is_mask = code == "b" or (type(index) is classes.Tensor and index.dtype.kind == "b")
    if is_mask and _is_one(x):
        return _masked(rec, t, index, x)
    if code == "i":
        params, arrays = BY_PLACES, (rec.log.seen(index),)
    elif static is None:
        if is_whole(index):
            return _replace(rec, t, x)
        found = encoded(t, index, False)
        if found is None or found[0] is not GETITEM or not found[1]:
            return False
        _, params, arrays, index, theirs = found
        arrays = as_seen(rec, arrays) if theirs else arrays
    return _written(rec, t, x, arrays, params, index)


def is_part(view: TensorBase, t: TensorBase, index: Any) -> bool:
    """Return whether a view of a tensor was taken from it by this index, in one step."""
    steps = view._link[1]
    if len(steps) != 1 or steps[0][0] is not GETITEM:
        return False
    _, params, places = steps[0]
    static = () if places else _static_index(index)
    if static:
        return params == (("index", static),)
    found = encoded(t, index, False)
    return found is not None and found[1] == params and are_same(found[2], places)


def are_same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all([x is y for x, y in zip(a, b)])


def placed(t: TensorBase, arrays: tuple[np.ndarray, ...], value: Any, flat: Any = None) -> bool:
    """Do `t[arrays] = value`, with arrays of places along all axes that nobody else knows; return whether it was
    done."""
    rec = recorder_of(t)
    x = _operand(value, rec) if rec is not None and _may_change(t, rec) else None
    if x is None:
        return False
    index, store = (arrays, setitem) if flat is None else (flat, _flat_setitem if type(flat) is slice else _ndarray.put)
    return _written(rec, t, x, arrays, (("index", SLOTS[: len(arrays)]),), index, store)  # type: ignore[arg-type]


def _flat_setitem(array: np.ndarray, index: slice, value: Any) -> None:
    array.flat[index] = value


def _written(
    rec: Recorder,
    t: TensorBase,
    x: Any,
    arrays: tuple[Any, ...],
    params: Any,
    index: Any,
    store: Callable[..., Any] = setitem,
) -> bool:
    new = t._value.copy("K")
    try:
        store(new, index, x._value if type(x) is classes.Tensor else x)
    except Exception:  # as above; only the copy may have changed
        return False
    before = _renew(rec, t, SETITEM, (t, x, *arrays), params, new)
    if type(t._link) is not tuple:
        forget_unread(rec, t, before)
    return True


def chosen(t: TensorBase, mask: Any, x: Any) -> bool:
    """Write values where a mask is true, if that is quick, and return whether it was done.

    The values have the dtype of the tensor, and need not repeat.
    """
    rec = recorder_of(t)
    if rec is None or not _may_change(t, rec):
        return False
    value, m = t._value, mask._value if type(mask) is classes.Tensor else mask
    v = x._value if type(x) is classes.Tensor else x
    if type(m) is not _ndarray or m.dtype.kind != "b" or m.shape != value.shape:
        return False
    if type(v) not in PLAIN and (type(v) is not _ndarray or v.shape != value.shape):
        return False
    try:
        new = _where(m, v, value)
    except Exception:  # as above
        return False
    if new.dtype != value.dtype:
        return False
    mask = rec.log.seen(m) if m is mask else mask
    _renew(rec, t, WHERE, (mask, rec.log.seen(x) if type(x) is _ndarray else x, t), (), new)
    return True


_where = np.where


def is_whole(index: Any) -> bool:
    """Return whether an index is `...` or `:`, without comparing the bounds of slices, which may be arrays."""
    if type(index) is slice:
        return index.start is None and index.stop is None and index.step is None
    return index is Ellipsis


def _is_one(x: Any) -> bool:
    v = x._value if type(x) is classes.Tensor else x
    return type(v) is not _ndarray or v.size == 1


def _masked(rec: Recorder, t: TensorBase, mask: Any, x: Any) -> bool:
    """A number at the places of a mask: a selection, whose shape does not depend on values."""
    value = t._value
    kind = type(x)
    v = float(x) if kind is int else x._value if kind is classes.Tensor else x
    if not (value.dtype.kind == "f" if type(v) is float else isinstance(v, np.generic) and v.dtype == value.dtype):
        return False
    if mask.shape == value.shape:
        wide = mask if type(mask) is classes.Tensor else rec.log.seen(mask)
    elif type(mask) is _ndarray and mask.ndim and mask.shape == value.shape[: mask.ndim]:
        wide = mask.copy().reshape(mask.shape + (1,) * (value.ndim - mask.ndim))
    else:
        return False
    new = value.copy("K")
    new[mask._value if type(mask) is classes.Tensor else mask] = v
    _renew(rec, t, WHERE, (wide, x if kind is classes.Tensor else v, t), (), new)
    return True


def _static_index(index: Any) -> tuple[Any, ...] | None:
    """An index of ints and slices, as it is recorded; None for others, and for the whole array."""
    if type(index) is int:
        return (index,)
    static: list[Any] = []
    for p in index if type(index) is tuple else (index,):
        if type(p) is slice:
            start, stop, step = p.start, p.stop, p.step
            if start is None and stop is None and step is None:
                p = FULL_SLICE
            elif type(start) in BOUNDS and type(stop) in BOUNDS and type(step) in BOUNDS:
                p = _new_slice(Slice, (start, stop, step))
            else:
                return None
        elif type(p) is not int:
            return None
        static.append(p)
    while static and static[-1] is FULL_SLICE:
        static.pop()
    return tuple(static) or None


def replaced(t: TensorBase, x: Any) -> bool:
    """Replace all elements by those of another tensor or plain array of the same dtype, or by one number.

    Return whether it was done.
    """
    rec = recorder_of(t)
    x = _operand(x, rec) if rec is not None and _may_change(t, rec) else None
    return x is not None and _replace(rec, t, x)  # type: ignore[arg-type]


def _replace(rec: Recorder, t: TensorBase, x: Any) -> bool:
    if x is t:
        return True
    value, given = t._value, x._value if type(x) is classes.Tensor else x
    if (type(x) not in _REAL or value.dtype.kind not in "fc") if type(given) in NUMBERS else given.dtype != value.dtype:
        return False
    new = np.empty_like(value)
    try:
        new[...] = given
    except (ArithmeticError, ValueError):  # the long way knows what may be left out of a shape, and what is wrong
        return False
    op: Op = COPY
    params: Any = ()
    if type(x) is not classes.Tensor:
        x = x if type(x) is _ndarray and x.shape == value.shape else new  # as it comes to all elements
    elif given.shape != value.shape:
        if given.ndim > value.ndim:
            return False
        op, params = BROADCAST_TO, (("shape", value.shape),)
    _renew(rec, t, op, (x,), params, new)
    return True


_REAL = frozenset({int, float})


# -- what need not be kept --------------------------------------------------------------------------------------------
def forget_unread(rec: Recorder, t: TensorBase, before: TensorBase) -> None:
    """Let go of the array that a tensor held between its last two writes, if no rule reads it.

    Reading elements does not count. So a loop of writes keeps one array, not one for each. Where the log lacks values,
    the array is kept: those may be computed again from it.
    """
    is_recorded = before._mark is not None  # otherwise no record made it
    if is_recorded and not rec.log.lacks_values and _is_unread(rec.log.records, t):
        if before._value.nbytes >= tuning.PARTS_COPIED_MIN_BYTES:
            _copy_parts(rec.log, t, before._value)
        before._value = _blank(t._value.dtype, t._value.shape)


def _copy_parts(log: Log, t: TensorBase, whole: np.ndarray) -> None:
    """Give parts read of a tensor since its last write memory of their own, where that is less than to keep the
    whole."""
    for entry in log.records[-2 : -tuning.UNREAD_MAX_RECORDS - 2 : -1]:
        out = entry[3]
        if out is t:
            return
        part = raw_value(out) if isinstance(out, TensorBase) else None
        if type(part) is _ndarray and part.base is whole and part.nbytes < whole.nbytes:
            log.replace(out, part.copy())


def _is_unread(records: list[Any], t: TensorBase) -> bool:
    """The rule of the op that made it may ask for it, too: that of a quotient does."""
    k = len(records) - 2
    end = k - tuning.UNREAD_MAX_RECORDS if k > tuning.UNREAD_MAX_RECORDS else -1
    while k > end:
        entry = records[k]
        if entry[3] is t:
            return len(entry) == 7 and (entry[0].kind in _BLIND or entry[0].name in _SIMPLE)
        for x in entry[1][entry[0].kind in _BLIND :]:
            if x is t:
                return False
        k -= 1
    return False


_BLIND = ("indexing", "layout", "guard")  # kinds of ops whose derivatives ask neither for the first operand's value
_SIMPLE = ("add", "subtract", "multiply", "where")  # nor for their own; these ask for operands


@lru_cache(maxsize=256)
def _blank(dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Stands for a value of which the type is all that is asked for."""
    return np.broadcast_to(np.zeros((), dtype), shape)
