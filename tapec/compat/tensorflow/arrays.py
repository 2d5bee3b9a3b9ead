"""Make arrays, and change their layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.compat.tensorflow.elementwise import pair
from tapec.compat.tensorflow.tf_tensor import Face, Tensor, constant, plain

__all__ = [
    "argsort",
    "boolean_mask",
    "broadcast_to",
    "concat",
    "expand_dims",
    "eye",
    "fill",
    "gather",
    "gather_nd",
    "linspace",
    "meshgrid",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "range_",
    "rank",
    "repeat",
    "reshape",
    "reverse",
    "roll",
    "shape",
    "size",
    "slice_",
    "sort",
    "split",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "unstack",
    "zeros",
    "zeros_like",
]


# -- making ----------------------------------------------------------------------------------------------------------
def _sizes(shape: Any) -> Any:
    if type(shape) in (list, tuple) and {int}.issuperset(map(type, shape)):
        return tuple(shape)
    return tuple([int(n) for n in np.ravel(np.asarray(plain(shape)))])


def zeros(shape: Any, dtype: Any = np.float32, name: Any = None) -> Tensor:
    return constant(np.zeros(_sizes(shape), dtype))


def ones(shape: Any, dtype: Any = np.float32, name: Any = None) -> Tensor:
    return constant(np.ones(_sizes(shape), dtype))


def fill(dims: Any, value: Any, name: Any = None) -> Any:
    return np.broadcast_to(constant(value), _sizes(dims))


def zeros_like(input: Any, dtype: Any = None, name: Any = None) -> Tensor:
    x = constant(input)
    return zeros(x.shape, dtype or x.dtype)


def ones_like(input: Any, dtype: Any = None, name: Any = None) -> Tensor:
    x = constant(input)
    return ones(x.shape, dtype or x.dtype)


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = np.float32, name: Any = None) -> Tensor:
    return constant(np.eye(num_rows, num_columns, dtype=dtype))


def range_(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: Any = None) -> Tensor:
    ends = (0, start) if limit is None else (start, limit)
    numbers = [x.numpy() if isinstance(x, Face) else x for x in (*ends, delta)]
    dtype = dtype or constant(numbers).dtype
    return constant(np.arange(*numbers).astype(dtype))


def linspace(start: Any, stop: Any, num: int, name: Any = None, axis: int = 0) -> Any:
    return np.linspace(*pair(start, stop), int(num), axis=axis)


def meshgrid(*args: Any, indexing: str = "xy", **_: Any) -> Any:
    return list(np.meshgrid(*[constant(x) for x in args], indexing=indexing))  # type: ignore[call-overload]


def one_hot(
    indices: Any,
    depth: int,
    on_value: Any = 1.0,
    off_value: Any = 0.0,
    axis: int = -1,
    dtype: Any = np.float32,
    name: Any = None,
) -> Tensor:
    index = np.asarray(plain(constant(indices)))
    rank = index.ndim + 1
    along = [-1 if k == axis % rank else 1 for k in range(rank)]
    hot = np.expand_dims(index, axis) == np.arange(depth).reshape(along)
    return constant(np.where(hot, on_value, off_value).astype(dtype))


# -- layout ----------------------------------------------------------------------------------------------------------
def reshape(tensor: Any, shape: Any, name: Any = None) -> Any:
    return np.reshape(constant(tensor), _sizes(shape))


def transpose(a: Any, perm: Any = None, name: Any = None) -> Any:
    return np.transpose(constant(a), None if perm is None else _sizes(perm))


def expand_dims(input: Any, axis: int, name: Any = None) -> Any:
    return np.expand_dims(constant(input), axis)


def squeeze(input: Any, axis: Any = None, name: Any = None) -> Any:
    return np.squeeze(constant(input), axis=tuple(axis) if isinstance(axis, list) else axis)


def broadcast_to(input: Any, shape: Any, name: Any = None) -> Any:
    return np.broadcast_to(constant(input), _sizes(shape))


def tile(input: Any, multiples: Any, name: Any = None) -> Any:
    return np.tile(constant(input), _sizes(multiples))


def repeat(input: Any, repeats: Any, axis: Any = None, name: Any = None) -> Any:
    return np.repeat(constant(input), plain(repeats), axis)


def roll(input: Any, shift: Any, axis: Any, name: Any = None) -> Any:
    return np.roll(constant(input), shift, axis)


def reverse(tensor: Any, axis: Any, name: Any = None) -> Any:
    return np.flip(constant(tensor), _sizes(axis))


def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: Any = None) -> Any:
    widths = tuple([_sizes(w) for w in (paddings if type(paddings) is list else np.asarray(plain(paddings)))])
    if mode.upper() == "CONSTANT":
        return np.pad(constant(tensor), widths, constant_values=constant_values)
    return np.pad(constant(tensor), widths, mode=mode.lower())  # type: ignore[call-overload]


def _together(values: Any) -> list[Any]:
    """Return tensors of one dtype, which the first of them decides."""
    dtype = next((x.dtype for x in values if isinstance(x, Face)), None)
    return [x if isinstance(x, Face) else constant(x, dtype) for x in values]


def concat(values: Any, axis: int, name: Any = None) -> Any:
    return np.concatenate(_together(values), axis)


def stack(values: Any, axis: int = 0, name: Any = None) -> Any:
    return np.stack(_together(values), axis)


def unstack(value: Any, num: Any = None, axis: int = 0, name: Any = None) -> list[Any]:
    x = constant(value)
    return [np.take(x, k, axis) for k in range(x.shape[axis])]


def split(value: Any, num_or_size_splits: Any, axis: int = 0, num: Any = None, name: Any = None) -> list[Any]:
    x = constant(value)
    if isinstance(num_or_size_splits, int):
        return list(np.split(x, num_or_size_splits, axis))
    sizes = list(_sizes(num_or_size_splits))
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(sizes) - 1
    return list(np.split(x, np.cumsum(sizes)[:-1].tolist(), axis))


# -- parts -----------------------------------------------------------------------------------------------------------
def _parameters(params: Any) -> Any:
    """A Variable stays one: its gradient is by rows."""
    return params if isinstance(params, Face) else constant(params)


def gather(
    params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: int = 0, name: Any = None
) -> Any:
    x, index = _parameters(params), constant(indices)
    if batch_dims:
        lead = np.meshgrid(*[np.arange(n) for n in x.shape[:batch_dims]], indexing="ij")
        extra = (1,) * (len(index.shape) - batch_dims)
        return x[(*[m.reshape(m.shape + extra) for m in lead], index)]
    if not index.shape and not axis:
        return np.take(x, index[None], axis=0)[0]  # a gather of rows too, to the tape
    return np.take(x, index, axis=axis or 0)


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: Any = None) -> Any:
    index = np.asarray(plain(constant(indices)))
    return _parameters(params)[tuple(np.moveaxis(index, -1, 0))]


def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str = "") -> Any:
    kept, x = np.asarray(plain(constant(mask))), _parameters(tensor)
    return x[None][(slice(None),) * ((axis or 0) + 1) + (kept,)][0]  # no gather of rows to the tape: dense gradients


def slice_(input_: Any, begin: Any, size: Any, name: Any = None) -> Any:
    x = constant(input_)
    return x[tuple(slice(b, None if n == -1 else b + n) for b, n in zip(_sizes(begin), _sizes(size)))]


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: Any = None) -> Any:
    """Sort, also in descending order, so that equal elements keep their order."""
    x = constant(values)
    return np.take_along_axis(x, argsort(x, axis, direction), axis)


def argsort(values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = True, name: Any = None) -> Any:
    x = constant(values).numpy()
    order = np.argsort(-x if direction == "DESCENDING" else x, axis=axis, kind="stable")
    return constant(order.astype(np.int32))


def shape(input: Any, out_type: Any = np.int32, name: Any = None) -> Tensor:
    return constant(np.array(constant(input).shape, out_type))


def size(input: Any, out_type: Any = np.int32, name: Any = None) -> Tensor:
    return constant(np.array(constant(input).size, out_type))


def rank(input: Any, name: Any = None) -> Tensor:
    return constant(len(constant(input).shape))
