"""Define cosine and sine transforms of all four types, as scipy.fft has them.

Transposed, the second type is the third, and the first and the fourth are themselves; but for the numbers at the ends,
which stand for one where all others stand for two. An orthogonal transform has that in it already.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type
from tapec.ir.param_types import AXES, BOOL, one_of
from tapec.ops.core.define import define
from tapec.ops.core.op_helpers import both, drawn, real_dtype
from tapec.ops.core.stand_in import apply

__all__ = ["DCTN", "DSTN", "INVERSE", "transform"]

INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}  # what type undoes a type, up to scale; or is its transpose
ENDS: dict[str, dict[int, tuple[int, ...]]] = {"dctn": {1: (0, -1), 2: (0,), 3: (0,)}, "dstn": {2: (-1,), 3: (-1,)}}

Axes = tuple[int, ...]


def _rule(t: Type, **params: Any) -> Type:
    if t.dtype.kind not in "fc":
        return Type(t.shape, np.dtype(float))
    return Type(t.shape, np.result_type(t.dtype, np.float32))


def _transform(name: str) -> Any:
    def run(x: Any, type: int, axes: Axes, norm: str, orthogonalize: bool) -> Any:
        import scipy.fft

        return getattr(scipy.fft, name)(x, type, axes=axes, norm=norm, orthogonalize=orthogonalize)

    def vjp(ct: Any, y: Any, x: Any, type: int, axes: Axes, norm: str, orthogonalize: bool) -> Any:
        ends = () if orthogonalize else ENDS[name].get(type, ())
        if type < 3:
            ct = _scaled_ends(ct, axes, ends, 2.0)
        g = transform(name, ct, INVERSE[type], axes, norm, orthogonalize)
        return (g if type == 2 else _scaled_ends(g, axes, ends, 0.5),)

    def case(shape: tuple[int, ...], type: int, axes: Axes, norm: str = "backward", orthogonalize: bool = False) -> Any:
        return drawn(shape, complex=False, type=type, axes=axes, norm=norm, orthogonalize=orthogonalize)

    return define(
        f"scipy.fft.{name}",
        run,
        _rule,
        "transform",
        params={
            "type": one_of(*INVERSE),
            "axes": AXES,
            "norm": one_of("backward", "ortho", "forward"),
            "orthogonalize": BOOL,
        },
        vjp=vjp,
        linear=(0,),
        batch=lambda batched, x, axes, **params: transform(name, x, axes=tuple([k + 1 for k in axes]), **params),
        source=_source,
        sample=both(
            *[case((5,), type, (0,)) for type in INVERSE],
            *[case((4,), type, (0,), "ortho", True) for type in INVERSE],
            *[case((3, 4), type, (0, 1), "forward") for type in INVERSE],
            case((2, 3, 4), 2, (2, 0), "ortho"),
            case((3, 2), 3, (0,), "forward", True),
            drawn((3, 4), complex=True, type=1, axes=(1,), norm="backward", orthogonalize=False),
        ),
        facts={"imports": "scipy.fft"},
    )


def _scaled_ends(x: Any, axes: Axes, ends: tuple[int, ...], scale: float) -> Any:
    """Return x with the numbers at some ends of these axes scaled."""
    for axis in axes if ends else ():
        weights = np.ones(x.shape[axis], real_dtype(x.dtype))
        weights[list(ends)] = scale
        x = x * weights.reshape((-1,) + (1,) * (x.ndim - axis - 1))
    return x


def _source(args: tuple[str, ...], node: Any) -> str:
    """Return source of a transform; as the inverse of another one where that is shorter."""
    name = node.op.name
    type, axes, norm = node.param("type"), node.param("axes"), node.param("norm")
    n = node.type.ndim
    if norm == "forward" or (norm == "ortho" and type == 3):
        name, type, norm = name.replace("fft.", "fft.i"), INVERSE[type], norm.replace("forward", "backward")
    text = args[0] if type == 2 else f"{args[0]}, {type}"
    if len(axes) == 1:
        name = name.removesuffix("n")
        text += f", axis={axes[0]}" if axes[0] != n - 1 else ""
    elif axes != tuple(range(n)):
        text += f", axes={axes}"
    text += f", norm={norm!r}" if norm != "backward" else ""
    told = node.param("orthogonalize")
    return f"{name}({text}{f', orthogonalize={told}' if told != (norm == 'ortho') else ''})"


DCTN, DSTN = _transform("dctn"), _transform("dstn")
OPS = {"dctn": DCTN, "dstn": DSTN}


def transform(name: str, x: Any, type: int, axes: Axes, norm: str, orthogonalize: bool) -> Any:
    params = (("type", type), ("axes", axes), ("norm", norm), ("orthogonalize", orthogonalize))
    return apply(OPS[name], (x,), params)
