"""Find the op of a ufunc, and apply the keywords of the call."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Op
from tapec.ir.types import NUMBERS, WEAK_NUMBERS
from tapec.ops.core.define import as_operand, dtype_of
from tapec.ops.core.op_helpers import where_mask
from tapec.ops.core.stand_in import FUNCTIONS, UFUNCS, apply, without_op
from tapec.ops.special.lazy import special_op

__all__ = ["call_with", "cast", "find_op", "plain"]


# -- finding the op ---------------------------------------------------------------------------------------------------
def find_op(ufunc: np.ufunc) -> Op | None:
    """The op of a ufunc; those of scipy.special are defined when the first of them is met."""
    op = UFUNCS.get(ufunc)
    if op is None and getattr(np, ufunc.__name__, None) is not ufunc:
        return special_op(ufunc)
    return op


def plain(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Any:
    """Apply a ufunc without any keyword."""
    # a ufunc of np.frompyfunc calls Python on each element, so stand-ins go in as objects
    if set(ufunc.types) == {"O" * ufunc.nin + "->" + "O" * ufunc.nout}:
        return ufunc(*[np.asarray(x, dtype=object) for x in inputs])
    op = find_op(ufunc)
    if op is not None:
        return apply(op, inputs)
    if ufunc in FUNCTIONS:  # we compose this ufunc of other functions
        return FUNCTIONS[ufunc](*inputs)
    home = "np." if getattr(np, ufunc.__name__, None) is ufunc else ""
    raise without_op(f"the ufunc {home}{ufunc.__name__}")


# -- keywords of the call ---------------------------------------------------------------------------------------------
def call_with(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Any, kwargs: dict[str, Any]) -> Any:
    """Call a ufunc with keywords: `where`, `dtype`, `signature`, `casting`, and the axes of generalized ufuncs."""
    where = kwargs.pop("where", True)
    kwargs.pop("subok", None)
    kwargs.pop("order", None)
    inputs = tuple(map(as_operand, inputs))
    if {"axes", "axis", "keepdims"} & set(kwargs):
        return _with_axes(ufunc, inputs, kwargs)
    signature = kwargs.pop("signature", kwargs.pop("sig", None))
    dtype = kwargs.pop("dtype", None)
    casting = kwargs.pop("casting", "same_kind")
    if kwargs:
        raise TypeError(f"{ufunc.__name__}() got an unexpected keyword argument {next(iter(kwargs))!r}")
    # NumPy's own code asks for dtype=object when it works on arrays of objects
    if dtype is not None and np.dtype(dtype) != object:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    if signature is not None or casting != "same_kind":
        inputs = _loop_inputs(ufunc, inputs, signature, casting)
    if where is True:
        return plain(ufunc, inputs)
    where = where_mask(where)
    return _selected(where, plain(ufunc, _harmless(ufunc, inputs, where)), out)


def _loop_inputs(ufunc: np.ufunc, inputs: tuple[Any, ...], signature: Any, casting: str) -> tuple[Any, ...]:
    """The operands in the dtypes of the loop that NumPy would choose."""
    given: list[Any] = [type(x) if type(x) in WEAK_NUMBERS else dtype_of(x) for x in inputs]
    given += [None] * ufunc.nout
    fixed = {} if signature is None else {"signature": signature}
    chosen = ufunc.resolve_dtypes(tuple(given), casting=casting, **fixed)  # type: ignore[arg-type]
    return tuple([cast(x, d) for x, d in zip(inputs, chosen)])


def cast(x: Any, dtype: np.dtype) -> Any:
    if type(x) in NUMBERS:
        return np.asarray(x, dtype)[()]
    return x if x.dtype == dtype else x.astype(dtype)


def _harmless(ufunc: np.ufunc, inputs: tuple[Any, ...], where: Any) -> tuple[Any, ...]:
    """Put operands at which nothing fails, the op's fact "harmless", where `where=` leaves the result out."""
    op = UFUNCS.get(ufunc)
    safe = None if op is None else op.facts.get("harmless")
    if safe is None:
        return inputs
    return tuple([x if s is None else np.where(where, x, np.asarray(s, dtype_of(x))) for x, s in zip(inputs, safe)])


def _selected(where: Any, result: Any, out: Any) -> Any:
    """Return the result where `where=` is true, and the values of `out` elsewhere.

    Without `out` NumPy leaves memory as it finds it; here such places are zero.
    """
    if isinstance(result, tuple):
        outs = out or (None,) * len(result)
        return tuple([_selected(where, r, None if o is None else (o,)) for r, o in zip(result, outs)])
    if out is None or out[0] is None:
        return np.where(where, result, np.zeros((), dtype_of(result)))
    return np.where(where, cast(result, out[0].dtype), out[0])


def _with_axes(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply a generalized ufunc along other axes than the last ones."""
    core = [len([n for n in part.strip("()").split(",") if n]) for part in _core(ufunc)]
    axes = kwargs.pop("axes", None)
    keepdims = kwargs.pop("keepdims", False)
    if "axis" in kwargs:
        axis = kwargs.pop("axis")
        axes = [(axis,) * min(n, 1) for n in core]
    if axes is None or kwargs or keepdims:
        raise UnsupportedError(at_user_line(f"{ufunc.__name__} with keepdims= has no op. Fix: reshape the result."))
    axes = [a if isinstance(a, tuple) else (a,) for a in axes] + [()] * (len(core) - len(axes))
    moved = [np.moveaxis(x, a, tuple(range(-n, 0))) if n else x for x, a, n in zip(inputs, axes, core)]
    result = plain(ufunc, tuple(moved))
    n = core[-1]
    return np.moveaxis(result, tuple(range(-n, 0)), axes[-1]) if n else result


def _core(ufunc: np.ufunc) -> list[str]:
    """Return the parts of a gufunc's signature: "(n?,k),(k,m?)->(n?,m?)" gives three."""
    signature = (ufunc.signature or "").replace("->", ",").replace("?", "")
    return signature.replace("),(", ");(").split(";")
