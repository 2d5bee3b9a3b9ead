"""Share helpers among the definitions of array ops: samples for their tests, batch rules, index parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from tapec.errors import DetachError, at_user_line
from tapec.ir import Type
from tapec.ir.types import NUMBERS
from tapec.ops.core.define import as_operand, conj, dtype_of, ndim_of
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import ArrayLike

__all__ = [
    "adjoint",
    "along",
    "as_array",
    "both",
    "constants",
    "drawn",
    "flat",
    "inexact",
    "lapack_dtype",
    "batch_axis_first",
    "aligned_behind_batch",
    "batch_as_stack",
    "permuted",
    "plain_number",
    "available",
    "real_dtype",
    "regular",
    "result_class",
    "batch_with_shifted_axes",
    "same_type",
    "source_of_value",
    "stacked",
    "where_mask",
    "weak",
]

# takes a random generator; Any, since np.random need not be loaded for an annotation
Sample = Callable[[Any], list[Case]]
ALL = slice(None)

_NO_OPERAND = (
    "a number that says what is computed, and by which nobody can differentiate, is recorded as an argument. "
    "Fix: name it in static_argnames, or write the number"
)


# -- samples ----------------------------------------------------------------------------------------------------------
def drawn(*shapes: tuple[int, ...], complex: bool = False, **params: Any) -> Sample:
    """A case with normally distributed inputs of these shapes."""

    def sample(rng: np.random.Generator) -> list[Case]:
        def draw(shape: tuple[int, ...]) -> Any:
            real = rng.standard_normal(shape)
            return real + 1j * rng.standard_normal(shape) if complex else real

        return [Case(tuple(map(draw, shapes)), params)]

    return sample


def constants(*inputs: Any, first: tuple[int, ...], **params: Any) -> Sample:
    """A case whose first input is drawn, with this shape; the others are these arrays."""
    return lambda rng: [Case((rng.standard_normal(first), *inputs), params)]


def both(*samples: Sample) -> Sample:
    """Return a sample with all cases of several samples."""
    return lambda rng: [case for sample in samples for case in sample(rng)]


# -- operands ---------------------------------------------------------------------------------------------------------
def flat(x: Any) -> Any:
    """Return all elements in a row, for reading. `np.ravel` would also ask how they lie in memory."""
    return np.reshape(x, -1)


def as_array(x: Any) -> Any:
    """Return an operand that has a shape and methods: a number of Python's becomes NumPy's, which decides dtypes.

    A symbol stays as it is: in rules, numbers of Python's take the dtype of what they meet.
    """
    x = as_part(x)
    return x.astype(x.dtype) if getattr(x, "weak", False) and x._rank > 1 else x


def as_part(x: Any) -> Any:
    """Return an operand that is put beside others, of all of which the dtypes count: a stand-in stays as it is."""
    x = as_operand(x)
    return np.asarray(x)[()] if type(x) in NUMBERS else x


def fitting(x: Any, dtype: np.dtype) -> Any:
    """Return a number of Python's in a dtype, for which it may be too large; anything else as it is."""
    return as_operand(x).astype(dtype) if getattr(x, "weak", False) else x


def inexact(x: Any) -> Any:
    """Return x with floats in place of integers and booleans."""
    x = as_array(x)
    return x if x.dtype.kind in "fc" else x.astype(float)


def without_empty_shape(y: Any) -> Any:
    """Return a scalar for a plain array without axes: np.where gives these, and functions of NumPy and SciPy do not."""
    return y[()] if type(y) is np.ndarray and not y.ndim else y


def where_mask(where: Any) -> Any:
    """Return the mask that `where=` gives, as NumPy reads it: objects are true or false, and arrays of numbers are
    refused.
    """
    mask = as_operand(where)
    dtype = dtype_of(mask)
    if dtype.kind == "b":
        return mask
    if isinstance(where, (np.ndarray, ArrayLike)) and where.ndim:
        raise TypeError(f"Cannot cast array data from {dtype!r} to {np.dtype(bool)!r} according to the rule 'safe'")
    return as_array(mask).astype(bool)


def plain_number(x: Any) -> Any:
    """Return a number that says what is computed, and so is no operand.

    A recorded number becomes a guard, or is refused.
    """
    if not isinstance(x, ArrayLike):
        return x
    try:
        return int(x) if x.dtype.kind in "iub" else float(x)
    except DetachError:
        raise DetachError(at_user_line(_NO_OPERAND)) from None


def weak(x: Any) -> bool:
    """Return whether x is a Python number, or a stand-in for one."""
    return type(x) in NUMBERS or getattr(x, "weak", False)


def available(*names: str) -> list[Any]:
    """Return NumPy's functions of these names, as far as the installed NumPy has them."""
    return [getattr(np, name) for name in names if hasattr(np, name)]


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """The index of a part along one axis."""
    return (ALL,) * axis + (part,)


