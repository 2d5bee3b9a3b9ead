"""Answer what a traced function asks of `math` and `cmath`: their functions take tensors, as those of NumPy do.

The values are NumPy's, of Python's classes: a float, also for a float32. The errors are Python's: the function of
`math` runs first, with this call's numbers, and the run relies on it that a finite result came. For other numbers
Python may raise an error where NumPy goes on with nan, so the function runs again.
"""

from __future__ import annotations

import cmath
import math
import types
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line, note_user_line
from tapec.extras import is_missing
from tapec.ops.elementwise.casting import NUMBER
from tapec.trace.escape.fix_hints import math_fix
from tapec.trace.escape.to_plain import to_bool
from tapec.trace.perform import perform
from tapec.trace.recording_stack import recordings, traces
from tapec.trace.tensor import Tensor

__all__ = ["math_answers", "of_python"]

_FLOAT, _COMPLEX = (("dtype", np.dtype(np.float64)),), (("dtype", np.dtype(np.complex128)),)
_NAMES = {
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atan2": "arctan2",
    "atanh": "arctanh",
    "fabs": "abs",
    "pow": "power",
    "phase": "angle",
}
_AS_NUMPYS = """
acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees exp exp2 expm1 fabs fmod isfinite isinf isnan
log10 log1p log2 phase pow radians sin sinh sqrt tan tanh
"""
_OF_SCIPY = {"erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln"}


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _dist(p: Any, q: Any) -> Any:
    return np.sqrt(sum([(a - b) ** 2 for a, b in zip(p, q)], 0.0))


def _hypot(*coordinates: Any) -> Any:
    return np.hypot(*coordinates) if len(coordinates) == 2 else np.sqrt(sum([x * x for x in coordinates], 0.0))


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    near = np.abs(a - b) <= np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    return (a == b) | (near & np.isfinite(a) & np.isfinite(b))


def _modf(x: Any) -> Any:
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), 0.0, x - whole), x), whole


def _rect(r: Any, phi: Any) -> Any:
    return r * np.cos(phi) + 1j * (r * np.sin(phi))


_WRITTEN: dict[str, Callable[..., Any]] = {
    "log": _log,
    "dist": _dist,
    "fsum": lambda x: sum(list(x), 0.0),
    "fma": lambda x, y, z: x * y + z,
    "hypot": _hypot,
    "isclose": _isclose,
    "ldexp": lambda x, i: x * np.exp2(i),
    "modf": _modf,
    "polar": lambda z: (np.abs(z), np.angle(z)),
    "rect": _rect,
}
_ASKS = {"isclose", "isfinite", "isinf", "isnan"}
_REAL = {"phase", "polar", "rect"}  # functions of cmath whose arguments or results are real


class _Answer:
    """Stands in for one function of `math` or `cmath`: it is equal to that one, and looks like it."""

    def __init__(self, function: Any, by_numpy: Callable[..., Any]):
        self.__wrapped__ = function
        self.by_numpy = by_numpy

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not any(map(_is_recorded, (*args, *kwargs.values()))):
            return self.__wrapped__(*args, **kwargs)
        try:
            found = self.__wrapped__(*map(_plain, args), **{k: _plain(v) for k, v in kwargs.items()})
        except Exception as error:
            note_user_line(error)
            raise
        self._check_batch(args)
        params = _COMPLEX if self.__wrapped__.__module__ == "cmath" else _FLOAT
        number = _FLOAT if self.__wrapped__.__name__ == "rect" else params
        name = self.__wrapped__.__name__
        given = [_numbers(x, number) for x in args]
        with np.errstate(all="ignore"):  # Python has none of NumPy's warnings
            result = self.by_numpy(*given, **{k: _numbers(v, number) for k, v in kwargs.items()})
        if name in _ASKS:
            return to_bool(result) if isinstance(result, Tensor) else found
        return _result(result, found, name)

    def _check_batch(self, args: Any) -> None:
        """Refuse one example of a batch: whether Python raises an error would differ from example to example."""
        for x in args:
            if isinstance(x, Tensor) and any([trace.differs(x) for trace in traces(x)]):
                name, fix = f"{self.__wrapped__.__module__}.{self.__wrapped__.__name__}", math_fix(self.__wrapped__)
                message = f"vmap: {name} takes one number, and raises errors for some. Fix: {fix or 'NumPy'}"
                raise UnsupportedError(at_user_line(message))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.__wrapped__

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def _is_recorded(x: Any) -> bool:
    """Return whether an argument is a tensor of a traced function, or a sequence of numbers that has one."""
    if isinstance(x, Tensor):
        return bool(traces(x)) and x.dtype.kind in "fciub"
    return isinstance(x, (list, tuple)) and any(map(_is_recorded, x))


