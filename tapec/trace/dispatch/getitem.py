"""Read elements and slices of tensors: `x[i]`, with all that an index may hold.

NumPy itself takes the part. What is recorded is the index with its static parts apart from its arrays, as `getitem` has
it. What is rare goes the long way, where also stands what is wrong with an index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import note_user_line
from tapec.ir import Op
from tapec.ir.static_index import Slice, Slot
from tapec.ops.core.stand_in import METHODS, run
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, GETITEM
from tapec.ops.indexing.take import NONZERO
from tapec.trace import classes
from tapec.trace.classes import TensorBase, wrap
from tapec.trace.dispatch.call_plans import BOUNDS, INTS, PLANS, comes_again, remember
from tapec.trace.dispatch.probe import answer
from tapec.trace.inplace.shared_memory import share
from tapec.trace.perform import record
from tapec.trace.recording_stack import current
from tapec.tracebacks import shorten

__all__ = ["BY_PLACES", "SLOTS", "encoded", "getitem", "nonzero"]

_new = object.__new__
_new_slice = tuple.__new__
_ndarray = np.ndarray
_FLAGS = frozenset({bool})
_NUMPY_INTS = frozenset(np.dtype(c).type for c in "bhilqBHILQ")
SLOTS = tuple([Slot(k) for k in range(64)])
BY_PLACES = (("index", (Slot(0),)),)
_BY_PAIRS = (("index", (Slot(0), Slot(1))),)
_BY_COLUMNS = (("index", (FULL_SLICE, Slot(0))),)
_BY_MASK = [(("index", SLOTS[:n]), ("unique", True)) for n in range(65)]  # of so many axes
_ALL: Any = (GETITEM, (), (), ...)  # the array itself
_item = METHODS["__getitem__"]


def getitem(self: TensorBase, index: Any) -> Any:
    """Return `self[index]`: NumPy itself takes the part, and says what is wrong with an index."""
    value, kind = self._value, type(index)
    if type(value) is not _ndarray:
        return run(_item, (self, index), {})
    arrays: Any = ()
    if kind is int:
        op, params = GETITEM, (("index", (index,)),)
    elif kind is tuple:
        if index and type(index[0]) is int and INTS.issuperset(map(type, index)):
            op, params = GETITEM, (("index", index),)
        else:
            found = _encoded(self, value, index)
            if found is None:
                return run(_item, (self, index), {})
            if found is _ALL:
                return self
            op, params, arrays, index = found
    elif kind is slice:
        start, stop, step = index.start, index.stop, index.step
        if not (type(start) in BOUNDS and type(stop) in BOUNDS and type(step) in BOUNDS):
            return run(_item, (self, index), {})
        if start is None and stop is None and step is None:
            return self
        op, params = GETITEM, (("index", (_new_slice(Slice, (start, stop, step)),)),)
    elif kind is _ndarray and index.dtype.kind == "i":
        op, params, arrays = GETITEM, BY_PLACES, (index,)
    elif kind is _ndarray and index.dtype.kind == "b" and index.ndim and index.shape == value.shape[: index.ndim]:
        op, params, arrays = GETITEM, _BY_MASK[index.ndim], _places(index)
    else:
        found = _encoded_one(self, value, index)
        if found is None:
            return run(_item, (self, index), {})
        if found is _ALL:
            return self
        op, params, arrays, index = found
    out = _new(classes.Tensor)
    try:
        part = out._value = value[index]
    except Exception as error:  # whatever refuses: the long way knows tensors among the places
        if arrays:
            return run(_item, (self, index), {})
        note_user_line(error)
        shorten(error)
        raise
    out._mark = out._link = None
    rec = current()
    if rec is not None:
        record(rec, op, (self, *arrays), params, out)
    if type(part) is _ndarray:
        if not part.ndim:
            out._value = part[()]
        if not arrays or _looks_into(part, value):  # numbers among the places may be tensors, and the part still a view
            share(out, self, ((op, params, arrays),))
    return out


def _looks_into(part: np.ndarray, value: np.ndarray) -> bool:
    owner = part.base
    return owner is not None and (owner is value or owner is value.base)


# -- what an index says -----------------------------------------------------------------------------------------------
# The op, its parameters, the index arrays, and the index as NumPy takes it; None for what is rare, which goes the long
# way.
_Encoded = tuple[Op, Any, tuple[Any, ...], Any] | None


def encoded(x: TensorBase, index: Any) -> _Encoded:
    """Return what an index says of an array."""
    return _encoded(x, x._value, index) if type(index) is tuple else _encoded_one(x, x._value, index)


def _encoded_one(x: TensorBase, value: np.ndarray, index: Any) -> _Encoded:
    """Return what an index says that is no tuple."""
    a = _array(index)
    if a is None:
        return _encoded(x, value, (index,))
    held = a._value if type(a) is classes.Tensor else a
    if held.dtype.kind != "b":
        return GETITEM, BY_PLACES, (a,), held
    if held.shape != value.shape[: held.ndim]:
        return None
    return GETITEM, _BY_MASK[held.ndim], _places(a) if a is index else a.nonzero(), held


def _encoded(x: TensorBase, value: np.ndarray, index: Any) -> _Encoded:
    if len(index) == 2 and type(index[1]) is _ndarray and index[1].dtype.kind == "i":  # the commonest
        rows, columns = index
        if type(rows) is _ndarray and rows.dtype.kind == "i":
            return GETITEM, _BY_PAIRS, index, index
        if type(rows) is slice and rows.start is None and rows.stop is None and rows.step is None:
            return GETITEM, _BY_COLUMNS, (columns,), index
    static: list[Any] = []
    arrays: list[Any] = []
    real: list[Any] = []  # what NumPy takes
    spread = False  # with new axes, or `...`
    masks = lists = 0
    for p in index:
        kind = type(p)
        if kind is slice:
            start, stop, step = p.start, p.stop, p.step
            if start is None and stop is None and step is None:
                static.append(FULL_SLICE)
            elif (
                (start is None or type(start) is int)
                and (stop is None or type(stop) is int)
                and (step is None or type(step) is int)
            ):
                static.append(_new_slice(Slice, (start, stop, step)))
            else:
                return None
        elif kind is int:
            static.append(p)
        elif kind is _ndarray and p.dtype.kind == "i":
            lists += 1
            static.append(SLOTS[len(arrays)])
            arrays.append(p)
        elif p is None or p is Ellipsis:
            spread = True
            static.append(p)
        elif kind is list and p and INTS.issuperset(map(type, p)):
            lists += 1
            p = np.array(p)
            static.append(SLOTS[len(arrays)])
            arrays.append(p)
        elif kind in _NUMPY_INTS:
            static.append(int(p))
        else:
            a = _array(p)
            if a is None:
                return None
            own, p = p, a._value if type(a) is classes.Tensor else a
            if p.dtype.kind != "b":
                lists += 1
                static.append(SLOTS[len(arrays)])
                arrays.append(a)
            else:
                masks += 1
                axis = len(static)
                if spread or p.shape != value.shape[axis : axis + p.ndim]:
                    return None
                for place in _places(a) if a is own else a.nonzero():
                    static.append(SLOTS[len(arrays)])
                    arrays.append(place)
        real.append(p)
    if spread and not arrays:
        return _spread(x, value, index, static)
    while len(static) > 1 and static[-1] is FULL_SLICE and not spread:
        static.pop()
    if not arrays:
        if len(static) == 1 and static[0] is FULL_SLICE:
            return _ALL if len(index) <= value.ndim else None
        return GETITEM, (("index", tuple(static)),), (), index
    params: Any = (("index", tuple(static)),)
    if masks == 1 and not lists:
        params = (*params, ("unique", True))
    return GETITEM, params, tuple(arrays), tuple(real)


def _array(p: Any) -> Any:
    """Return an index array as it is recorded; None for what is rare."""
    kind = type(p)
    value = p
    if kind is classes.Tensor:
        value = p._value
        if type(value) is not _ndarray:
            return p if isinstance(value, np.integer) else None
    elif (kind is list or kind is tuple) and p and (INTS.issuperset(map(type, p)) or _FLAGS.issuperset(map(type, p))):
        return np.array(p)
    elif kind is not _ndarray:
        return None
    code = value.dtype.kind
    return p if code == "i" or (code == "b" and value.ndim) or code == "u" else None


def _places(mask: Any) -> tuple[Any, ...]:
    """Return where a mask is true; for a recorded mask this is recorded."""
    if type(mask) is classes.Tensor:
        return _recorded_places(mask)
    rec = current()
    log = None if rec is None else rec.only_log
    return mask.nonzero() if log is None else log.places(mask)


def _spread(x: TensorBase, value: np.ndarray, index: Any, static: list[Any]) -> _Encoded:
    """Return what an index with new axes or `...` says, without arrays: often another shape for the whole array."""
    key = (_item, value.shape, *static)
    part: Any = PLANS.get(key)
    if part is None and comes_again(key):
        found = answer(_item, (x, index), {})
        if found is not None and found.is_one:
            part = found.results[0].op, found.results[0].params, (), index
        elif found is not None and found.results == found.inputs:
            part = _ALL
        remember(key, part)
    return part


# -- where an array is not zero ---------------------------------------------------------------------------------------
def nonzero(self: TensorBase) -> Any:
    """Return what `numpy.ndarray.nonzero` returns."""
    if type(self._value) is not _ndarray:
        return run(METHODS["nonzero"], (self,), {})
    return _recorded_places(self)


def _recorded_places(t: TensorBase) -> tuple[TensorBase, ...]:
    places = tuple(map(wrap, t._value.nonzero()))
    rec = current()
    if rec is not None:
        record(rec, NONZERO, (t,), (), places)
    return places
