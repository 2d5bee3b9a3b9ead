"""Answer a NumPy call that comes again by its plan, without handling its arguments each time.

`np.sum(x, axis=0)` ends in one op, `sum {axis=(0,), keepdims=False}`, whatever the array holds: shape, dtype and the
other arguments decide. The functions that decide take stand-ins of any kind. So they are asked with symbols, which have
no values that an answer could depend on, and the ops that come out are a plan for all operands of these types: from
then on it is computed and recorded at once. A function that looks at values refuses to answer, and is called each time.
"""

from __future__ import annotations

from marshal import dumps
from types import NoneType
from typing import Any

import numpy as np

from tapec.ops.core.stand_in import ArrayLike, gives_views, out_at, run
from tapec.ops.indexing.take import take
from tapec.ops.layout.reshape_and_transpose import RESHAPE, ravel
from tapec.trace import classes, tuning
from tapec.trace.classes import HOLDING, NUMERIC, READABLE, wrap
from tapec.trace.dispatch.plan_steps import plan_of
from tapec.trace.dispatch.probe import answer
from tapec.trace.recording_stack import current

__all__ = [
    "BOUNDS",
    "BY_MEMORY",
    "INTS",
    "NO_REFERENCES",
    "PLACED",
    "PLANS",
    "STATIC",
    "call",
    "comes_again",
    "remember",
    "word_of",
]

_ndarray = np.ndarray
_generic = np.generic
INTS = frozenset({int})
BOUNDS = frozenset({int, NoneType})  # of slices
STATIC = frozenset({int, bool, NoneType, type})
PLACED = STATIC - {bool}  # True equals 1, so a key says which it is
BY_MEMORY = frozenset("AKak")  # orders in which it matters how an array lies in memory

PLANS: dict[Any, Any] = {}  # None: it has to be called
_SEEN: dict[Any, int] = {}  # how often; a plan is made for what comes again
_COUNTS: dict[Any, int] = {}  # how many plans a function has got for numbers, which may well be others each time
_SIMPLE = frozenset({int, bool, float, NoneType})
_ROWS = frozenset({list, tuple})
_find = PLANS.get


# -- what decides -----------------------------------------------------------------------------------------------------
def word_of(a: Any) -> Any:
    """Return the word for an argument without arrays in a key, such that equal words mean the same; None if it has no
    word.

    Bytes stand for numbers, which may well be others next time. No word is a dtype, as that of an array, which stands
    behind its shape, nor `...`, behind which stand keywords.
    """
    kind = type(a)
    if kind is float:
        return dumps(a, NO_REFERENCES)
    if kind is list or kind is tuple:
        if kind is tuple:
            for x in a:
                if type(x) is not int:
                    break
            else:
                return a
        if len(a) > tuning.PLAN_LIST_MAX_LENGTH:
            return None
        for x in a:
            if type(x) not in _SIMPLE:
                break
        else:
            return dumps(a, NO_REFERENCES)
        return _word_of_row(a)
    if kind is str:
        return None if a in BY_MEMORY else a
    if kind is bool:
        return kind, a
    if kind is slice and BOUNDS.issuperset((type(a.start), type(a.stop), type(a.step))):
        return dumps((..., a.start, a.stop, a.step), NO_REFERENCES)
    return (np.dtype, a) if isinstance(a, np.dtype) else None


def _word_of_row(a: Any) -> Any:
    """A list or tuple that holds more than plain numbers."""
    if type(a[0]) in HOLDING:
        return None
    if all([type(x) in _SIMPLE or _is_simple_row(x) for x in a]):
        return dumps(a, NO_REFERENCES)
    words: list[Any] = [type(a)]
    for x in a:
        words.append((type(x), x) if type(x) in STATIC else word_of(x))
        if words[-1] is None:
            return None
    return tuple(words)


def _is_simple_row(a: Any) -> bool:
    return type(a) in _ROWS and len(a) <= tuning.PLAN_LIST_MAX_LENGTH and _SIMPLE.issuperset(map(type, a))