# -- source -----------------------------------------------------------------------------------------------------------
def source_of_value(x: Any) -> str:
    """Return the source of a plain value: as Python prints it, if that is read back as the same value."""
    if type(x) is tuple:
        return f"({', '.join(map(source_of_value, x))}{',' * (len(x) == 1)})"
    if isinstance(x, float) and not math.isfinite(x):
        return "np.nan" if x != x else "np.inf" if x > 0 else "-np.inf"
    if isinstance(x, complex) and (
        not (math.isfinite(x.real) and math.isfinite(x.imag)) or ("-" in repr(x) and not (x.real and x.imag))
    ):
        return f"complex({source_of_value(x.real)}, {source_of_value(x.imag)})"  # -1j is -(0+1j), and 1-0j is 1+0j
    return repr(x)


# -- types ------------------------------------------------------------------------------------------------------------
def same_type(t: Type, **params: Any) -> Type:
    return Type(t.shape, t.dtype)


# -- batch rules ------------------------------------------------------------------------------------------------------
def batch_axis_first(batched: tuple[bool, ...], xs: tuple[Any, ...]) -> list[Any]:
    """Return all inputs with the batch axis first; inputs without one are repeated along it."""
    size = next(x.shape[0] for x, b in zip(xs, batched) if b)
    return [x if b else np.broadcast_to(x, (size, *np.shape(x))) for x, b in zip(xs, batched)]


def batch_with_shifted_axes(run: Callable[..., Any], *names: str) -> Callable[..., Any]:
    """The batch rule of a one-input op whose parameters of these names are axes, or tuples of axes."""

    def batch(batched: tuple[bool, ...], x: Any, **params: Any) -> Any:
        for name in names:
            axis = params[name]
            params[name] = tuple(k + 1 for k in axis) if isinstance(axis, tuple) else axis + 1
        return run(x, **params)

    return batch


def permuted(x: Any, source: int, destination: int) -> Any:
    """`np.moveaxis` of one axis, both counted from the front."""
    order = [k for k in range(ndim_of(x)) if k != source]
    order.insert(destination, source)
    return np.transpose(x, order)


def aligned_behind_batch(batched: tuple[bool, ...], xs: tuple[Any, ...], core: tuple[int, ...]) -> list[Any]:
    """Return inputs that broadcast over all axes but their last ones (`core` many), with axes of length one added after
    the batch axis.
    """
    loops = max(ndim_of(x) - b - c for x, b, c in zip(xs, batched, core))
    out = []
    for x, b, c in zip(xs, batched, core):
        missing = loops + c + 1 - ndim_of(x)
        out.append(np.reshape(x, (x.shape[0], *(1,) * missing, *x.shape[1:])) if b and missing else x)
    return out


# -- matrices ---------------------------------------------------------------------------------------------------------
def adjoint(x: Any) -> Any:
    """The conjugate transpose of matrices."""
    return conj(np.swapaxes(x, -1, -2))


def lapack_dtype(*types: Type) -> np.dtype:
    """The dtype of what LAPACK computes: single or double precision, real or complex."""
    kinds = [t.dtype if t.dtype.kind in "fc" else np.dtype(float) for t in types]
    for d in kinds:
        if d.char not in "fdFD":
            raise TypeError(at_user_line(f"array type {d.name} is unsupported in linalg"))
    return np.result_type(*kinds)


def real_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype of the parts of a complex number; any other stays."""
    return np.zeros(0, dtype).real.dtype


def stacked(t: Type, square: bool = True) -> tuple[int, ...]:
    """Return the shape of a stack of matrices; raise NumPy's LinAlgError for another shape."""
    if t.ndim < 2:
        message = f"{t.ndim}-dimensional array given. Array must be at least two-dimensional"
        raise np.linalg.LinAlgError(at_user_line(message))
    if square and t.shape[-1] != t.shape[-2]:
        raise np.linalg.LinAlgError(at_user_line("Last 2 dimensions of the array must be square"))
    return t.shape


@lru_cache
def result_class(function: Any) -> Any:
    """The named tuple in which a function of a square matrix gives its results."""
    return type(function(np.eye(1)))


def batch_as_stack(run: Callable[..., Any]) -> Callable[..., Any]:
    """The batch rule of a one-input function of stacks of matrices: a batch is one more axis of the stack."""
    return lambda batched, x, **params: run(x, **params)


def regular(*shape: int, complex: bool = False, symmetric: bool = False, **params: Any) -> Sample:
    """A case with one matrix, or a stack of them, far from singular; `symmetric` makes it positive definite."""

    def sample(rng: np.random.Generator) -> list[Case]:
        a = rng.standard_normal(shape) + 0j
        if complex:
            a = a + 1j * rng.standard_normal(shape)
        if symmetric:
            a = a @ np.conj(a.swapaxes(-1, -2))
        a = a + 2 * np.eye(shape[-2], shape[-1])
        return [Case((a if complex else a.real.copy(),), params)]

    return sample
