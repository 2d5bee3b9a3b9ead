"""NumPy's functions on tensors, without going through the handling of their arguments each time.

`np.sum(x, axis=0)` ends in one op, `sum {axis=(0,), keepdims=False}`, whatever the array holds: shape, dtype and the
other arguments decide. The functions that decide take stand-ins of any kind. So they are asked with symbols, which have
no values that an answer could hang on, and the ops that come out are a plan for all operands of these types: from then
on it is computed and recorded at once. A function that looks at values refuses to answer, and is called each time.
"""

from __future__ import annotations

from functools import partial
from marshal import dumps
from types import NoneType
from typing import Any

import numpy as np

from tapec.ops.array import ArrayLike, run
from tapec.ops.define import holds_stand_in
from tapec.ops.layout import RESHAPE, ravel
from tapec.ops.reading import take
from tapec.trace.asking import answer, plan_for
from tapec.trace.by_value import plan_by_value
from tapec.trace.tensor import NUMERIC, Tensor, wrap

__all__ = ["BOUNDS", "INTS", "PLACED", "PLANS", "STATIC", "call", "call_any", "comes_again", "remember", "word_of"]

_ndarray = np.ndarray
_generic = np.generic
INTS = frozenset({int})
BOUNDS = frozenset({int, NoneType})  # of slices
STATIC = frozenset({int, bool, NoneType, type})
PLACED = STATIC - {bool}  # without a name beside it True is taken for 1, which it equals
_BY_MEMORY = frozenset("AKak")  # orders in which it matters how an array lies in memory

PLANS: dict[Any, Any] = {}  # None: it has to be called
_SEEN: set[Any] = set()  # once; a plan is made for what comes again
_MANY = 4096  # both are emptied when they get larger
_COUNTS: dict[Any, int] = {}  # how many plans a function has got for numbers, which may well be others each time
_FEW = 32
_LONG = 64  # lists that are looked through
_SIMPLE = frozenset({int, bool, float, NoneType})
_ROWS = frozenset({list, tuple})
_HOLDING = frozenset({Tensor, _ndarray})  # lists with these in them are no words
_UNKNOWN = object()
_find = PLANS.get


