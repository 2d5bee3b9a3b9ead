"""NumPy's functions, methods and ufuncs on tensors: where calls come in.

Calls with the commonest kinds of arguments find their plan here, `plans.call` gets the rest.
"""

from __future__ import annotations

from functools import lru_cache, partial
from marshal import dumps
from types import NoneType
from typing import Any

import numpy as np

from tapec.errors import note_user_line
from tapec.ops.array import FUNCTIONS, LIKE, METHODS, ArrayLike, check_fit, meaning_of, out_at, ufunc_method
from tapec.ops.control import WHERE
from tapec.ops.extremes import CLIP
from tapec.ops.reading import take
from tapec.ops.ufunc_calls import call_with
from tapec.ops.ufuncs import call as call_ufunc
from tapec.trace.plans import BY_MEMORY, INTS, NO_REFERENCES, PLACED, PLANS, call, unplanned, word_of
from tapec.trace.steps import plan_of_any
from tapec.trace.tensor import BOUND, HOLDING, READABLE, Tensor, operand_values, perform

__all__ = ["of_variables", "planned"]

_ndarray = np.ndarray
_generic = np.generic
_new = object.__new__
_array = np.array
_intp = np.intp
_find = PLANS.get


def _words(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What stands in a key for arguments without arrays in them; nothing where some are others."""
    words = []
    for a in args:
        if type(a) not in PLACED:
            a = word_of(a)
            if a is None:
                return ()
        words.append(a)
    return tuple(words)


def _row(first: tuple[Any, ...], row: Any) -> Any:
    """A key of these and of arguments that are arrays, with words between them; the arrays, and their values."""
    key = [*first]
    operands = []
    values: list[Any] = []
    for a in row:
        kind = type(a)
        v = a._value if kind is Tensor else a
        if type(v) is not _ndarray:
            if kind is float:
                key.append(dumps(a, NO_REFERENCES))  # as `word_of` has it, without the call
                continue
            if kind in PLACED or (kind is str and a not in BY_MEMORY):
                key.append(a)
                continue
            if kind is list or kind not in READABLE:
                word = word_of(a)
                if word is None:
                    return (), (), values
                key.append(word)
                continue
            a = a._tapec_read()
            v = a._value
            if type(v) is not _ndarray:
                return (), (), values
        key.append(v.shape)
        key.append(v.dtype)
        operands.append(a)
        values.append(v)
    return tuple(key), tuple(operands), values


def _pair(first: tuple[Any, ...], x: Any, y: Any) -> Any:
    """The same of two, one of which may well be a Variable."""
    if type(x) in READABLE:
        x = x._tapec_read()
    if type(y) in READABLE:
        y = y._tapec_read()
    v, w = x._value if type(x) is Tensor else x, y._value if type(y) is Tensor else y
    if type(v) is _ndarray and type(w) is _ndarray:
        return (*first, v.shape, v.dtype, w.shape, w.dtype), (x, y), [v, w]
    return _row(first, (x, y))


def _three(first: tuple[Any, ...], x: Any, y: Any, z: Any) -> Any:
    """The same of three, which mostly are arrays."""
    u = x._value if type(x) is Tensor else x
    v = y._value if type(y) is Tensor else y
    w = z._value if type(z) is Tensor else z
    if type(u) is _ndarray and type(v) is _ndarray and type(w) is _ndarray:
        return (*first, u.shape, u.dtype, v.shape, v.dtype, w.shape, w.dtype), (x, y, z), [u, v, w]
    return _row(first, (x, y, z))


def _named(key: tuple[Any, ...], operands: tuple[Any, ...], values: list[Any], kwargs: dict[str, Any]) -> Any:
    """The key with keywords, and the operands with the arrays among them."""
    for name, a in kwargs.items():
        kind = type(a)
        if kind in PLACED:
            key += ..., name, a
        elif kind is bool:  # True equals 1
            key += ..., name, kind, a
        elif kind is str and a not in BY_MEMORY:
            key += ..., name, a
        else:
            if kind is not Tensor and kind in READABLE:
                a = a._tapec_read()
                kind = Tensor
            v = a._value if kind is Tensor else a
            if type(v) is _ndarray:
                key += ..., name, v.shape, v.dtype
                operands = *operands, a  # so far they may be the caller's list
                values.append(v)
            else:
                word = word_of(a)
                if word is None:
                    return (), ()
                key += ..., name, word
    return key, operands


def _places(a: list[int]) -> Tensor:
    """A list of row numbers: as an operand, so that it does not matter which."""
    t = _new(Tensor)
    t._value = _array(a, _intp)
    t._mark = t._link = None
    return t


# -- methods and functions --------------------------------------------------------------------------------------------
def planned(name: str, ours: Any) -> Any:
    """A method that follows a plan where it can."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if type(self) is not Tensor:
            self = self._tapec_read()
        value = self._value if type(self) is Tensor else None
        if type(value) is _ndarray:  # as `call`, for the commonest of arguments
            key: tuple[Any, ...]
            operands: tuple[Any, ...] = (self,)
            values = [value]
            if not args:
                key = ours, value.shape, value.dtype
            elif len(args) == 1:
                [x] = args
                kind = type(x)
                if kind is list and ours is take and INTS.issuperset(map(type, x)):
                    x, kind = _places(x), Tensor
                    args = (x,)
                w = x._value if kind is Tensor else x
                if type(w) is _ndarray:
                    key = ours, 2, value.shape, value.dtype, w.shape, w.dtype
                    operands, values = (self, x), [value, w]
                else:
                    word = x if kind in PLACED else word_of(x)
                    if word is None and x is not None:
                        return call(ours, *_settled(ours, (self, *args), kwargs))
                    key = ours, value.shape, value.dtype, word
            else:
                words = _words(args)
                if not words:
                    return call(ours, (self, *args), kwargs)
                key = ours, value.shape, value.dtype, *words
            if kwargs:
                if "out" in kwargs and type(kwargs["out"]) is Tensor:
                    out = kwargs.pop("out")
                    return _into(out, method(self, *args, **kwargs), ours)
                key, operands = _named(key, operands, values, kwargs)
                if not key:
                    return call(ours, (self, *args), kwargs)
            plan = _find(key)
            if plan is None:
                return unplanned(key, ours, (self, *args), kwargs, values)
            return plan(operands, values)
        return call(ours, (self, *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"As `numpy.ndarray.{name}`."
    return method


def _into(out: Tensor, result: Any, function: Any) -> Any:
    """A result into the tensor that was given for it."""
    if out.shape != getattr(result, "shape", ()):
        check_fit(function, out, result)
    return out._assign(result)


def _property(name: str, ours: Any, args: tuple[Any, ...]) -> Any:
    """What reads a property."""
    follow = planned(name, ours)

    def read(self: Tensor) -> Any:
        value = self._value if type(self) is Tensor else None
        if type(value) is _ndarray:
            plan = _find((ours, value.shape, value.dtype, *args))
            if plan is not None:
                return plan((self,), [value])
        return follow(self, *args)

    return read


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


def of_variables(self: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of a Variable among others. One that leaves the value as it is gives a tensor of its own."""
    found = _function(self, func, types, args, kwargs)
    return self._apart(found) if found is self._tensor else found


def _settled(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with the values of Variables, but where one may be written into: that is refused by its name."""
    if "out" in kwargs or len(args) > out_at(ours):
        return args, kwargs
    return _read(args), kwargs and dict(zip(kwargs, _read(tuple(kwargs.values()))))


def _function(self: Tensor, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """As `call`, for the commonest of arguments."""
    if kwargs and "out" in kwargs and type(kwargs["out"]) is Tensor and "casting" not in kwargs:
        out = kwargs.pop("out")
        return _into(out, _function(self, func, types, args, kwargs), func)
    ours = _PLANNED.get(func)
    if ours is None:
        if func in _ALONE:
            try:
                return FUNCTIONS[func](*args, **kwargs)
            except Exception as error:
                note_user_line(error)
                raise
        if func in _OF_THREE and len(args) == 3 and not kwargs:
            given = operand_values(args) if type(self) is Tensor else None
            if given is None:  # there may be Variables
                args = tuple([x._tapec_read() if type(x) in READABLE else x for x in args])
                given = operand_values(args)
            if given is not None:
                plan = _OF_THREE[func] or _plan_of_three(func)
                return plan(args, given)
        return _other_function(self, func, types, args, kwargs)
    count = len(args)
    operands = args
    key: tuple[Any, ...] = ()
    words: tuple[Any, ...] = ()
    values: list[Any]
    x: Any = args[0] if args else None
    if count == 2:
        y = args[1]
        kind = type(y)
        if kind is list and ours is take and INTS.issuperset(map(type, y)):
            y, kind = _places(y), Tensor
            args = operands = x, y
        if kind is Tensor or kind is _ndarray:
            v, w = x._value if type(x) is Tensor else x, y._value if kind is Tensor else y
            if type(v) is _ndarray and type(w) is _ndarray:
                key, values = (ours, 2, v.shape, v.dtype, w.shape, w.dtype), [v, w]
            elif type(x) in READABLE:
                key, operands, values = _pair((ours, 2), x, y)
            else:  # np.einsum("ij->i", x)
                key, operands, values = _row((ours,), args)
        elif kind in PLACED:  # np.sum(x, 0)
            operands, words, count = (x,), (y,), 1
        elif (kind is list or kind is tuple) and y and type(y[0]) in HOLDING:  # np.choose(places, [a, b])
            first = ours, 2, kind
            key, operands, values = _three(first, x, *y) if len(y) == 2 else _row(first, (x, *y))
        elif kind in READABLE:
            key, operands, values = _pair((ours, 2), x, y) if type(x) in HOLDING else _row((ours,), args)
        else:
            word = word_of(y)
            if word is not None and not (kind is list and ours is take):
                operands, words, count = (x,), (word,), 1
    elif count > 2:
        kind = type(args[1])
        if kind is Tensor or kind is _ndarray or type(args[2]) in HOLDING:  # np.interp(x, points, heights)
            key, operands, values = _three((ours,), *args) if count == 3 else _row((ours,), args)
        elif not (kind is list and ours is take) and (words := _words(args[1:])):  # np.swapaxes(x, 0, 1)
            operands, count = (x,), 1
        elif kind in READABLE:
            key, operands, values = _row((ours,), args)
    if count == 1:
        kind = type(x)
        if kind is not Tensor and kind in READABLE:
            operands = (x := x._tapec_read(),)
            kind = Tensor
        if kind is Tensor or kind is _ndarray:
            v = x._value if kind is Tensor else x
            if type(v) is _ndarray:
                key, values = (ours, v.shape, v.dtype), [v]
            elif isinstance(v, _generic):
                key, values = (ours, v.dtype), [v]
        elif (kind is list or kind is tuple) and len(x) == 2:  # np.stack([a, b])
            operands = x, y = x
            v, w = x._value if type(x) is Tensor else x, y._value if type(y) is Tensor else y
            if type(v) is _ndarray and type(w) is _ndarray:
                key, values = (ours, kind, v.shape, v.dtype, w.shape, w.dtype), [v, w]
            else:
                key, operands, values = _pair((ours, kind), x, y)
        elif kind is list or kind is tuple:
            key, operands, values = _three((ours, kind, 3), *x) if len(x) == 3 else _row((ours, kind, len(x)), x)
    if not key:
        args, kwargs = _settled(ours, args, kwargs)
        return call(ours, args, kwargs)
    if words:
        key += words
    if kwargs:
        key, operands = _named(key, operands, values, kwargs)
        if not key:
            args, kwargs = _settled(ours, args, kwargs)
            return call(ours, args, kwargs)
    plan = _find(key)
    if plan is None:
        args, kwargs = _settled(ours, args, kwargs)
        return unplanned(key, ours, args, kwargs, values)
    return plan(operands, values)


def _other_function(self: Tensor, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    ours = meaning_of(func)
    if ours is not None and func not in _UNPLANNED:  # it was imported for this call
        _PLANNED[func] = ours
        return _function(self, func, types, args, kwargs)
    if type(self) is not Tensor:
        args, kwargs = _settled(ours, args, kwargs)
    if func in _OF_THREE and len(args) == 3 and not kwargs and NoneType not in map(type, args):
        return perform(WHERE if func is np.where else CLIP, args, ())
    if (func is np.nonzero or func is np.where) and len(args) == 1 and not kwargs and type(args[0]) is Tensor:
        return args[0].nonzero()
    if func in LIKE:
        return call(LIKE[func], (self, *args), kwargs)
    return _any_function(self, func, types, args, kwargs) if ours is None else call(ours, args, kwargs)


def _plan_of_three(func: Any) -> Any:
    plan = _OF_THREE[func] = plan_of_any(WHERE if func is np.where else CLIP, 3)
    return plan


# functions that need no plan: they change an array, or do not ask what one holds
_ALONE = frozenset({np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask})
_ALONE |= {np.iscomplexobj, np.isrealobj, np.ndim, np.result_type, np.shape, np.size}
# functions that are ops of three arguments: one plan for all types, and for numbers that are others each time
_OF_THREE: dict[Any, Any] = {np.where: None, np.clip: None}  # made for the first call
_UNPLANNED = {*LIKE, *_OF_THREE, *_ALONE, np.nonzero}
_PLANNED: dict[Any, Any] = {f: ours for f, ours in FUNCTIONS.items() if f not in _UNPLANNED}  # and methods of ufuncs
_any_function = ArrayLike.__array_function__
Tensor.__array_function__ = _function  # type: ignore[method-assign, assignment]
for _name, _ours in METHODS.items():
    setattr(Tensor, _name, planned(_name, _ours))
for _name, _ours, _args in (("T", FUNCTIONS[np.transpose], ()), ("mT", FUNCTIONS[np.swapaxes], (-1, -2))):
    setattr(Tensor, _name, property(_property(_name, _ours, _args)))


# -- more than the plain call of a ufunc ------------------------------------------------------------------------------
def _ufunc(self: Tensor, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.add.reduce(x)`, `np.divmod(x, y)`, `np.exp(x, dtype=np.float32)`."""
    if method == "at":
        if len(inputs) == 3:
            t, index, x = inputs
            if type(t) is Tensor and t._gathered(ufunc, index, x):
                return None
        return ufunc_method(self, ufunc, method, inputs, kwargs)
    if "out" not in kwargs:
        bound = BOUND[method].get(ufunc) or _bound(ufunc, method)
        return self.__array_function__(bound, (), inputs, kwargs)
    outs = kwargs["out"]
    if method == "__call__" and len(outs) == 1 and type(held := outs[0]) is Tensor:
        if len(kwargs) == 1:
            return held._assign(self.__array_ufunc__(ufunc, method, *inputs))
        if len(kwargs) == 2 and "where" in kwargs:
            return held._assign(_selecting(ufunc)(held, *inputs, where=kwargs["where"]))
    return ufunc_method(self, ufunc, method, inputs, kwargs)


def _bound(ufunc: np.ufunc, method: str) -> Any:
    """The function that is asked for a plan: one for all calls, since plans are found by it."""
    known = BOUND[method]
    if len(known) == _MANY:  # np.frompyfunc makes new ones
        for made in list(known.values()):
            _PLANNED.pop(made, None)
        known.clear()
    made = known[ufunc] = partial(_call_ufunc, ufunc, method)
    _PLANNED[made] = made
    return made


_MANY = 1024


@lru_cache(maxsize=1024)
def _selecting(ufunc: np.ufunc) -> Any:
    """A function of (what `out` holds, the operands, where=) that gives what it holds then."""
    return planned("__call__", lambda held, *inputs, where: call_with(ufunc, inputs, (held,), {"where": where}))


def _call_ufunc(ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    return call_ufunc(ufunc, method, inputs, kwargs)


Tensor._ufunc = _ufunc
