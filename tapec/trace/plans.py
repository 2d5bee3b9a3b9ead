"""NumPy's functions on tensors, without going through the handling of their arguments each time.

`np.sum(x, axis=0)` ends in one op, `sum {axis=(0,), keepdims=False}`, whatever the array holds: shape, dtype and the
other arguments decide. The functions that decide take stand-ins of any kind. So they are asked with symbols, which have
no values that an answer could hang on, and the ops that come out are a plan for all operands of these types: from then
on it is computed and recorded at once. A function that looks at values refuses to answer, and is called each time.
"""

from __future__ import annotations

from types import NoneType
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Node, Type, input_node
from tapec.ops.array import ArrayLike, gives_views, has_out, run
from tapec.ops.copying import COPY
from tapec.ops.define import holds_stand_in
from tapec.ops.layout import RESHAPE, ravel
from tapec.ops.reading import take
from tapec.ops.symbol import Question
from tapec.trace.own import own_function
from tapec.trace.steps import Answer, Notes, plan_of
from tapec.trace.tensor import NUMERIC, Tensor, wrap

__all__ = ["INTS", "PLACED", "PLANS", "STATIC", "answer", "call", "call_any", "comes_again", "remember", "word_of"]

_ndarray = np.ndarray
_generic = np.generic
INTS = frozenset({int})
STATIC = frozenset({int, bool, NoneType, type})
PLACED = STATIC - {bool}  # without a name beside it True is taken for 1, which it equals
_BY_MEMORY = frozenset("AKak")  # orders in which it matters how an array lies in memory
_SMALL = 4096  # bytes of an array that a plan may keep

PLANS: dict[Any, Any] = {}  # None: it has to be called
_SEEN: set[Any] = set()  # once; a plan is made for what comes again
_MANY = 4096  # both are emptied when they get larger
_COUNTS: dict[Any, int] = {}  # how many plans a function has got for numbers, which may well be others each time
_FEW = 32
_LONG = 64  # lists that are looked through
_BOUNDS = frozenset({int, NoneType})
_SIMPLE = frozenset({int, bool, float})
_HOLDING = frozenset({Tensor, _ndarray})  # lists with these in them are no words
_find = PLANS.get