NO_REFERENCES = 2  # a version of `marshal` in which equal bytes are equal numbers, types and signs of zeros included


def _take(row: Any, key: list[Any], operands: list[Any], values: list[Any]) -> bool:
    """Take arguments one by one, and add to a key what stands for them; False if one has nothing that does."""
    for a in row:
        kind = type(a)
        if kind is classes.Tensor:
            value = a._value
        elif kind is _ndarray:
            value = a
        elif kind in PLACED:
            key.append(a)
            continue
        else:
            word = word_of(a)
            if word is not None:
                key.append(word)
                continue
            if kind is list or kind is tuple:
                key.append((kind, len(a)))
                if len(a) > tuning.PLAN_LIST_MAX_LENGTH and type(a[0]) not in HOLDING:
                    return False
                if not _take(a, key, operands, values):
                    return False
                continue
            value = a
            if isinstance(a, ArrayLike):  # a Variable
                a = a._operand()
                value = a._value if type(a) is classes.Tensor else None
        if type(value) is not _ndarray and not isinstance(value, _generic):
            return False  # Python's numbers are weak, and arrays of other classes may be refused
        key.append(value.shape)
        key.append(value.dtype)
        operands.append(a)
        values.append(value)
    return True


def call(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call our function of these arguments: by its plan, where there is one."""
    if "out" in kwargs or len(args) > out_at(ours):
        return run(ours, args, kwargs)
    if ours is take and len(args) > 1 and type(args[1]) is list and INTS.issuperset(map(type, args[1])):
        args = (args[0], wrap(np.array(args[1], np.intp)), *args[2:])  # the key holds how many places, not which
    key: list[Any] = [ours]
    operands: list[Any] = []
    values: list[Any] = []
    known = _take(args, key, operands, values)
    for name, a in kwargs.items():
        key += ..., name
        known = known and _take((a,), key, operands, values)
    found = tuple(key)
    plan = _find(found) if known else None
    if plan is not None:
        return plan(operands, values)
    args, kwargs = _read(args), dict(zip(kwargs, _read(tuple(kwargs.values()))))
    if known and comes_again(found) and all([v.dtype.kind in NUMERIC for v in values]):
        if not (bytes in map(type, found) and _are_many(ours)):
            remember(found, _planned(ours, args, kwargs))
    return run(ours, args, kwargs)


def _read(operands: Any) -> Any:
    """A list or tuple with the values of Variables in their places, also of those in lists and tuples in it."""
    read = []
    for x in operands:
        kind = type(x)
        if kind in READABLE:
            x = x._tapec_read()
        elif (kind is list or kind is tuple) and not READABLE.isdisjoint(map(type, x)):
            x = _read(x)
        read.append(x)
    return type(operands)(read)


def _are_many(ours: Any) -> bool:
    """Return whether a function has many plans for numbers already. A function of ever new numbers is called each
    time."""
    count = _COUNTS[ours] = _COUNTS.get(ours, 0) + 1
    return count > tuning.PLANS_OF_NUMBERS_MAX


# -- making plans -----------------------------------------------------------------------------------------------------
def comes_again(key: Any) -> bool:
    """Return whether to make a plan: not for a call that comes once, nor where there can be none."""
    if key in PLANS:
        return False
    seen = _SEEN.get(key, 0)
    if seen:
        rec = current()
        _SEEN[key] = seen + 1
        return rec is None or rec.trace is None or seen >= tuning.PLAN_MIN_TRACED_CALLS
    if len(PLANS) + len(_SEEN) > tuning.PLANS_MAX:
        PLANS.clear()
        _SEEN.clear()
        _COUNTS.clear()
    _SEEN[key] = 1
    return False


def remember(key: Any, plan: Any) -> None:
    PLANS[key] = plan


def _planned(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = answer(ours, args, kwargs)
    if found is None or (ours is ravel and not (found.ops and found.ops[-1].op is RESHAPE)):
        return None
    return plan_of(found, ours, gives_views(ours) or not kwargs.get("copy", True))
