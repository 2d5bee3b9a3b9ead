"""Show NumPy to traced functions: its functions take lists and tuples that hold tensors, as they take lists of numbers.

NumPy asks the tensors in a list one by one for arrays, and nobody can answer for the list. So a function that is traced
finds a stand-in where it looks up `np`, `np.linalg` or one of their functions, by whatever name: there, such a list is
the one array that NumPy would make of it, before NumPy sees it. `np.array` and its kin make tensors of tensors. All
else is handed on as it is. Code that is not followed, and tapes, find NumPy itself.
"""

from __future__ import annotations

import operator
import sys
import types
from functools import cache
from threading import RLock
from typing import Any

import numpy as np

from tapec.errors import is_installed
from tapec.ops.core.define import as_operand
from tapec.ops.core.stand_in import ArrayLike, meaning_of
from tapec.trace.capture.captured_paths import is_own_class
from tapec.trace.capture.module_stand_ins.class_questions import captures_now, original
from tapec.trace.capture.module_stand_ins.heap_functions import behind_heap_function, heap_answers
from tapec.trace.capture.module_stand_ins.math_answers import math_answers, of_python
from tapec.trace.capture.random_state import seeded
from tapec.trace.escape.to_plain import handed_out
from tapec.trace.recording_stack import recordings
from tapec.trace.tensor import Tensor

__all__ = ["original_of", "view_of"]

# functions that take several arrays in a list: its items are arrays, not the list
_LISTING = "choose column_stack concat concatenate dstack histogram2d histogramdd hstack lexsort multi_dot"
_LISTING += " ravel_multi_index row_stack select stack vstack"
_MAKERS = "array asarray asanyarray ascontiguousarray asfortranarray full"
_MODULES = {"numpy", *[f"numpy.{name}" for name in ("linalg", "fft", "lib", "lib.scimath", "lib.stride_tricks")]}
_MODULES |= {"numpy.random", "scipy", "scipy.special"}
# of functions of Python that NumPy dispatches to nobody: these are followed as the user's own are
_SERIES = ("polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre", "polyutils")
_FOLLOWED = {f"numpy.polynomial.{name}" for name in _SERIES}
_MODULES |= {"numpy.polynomial", *_FOLLOWED}
_NO_ARRAYS = {"out", "where"}  # keywords: a mask in a list says of each object whether it is true
_COMPUTING = {"accumulate", "outer", "reduce", "reduceat"}  # methods of ufuncs; to `at` a tuple is an index
_DISPATCHED = type(np.sum)
_OF_C = ("builtin_function_or_method", "cython_function_or_method")  # classes of functions: NumPy was built with either
_is_installed = cache(is_installed)


def _is_recorded(x: Any) -> bool:
    if not isinstance(x, ArrayLike):
        return False
    return bool(recordings(x if type(x) is Tensor else x._tapec_read()))


def _holds(x: Any, kinds: str) -> bool:
    """Return whether a list holds recorded tensors of these kinds of dtypes, or arrays of truth values."""
    if isinstance(x, (list, tuple)):
        return any(_holds(item, kinds) for item in x)
    if type(x) is np.ndarray:
        return x.dtype.hasobject and _holds(x.ravel().tolist(), kinds)
    return (
        isinstance(x, ArrayLike)
        and (x.dtype.kind in kinds or (x.shape != () and x.dtype.kind == "b"))
        and _is_recorded(x)
    )


def _taken(x: Any) -> Any:
    """Return an argument as the function gets it: an array in place of a list that holds tensors.

    Lists of whole numbers may be axes, sizes or indices: there NumPy asks for facts. An object that makes an array may
    make a tensor.
    """
    if _makes_arrays(type(x)):
        return x.__array__()
    return as_operand(x) if isinstance(x, (list, tuple, np.ndarray)) and _holds(x, "fc") else x


def _makes_arrays(kind: type) -> bool:
    """Return whether NumPy would ask objects of a class of the user's for an array."""
    return hasattr(kind, "__array__") and is_own_class(kind)


def _plain_lists(x: Any) -> Any:
    return [_plain_lists(item) for item in x] if isinstance(x, list) else x


