"""Complex numbers. For a real result of a complex x the partial is the p of dy = Re(p dx); its cotangent is conj(p)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ops.array import apply, implements, method
from tapec.ops.define import as_operand, conj, define, dtype_of, elementwise
from tapec.ops.samples import any_real, complex_only

__all__ = ["angle", "conjugate", "imag", "real", "real_if_close"]

conjugate = elementwise(
    np.conjugate,
    vjp=lambda ct, y, x: (conj(ct),),
    jvp=lambda ts, y, x: conj(ts[0]),
    source="np.conj({0})",
    sample=(any_real,),
)


def _part_rule(t: Type) -> Type:
    return t.with_dtype(np.empty(0, t.dtype).real.dtype)


REAL = define(
    "real",
    np.real,
    _part_rule,
    "elementwise",
    partials=lambda y, x: (1,),
    source="{0}.real",
    sample=(complex_only,),
    numpy=np.real,
)
IMAG = define(
    "imag",
    np.imag,
    _part_rule,
    "elementwise",
    partials=lambda y, x: (-1j,),
    source="{0}.imag",
    sample=(complex_only,),
    numpy=np.imag,
)
ANGLE = define(
    "angle",
    np.angle,
    _part_rule,
    "elementwise",
    partials=lambda y, x: (-1j / x,),
    source="np.angle({0})",
    sample=(complex_only,),
    numpy=np.angle,
)


@implements(np.real)
def real(val: Any) -> Any:
    x = as_operand(val)
    return apply(REAL, (x,)) if dtype_of(x).kind == "c" else x


@implements(np.imag)
def imag(val: Any) -> Any:
    x = as_operand(val)
    return apply(IMAG, (x,)) if dtype_of(x).kind == "c" else np.zeros_like(x)


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    x = as_operand(z)
    radians = apply(ANGLE, (x,)) if dtype_of(x).kind == "c" else np.arctan2(0, x)
    return radians * (180 / math.pi) if deg else radians


@implements(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    x = as_operand(a)
    if dtype_of(x).kind != "c":
        return x
    if tol > 1:
        tol = np.finfo(dtype_of(x)).eps * tol
    return real(x) if bool(np.all(np.absolute(imag(x)) < tol)) else x


@method("conjugate", "conj")
def conjugate_method(self: Any) -> Any:
    return np.conjugate(self)


@implements(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return dtype_of(as_operand(x)).kind == "c"


@implements(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)