def _plain(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x._tapec_read()._value
    return [_plain(v) for v in x] if isinstance(x, (list, tuple)) else x


def _numbers(x: Any, params: Any) -> Any:
    """Return an argument as the function takes it: as a float or complex number of Python."""
    if isinstance(x, Tensor):
        t: Any = x._tapec_read()
        if not recordings(t):
            return _number(t._value, params)
        t = np.reshape(t, ()) if t.shape and t.size == 1 else t
        if t.shape:
            return [_numbers(part, params) for part in t]
        return t if type(t._value) is type(_number(0.0, params)) else perform(NUMBER, (t,), params)
    if isinstance(x, (list, tuple)):
        return [_numbers(v, params) for v in x]
    return _number(x, params)


def _number(x: Any, params: Any) -> Any:
    return complex(x) if params is _COMPLEX else float(x)


def _result(x: Any, found: Any, name: str) -> Any:
    """Return a result as one of Python's numbers, as the function of `math` has found it."""
    if isinstance(found, tuple):
        return tuple([_result(part, value, name) for part, value in zip(x, found)])
    if not isinstance(x, Tensor):
        return found
    for trace in traces(x):
        if not np.isfinite(found):
            trace.require_retrace(f"math.{name} gives {found}, where it raises an error for other numbers")
        else:
            trace.note_finite(x)
    return perform(NUMBER, (x,), _COMPLEX if type(found) is complex else _FLOAT)


def _by_numpy(name: str) -> Callable[..., Any] | None:
    if name in _WRITTEN:
        return _WRITTEN[name]
    if name in _OF_SCIPY:
        return None if is_missing("scipy") else _of_scipy(_OF_SCIPY[name])
    return getattr(np, _NAMES.get(name, name)) if name in _AS_NUMPYS.split() else None


def _of_scipy(name: str) -> Callable[..., Any]:
    """Return a function of `scipy.special`, which is imported at the first call: that takes a quarter of a second."""
    return lambda x: getattr(import_module("scipy.special"), name)(x)


@cache
def _answers() -> dict[Any, Any]:
    """Return what stands for the modules and for their functions, by the identity of these."""
    found: dict[Any, Any] = {}
    for module in (math, cmath):
        answering = types.ModuleType(module.__name__)
        answering.__dict__.update(vars(module))
        for name, function in vars(module).items():
            by_numpy = _by_numpy(name) if isinstance(function, types.BuiltinFunctionType) else None
            if by_numpy is not None:
                found[id(function)] = answering.__dict__[name] = _Answer(function, by_numpy)
        found[id(module)] = answering
    return found


def math_answers(value: Any) -> Any:
    """Return what stands for `math`, `cmath` or one of their functions; any other value as it is."""
    if value is math or value is cmath or getattr(value, "__module__", None) in ("math", "cmath"):
        return _answers().get(id(value), value)
    return value


def of_python(x: Any) -> Any:
    """Return the module or the function for what stands for it; any other value as it is."""
    if type(x) is _Answer:
        return x.__wrapped__
    if type(x) is types.ModuleType:
        return next((module for module in (math, cmath) if _answers()[id(module)] is x), x)
    return x