def _items(x: Any) -> Any:
    """Return a list of arrays with an array in place of each list in it that holds tensors."""
    return type(x)(map(_taken, x)) if type(x) in (list, tuple) else x


class NumPyFunction:
    """Stands for one of NumPy's functions in code that is traced."""

    def __init__(self, function: Any):
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__qualname__ = getattr(function, "__qualname__", function.__name__)
        self.__module__ = getattr(function, "__module__", np.__name__)
        self.__doc__ = function.__doc__
        self._array = _items if function.__name__ in _LISTING.split() else _taken
        if function is np.block:  # its lists say where the arrays in them go
            self._array = _plain_lists
        self._is_dispatched = type(function) is _DISPATCHED
        self._alone = {Tensor, int} if self._is_dispatched else {Tensor, int, float}  # no such argument is a list

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            for a in args:
                if type(a) not in self._alone:
                    break
            else:
                return self.__wrapped__(*args)
        return self._of_arrays(args, kwargs)

    def _of_arrays(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function with arrays in place of lists that hold tensors."""
        array = self._array
        args = tuple([array(a) for a in args])
        kwargs = {name: a if name in _NO_ARRAYS else array(a) for name, a in kwargs.items()}
        if self._is_dispatched and meaning_of(self.__wrapped__) is not None:
            for a in (*args, *kwargs.values()):  # np.full_like and its kin hand over their first argument alone
                if type(a) is Tensor and a.dtype.kind in "fc" and _is_recorded(a):
                    return a.__array_function__(self.__wrapped__, (Tensor,), args, kwargs)
        return self.__wrapped__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__wrapped__, name)
        return NumPyFunction(found) if name in _COMPUTING and type(self.__wrapped__) is np.ufunc else found

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__wrapped__)

    def __eq__(self, other: object) -> bool:
        return self.__wrapped__ == getattr(other, "__wrapped__", other)

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


class _Maker(NumPyFunction):
    """Stands for a function that makes an array of what it is given: a tensor, where that is a tensor or holds some."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and hasattr(type(args[0]), "_tapec_as_array"):
            args = (args[0]._tapec_as_array(), *args[1:])
        args = tuple([x.__array__() if _makes_arrays(type(x)) else x for x in args])
        given = [*args[:2], *[kwargs[name] for name in ("object", "a", "fill_value") if name in kwargs]]
        recorded = "like" not in kwargs and any([_is_recorded(x) or _holds(x, "fciub") for x in given])
        dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
        if recorded and not _is_for_compiled_code(given[0], dtype, sys._getframe(1)):
            kwargs["like"] = _any_tensor()
        if "copy" in kwargs and "like" in kwargs:
            mode = getattr(kwargs["copy"], "value", kwargs["copy"])  # a member of NumPy's enumeration, in libraries
            if_needed = 2
            kwargs["copy"] = None if mode == if_needed else mode
        return self.__wrapped__(*args, **kwargs)


class _Seeded(NumPyFunction):
    """Stands for `np.random.default_rng`, which takes seeds of Python's class alone: which number it is is a fact."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*map(_seed, args), **{name: _seed(x) for name, x in kwargs.items()})


class _SeededState(NumPyFunction):
    """Stands for the class `np.random.RandomState`, whose objects draw the same at each call where they have a seed."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        seed = args[0] if args else kwargs.get("seed")
        return self.__wrapped__(*args, **kwargs) if seed is None else seeded(self.__wrapped__, *args, **kwargs)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, self.__wrapped__)

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, self.__wrapped__)

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (self.__wrapped__,)


