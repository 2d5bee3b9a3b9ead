"""Define an op with one call, `elementwise` or `define`. See `docs/adding-an-op.md`.

    tanh = elementwise(np.tanh, partials=lambda y, x: (1 - y * y,), sample=real)

Rules are NumPy on the user's own tensors. Un-broadcasting, dtype casts and symbolic zeros are not their business.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from numbers import Integral, Rational
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Op, Type, broadcast_shapes, register
from tapec.ir.types import NUMBERS, array_type, normalize_axes, several
from tapec.ops import tuning
from tapec.ops.core.python_numbers import COMPARISONS, OPERATORS
from tapec.ops.core.stand_in import FUNCTIONS, UFUNCS, ArrayLike, apply

__all__ = [
    "Missing",
    "as_operand",
    "conj",
    "define",
    "elementwise",
    "ndim_of",
    "reduced_shape",
    "shape_of",
    "spread",
]


# ---------------------------------------------------------------------------------------------------------------
# elementwise
# ---------------------------------------------------------------------------------------------------------------
_RESOLVED: dict[Any, Any] = {}
_WEAK_KINDS = {"f": float, "i": int, "c": complex}


def ufunc_dtypes(ufunc: np.ufunc, types: tuple[Type, ...]) -> tuple[np.dtype, ...]:
    """The dtypes of all results, by NumPy's own promotion (NEP 50), remembered."""
    key = (ufunc, tuple([(t.dtype, t.weak) for t in types]))
    found = _RESOLVED.get(key)
    if found is None:
        given = tuple([_WEAK_KINDS[t.dtype.kind] if t.weak else t.dtype for t in types])
        found = ufunc.resolve_dtypes(given + (None,) * ufunc.nout)[ufunc.nin :]
        _RESOLVED[key] = found
    return found


