"""Take NumPy's functions, methods and ufuncs on tensors in, and hand them to plans or ops."""

from __future__ import annotations

from functools import lru_cache, partial
from types import NoneType
from typing import Any

import numpy as np

from tapec.errors import note_user_line
from tapec.ir.types import NUMBERS, type_of
from tapec.ops.control.select_and_call import WHERE
from tapec.ops.core.python_numbers import OPERATORS
from tapec.ops.core.stand_in import FUNCTIONS, LIKE, METHODS, UFUNCS, ArrayLike, meaning_of, run
from tapec.ops.elementwise.casting import CAST
from tapec.ops.elementwise.minmax import CLIP
from tapec.ops.numpy_calls.ufunc_call import call_with
from tapec.ops.numpy_calls.ufunc_methods import call as call_ufunc
from tapec.ops.numpy_calls.ufunc_methods import ufunc_method
from tapec.trace import classes
from tapec.trace.classes import TensorBase, around
from tapec.trace.dispatch.call_plans import call
from tapec.trace.float_warnings import told
from tapec.trace.perform import perform, read_operands, record
from tapec.trace.recording_stack import current
from tapec.tracebacks import shorten

__all__ = ["array_function", "array_method", "array_property", "array_ufunc", "of_variables", "ufunc_method_or_out"]


# -- methods and functions --------------------------------------------------------------------------------------------
def array_method(name: str) -> Any:
    """Make the method that does what ndarray's method of this name does."""
    ours = METHODS[name]

    def method(self: TensorBase, *args: Any, **kwargs: Any) -> Any:
        try:
            return call(ours, (self, *args), kwargs)
        except BaseException as error:
            shorten(error)
            raise

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    method.__doc__ = f"As `numpy.ndarray.{name}`."
    return method


def array_property(function: Any, *args: Any) -> Any:
    """Make the property that calls a function of NumPy."""
    ours = FUNCTIONS[function]
    return property(lambda self: call(ours, (self, *args), {}))


def of_variables(self: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of a Variable among others. One that leaves the value as it is gives a tensor of its own."""
    found = array_function(self, func, types, args, kwargs)
    return self._apart(found) if found is self._tensor else found


def array_function(self: TensorBase, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function of NumPy: by a plan, where there may be one."""
    try:
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
    except BaseException as error:
        shorten(error)
        raise


# functions that need no plan: they change an array, do not ask what one holds, or make one that lies as another does
_ALONE = {np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask}
_ALONE |= {np.iscomplexobj, np.isrealobj, np.ndim, np.result_type, np.shape, np.size}
_ALONE |= {np.zeros_like, np.ones_like, np.empty_like, np.full_like}
_OF_THREE = {np.where: WHERE, np.clip: CLIP}  # ops of three operands: of whatever types, and numbers that keep changing
_UNPLANNED = {*LIKE, *_OF_THREE, *_ALONE}
_PLANNED: dict[Any, Any] = {f: ours for f, ours in FUNCTIONS.items() if f not in _UNPLANNED}
_any_function = ArrayLike.__array_function__


# -- the plain call of a ufunc ----------------------------------------------------------------------------------------
def array_ufunc(self: TensorBase, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Compute a ufunc and record it, as the operators do."""
    try:
        if kwargs or method != "__call__":
            return self._ufunc(ufunc, method, inputs, kwargs)
        op = UFUNCS.get(ufunc)
        if op is None or op.multi:
            return self._ufunc(ufunc, method, inputs, kwargs)
        inputs, values = read_operands(inputs)
        if values is None:
            return perform(op, inputs, ())
        try:
            try:
                value = ufunc(*values)
            except RuntimeWarning as warning:
                value = told(warning, ufunc, *values)
            if type(value) in _OF_NUMBERS and ufunc in OPERATORS and NUMBERS.issuperset(map(type, values)):
                return perform(op, tuple(map(_strong, inputs)), ())
            out = around(value)
        except Exception as error:
            note_user_line(error)
            raise
    except BaseException as error:
        shorten(error)
        raise
    rec = current()
    if rec is not None:
        record(rec, op, inputs, (), out)
    return out


_OF_NUMBERS = frozenset({np.float64, np.int64, np.complex128})  # what Python's numbers become in NumPy


def _strong(x: Any) -> Any:
    """Return a number of Python's as the scalar that it is to a function of NumPy, which decides dtypes."""
    if type(x) is not classes.Tensor:
        return np.asarray(x)[()]
    return perform(CAST, (x,), (("dtype", type_of(x._value).dtype),))


# -- more than the plain call of a ufunc ------------------------------------------------------------------------------
def ufunc_method_or_out(
    self: TensorBase, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call a ufunc in another way: `np.add.reduce(x)`, `np.divmod(x, y)`, `np.exp(x, dtype=np.float32)`."""
    if method == "at":
        if len(inputs) == 3:
            t, index, x = inputs
            if type(t) is classes.Tensor and t._gathered(ufunc, index, x):
                return None
        return ufunc_method(self, ufunc, method, inputs, kwargs)
    if "out" not in kwargs:
        return call(_bound(ufunc, method), inputs, kwargs)
    outs = kwargs["out"]
    if method == "__call__" and len(outs) == 1 and type(held := outs[0]) is classes.Tensor:
        if len(kwargs) == 1:
            return held._assign(self.__array_ufunc__(ufunc, method, *inputs))
        if len(kwargs) == 2 and "where" in kwargs:
            return held._assign(_selecting(ufunc)((held, *inputs), {"where": kwargs["where"]}))
    return ufunc_method(self, ufunc, method, inputs, kwargs)


@lru_cache(maxsize=1024)  # np.frompyfunc makes new ones
def _bound(ufunc: np.ufunc, method: str) -> Any:
    """Return the function by which plans are found: the same one for all such calls."""
    return lambda *inputs, **kwargs: call_ufunc(ufunc, method, inputs, kwargs)


@lru_cache(maxsize=1024)
def _selecting(ufunc: np.ufunc) -> Any:
    """Return a function of (what `out` holds, the operands, where=) that gives what `out` holds then."""

    def select(held: Any, *inputs: Any, where: Any) -> Any:
        return call_with(ufunc, inputs, (held,), {"where": where})

    return partial(call, select)