class _Followed(NumPyFunction):
    """Stands for a function that computes with NumPy's others, for whose arguments it finds stand-ins then."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        captures = captures_now()
        f = self.__wrapped__ if captures is None else captures.clones.of(self.__wrapped__)
        return f(*args, **kwargs)


def _seed(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(_seed, x))
    return operator.index(x) if isinstance(x, Tensor) and x.dtype.kind in "iu" and not x.shape else x


def _is_for_compiled_code(x: Any, dtype: Any, frame: types.FrameType) -> bool:
    """Return whether an installed package asks for a new array, of another dtype, of what no gradient flows through.

    It may hand that to compiled code, as the trees of scikit-learn do. The tensor answers, and notes a fact.
    """
    if not isinstance(x, Tensor) or dtype is None or not _is_installed(frame.f_code.co_filename):
        return False
    return np.dtype(dtype) != x.dtype and handed_out(x._tapec_read())


class _Joining:
    """Stands for `np.r_` or `np.c_`."""

    def __init__(self, joining: Any):
        self._joining = joining

    def __getitem__(self, key: Any) -> Any:
        return self._joining[_items(key) if type(key) is tuple else _taken(key)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._joining, name)


@cache
def _any_tensor() -> Tensor:
    return Tensor(0.0)


@cache
def _functions() -> dict[int, tuple[Any, Any]]:
    """Return the stand-ins of NumPy's own functions, by `id`, each with what it stands for."""
    found: dict[int, tuple[Any, Any]] = {}
    for value in vars(np).values():
        if type(value) in (np.ufunc, _DISPATCHED):
            found[id(value)] = value, NumPyFunction(value)
    for name in _MAKERS.split():
        found[id(getattr(np, name))] = getattr(np, name), _Maker(getattr(np, name))
    others = {np.isscalar: _isscalar, np.frompyfunc: _frompyfunc, np.r_: _Joining(np.r_), np.c_: _Joining(np.c_)}
    found.update({id(value): (value, stand_in) for value, stand_in in others.items()})
    return found


def _frompyfunc(*args: Any, **kwargs: Any) -> Any:
    return NumPyFunction(np.frompyfunc(*args, **kwargs))


def _isscalar(x: Any) -> bool:
    return np.isscalar(original(x))


_VIEWS: dict[str, types.ModuleType] = {}
_UNFILLED: dict[str, types.ModuleType] = {}  # those that are being made, which know each other
_VIEWING = RLock()


def _module(name: str) -> types.ModuleType:
    """Return NumPy, or a module inside it, with stand-ins for its functions."""
    found = _VIEWS.get(name)
    if found is not None:
        return found
    with _VIEWING:
        if name not in _UNFILLED and name not in _VIEWS:
            _UNFILLED[name] = types.ModuleType(name, sys.modules[name].__doc__)
            _fill(_UNFILLED[name], sys.modules[name])
            _VIEWS[name] = _UNFILLED.pop(name)
        return _UNFILLED.get(name) or _VIEWS[name]


def _fill(module: types.ModuleType, real: types.ModuleType) -> None:
    """Give the view of a module stand-ins for what is in the module."""
    module.__dict__.update({key: view_of(value) for key, value in vars(real).items() if value is not real})
    if real.__name__ in _FOLLOWED:
        functions = {key: value for key, value in vars(real).items() if type(value) is types.FunctionType}
        module.__dict__.update({key: _Followed(value) for key, value in functions.items()})
    module.__dict__["__getattr__"] = lambda key: view_of(getattr(real, key))  # what NumPy imports on first use


def view_of(value: Any) -> Any:
    """Return what traced functions find for NumPy and `math`, and for their functions; any other value as it is."""
    kind: Any = type(value)
    name = value.__name__ if kind is types.ModuleType else ""
    if name in _MODULES and sys.modules.get(name) is value:
        return _module(name)
    known = _functions().get(id(value))
    if known is not None:
        return known[1]
    if kind is _DISPATCHED:  # of a module inside
        found = NumPyFunction(value)
        _functions()[id(value)] = value, found
        return found
    if kind is np.ufunc:  # of SciPy, or of the user's own
        return NumPyFunction(value)
    if kind.__name__ in _OF_C and value.__name__ == "default_rng":
        return _Seeded(value)
    if kind is type and value.__module__ == "numpy.random.mtrand" and value is np.random.RandomState:
        return _SeededState(value)
    return heap_answers(math_answers(value))


def original_of(x: Any) -> Any:
    """Return the module or the function for what stands for it; any other value as it is."""
    if issubclass(type(x), NumPyFunction):
        return x.__wrapped__
    if type(x) is types.ModuleType and x.__name__ in _MODULES:
        return sys.modules[x.__name__]
    return behind_heap_function(of_python(x))