def ufunc_rule(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the type rule of a ufunc, which remembers the result types of the few operand types that a program has."""
    stays_weak = ufunc in OPERATORS

    @lru_cache(maxsize=16)  # a program has few types
    def rule(*types: Type) -> Any:
        if stays_weak and types[0].weak and types[-1].weak:
            return Type((), ufunc_dtypes(ufunc, types)[0], True)
        shape = broadcast_shapes(*[t.shape for t in types])
        dtypes = ufunc_dtypes(ufunc, types)
        if len(dtypes) == 1:
            return array_type(shape, dtypes[0])
        return tuple([array_type(shape, d) for d in dtypes])

    return rule


def elementwise(
    ufunc: np.ufunc,
    partials: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    gradient: str | None = None,
    source: Any = None,
    inplace: str | None = None,
    sample: Any = None,
    **more: Any,
) -> Op:
    """Define the op of a NumPy ufunc."""
    name = name or ufunc.__name__
    if gradient is None:
        gradient = "yes" if partials or more.get("vjp") else "none"
    if source is None:
        slots = ", ".join(f"{{{i}}}" for i in range(ufunc.nin))
        source = f"np.{name}({slots})"
    op = register(
        Op(
            name=name,
            run=ufunc,
            rule=ufunc_rule(ufunc),
            kind="elementwise",
            partials=partials,
            gradient=gradient,
            source=source,
            inplace=inplace,
            out=True,
            sample=sample,
            numpy=ufunc,
            multi=ufunc.nout > 1,
            **more,
        )
    )
    UFUNCS[ufunc] = op
    python = OPERATORS.get(ufunc) or COMPARISONS.get(ufunc)
    if python is not None:
        op.facts["python"] = python
    return op


# ---------------------------------------------------------------------------------------------------------------
# everything else
# ---------------------------------------------------------------------------------------------------------------
def define(
    name: str,
    run: Callable[..., Any],
    rule: Callable[..., Any],
    kind: str,
    *,
    gradient: str | None = None,
    **more: Any,
) -> Op:
    """Define an op that is no ufunc; the NumPy functions that apply it are defined beside it, with `implements`."""
    if gradient is None:
        gradient = "yes" if any(more.get(k) for k in ("partials", "vjp", "jvp")) else "none"
    return register(Op(name=name, run=run, rule=rule, kind=kind, gradient=gradient, **more))


# ---------------------------------------------------------------------------------------------------------------
# helpers of definitions
# ---------------------------------------------------------------------------------------------------------------
def as_operand(x: Any) -> Any:
    """Return x as an operand: a stand-in, Python number, or array. A list with stand-ins becomes their stack."""
    if type(x) in NUMBERS:
        return x
    if isinstance(x, ArrayLike):
        return x._operand()
    if isinstance(x, np.ndarray):
        return fold_objects(x) if x.dtype == object else as_data(x)
    if isinstance(x, np.generic):
        return x
    variable = getattr(type(x), "_tapec_read", None)
    if variable is not None:
        return variable(x)
    if isinstance(x, (list, tuple)) and holds_stand_in(x):
        numbers = _numbers(x)
        if numbers is None or len(numbers[1]) == 1 or numbers[1][-1] >= tuning.ROWS_STACKED_MIN_ELEMENTS:
            return FUNCTIONS[np.stack]([as_operand(item) for item in x])
        return FUNCTIONS[np.reshape](FUNCTIONS[np.stack]([as_operand(item) for item in numbers[0]]), numbers[1])
    # such as a Fraction, which NumPy would keep as an object
    if isinstance(x, Rational) and not isinstance(x, Integral):
        return float(x)
    return np.asarray(x)


def _numbers(x: Any) -> tuple[list[Any], tuple[int, ...]] | None:
    """Return the numbers of a nested list in order, and its shape; None where it holds arrays, or rows differ."""
    if not isinstance(x, (list, tuple)):
        return None if getattr(x, "shape", ()) else ([x], ())
    parts = [_numbers(item) for item in x]
    found = [part for part in parts if part is not None]
    if len(found) < len(parts) or len({shape for _, shape in found}) != 1:
        return None
    return [number for numbers, _ in found for number in numbers], (len(x), *found[0][1])


def as_data(x: np.ndarray) -> np.ndarray:
    """Return the array; raise an error for matrices and masked arrays, which compute by rules of their own."""
    if type(x) is not np.ndarray:
        if isinstance(x, np.ma.MaskedArray):
            raise UnsupportedError(at_user_line("masked arrays are not supported. Fix: data and mask as two arrays"))
        if isinstance(x, np.matrix):
            raise UnsupportedError(at_user_line("np.matrix is not supported. Fix: np.asarray(m), and @ for products"))
    return x


def holds_stand_in(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(holds_stand_in(item) for item in x)
    return isinstance(x, ArrayLike) or hasattr(type(x), "_tapec_read")


def fold_objects(x: np.ndarray) -> Any:
    """Join an object array of scalar stand-ins, as NumPy makes it from `np.array([a, b])`, into one tensor."""
    x = np.asarray(x)  # a matrix becomes an array, since its ravel would have two axes
    items = list(x.ravel())
    if not any(isinstance(item, ArrayLike) for item in items):
        return np.array(x.tolist()).reshape(x.shape)
    alike = {id(item): item for item in items if isinstance(item, ArrayLike)}
    if len(items) >= tuning.OBJECTS_AT_ONCE_MIN_ELEMENTS and len(alike) <= tuning.OBJECTS_AT_ONCE_MAX_STAND_INS:
        return _of_few(x, alike)
    flat = FUNCTIONS[np.stack](items)
    return FUNCTIONS[np.reshape](flat, x.shape)


def _of_few(x: np.ndarray, alike: dict[int, Any]) -> Any:
    """Join an object array in which few stand-ins fill many places, as `np.full(n, a)` makes it."""
    codes = np.array([id(item) for item in x.ravel()]).reshape(x.shape)
    numbers = np.isin(codes, list(alike), invert=True)
    found: Any = None
    if numbers.any():
        found = np.array(np.where(numbers, x, 0).tolist())
    for key, item in alike.items():
        if found is None:
            found = FUNCTIONS[np.broadcast_to](item, x.shape)
        else:
            found = FUNCTIONS[np.where](codes == key, item, found)
    return found


class Missing:
    """A derivative without a known formula: an error is raised where it would be used."""

    def __init__(self, what: str):
        self.what = what

    def refuse(self) -> Any:
        raise UnsupportedError(
            at_user_line(
                f"the derivative of {self.what} is not known in closed form. Fix: hold that argument constant "
                f"(tapec.stop_gradient), or give the function a tapec.custom_gradient."
            )
        )


def shape_of(x: Any) -> tuple[int, ...]:
    if type(x) in NUMBERS:  # of which NumPy would make arrays first
        return ()
    return x.shape if isinstance(x, (ArrayLike, np.ndarray, np.generic)) else np.shape(x)


def ndim_of(x: Any) -> int:
    return len(shape_of(x))


def dtype_of(x: Any) -> np.dtype:
    return x.dtype if isinstance(x, (ArrayLike, np.ndarray, np.generic)) else np.asarray(x).dtype


def reduced_shape(shape: tuple[int, ...], axis: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    kept = tuple([n for i, n in enumerate(shape) if i not in axis])
    if len(kept) + len(axis) != len(shape):
        raise ValueError(f"axes {axis} are not distinct axes of the shape {shape}")
    return tuple([1 if i in axis else n for i, n in enumerate(shape)]) if keepdims else kept


def spread(ct: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """Broadcast a reduced cotangent over the axes that were reduced."""
    if not keepdims:
        ct = np.reshape(ct, reduced_shape(x.shape, axis, True))
    return np.broadcast_to(ct, x.shape)


def conj(x: Any) -> Any:
    """Return the conjugate; a real x itself."""
    if type(x) is complex:  # a Python number stays a weak scalar
        return x.conjugate()
    return np.conjugate(x) if dtype_of(x).kind == "c" else x


def axes_param(x: Any, axis: Any, keepdims: Any) -> tuple[tuple[str, Any], ...]:
    """Return the parameters of a reduction, from a cache: programs use few."""
    if axis is None or type(axis) is int:
        return _axes_param(ndim_of(x), axis, bool(keepdims))
    if type(axis) is tuple:
        return _axes_param(ndim_of(x), several(axis), bool(keepdims))
    return (("axis", normalize_axes(axis, ndim_of(x))), ("keepdims", bool(keepdims)))


def lanes_param(x: Any, axis: Any, keepdims: Any) -> tuple[tuple[str, Any], ...]:
    """Return the parameters of a reduction that NumPy does in C: there, axis 0 or -1 of a number means no axis."""
    axis = strictly(axis)
    return axes_param(x, () if not ndim_of(x) and axis in (0, -1) else axis, keepdims)


def strictly(axis: Any) -> Any:
    """Check an axis, or a tuple of axes, as NumPy's code in C does: no list, and no truth values."""
    if axis is None or type(axis) is int:
        return axis
    if isinstance(axis, list):
        raise TypeError("'list' object cannot be interpreted as an integer")
    if any(isinstance(k, (bool, np.bool_)) for k in (axis if type(axis) is tuple else (axis,))):
        raise TypeError("an integer is required")
    return axis


@lru_cache(maxsize=1024)
def _axes_param(ndim: int, axis: Any, keepdims: bool) -> tuple[tuple[str, Any], ...]:
    return (("axis", normalize_axes(axis, ndim)), ("keepdims", keepdims))


__all__ += ["apply", "axes_param", "dtype_of", "fold_objects", "holds_stand_in", "lanes_param", "ufunc_dtypes"]
__all__ += ["as_data", "strictly", "ufunc_rule"]
