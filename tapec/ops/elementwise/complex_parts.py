"""Define parts of complex numbers. For real results the partial is the p of dy = Re(p dx), its cotangent conj(p)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir import Op, Type
from tapec.ir.types import weak_type
from tapec.ops.core.define import as_operand, conj, define, dtype_of, elementwise
from tapec.ops.core.op_helpers import real_dtype
from tapec.ops.core.sample_domains import any_real, complex_only
from tapec.ops.core.stand_in import apply, implements, method

__all__ = ["angle", "conjugate", "imag", "real", "real_if_close"]

conjugate = elementwise(
    np.conjugate,
    vjp=lambda ct, y, x: (conj(ct),),
    jvp=lambda ts, y, x: conj(ts[0]),
    source="np.conj({0})",
    sample=(any_real,),
)


def _part(t: Type) -> Type:
    """Return the type of `.real` or `.imag`; those of a Python number are Python numbers."""
    return weak_type(float) if t.weak else _real(t)


def _real(t: Type) -> Type:
    return t.with_dtype(real_dtype(t.dtype))


def _real_of(function: Any, rule: Any, partial: Any, source: str, view: bool = False) -> Op:
    """Define an op that gives a real number for a complex one."""
    return define(
        function.__name__,
        function,
        rule,
        "elementwise",
        partials=lambda y, x: (partial(x),),
        source=source,
        sample=(complex_only,),
        numpy=function,
        view=view,
    )


REAL = _real_of(np.real, _part, lambda x: 1, "{0}.real", view=True)
IMAG = _real_of(np.imag, _part, lambda x: -1j, "{0}.imag", view=True)
ANGLE = _real_of(np.angle, _real, lambda x: -1j / np.where(x == 0, np.inf, x), "np.angle({0})")


@implements(np.real, gives_views=True)
def real(val: Any) -> Any:
    x = as_operand(val)
    return apply(REAL, (x,)) if dtype_of(x).kind == "c" else x


@implements(np.imag, gives_views=True)
def imag(val: Any) -> Any:
    x = as_operand(val)
    if dtype_of(x).kind == "c":
        return apply(IMAG, (x,))
    zeros = np.zeros_like(x)
    return np.broadcast_to(zeros, zeros.shape)  # which nobody may write


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    x = as_operand(z)
    radians = apply(ANGLE, (x,)) if dtype_of(x).kind == "c" else np.arctan2(0, x)
    return radians * (180 / math.pi) if deg else radians


@implements(np.real_if_close, gives_views=True)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    x = as_operand(a)
    if dtype_of(x).kind != "c":
        return x
    if tol > 1:
        tol = np.finfo(dtype_of(x)).eps * tol
    return real(x) if bool(np.all(np.absolute(imag(x)) < tol)) else x


@method("conjugate", "conj", gives_views=True)
def conjugate_method(self: Any) -> Any:
    """Return the conjugate; of a real array, booleans included, the array itself.

    The function `np.conjugate` makes numbers of booleans, the method does not.
    """
    return np.conjugate(self) if dtype_of(self).kind == "c" else self


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return dtype_of(as_operand(x)).kind == "c"


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)
