"""Define the conversion of elements to another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Type
from tapec.ir.param_types import DTYPE
from tapec.ir.types import weak_type
from tapec.ops.core.define import define, dtype_of, ndim_of
from tapec.ops.core.op_helpers import available, drawn
from tapec.ops.core.stand_in import apply, implements, method
from tapec.ops.layout.reshape_and_transpose import laid_out

__all__ = ["CAST", "NUMBER", "dtype_source"]


def _cast_vjp(ct: Any, y: Any, x: Any, dtype: np.dtype) -> Any:
    return (ct if dtype.kind in "fc" else None,)  # the cotangent gets the input's dtype in autodiff


CAST = define(
    "cast",
    lambda x, dtype: dtype.type(x) if type(x) is int and dtype.kind in "iu" else np.asarray(x).astype(dtype)[()],
    lambda t, dtype: Type(t.shape, dtype),
    "layout",
    params={"dtype": DTYPE},
    vjp=_cast_vjp,
    linear=(0,),
    batch=lambda batched, x, dtype: x.astype(dtype),
    source=lambda args, node: _cast_source(args[0], node),
    sample=drawn((2, 3), dtype=np.dtype(np.float32)),
    numpy=None,
)


def _python(dtype: np.dtype) -> type:
    return complex if dtype.kind == "c" else float


NUMBER = define(
    "number",
    lambda x, dtype: _python(dtype)(x),
    lambda t, dtype: weak_type(_python(dtype)),
    "layout",
    params={"dtype": DTYPE},
    vjp=_cast_vjp,
    linear=(0,),
    batch=lambda batched, x, dtype: x.astype(dtype),
    source=lambda args, node: f"{_python(node.param('dtype')).__name__}({args[0]})",
    sample=drawn((), dtype=np.dtype(np.float64)),
    numpy=None,
)


def _cast_source(x: str, node: Any) -> str:
    """Return `x.astype(np.float64)`, or `np.float64(x)` of a Python number."""
    dtype = node.param("dtype")
    weak = node.inputs[0].type.weak
    return f"{dtype_source(dtype)}({x})" if weak else f"{x}.astype({dtype_source(dtype)})"


def dtype_source(dtype: np.dtype) -> str:
    return f"np.{dtype.name}" if dtype.name != "bool" else "bool"


@method("astype")
@implements(*available("astype"))  # NumPy 2.1
def astype(
    x: Any,
    dtype: Any,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: bool = True,
    device: Any = None,
) -> Any:
    old, new = dtype_of(x), np.dtype(dtype)
    if new.kind == "O" and hasattr(x, "__array__"):
        return np.array(x, object)  # of elements that are tensors, where something records them
    if new.kind not in "fciub":
        raise UnsupportedError(at_user_line(f"a tensor of dtype {new}: it would lose the gradient. Fix: keep numbers"))
    if casting != "unsafe" and not np.can_cast(old, new, casting):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast array data from {old!r} to {new!r} according to the rule {casting!r}")
    y = x if old == new and not getattr(x, "weak", False) else apply(CAST, (x,), (("dtype", new),))
    return y if ndim_of(y) < 2 else laid_out(y, order)
