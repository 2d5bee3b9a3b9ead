"""NumPy's functions on tensors, without going through the handling of their arguments each time.

`np.sum(x, axis=0)` ends in one op, `sum {axis=(0,), keepdims=False}`, whatever the array holds: shape, dtype and the
other arguments decide. The functions that decide take stand-ins of any kind. So they are asked with symbols, which have
no values that an answer could hang on, and the ops that come out are a plan for all operands of these types: from then
on it is computed and recorded at once. A function that looks at values refuses to answer, and is called each time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter, methodcaller
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from tapec.errors import note_user_line
from tapec.ir import CONSTANT, Builder, Node, Op, Type, input_node
from tapec.ir.index import Slice, Slot
from tapec.ops.array import FUNCTIONS, LIKE, METHODS, ArrayLike, gives_views, has_out, run
from tapec.ops.control import WHERE
from tapec.ops.extremes import CLIP
from tapec.ops.indexing import FULL_SLICE, GETITEM, real_index
from tapec.ops.joining import STACK
from tapec.ops.layout import RESHAPE, TRANSPOSE, ravel
from tapec.ops.symbol import Question
from tapec.trace.links import share
from tapec.trace.recorder import CURRENT
from tapec.trace.tensor import NUMERIC, Tensor, perform, record

__all__ = ["call", "planned"]

Plan = Callable[[tuple[Any, ...], list[Any]], Any]  # of the operands and their values

_new = object.__new__
_ndarray = np.ndarray
_generic = np.generic
_INTS = frozenset({int})
_BOUNDS = frozenset({int, NoneType})
_STATIC = frozenset({int, bool, NoneType, type})
_BY_MEMORY = frozenset("AKFakf")  # orders in which it matters how an array lies in memory

_PLANS: dict[Any, Any] = {}  # None: it has to be called
_SEEN: set[Any] = set()  # once; a plan is made for what comes again
_MANY = 4096  # both are emptied when they get larger
_find = _PLANS.get


# -- what decides -----------------------------------------------------------------------------------------------------
def call(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Our function of these arguments: by its plan, where there is one."""
    key: list[Any] = [ours]
    operands: list[Any] = []
    values: list[Any] = []
    unread = False
    row: Any = args
    if args and (type(args[0]) is list or type(args[0]) is tuple):  # np.stack([a, b], axis)
        key += (type(args[0]), len(args[0]))
        row = args[0] if len(args) == 1 else (*args[0], *args[1:])
    for a in row:
        kind = type(a)
        if kind is Tensor:
            value = a._value
            if type(value) is _ndarray:  # the commonest
                key.append((value.shape, value.dtype))
                operands.append(a)
                values.append(value)
                continue
        elif kind in _STATIC or is_static(a):
            key.append(a)
            continue
        elif isinstance(a, ArrayLike) or (isinstance(a, (_ndarray, _generic)) and a.dtype.kind in NUMERIC):
            value = a
        else:
            return run(ours, args, kwargs)
        if type(value) is _ndarray:
            key.append((value.shape, value.dtype))
        elif isinstance(value, _generic):
            key.append(value.dtype)
        elif isinstance(value, ArrayLike):  # a Variable
            unread = True
            key.append((value.shape, value.dtype) if value.shape else value.dtype)
        else:  # a number of Python's, which is weak; a subclass
            return run(ours, args, kwargs)
        operands.append(a)
        values.append(value)
    if kwargs:
        if not all(map(is_static, kwargs.values())):
            return run(ours, args, kwargs)
        key += kwargs.items()
    found = tuple(key)
    plan = _find(found)
    if plan is None:
        if _comes_again(found):
            _PLANS[found] = _plan(_answer(ours, args, kwargs), ours)
        return run(ours, args, kwargs)
    if not unread:
        return plan(tuple(operands), values)
    read = tuple([x._operand() if isinstance(x, ArrayLike) else x for x in operands])
    if any([isinstance(x, ArrayLike) and type(x) is not Tensor for x in read]):
        return run(ours, args, kwargs)
    return plan(read, [x._value if type(x) is Tensor else x for x in read])


def is_static(a: Any) -> bool:
    """Is it such that equal ones mean the same? 1 and 1.0 do not, nor does an array equal another."""
    kind = type(a)
    if kind is tuple:
        return _INTS.issuperset(map(type, a))
    return kind in _STATIC or isinstance(a, np.dtype) or (kind is str and a not in _BY_MEMORY)


