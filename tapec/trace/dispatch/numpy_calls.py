"""Take NumPy's functions, methods and ufuncs on tensors in, and hand them to plans or ops."""

from __future__ import annotations

from functools import lru_cache, partial
from types import NoneType
from typing import Any

import numpy as np

from tapec.ops.control.select_and_call import WHERE
from tapec.ops.core.stand_in import FUNCTIONS, LIKE, METHODS, ArrayLike, meaning_of, run
from tapec.ops.elementwise.minmax import CLIP
from tapec.ops.numpy_calls.ufunc_call import call_with
from tapec.ops.numpy_calls.ufunc_methods import call as call_ufunc
from tapec.ops.numpy_calls.ufunc_methods import ufunc_method
from tapec.trace.dispatch.call_plans import call
from tapec.trace.tensor import Tensor, perform

__all__ = ["of_variables"]


# -- methods and functions --------------------------------------------------------------------------------------------
def _method(name: str, ours: Any) -> Any:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return call(ours, (self._tapec_read(), *args), kwargs)

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"As `numpy.ndarray.{name}`."
    return method


def _property(ours: Any, *args: Any) -> Any:
    return property(lambda self: call(ours, (self, *args), {}))


def of_variables(self: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of a Variable among others. One that leaves the value as it is gives a tensor of its own."""
    found = _function(self, func, types, args, kwargs)
    return self._apart(found) if found is self._tensor else found


def _function(self: Tensor, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.__array_function__`: follow a plan where there may be one."""
    ours = _PLANNED.get(func)
    if ours is not None:
        return call(ours, args, kwargs)
    if func in _OF_THREE and len(args) == 3 and not kwargs and NoneType not in map(type, args):
        return perform(_OF_THREE[func], args, ())
    if func in _ALONE:
        return run(FUNCTIONS[func], args, kwargs)
    if func in LIKE:
        return call(LIKE[func], (self, *args), kwargs)
    ours = meaning_of(func)
    if ours is None:
        return _any_function(self, func, types, args, kwargs)
    if func not in _OF_THREE:  # its module was imported for this call
        _PLANNED[func] = ours
    return call(ours, args, kwargs)


# functions that need no plan: they change an array, or do not ask what one holds
_ALONE = {np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask}
_ALONE |= {np.iscomplexobj, np.isrealobj, np.ndim, np.result_type, np.shape, np.size}
_OF_THREE = {np.where: WHERE, np.clip: CLIP}  # ops of three operands: of whatever types, and numbers that keep changing
_UNPLANNED = {*LIKE, *_OF_THREE, *_ALONE}
_PLANNED: dict[Any, Any] = {f: ours for f, ours in FUNCTIONS.items() if f not in _UNPLANNED}
_any_function = ArrayLike.__array_function__
Tensor.__array_function__ = _function  # type: ignore[method-assign, assignment]
for _name, _ours in METHODS.items():
    setattr(Tensor, _name, _method(_name, _ours))
setattr(Tensor, "T", _property(FUNCTIONS[np.transpose]))  # noqa: B010
setattr(Tensor, "mT", _property(FUNCTIONS[np.swapaxes], -1, -2))  # noqa: B010


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
        return call(_bound(ufunc, method), inputs, kwargs)
    outs = kwargs["out"]
    if method == "__call__" and len(outs) == 1 and type(held := outs[0]) is Tensor:
        if len(kwargs) == 1:
            return held._assign(self.__array_ufunc__(ufunc, method, *inputs))
        if len(kwargs) == 2 and "where" in kwargs:
            return held._assign(_selecting(ufunc)((held, *inputs), {"where": kwargs["where"]}))
    return ufunc_method(self, ufunc, method, inputs, kwargs)


@lru_cache(maxsize=1024)  # np.frompyfunc makes new ones
def _bound(ufunc: np.ufunc, method: str) -> Any:
    """The function that is asked for a plan: one for all calls, since plans are found by it."""
    return lambda *inputs, **kwargs: call_ufunc(ufunc, method, inputs, kwargs)


@lru_cache(maxsize=1024)
def _selecting(ufunc: np.ufunc) -> Any:
    """A function of (what `out` holds, the operands, where=) that gives what it holds then."""

    def select(held: Any, *inputs: Any, where: Any) -> Any:
        return call_with(ufunc, inputs, (held,), {"where": where})

    return partial(call, select)


Tensor._ufunc = _ufunc