# -- what decides -----------------------------------------------------------------------------------------------------
def call(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Our function of these arguments: by its plan, where there is one."""
    key: list[Any] = [ours]
    operands: list[Any] = []
    values: list[Any] = []
    row: Any = args
    if args and type(args[0]) in _ROWS and args[0] and type(args[0][0]) in _HOLDING:  # np.stack([a, b], axis)
        key += (type(args[0]), len(args[0]))
        row = args[0] if len(args) == 1 else (*args[0], *args[1:])
    for a in row:
        kind = type(a)
        if kind is Tensor:
            value = a._value
        elif kind is _ndarray and a.dtype.kind in NUMERIC:
            value = a
        elif kind is list and ours is take and not holds_stand_in(a):  # which places does not matter
            a = wrap(np.asarray(a))
            value, args = a._value, (args[0], a, *args[2:])
        else:
            if kind not in PLACED:
                a = word_of(a)
                if a is None:
                    return call_any(ours, args, kwargs)
            key.append(a)
            continue
        if type(value) is _ndarray:
            key.append((value.shape, value.dtype))
        elif isinstance(value, _generic):
            key.append(value.dtype)
        else:
            return call_any(ours, args, kwargs)
        operands.append(a)
        values.append(value)
    if kwargs:
        for name, a in kwargs.items():
            kind = type(a)
            if kind not in STATIC:
                value = a._value if kind is Tensor else a
                if type(value) is _ndarray and value.dtype.kind in NUMERIC:
                    operands.append(a)
                    values.append(value)
                    a = value.shape, value.dtype
                else:
                    a = word_of(a)
                    if a is None:
                        return call_any(ours, args, kwargs)
            key.append((name, a))
    found = tuple(key)
    plan = _find(found, _UNKNOWN)
    if plan is _UNKNOWN:
        return _call_unplanned(found, ours, args, kwargs)
    return run(ours, args, kwargs) if plan is None else plan(tuple(operands), values)


def word_of(a: Any) -> Any:
    """What stands in a key for an argument without arrays in it, such that equal ones mean the same; or None.

    Bytes stand for numbers, which may well be others next time.
    """
    kind = type(a)
    if kind is list or kind is tuple:
        if a and type(a[0]) in _HOLDING:  # as most lists are
            return None
        if kind is tuple and INTS.issuperset(map(type, a)):
            return a
        if len(a) > _LONG:
            return None
        if _SIMPLE.issuperset(map(type, a)) or all([type(x) in _SIMPLE or _is_simple_row(x) for x in a]):
            return dumps(a, _NO_REFERENCES)
        words: list[Any] = [kind]
        for x in a:
            words.append((type(x), x) if type(x) in STATIC else word_of(x))
            if words[-1] is None:
                return None
        return tuple(words)
    if kind is str:
        return None if a in _BY_MEMORY else a
    if kind is float:
        return dumps(a, _NO_REFERENCES)
    if kind is bool:
        return kind, a
    if kind is slice and BOUNDS.issuperset((type(a.start), type(a.stop), type(a.step))):
        return dumps((..., a.start, a.stop, a.step), _NO_REFERENCES)
    return a if isinstance(a, np.dtype) else None


def _is_simple_row(a: Any) -> bool:
    return type(a) in _ROWS and len(a) <= _LONG and _SIMPLE.issuperset(map(type, a))


_NO_REFERENCES = 2  # a version of `marshal` in which equal bytes are equal numbers, types and signs of zeros included


# -- arguments of any kind --------------------------------------------------------------------------------------------
def _take(row: Any, key: list[Any], operands: list[Any], values: list[Any]) -> bool:
    """Take arguments one by one, and add to a key what stands for them; False if one has nothing that does."""
    for a in row:
        kind = type(a)
        value = a._value if kind is Tensor else a
        if type(value) is _ndarray and (kind is Tensor or value.dtype.kind in NUMERIC):
            key.append((value.shape, value.dtype))  # as below, for the commonest
            operands.append(a)
            values.append(value)
            continue
        if kind in STATIC:
            key.append((kind, a))
            continue
        word = word_of(a)
        if word is not None:
            key.append(word)
        elif kind is list or kind is tuple:
            key += (kind, len(a))
            if len(a) > _LONG or not _take(a, key, operands, values):
                return False
        else:
            if isinstance(a, ArrayLike):  # a Variable
                a = a._operand()
                value = a._value if type(a) is Tensor else None
            if isinstance(value, (_ndarray, _generic)) and value.dtype.kind in NUMERIC:
                key.append(value.dtype if isinstance(value, _generic) else (value.shape, value.dtype))
                operands.append(a)
                values.append(value)
            else:  # Python's numbers are weak
                return False
    return True


def call_any(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `call`, with numbers, lists and Variables among the arguments."""
    key: list[Any] = [ours, ...]  # told from the keys of the commonest by the second
    operands: list[Any] = []
    values: list[Any] = []
    if not _take(args, key, operands, values):
        return run(ours, args, kwargs)
    for name, a in kwargs.items():
        key.append(name)
        if not _take((a,), key, operands, values):
            return run(ours, args, kwargs)
    found = tuple(key)
    plan = _find(found, _UNKNOWN)
    if plan is _UNKNOWN:
        return _call_unplanned(found, ours, args, kwargs)
    return run(ours, args, kwargs) if plan is None else plan(tuple(operands), values)


def _call_unplanned(key: Any, ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if comes_again(key) and not (bytes in map(type, key) and _are_many(ours)):
        depth = 2 + (... in key[1:2]) + 2 * (type(ours) is partial)  # `call_any`, and for a ufunc's method who found it
        remember(key, _planned(ours, args, kwargs, depth))
    return run(ours, args, kwargs)


def _are_many(ours: Any) -> bool:
    """Are there many plans already of a function for numbers? If it gets others each time, it is called each time."""
    count = _COUNTS[ours] = _COUNTS.get(ours, 0) + 1
    return count > _FEW


# -- making plans -----------------------------------------------------------------------------------------------------
def comes_again(key: Any) -> bool:
    """Shall a plan be made? Not for what comes once, nor where there can be none."""
    if key in PLANS:
        return False
    if key in _SEEN:
        return True
    if len(PLANS) + len(_SEEN) > _MANY:
        PLANS.clear()
        _SEEN.clear()
        _COUNTS.clear()
    _SEEN.add(key)
    return False


def remember(key: Any, plan: Any) -> None:
    PLANS[key] = plan


def _planned(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any], depth: int) -> Any:
    """For `depth` see `plan_of`."""
    found = answer(ours, args, kwargs)
    if found is None:
        return plan_by_value(ours, args, kwargs, depth)
    if ours is ravel and not (found.ops and found.ops[-1].op is RESHAPE):
        return None
    return plan_for(found, ours, args, kwargs, depth)