# -- making plans -----------------------------------------------------------------------------------------------------
def _comes_again(key: Any) -> bool:
    """Shall a plan be made? Not for what comes once, nor where there can be none."""
    if key in _PLANS:
        return False
    if key in _SEEN:
        return True
    if len(_PLANS) + len(_SEEN) > _MANY:
        _PLANS.clear()
        _SEEN.clear()
    _SEEN.add(key)
    return False


class Answer(NamedTuple):
    """The nodes that symbols went through, and where they end."""

    inputs: list[Node]
    constants: list[Node]
    ops: list[Node]
    result: Node


def _answer(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Answer | None:
    """Ask our function with symbols; None where they are not enough, or where the answer goes into an array."""
    if has_out(ours, args):
        return None
    builder = Builder()
    inputs: list[Node] = []

    def asked(a: Any) -> Any:
        if type(a) in (list, tuple) and not is_static(a):
            return type(a)(map(asked, a))
        if not isinstance(a, (ArrayLike, _ndarray, _generic)):
            return a
        inputs.append(input_node(f"x{len(inputs)}", Type(a.shape, a.dtype)))
        return Question(inputs[-1], builder)

    try:
        result = ours(*map(asked, args), **kwargs)
    except Exception:  # the call itself raises it again
        return None
    constants = [n for n in builder.nodes if n.op is CONSTANT]
    ops = [n for n in builder.nodes if n.op is not CONSTANT]
    if type(result) is not Question or result.node not in ops or any(n.op.multi or n.op.kind == "dynamic" for n in ops):
        return None
    if any(isinstance(n.value, _ndarray) for n in constants):  # a recording asks whether others hold an array
        return None
    return Answer(inputs, constants, ops, result.node)


def _plan(answer: Answer | None, ours: Any) -> Plan | None:
    if answer is None:
        return None
    if not _is_one(answer):
        return _several(answer, gives_views(ours))
    compute = methodcaller("ravel") if ours is ravel else _computation(answer.result)  # it copies what has gaps
    return _one(answer.result, compute, gives_views(ours))


def _is_one(answer: Answer) -> bool:
    """Is it one op of all operands, in order?"""
    return len(answer.ops) == 1 and answer.result.inputs == tuple(answer.inputs)


def _one(node: Node, compute: Any, views: bool) -> Plan:
    op, params = node.op, node.params

    def follow(operands: tuple[Any, ...], values: list[Any]) -> Tensor:
        out = _new(Tensor)
        try:
            value = compute(*values)
        except Exception as error:
            note_user_line(error)
            raise
        out._value = value if type(value) is not _ndarray or value.ndim else value[()]
        out._mark = out._link = None
        rec = CURRENT.get()
        if rec is not None:
            record(rec, op, operands, params, out, 3)
        if views and type(value) is _ndarray and value.base is not None and operands and type(operands[0]) is Tensor:
            share(out, operands[0], ((op, params, operands[1:]),))
        return out

    return follow


def _computation(node: Node) -> Any:
    """A function of values alone, in C where there is one."""
    op, params = node.op, dict(node.params)
    if op is RESHAPE:
        return methodcaller("reshape", params["shape"])
    if op is TRANSPOSE:
        return methodcaller("transpose", params["axes"])
    if op is GETITEM and set(params) == {"index"} and not any(type(p) is Slot for p in params["index"]):
        return itemgetter(real_index(params["index"], ()))
    if op is STACK and params["axis"] == 0:
        return lambda *parts: np.array(parts)  # for a few small arrays much faster
    return partial(op.run, **params) if params else op.run


def _several(answer: Answer, views: bool) -> Plan:
    """A place stands for each operand, constant and result."""
    places = {node: k for k, node in enumerate([*answer.inputs, *answer.constants, *answer.ops])}
    steps = [(_one(n, _computation(n), True), tuple([places[i] for i in n.inputs])) for n in answer.ops]
    at = places[answer.result]
    given = [n.value for n in answer.constants]

    def follow(operands: tuple[Any, ...], values: list[Any]) -> Any:
        known: list[Any] = [*operands, *given]
        for step, picks in steps:
            inputs = tuple([known[k] for k in picks])
            known.append(step(inputs, [x._value if type(x) is Tensor else x for x in inputs]))
        return known[at] if views else known[at]._own()

    return follow


# -- methods and functions --------------------------------------------------------------------------------------------
def planned(name: str, ours: Any) -> Any:
    """A method that follows a plan where it can."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        value = self._value
        if not kwargs and type(value) is _ndarray and (not args or _STATIC.issuperset(map(type, args))):
            plan = _find((ours, (value.shape, value.dtype), *args))  # as `call` does, for the commonest of keys
            if plan is not None:
                return plan((self,), [value])
        return call(ours, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"As `numpy.ndarray.{name}`."
    return method


def _function(self: Tensor, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    ours = _PLANNED.get(func)
    if ours is None:
        return _other_function(self, func, types, args, kwargs)
    if kwargs or len(args) > 2:
        return call(ours, args, kwargs)
    # what `call` does, for the commonest of keys
    x = args[0] if args else None
    if len(args) == 2:
        row: Any = args
        head: tuple[Any, ...] = (ours,)
    elif type(x) is list and len(x) == 2:  # np.stack([a, b])
        row, head = x, (ours, list, 2)
    elif type(x) is Tensor and type(x._value) is _ndarray:
        value = x._value
        plan = _find((ours, (value.shape, value.dtype)))
        return call(ours, args, kwargs) if plan is None else plan(args, [value])
    else:
        return call(ours, args, kwargs)
    x, y = row
    if type(x) is Tensor and type(y) is Tensor:
        v, w = x._value, y._value
        if type(v) is _ndarray and type(w) is _ndarray:
            plan = _find((*head, (v.shape, v.dtype), (w.shape, w.dtype)))
            if plan is not None:
                return plan((x, y), [v, w])
    return call(ours, args, kwargs)


def _other_function(self: Tensor, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    op = _AS_THEY_ARE.get(func)
    if op is not None and len(args) == 3 and not kwargs and NoneType not in map(type, args):
        return perform(op, args, (), 3)
    ours = FUNCTIONS.get(func)
    if ours is None or func in LIKE:
        return _any_function(self, func, types, args, kwargs)
    return call(ours, args, kwargs)


_AS_THEY_ARE = {np.where: WHERE, np.clip: CLIP}  # ops of three arguments, numbers among them
_PLANNED = {f: ours for f, ours in FUNCTIONS.items() if f not in LIKE and f not in _AS_THEY_ARE}
_any_function = ArrayLike.__array_function__
Tensor.__array_function__ = _function  # type: ignore[method-assign, assignment]
for _name, _ours in METHODS.items():
    setattr(Tensor, _name, planned(_name, _ours))
Tensor.T = property(planned("T", FUNCTIONS[np.transpose]))  # type: ignore[assignment]


# -- elements and slices ----------------------------------------------------------------------------------------------
def _part(x: Tensor, value: np.ndarray, index: Any) -> tuple[Op, Any] | None:
    """The op of an index of ints, slices, `None` and `...`, and its parameters."""
    static: list[Any] = []
    planned = False
    for p in index if type(index) is tuple else (index,):
        kind = type(p)
        if kind is slice:
            p = Slice(p.start, p.stop, p.step)
            if not _BOUNDS.issuperset(map(type, p)):
                return None
        elif p is None or p is Ellipsis:
            planned = True
        elif kind is not int:
            return None
        static.append(p)
    if planned:
        return _planned_part((_item, value.shape, *static), x, index)
    while len(static) > 1 and static[-1] == FULL_SLICE:
        static.pop()
    return None if static == [FULL_SLICE] else (GETITEM, (("index", tuple(static)),))


def _planned_part(key: Any, x: Tensor, index: Any) -> tuple[Op, Any] | None:
    """With new axes, or `...`, it may be another shape for the whole array."""
    part: Any = _find(key)
    if part is None and _comes_again(key):
        answer = _answer(_item, (x, index), {})
        if answer is not None and _is_one(answer):
            part = answer.result.op, answer.result.params
        _PLANS[key] = part
    return part


_item = METHODS["__getitem__"]


def _getitem(self: Tensor, index: Any) -> Any:
    """NumPy itself takes the part, and says what is wrong with an index."""
    value, kind = self._value, type(index)
    if type(value) is not _ndarray:
        return run(_item, (self, index), {})
    if kind is int or (kind is tuple and _INTS.issuperset(map(type, index))):
        op, params = GETITEM, (("index", (index,) if kind is int else index),)
    else:
        found = _part(self, value, index)
        if found is None:
            return run(_item, (self, index), {})
        op, params = found
    out = _new(Tensor)
    try:
        part = out._value = value[index]
    except Exception as error:
        note_user_line(error)
        raise
    out._mark = out._link = None
    rec = CURRENT.get()
    if rec is not None:
        record(rec, op, (self,), params, out)
    if type(part) is _ndarray:
        if not part.ndim:
            out._value = part[()]
        share(out, self, ((op, params, ()),))
    return out


Tensor.__getitem__ = _getitem  # type: ignore[method-assign, assignment]
