"""Indexing: reading with anything NumPy takes, and its transpose, adding into zeros.

An index is a static parameter, a tuple of ints, `None`, `...`, `Slice` and `Slot(k)`; the arrays in it are inputs, found
by their `Slot`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Type, broadcast_shapes
from tapec.ir.index import Slice, Slot
from tapec.ops.array import apply, method
from tapec.ops.define import as_operand, define, shape_of
from tapec.ops.array import ArrayLike


def real_index(index: tuple[Any, ...], arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index as NumPy takes it."""
    return tuple(
        slice(*p) if type(p) is Slice else arrays[p.k] if type(p) is Slot else p for p in index
    )


def slice_length(s: Slice, n: int) -> int:
    return len(range(*slice(*s).indices(n)))


def indexed_shape(shape: tuple[int, ...], index: tuple[Any, ...], arrays: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """NumPy's rule for the shape of x[index]: arrays broadcast, and stand where they stood if they stood together."""
    used = sum(1 for p in index if p is not None and p is not Ellipsis)
    full: list[Any] = []
    for p in index:
        full.extend([Slice(None, None, None)] * (len(shape) - used) if p is Ellipsis else [p])
    if Ellipsis not in index:
        full.extend([Slice(None, None, None)] * (len(shape) - used))
    advanced = [i for i, p in enumerate(full) if type(p) is Slot]
    ints_count = bool(advanced)
    if ints_count:
        advanced = [i for i, p in enumerate(full) if type(p) is Slot or isinstance(p, int)]
    together = bool(advanced) and advanced == list(range(advanced[0], advanced[-1] + 1))
    front = broadcast_shapes(*[arrays[full[i].k] if type(full[i]) is Slot else () for i in advanced]) if advanced else ()
    out: list[int] = []
    place = 0
    axis = 0
    for i, p in enumerate(full):
        if advanced and i == advanced[0]:
            place = len(out)
        if p is None:
            out.append(1)
            continue
        if type(p) is Slice:
            out.append(slice_length(p, shape[axis]))
        axis += 1
    if not advanced:
        return tuple(out)
    place = place if together else 0
    return (*out[:place], *front, *out[place:])


def _getitem_rule(t: Type, *indices: Type, index: tuple[Any, ...]) -> Type:
    return Type(indexed_shape(t.shape, index, tuple(i.shape for i in indices)), t.dtype)


def index_source(index: tuple[Any, ...], args: tuple[str, ...]) -> str:
    parts = []
    for p in index:
        if type(p) is Slice:
            parts.append(repr(p))
        elif type(p) is Slot:
            parts.append(args[p.k])
        else:
            parts.append("..." if p is Ellipsis else repr(p))
    return ", ".join(parts) if parts else "()"


GETITEM = define(
    "getitem",
    lambda x, *arrays, index: np.asarray(x)[real_index(index, arrays)],
    _getitem_rule,
    "indexing",
    vjp=lambda ct, y, x, *arrays, index: (
        apply(SCATTER, (ct, *arrays), (("shape", x.shape), ("index", index))),
        *[None for _ in arrays],
    ),
    linear=(0,),
    source=lambda args, node: f"{args[0]}[{index_source(node.param('index'), args[1:])}]",
    view=True,
    sample=None,
)


def _scatter(ct: Any, *arrays: Any, shape: tuple[int, ...], index: tuple[Any, ...]) -> Any:
    out = np.zeros(shape, np.asarray(ct).dtype)
    if arrays:
        np.add.at(out, real_index(index, arrays), ct)
    else:
        out[real_index(index, ())] = ct
    return out


SCATTER = define(
    "scatter",
    _scatter,
    lambda t, *indices, shape, index: Type(shape, t.dtype),
    "indexing",
    vjp=lambda ct, y, x, *arrays, shape, index: (
        apply(GETITEM, (ct, *arrays), (("index", index),)),
        *[None for _ in arrays],
    ),
    linear=(0,),
    source=None,
    sample=None,
)


def encode_index(x: Any, index: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """An index as NumPy takes it, as static parts and arrays. Boolean masks become their nonzero positions."""
    parts = index if isinstance(index, tuple) else (index,)
    static: list[Any] = []
    arrays: list[Any] = []

    def slot(array: Any) -> None:
        static.append(Slot(len(arrays)))
        arrays.append(array)

    for p in parts:
        if p is None or p is Ellipsis:
            static.append(p)
        elif type(p) is slice:
            static.append(Slice(*[None if b is None else int(b.__index__()) for b in (p.start, p.stop, p.step)]))
        elif type(p) is int:
            static.append(p)
        elif isinstance(p, (bool, np.bool_)) or (getattr(p, "dtype", None) == bool) or isinstance(p, list):
            p = as_operand(p)
            if getattr(p, "dtype", np.asarray(p).dtype if not isinstance(p, ArrayLike) else None) == bool:
                for positions in np.nonzero(p):
                    slot(positions)
            else:
                slot(p if shape_of(p) != (0,) else np.asarray(p, np.intp))
        elif isinstance(p, (ArrayLike, np.ndarray, np.generic)):
            slot(p)
        elif hasattr(p, "__index__"):
            static.append(int(p.__index__()))
        else:
            slot(as_operand(p))
    return tuple(static), tuple(arrays)


def check_bounds(shape: tuple[int, ...], static: tuple[Any, ...]) -> None:
    """NumPy's IndexError for an int out of range or too many indices."""
    np.empty(0)
    used = sum(1 for p in static if p is not None and p is not Ellipsis)
    if used > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {used} were indexed"
        )


@method("__getitem__")
def getitem(x: Any, index: Any) -> Any:
    static, arrays = encode_index(x, index)
    return apply(GETITEM, (x, *arrays), (("index", static),))
