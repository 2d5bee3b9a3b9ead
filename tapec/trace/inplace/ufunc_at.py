"""Record `np.add.at(t, index, x)` and its kin: contributions to one place are put together first.

So an index counts as often as it comes, and the change is one of the whole tensor: `t += gathered`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir.types import NUMBERS
from tapec.ops.core.stand_in import UFUNCS
from tapec.ops.indexing.getitem_and_scatter import GETITEM, SCATTER
from tapec.ops.layout.reshape_and_transpose import BROADCAST_TO
from tapec.trace import classes
from tapec.trace.classes import NUMERIC, PLAIN, TensorBase, wrap
from tapec.trace.dispatch.getitem import SLOTS, encoded
from tapec.trace.inplace.assign import become
from tapec.trace.perform import record
from tapec.trace.recording_stack import current

__all__ = ["gathered"]

_ndarray = np.ndarray
_TOGETHER: dict[Any, tuple[float, Any]] = {  # what changes nothing, and how several at one place are put together
    np.add: (-0.0, np.add),
    np.subtract: (0.0, np.add),
    np.multiply: (1.0, np.multiply),
    np.maximum: (-np.inf, np.maximum),
    np.minimum: (np.inf, np.minimum),
}


def gathered(t: TensorBase, ufunc: Any, index: Any, x: Any) -> bool:
    """Do `ufunc.at(t, index, x)` as one update, if one tape records and that can be; return whether it was done.

    Where it was not done, nothing has changed.
    """
    rec, value, v = current(), t._value, x._value if type(x) is classes.Tensor else x
    way = _TOGETHER.get(ufunc)
    if rec is None or rec.only_log is None or way is None or type(value) is not _ndarray:
        return False
    neutral, together = way
    if type(v) not in PLAIN and (type(v) is not _ndarray or v.dtype.kind not in NUMERIC):
        return False
    found = encoded(t, index) if type(x) is not classes.Tensor or together is np.add else None
    if found is None or found[0] is not GETITEM:
        return False
    _, params, arrays, real = found
    dtype = np.result_type(value, v)  # several at one place are put together in it
    try:
        if type(v) not in NUMBERS and v.dtype != dtype:
            x = x.astype(dtype)
            v = x._value if type(x) is classes.Tensor else x
        whole: Any = np.empty(value.shape, value.dtype if type(v) in NUMBERS else v.dtype)
        whole.fill(neutral)
        together.at(whole, real, v)
        if type(x) is classes.Tensor:
            shape = _part_shape(value, real, params[0][1], arrays)
            if v.shape != shape:
                wide = wrap(np.empty(shape, v.dtype))
                wide._value[...] = v
                record(rec, BROADCAST_TO, (x,), (("shape", shape),), wide)
                x = wide
        whole = wrap(whole)  # nobody else has it, so what it holds need not be remembered
        if type(x) is classes.Tensor:
            record(rec, SCATTER, (x, *arrays), (("shape", value.shape), *params), whole)
        become(t, UFUNCS[ufunc], (t, whole))
    except Exception:  # whatever refuses: the long way raises it again with the user's line
        return False
    return True


def _part_shape(value: np.ndarray, index: Any, static: tuple[Any, ...], arrays: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape of `value[index]`, which need not be taken where the index is arrays of one shape."""
    if arrays and static == SLOTS[: len(arrays)]:
        shapes = {a.shape for a in arrays}
        if len(shapes) == 1:
            return (*shapes.pop(), *value.shape[len(arrays) :])
    return value[index].shape
