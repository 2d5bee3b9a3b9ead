"""Make arrays, and change their layout."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.compat.tensorflow.elementwise import pair
from tapec.compat.tensorflow.plain_values import axes, invalid, sizes, within
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
def zeros(shape: Any, dtype: Any = np.float32, name: Any = None) -> Tensor:
    return constant(np.zeros(sizes(shape), dtype))


def ones(shape: Any, dtype: Any = np.float32, name: Any = None) -> Tensor:
    return constant(np.ones(sizes(shape), dtype))


def fill(dims: Any, value: Any, name: Any = None) -> Any:
    return np.broadcast_to(constant(value), sizes(dims))


def zeros_like(input: Any, dtype: Any = None, name: Any = None) -> Tensor:
    x = constant(input)
    return zeros(x.shape, dtype or x.dtype)


def ones_like(input: Any, dtype: Any = None, name: Any = None) -> Tensor:
    x = constant(input)
    return ones(x.shape, dtype or x.dtype)


def eye(
    num_rows: int, num_columns: int | None = None, batch_shape: Any = None, dtype: Any = np.float32, name: Any = None
) -> Tensor:
    (rows,), (columns,) = sizes(num_rows), sizes(num_rows if num_columns is None else num_columns)
    one = np.eye(rows, columns, dtype=dtype)
    return constant(one if batch_shape is None else np.tile(one, (*sizes(batch_shape), 1, 1)))


_DTYPES_OF_RANGES = [np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.float64)]


def range_(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: Any = None) -> Tensor:
    """Numbers of the widest dtype of the three, up to but without `limit`."""
    ends = (0, start) if limit is None else (start, limit)
    tensors = [constant(x, None if isinstance(x, Face) else dtype) for x in (*ends, delta)]
    if dtype is None:
        dtypes = [x.dtype for x in tensors]
        known = all(d in _DTYPES_OF_RANGES for d in dtypes)
        dtype = max(dtypes, key=_DTYPES_OF_RANGES.index) if known else np.result_type(*dtypes)
    first, last, step = [np.asarray(x.numpy() if isinstance(x, Face) else x).item() for x in (*ends, delta)]
    if step == 0 or (last - first) * step < 0:
        raise invalid(f"there is no range from {first} to {last} in steps of {step}")
    return constant(np.arange(first, last, step), dtype)


def linspace(start: Any, stop: Any, num: int, name: Any = None, axis: int = 0) -> Any:
    return np.linspace(*pair(start, stop), int(num), axis=axes(axis))


def meshgrid(*args: Any, indexing: str = "xy", name: Any = None) -> Any:
    return list(np.meshgrid(*[constant(x) for x in args], indexing=indexing))  # type: ignore[call-overload]


def one_hot(
    indices: Any,
    depth: int,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: Any = None,
) -> Tensor:
    """Of the dtype of the values, if that is not given; float32 without values."""
    index = np.asarray(plain(constant(indices)))
    if dtype is None:
        dtype = next((constant(x).dtype for x in (on_value, off_value) if x is not None), np.float32)
    on, off = (
        constant(1 if on_value is None else on_value, dtype),
        constant(0 if off_value is None else off_value, dtype),
    )
    rank = index.ndim + 1
    place = within(-1 if axis is None else axis, rank)
    along = [-1 if k == place else 1 for k in range(rank)]
    hot = np.expand_dims(index, place) == np.arange(int(depth)).reshape(along)
    return constant(np.where(hot, on.numpy(), off.numpy()))


# -- layout ----------------------------------------------------------------------------------------------------------
def reshape(tensor: Any, shape: Any, name: Any = None) -> Any:
    return np.reshape(constant(tensor), sizes(shape))


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: Any = None) -> Any:
    x = np.transpose(constant(a), None if perm is None else sizes(perm))
    return np.conj(x) if conjugate else x


def expand_dims(input: Any, axis: int, name: Any = None) -> Any:
    return np.expand_dims(constant(input), axes(axis))


def squeeze(input: Any, axis: Any = None, name: Any = None) -> Any:
    """Drop axes of length 1: these, or all where there are none given."""
    given = axes(axis)
    return np.squeeze(constant(input), axis=None if given == () else given)


def broadcast_to(input: Any, shape: Any, name: Any = None) -> Any:
    return np.broadcast_to(constant(input), sizes(shape))


def tile(input: Any, multiples: Any, name: Any = None) -> Any:
    x, times = constant(input), sizes(multiples)
    if len(times) != len(x.shape):
        raise invalid(f"tf.tile: {len(times)} multiples for the {len(x.shape)} axes of shape {x.shape}")
    return np.tile(x, times)


def repeat(input: Any, repeats: Any, axis: Any = None, name: Any = None) -> Any:
    return np.repeat(constant(input), plain(repeats), axes(axis))


def roll(input: Any, shift: Any, axis: Any, name: Any = None) -> Any:
    return np.roll(constant(input), axes(shift), axes(axis))


def reverse(tensor: Any, axis: Any, name: Any = None) -> Any:
    return np.flip(constant(tensor), sizes(axis))


def pad(tensor: Any, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0, name: Any = None) -> Any:
    x = constant(tensor)
    widths = tuple([sizes(w) for w in (paddings if type(paddings) is list else np.asarray(plain(paddings)))])
    if len(widths) != len(x.shape) or any(len(w) != 2 for w in widths):
        raise invalid(f"paddings of {x.shape} are two numbers for each axis, not {paddings!r}")
    if mode.upper() == "CONSTANT":
        return np.pad(x, widths, constant_values=constant(constant_values, x.dtype))
    if mode.upper() not in ("REFLECT", "SYMMETRIC"):
        raise invalid(f"tf.pad has the modes CONSTANT, REFLECT and SYMMETRIC, not {mode!r}")
    return np.pad(x, widths, mode=mode.lower())  # type: ignore[call-overload]


def _together(values: Any) -> list[Any]:
    """Return tensors of one dtype, which the first of them decides."""
    dtype = next((x.dtype for x in values if isinstance(x, Face)), None)
    return [x if isinstance(x, Face) else constant(x, dtype) for x in values]


def concat(values: Any, axis: int, name: Any = None) -> Any:
    return np.concatenate(_together(values if isinstance(values, (list, tuple)) else [values]), axes(axis))


def stack(values: Any, axis: int = 0, name: Any = None) -> Any:
    return np.stack(_together(values), axes(axis))


def unstack(value: Any, num: Any = None, axis: int = 0, name: Any = None) -> list[Any]:
    x = constant(value)
    axis = within(axis, len(x.shape))
    if num is not None and int(num) != x.shape[axis]:
        raise invalid(f"tf.unstack gives {x.shape[axis]} parts of shape {x.shape} along axis {axis}, not num={num}")
    return [np.take(x, k, axis) for k in range(x.shape[axis])]


def split(value: Any, num_or_size_splits: Any, axis: int = 0, num: Any = None, name: Any = None) -> list[Any]:
    """Split into as many parts, or into parts of these sizes, of which one may be -1: what is left."""
    x, parts = constant(value), sizes(num_or_size_splits)
    axis = within(axis, len(x.shape))
    if not np.asarray(num_or_size_splits).ndim:
        return list(np.split(x, parts[0], axis))
    length, given = x.shape[axis], sum(n for n in parts if n != -1)
    parts = tuple([length - given if n == -1 else n for n in parts])
    if sum(parts) != length or min(parts, default=0) < 0 or (num is not None and int(num) != len(parts)):
        text = f"sizes {list(sizes(num_or_size_splits))}" + ("" if num is None else f" and num={num}")
        raise invalid(f"tf.split: {text} do not fit the length {length} of axis {axis}")
    return list(np.split(x, np.cumsum(parts)[:-1].tolist(), axis))


# -- parts -----------------------------------------------------------------------------------------------------------
def _parameters(params: Any) -> Any:
    """A Variable stays one: its gradient is by rows."""
    return params if isinstance(params, Face) else constant(params)


def gather(
    params: Any, indices: Any, validate_indices: Any = None, axis: Any = None, batch_dims: int = 0, name: Any = None
) -> Any:
    """Take parts along an axis; the first `batch_dims` axes of both go together, one by one."""
    x, index = _parameters(params), constant(indices)
    rank = len(index.shape)
    batch = int(batch_dims) + (rank if batch_dims < 0 else 0)
    axis = within(batch if axis is None else axis, len(x.shape))
    if not batch:
        if not rank and not axis:
            return np.take(x, index[None], axis=0)[0]  # a gather of rows too, to the tape
        return np.take(x, index, axis=axis)
    if not 0 < batch <= min(axis, rank):
        raise invalid(f"tf.gather: batch_dims={batch_dims} is more than axis={axis}, or than the indices have axes")
    found = np.moveaxis(x, axis, batch)[(*_batches(x.shape, index.shape, batch), index)]
    return np.moveaxis(found, [*range(rank, rank + axis - batch)], [*range(batch, axis)])


def gather_nd(params: Any, indices: Any, batch_dims: int = 0, name: Any = None) -> Any:
    """Take the parts at places; the first `batch_dims` axes of both go together, one by one."""
    x, index = _parameters(params), np.asarray(plain(constant(indices)))
    batch = int(batch_dims)
    if not 0 <= batch < min(len(x.shape), index.ndim) and batch:
        raise invalid(f"tf.gather_nd: batch_dims={batch_dims} is not below the number of axes of both")
    return x[(*_batches(x.shape, index.shape[:-1], batch), *np.moveaxis(index, -1, 0))]


def _batches(shape: Any, of_index: Any, count: int) -> list[Any]:
    """Return the places along the first axes, each of as many axes as the indices."""
    if tuple(shape[:count]) != tuple(of_index[:count]):
        raise invalid(f"the first {count} axes of shape {tuple(shape)} and of indices {tuple(of_index)} differ")
    rank = len(of_index)
    return [np.arange(n).reshape([n if j == k else 1 for j in range(rank)]) for k, n in enumerate(shape[:count])]


def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: str = "") -> Any:
    kept, x = np.asarray(plain(constant(mask))), _parameters(tensor)
    axis = within(0 if axis is None else axis, len(x.shape))
    return x[None][(slice(None),) * (axis + 1) + (kept,)][0]  # no gather of rows to the tape: dense gradients


def slice_(input_: Any, begin: Any, size: Any, name: Any = None) -> Any:
    x, first, count = constant(input_), sizes(begin), sizes(size)
    ends = [n if k == -1 else b + k for b, k, n in zip(first, count, x.shape)]
    if {len(first), len(count)} != {len(x.shape)} or not all(0 <= b <= e <= n for b, e, n in zip(first, ends, x.shape)):
        raise invalid(f"there is no part of shape {x.shape} from {list(first)} of size {list(count)}")
    return x[tuple(map(slice, first, ends))]


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: Any = None) -> Any:
    """Sort, also in descending order, so that equal elements keep their order."""
    x = constant(values)
    axis = within(axis, len(x.shape))
    return np.take_along_axis(x, argsort(x, axis, direction), axis)


def argsort(values: Any, axis: int = -1, direction: str = "ASCENDING", stable: bool = True, name: Any = None) -> Any:
    x = constant(values).numpy()
    axis = within(axis, x.ndim)
    if direction not in ("ASCENDING", "DESCENDING"):
        raise invalid(f"the directions are 'ASCENDING' and 'DESCENDING', not {direction!r}")
    if direction == "ASCENDING":
        order = np.argsort(x, axis=axis, kind="stable")
    else:  # backwards from the end, so that equal elements keep their order
        order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    return constant(order.astype(np.int32))


def shape(input: Any, out_type: Any = np.int32, name: Any = None) -> Tensor:
    return constant(np.array(constant(input).shape, np.int64), out_type)


def size(input: Any, out_type: Any = np.int32, name: Any = None) -> Tensor:
    return constant(np.int64(constant(input).size), out_type)


def rank(input: Any, name: Any = None) -> Tensor:
    return constant(len(constant(input).shape))
