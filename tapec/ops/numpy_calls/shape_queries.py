"""Answer questions about shape, type and memory with plain Python values; nothing is recorded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir.types import normalize_axes
from tapec.ops.core.define import as_operand, dtype_of, holds_stand_in, ndim_of, shape_of
from tapec.ops.core.stand_in import ArrayLike, implements
from tapec.ops.core.symbol import is_known

__all__ = ["common_type", "ndim", "result_type", "shape", "size"]


@implements(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return shape_of(as_operand(a))


@implements(np.ndim)
def ndim(a: Any) -> int:
    return ndim_of(as_operand(a))


@implements(np.size)
def size(a: Any, axis: Any = None) -> int:
    found = shape(a)
    return math.prod([found[k] for k in normalize_axes(axis, len(found))])


def _typed(x: Any) -> Any:
    """Return x, or its dtype for a stand-in, where only types matter."""
    if isinstance(x, ArrayLike) or hasattr(type(x), "_tapec_read"):
        return dtype_of(as_operand(x))
    return x


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    return np.result_type(*map(_typed, arrays_and_dtypes))


@implements(np.common_type)
def common_type(*arrays: Any) -> Any:
    return np.common_type(*[np.empty(0, dtype_of(as_operand(a))) for a in arrays])


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    return np.can_cast(_typed(from_), _typed(to), casting)  # type: ignore[arg-type]


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> np.dtype:
    return dtype_of(as_operand(a))


def _value(x: Any) -> Any:
    """The value of a stand-in that has one."""
    if isinstance(x, (list, tuple)) and holds_stand_in(x):
        return [_value(item) for item in x]
    x = as_operand(x)
    return getattr(x, "_value", x) if isinstance(x, ArrayLike) else x


def _told(x: Any) -> Any:
    """The value of a stand-in that becomes a text or a file: a traced function takes note of that."""
    if isinstance(x, (list, tuple)) and holds_stand_in(x):
        return [_told(item) for item in x]
    x = as_operand(x)
    return x._told() if isinstance(x, ArrayLike) else x


@implements(np.shares_memory, np.may_share_memory)
def shares_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    if any([isinstance(x, np.ndarray) and x.dtype == object and holds_stand_in(x.ravel().tolist()) for x in (a, b)]):
        return True  # the elements of a tensor, as np.asarray gives them: whoever asks takes a copy then
    for x in map(as_operand, (a, b)):
        if hasattr(x, "_laid_out"):
            x._laid_out()
    a, b = _value(a), _value(b)
    return a is b or (is_known(a) and is_known(b) and np.shares_memory(a, b, max_work))


@implements(np.isfortran)
def isfortran(a: Any) -> bool:
    a = _value(a)
    return is_known(a) and np.isfortran(a)


@implements(np.array_repr)
def array_repr(arr: Any, *args: Any, **kwargs: Any) -> str:
    return repr(arr)


@implements(np.array_str)
def array_str(a: Any, *args: Any, **kwargs: Any) -> str:
    return np.array_str(_told(a), *args, **kwargs)


@implements(np.array2string)
def array2string(a: Any, *args: Any, **kwargs: Any) -> str:
    return np.array2string(_told(a), *args, **kwargs)


@implements(np.save)
def save(file: Any, arr: Any, *args: Any, **kwargs: Any) -> None:
    np.save(file, _told(arr), *args, **kwargs)


@implements(np.savez)
def savez(file: Any, *args: Any, **kwargs: Any) -> None:
    np.savez(file, *map(_told, args), **{k: _told(v) for k, v in kwargs.items()})


@implements(np.savez_compressed)
def savez_compressed(file: Any, *args: Any, **kwargs: Any) -> None:
    np.savez_compressed(file, *map(_told, args), **{k: _told(v) for k, v in kwargs.items()})


@implements(np.savetxt)
def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:
    np.savetxt(fname, _told(X), *args, **kwargs)
