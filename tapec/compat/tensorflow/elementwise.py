"""Give NumPy's elementwise functions TensorFlow's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.compat.tensorflow.plain_values import invalid
from tapec.compat.tensorflow.tf_tensor import Face, Tensor, constant
from tapec.extras import needs

__all__ = ["BINARY", "UNARY", "add_n", "cast", "clip_by_value", "complex_", "pair", "special", "where"]


def _unary(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(x: Any, name: Any = None) -> Any:
        return f(constant(x))

    call.__name__ = name
    return call


def _unary_of_input(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Make a function whose parameter TensorFlow calls `input`."""

    def call(input: Any, name: Any = None) -> Any:
        return f(constant(input))

    call.__name__ = name
    return call


def pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two operands, at least one of them a tensor; numbers and arrays take the other's dtype."""
    if isinstance(x, Face):
        return x, y if isinstance(y, (Face, int, float, complex)) else constant(y, x.dtype)
    if isinstance(y, Face):
        return x if isinstance(x, (int, float, complex)) else constant(x, y.dtype), y
    x = constant(x)
    return x, constant(y, x.dtype) if not isinstance(y, (int, float, complex)) else y


def _binary(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(x: Any, y: Any, name: Any = None) -> Any:
        return f(*pair(x, y))

    call.__name__ = name
    return call


_UNARY: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "ceil": np.ceil,
    "conj": np.conj,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "expm1": np.expm1,
    "floor": np.floor,
    "is_finite": np.isfinite,
    "is_inf": np.isinf,
    "is_nan": np.isnan,
    "log": np.log,
    "log1p": np.log1p,
    "logical_not": np.logical_not,
    "negative": np.negative,
    "reciprocal": lambda x: 1 / x,
    "rint": np.rint,
    "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
}
_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "divide": np.divide,
    "divide_no_nan": lambda x, y: np.where(y == 0, 0, x / np.where(y == 0, 1, y)),
    "equal": np.equal,
    "floordiv": np.floor_divide,
    "floormod": np.remainder,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mod": np.remainder,
    "multiply": np.multiply,
    "multiply_no_nan": lambda x, y: np.where((y == 0) & ~np.isfinite(x), 0, x) * y,
    "not_equal": np.not_equal,
    "pow": np.power,
    "squared_difference": lambda x, y: np.square(x - y),
    "subtract": np.subtract,
    "truediv": np.divide,
}


def special(name: str) -> Callable[..., Any]:
    """A function of SciPy, imported when it is called."""

    def call(x: Any) -> Any:
        with needs("scipy", f"tf.math.{name}"):
            import scipy.special

        return getattr(scipy.special, name)(x)

    return _unary(call, name)


UNARY = {name: _unary(f, name) for name, f in _UNARY.items()}
UNARY |= {name: _unary_of_input(getattr(np, name), name) for name in ("angle", "imag", "real")}
UNARY |= {name: special(name) for name in ("digamma", "erf", "erfc", "erfinv")} | {"lgamma": special("gammaln")}


def atan2(y: Any, x: Any, name: Any = None) -> Any:
    return np.arctan2(*pair(y, x))


BINARY = {name: _binary(f, name) for name, f in _BINARY.items()} | {"atan2": atan2}


def add_n(inputs: Any, name: Any = None) -> Any:
    total = constant(inputs[0])
    for x in inputs[1:]:
        total = total + x
    return total


def cast(x: Any, dtype: Any, name: Any = None) -> Any:
    return x if isinstance(x, Tensor) and x.dtype == dtype else constant(x).astype(np.dtype(dtype))


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: Any = None) -> Any:
    """The gradient passes at both bounds."""
    return np.clip(constant(t), _bound(clip_value_min, t), _bound(clip_value_max, t))


def _bound(x: Any, t: Any) -> Any:
    return x if isinstance(x, (Face, int, float)) else constant(x, constant(t).dtype)


def complex_(real: Any, imag: Any, name: Any = None) -> Any:
    """A complex tensor from its parts: complex64 from float32."""
    real, imag = pair(real, imag)
    one = np.complex64(1j) if constant(real).dtype == np.float32 else np.complex128(1j)
    return constant(real).astype(one.dtype) + constant(imag).astype(one.dtype) * one


def where(condition: Any, x: Any = None, y: Any = None, name: Any = None) -> Any:
    condition = constant(condition)
    if (x is None) != (y is None):
        raise invalid("where takes both x and y, or neither of them")
    if x is None:
        return np.stack(np.nonzero(condition), axis=-1)
    return np.where(condition, *pair(x, y))