# -- what decides -----------------------------------------------------------------------------------------------------
def call(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Our function of these arguments: by its plan, where there is one."""
    key: list[Any] = [ours]
    operands: list[Any] = []
    values: list[Any] = []
    row: Any = args
    if args and (type(args[0]) is list or type(args[0]) is tuple):  # np.stack([a, b], axis)
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
            if type(a) not in STATIC:
                a = word_of(a)
                if a is None:
                    return call_any(ours, args, kwargs)
            key.append((name, a))
    found = tuple(key)
    plan = _find(found)
    if plan is not None:
        return plan(tuple(operands), values)
    return _call_unplanned(found, ours, args, kwargs)


def word_of(a: Any) -> Any:
    """What stands in a key for an argument without arrays in it, such that equal ones mean the same; or None."""
    kind = type(a)
    if kind is Tensor or kind is _ndarray:
        return None
    if kind is bool:
        return kind, a
    if kind is str:
        return None if a in _BY_MEMORY else a
    if kind is tuple and INTS.issuperset(map(type, a)):
        return a
    if kind is float:
        return _number(Number, (kind, a if a else repr(a)))  # zeros have signs
    if kind is list or kind is tuple:
        kinds = tuple(map(type, a))
        if len(a) > _LONG or not _HOLDING.isdisjoint(kinds):
            return None
        if INTS.issuperset(kinds):
            return _number(Number, (kind, *a))
        if _SIMPLE.issuperset(kinds) and 0 not in a:
            return _number(Number, (kind, kinds, *a))
        words = [(type(x), x) if type(x) in STATIC else word_of(x) for x in a]
        return None if any([w is None for w in words]) else _number(Number, (kind, *words))
    if kind is slice and _BOUNDS.issuperset((type(a.start), type(a.stop), type(a.step))):
        return _number(Number, (kind, a.start, a.stop, a.step))
    return a if isinstance(a, np.dtype) else None


class Number(tuple):
    """Stands for numbers, which may well be others next time."""

    __slots__ = ()


_number: Any = tuple.__new__


# -- arguments of any kind --------------------------------------------------------------------------------------------
class _Arguments:
    """Takes arguments one by one, and makes a key of them, or says that they have none."""

    __slots__ = ("key", "operands", "unread")

    def __init__(self, ours: Any):
        self.key: list[Any] = [ours, ...]  # told from the keys of the commonest by the second
        self.operands: list[Any] = []
        self.unread = False

    def take(self, a: Any) -> bool:
        kind = type(a)
        if kind is Tensor or kind is _ndarray:
            value = a._value if kind is Tensor else a
            if type(value) is not _ndarray or value.dtype.kind not in NUMERIC:
                return self.operand(a)
            self.key.append((value.shape, value.dtype))  # as `operand` has it, for the commonest
            self.operands.append(a)
            return True
        word = (kind, a) if kind in STATIC else word_of(a)
        if word is not None:
            self.key.append(word)
            return True
        if kind is list or kind is tuple:
            self.key += (kind, len(a))
            return len(a) <= _LONG and all([self.take(item) for item in a])
        return self.operand(a)

    def operand(self, a: Any) -> bool:
        if type(a) is Tensor:
            a_type = _type_of(a._value)
        elif isinstance(a, ArrayLike):  # a Variable
            self.unread = True
            a_type = (a.shape, a.dtype) if a.shape else a.dtype
        else:
            a_type = _type_of(a)
        self.key.append(a_type)
        self.operands.append(a)
        return a_type is not None


def _type_of(value: Any) -> Any:
    """The type of an array, or of a number of NumPy's; None for those of Python, which are weak, and all else."""
    if not isinstance(value, (_ndarray, _generic)) or value.dtype.kind not in NUMERIC:
        return None
    if type(value) is _ndarray:
        return value.shape, value.dtype
    return value.dtype if isinstance(value, _generic) else None


def call_any(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `call`, with numbers, lists and Variables among the arguments."""
    given = _Arguments(ours)
    if not all([given.take(a) for a in args]):
        return run(ours, args, kwargs)
    for name, a in kwargs.items():
        given.key.append(name)
        if not given.take(a):
            return run(ours, args, kwargs)
    key = tuple(given.key)
    plan = _find(key)
    if plan is None:
        return _call_unplanned(key, ours, args, kwargs)
    if not given.unread:
        return plan(tuple(given.operands), [x._value if type(x) is Tensor else x for x in given.operands])
    read = tuple([x._operand() if isinstance(x, ArrayLike) else x for x in given.operands])
    if any([isinstance(x, ArrayLike) and type(x) is not Tensor for x in read]):
        return run(ours, args, kwargs)
    return plan(read, [x._value if type(x) is Tensor else x for x in read])


def _call_unplanned(key: Any, ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if comes_again(key) and not (any([type(k) is Number for k in key]) and _are_many(ours)):
        remember(key, _planned(ours, args, kwargs))
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


def _planned(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = answer(ours, args, kwargs)
    if found is None or (ours is ravel and not (found.ops and found.ops[-1].op is RESHAPE)):
        return None
    return plan_of(found, ours, gives_views(ours), lambda: own_function(found, ours, args, kwargs))


def answer(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Answer | None:
    """Ask our function with symbols; None where they are not enough, or where the answer goes into an array."""
    if "out" in kwargs or has_out(ours, args):
        return None
    builder = Notes()
    inputs: list[Node] = []

    def asked(a: Any) -> Any:
        if type(a) in (list, tuple):
            return type(a)(map(asked, a))
        if not isinstance(a, (ArrayLike, _ndarray, _generic)):
            return a
        inputs.append(input_node(f"x{len(inputs)}", Type(a.shape, a.dtype)))
        return Question(inputs[-1], builder)

    try:
        symbols = tuple(map(asked, args))
        result = ours(*symbols, **{name: asked(a) for name, a in kwargs.items()})
        if symbols and result is symbols[0] and not gives_views(ours) and kwargs.get("copy", True):
            result = result._apply(COPY, (result,), ())
    except Exception:  # the call itself raises it again
        return None
    several = isinstance(result, (list, tuple))
    results = list(result) if several else [result]
    if not results or any(type(r) is not Question for r in results):
        return None
    constants = [n for n in builder.nodes if n.op is CONSTANT]
    ops = [n for n in builder.nodes if n.op is not CONSTANT]
    if any(n.op.kind == "dynamic" for n in ops) or any(getattr(n.value, "nbytes", 0) > _SMALL for n in constants):
        return None
    if any(_asks(value) for n in ops for _, value in n.params):  # np.std(x, ddof=np.int64(1))
        return None
    ends = [r.node for r in results]
    if not set(ends) <= {*inputs, *ops} or len(set(ends)) < len(ends):
        return None
    return Answer(inputs, constants, ops, ends, type(result) if several else None)


def _asks(value: Any) -> bool:
    """Does a parameter hang on a value?"""
    return type(value) is Question or (type(value) is tuple and any(map(_asks, value)))
