"""`ArrayLike`: what every array stand-in can do, whether it holds a value (Tensor) or not (Symbol).

Operators, methods and NumPy's two protocols all end in `_apply(op, inputs, params)` of the subclass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Op

__all__ = ["FUNCTIONS", "METHODS", "UFUNCS", "ArrayLike", "apply", "implements", "method"]

# NumPy ufunc -> op; NumPy function -> our function of the same signature; method name -> our function of (self, ...)
UFUNCS: dict[Any, Op] = {}
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}


def implements(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function the meaning of these NumPy functions on stand-ins."""

    def enter(ours: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            FUNCTIONS[function] = ours
        return ours

    return enter


def method(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function an ndarray method of stand-ins."""

    def enter(ours: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            METHODS[name] = ours
            setattr(ArrayLike, name, _as_method(name, ours))
        return ours

    return enter


def _as_method(name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return ours(self, *args, **kwargs)

    call.__name__ = name
    call.__qualname__ = f"ArrayLike.{name}"
    call.__doc__ = f"As `numpy.ndarray.{name}`."
    return call


def apply(op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...] = ()) -> Any:
    """Perform an op on whatever the inputs are: record it, add it to a graph, or just compute it."""
    best: Any = None
    for x in inputs:
        if isinstance(x, ArrayLike) and (best is None or x._rank > best._rank):
            best = x
    if best is None:
        return op.run(*inputs, **dict(params))
    return best._apply(op, inputs, params)


def call_ufunc(ufunc: np.ufunc, *inputs: Any) -> Any:
    return apply(UFUNCS[ufunc], inputs)


def ufunc_method(self: Any, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The general road of `__array_ufunc__`: keywords, `out`, `reduce` and its kin."""
    from tapec.ops import ufuncs

    return ufuncs.call(ufunc, method, inputs, kwargs)


class ArrayLike:
    """Base of Tensor and Symbol."""

    __slots__ = ()
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # == is elementwise
    _rank = 0  # who performs the op when kinds are mixed

    def _apply(self, op: Op, inputs: tuple[Any, ...], params: tuple[tuple[str, Any], ...]) -> Any:
        raise NotImplementedError

    def _tapec_read(self) -> Any:
        """What stands for it in an operation: a Variable answers with its value."""
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            op = UFUNCS.get(ufunc)
            if op is not None and not op.multi:
                return apply(op, inputs)
        return ufunc_method(self, ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        ours = FUNCTIONS.get(func)
        if ours is None:
            raise UnsupportedError(at_user_line(_no_op(func)))
        return ours(*args, **kwargs)

    # -- shape and type -------------------------------------------------------------------------------------------
    # subclasses give `shape` and `dtype`

    @property
    def ndim(self) -> int:
        return len(self.shape)  # type: ignore[attr-defined]

    @property
    def size(self) -> int:
        n = 1
        for k in self.shape:  # type: ignore[attr-defined]
            n *= k
        return n

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize  # type: ignore[attr-defined]

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def __len__(self) -> int:
        if not self.shape:  # type: ignore[attr-defined]
            raise TypeError("len() of unsized object")
        return self.shape[0]  # type: ignore[attr-defined]

    def __iter__(self) -> Any:
        if not self.shape:  # type: ignore[attr-defined]
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(self.shape[0]))  # type: ignore[attr-defined]

    @property
    def T(self) -> Any:
        return FUNCTIONS[np.transpose](self)

    @property
    def mT(self) -> Any:
        return FUNCTIONS[np.swapaxes](self, -1, -2)

    @property
    def real(self) -> Any:
        return FUNCTIONS[np.real](self)

    @property
    def imag(self) -> Any:
        return FUNCTIONS[np.imag](self)

    @property
    def flat(self) -> Any:
        return iter(FUNCTIONS[np.ravel](self))

    def __getitem__(self, index: Any) -> Any:
        return METHODS["__getitem__"](self, index)


def _no_op(func: Any) -> str:
    module = getattr(func, "__module__", "") or ""
    name = getattr(func, "__name__", str(func))
    full = f"{module}.{name}" if module else name
    full = "np." + full.removeprefix("numpy.") if full.startswith("numpy") else full
    return (
        f"{full} has no op, so its result would lose the gradient. "
        f"Mend: write it with functions that have one (`tapec support` lists them), give it a tapec.custom_gradient, "
        f"or call it on `x.numpy()` when no gradient is meant to flow."
    )


def _binary(ufunc: np.ufunc) -> tuple[Any, Any]:
    def forward(self: Any, other: Any) -> Any:
        if getattr(other, "__array_ufunc__", _ABSENT) is None:
            return NotImplemented
        return apply(UFUNCS[ufunc], (self, other))

    def reflected(self: Any, other: Any) -> Any:
        if getattr(other, "__array_ufunc__", _ABSENT) is None:
            return NotImplemented
        return apply(UFUNCS[ufunc], (other, self))

    return forward, reflected


_ABSENT = object()

_OPERATORS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
for _name, _ufunc in _OPERATORS.items():
    _forward, _reflected = _binary(_ufunc)
    setattr(ArrayLike, f"__{_name}__", _forward)
    setattr(ArrayLike, f"__r{_name}__", _reflected)
for _name, _ufunc in {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}.items():
    setattr(ArrayLike, f"__{_name}__", _binary(_ufunc)[0])


def _unary(ufunc: np.ufunc) -> Any:
    def call(self: Any) -> Any:
        return apply(UFUNCS[ufunc], (self,))

    return call


for _name, _ufunc in {
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "invert": np.invert,
}.items():
    setattr(ArrayLike, f"__{_name}__", _unary(_ufunc))


def _divmod(self: Any, other: Any) -> Any:
    return self // other, self % other


def _rdivmod(self: Any, other: Any) -> Any:
    return other // self, other % self


def _round(self: Any, ndigits: int | None = None) -> Any:
    return FUNCTIONS[np.round](self, 0 if ndigits is None else ndigits)


ArrayLike.__divmod__ = _divmod  # type: ignore[attr-defined]
ArrayLike.__rdivmod__ = _rdivmod  # type: ignore[attr-defined]
ArrayLike.__round__ = _round  # type: ignore[attr-defined]
