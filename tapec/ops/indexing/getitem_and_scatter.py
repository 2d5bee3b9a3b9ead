"""Define `getitem`, for every index that NumPy takes, and its transpose `scatter`, which adds into zeros.

An index is a static parameter, a tuple of ints, `None`, `...`, `Slice` and `Slot(k)`; the arrays in it are inputs,
found by their `Slot`. Boolean masks become their positions; `unique` says that an index names no place twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, ITEM, Node, Type, broadcast_shapes, ops
from tapec.ir.param_types import BOOL, INDEX, SIZES, maybe
from tapec.ir.static_index import Slice, Slot
from tapec.ir.types import array_type
from tapec.ops import tuning
from tapec.ops.core.define import define, dtype_of, shape_of
from tapec.ops.core.op_helpers import both, constants, drawn
from tapec.ops.core.stand_in import apply

__all__ = [
    "FULL_SLICE",
    "GETITEM",
    "SCATTER",
    "are_apart",
    "are_distinct",
    "counts_up",
    "fills_all",
    "index_layout",
    "index_source",
    "is_added_up",
    "is_diagonal_index",
    "may_repeat",
    "picks_one",
    "real_index",
]

FULL_SLICE = Slice(None, None, None)
REVERSED = Slice(None, None, -1)


# -- index arrays that are known --------------------------------------------------------------------------------------
def are_distinct(arrays: Sequence[Node]) -> bool:
    """Return whether it is known that index arrays name no place twice.

    They do not if for each of their axes there is an array that counts along this axis only, with all different
    numbers.
    """
    shape = broadcast_shapes(*[a.type.shape for a in arrays])
    return bool(shape) and all(
        [n == 1 or any([_is_distinct(a, _line(shape, k)) for a in arrays]) for k, n in enumerate(shape)]
    )


def may_repeat(arrays: Sequence[Node], unique: bool = False) -> bool:
    """Return whether index arrays may name a place twice. All arrays that np.nonzero gives, taken together, do not."""
    if unique or not any([a.type.shape for a in arrays]) or are_distinct(arrays):
        return False
    sources = {a.inputs[0] if a.op is ITEM else None for a in arrays}
    whole = sources.pop() if len(sources) == 1 else None
    return whole is None or whole.op is not ops.nonzero or len({a.param("index") for a in arrays}) < len(whole.type)


def is_added_up(scatter: Node) -> bool:
    """Return whether a scatter may write to a place twice."""
    return may_repeat(scatter.inputs[1:], bool(dict(scatter.params).get("unique")))


def are_apart(arrays: Sequence[Node]) -> bool:
    """Return whether each index array names whole lines, as those of np.ix_ do, or one array alone: none shares an
    axis.
    """
    axes = [k - a.type.ndim for a in arrays for k, n in enumerate(a.type.shape) if n != 1]
    return len(axes) == len(set(axes))


def _line(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Return the shape of an array along one axis, without ones in front."""
    return (shape[axis], *[1] * (len(shape) - axis - 1))


def _is_distinct(node: Node, shape: tuple[int, ...]) -> bool:
    """Return whether an index array is known to hold all different numbers, along one axis.

    Negative numbers count from the end, so an array with numbers of both signs may name one place twice.
    """
    if "distinct" in node.op.facts or is_order(node):
        return node.type.shape == shape
    value: Any = node.value if node.op is CONSTANT else None
    if value is None or np.shape(value)[-len(shape) :] != shape or value.size != shape[0]:
        return False
    if value.size > tuning.SORTED_INDEX_MAX_ELEMENTS or value.dtype.kind not in "iu":
        return False
    if value.size and value.min() < 0 <= value.max():
        return False
    ordered = np.sort(value, axis=None)
    return bool(np.all(ordered[1:] != ordered[:-1]))  # np.unique would load NumPy's masked arrays


def is_order(node: Node) -> bool:
    """Return whether an index array is the order of some values, or a slice of it."""
    while node.op is ops.getitem and len(node.param("index")) == 1 and type(node.param("index")[0]) is Slice:
        node = node.inputs[0]
    return node.op in (ops.argsort, ops.argpartition) and node.type.ndim == 1


def fills_all(node: Node) -> bool:
    """Return whether a scatter writes to all places, each once."""
    if node.inputs[0].type.size != node.type.size:
        return False
    return bool(dict(node.params).get("unique")) or (len(node.inputs) > 1 and are_distinct(node.inputs[1:]))


def is_diagonal_index(index: tuple[Any, ...], arrays: Sequence[Node], shape: tuple[int, ...]) -> bool:
    """Return whether an index takes the diagonal of a square matrix, as `x[i, i]` with `i = np.arange(n)`."""
    if index != (Slot(0), Slot(1)) or len(shape) != 2 or shape[0] != shape[1]:
        return False
    return all([a.type.shape == shape[:1] and counts_up(a, shape[0]) for a in arrays])


def counts_up(node: Node, n: int) -> bool:
    """Return whether an index array is known to be 0, 1, ..., n - 1, the numbers of n rows."""
    return node.op is CONSTANT and np.array_equal(node.value, np.arange(n))


def picks_one(index: tuple[Any, ...], arrays: Sequence[Node], shape: tuple[int, ...]) -> bool:
    """Return whether an index names one element along the last axis for each place along the others, in their order.

    So does `x[np.arange(n), labels]`, and `x[np.arange(n)[:, None], np.arange(m), labels]`.
    """
    rest = shape[:-1]
    if not rest or index != tuple(map(Slot, range(len(shape)))) or arrays[-1].type.shape != rest:
        return False
    return all([_counts_along(a, _line(rest, k)) for k, a in enumerate(arrays[:-1])])


def _counts_along(node: Node, shape: tuple[int, ...]) -> bool:
    value: Any = node.value if node.op is CONSTANT else None
    if value is None or np.shape(value)[-len(shape) :] != shape or value.size != shape[0]:
        return False
    return np.array_equal(np.reshape(value, -1), np.arange(shape[0]))


# -- what an index does to shapes -------------------------------------------------------------------------------------
class Layout(NamedTuple):
    """The shape of x[index] in parts: `rest` are the axes that slices and `None` leave, `front` those of the index
    arrays.

    The front axes stand before `rest[place]`: where the arrays stood, if nothing stood between them, else first.
    """

    rest: tuple[int, ...]
    front: tuple[int, ...]
    place: int

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.rest[: self.place], *self.front, *self.rest[self.place :])


def index_layout(shape: tuple[int, ...], index: tuple[Any, ...], arrays: tuple[tuple[int, ...], ...]) -> Layout:
    """Return the layout of x[index], by NumPy's rule.

    Ints and arrays without axes count as index arrays only beside arrays that have axes.
    """
    full = completed(len(shape), index)
    advanced = any(arrays)
    rest: list[int] = []
    spots: list[int] = []
    place = axis = slots = 0
    for i, part in enumerate(full):
        if part is None or part is Ellipsis:
            rest.extend([1] if part is None else [])
            continue
        if type(part) is Slice:
            rest.append(len(range(*slice(*part).indices(shape[axis]))))
        elif type(part) is Slot or _in_range(part, shape[axis], axis):
            slots += type(part) is Slot
            if advanced and not spots:
                place = len(rest)
            spots.append(i)
        axis += 1
    if slots != len(arrays):
        raise IndexError(f"the index has {slots} places for {len(arrays)} index arrays")
    if not advanced:
        return Layout(tuple(rest), (), 0)
    together = spots[-1] - spots[0] == len(spots) - 1
    return Layout(tuple(rest), _index_shape(arrays), place if together else 0)


def completed(ndim: int, index: tuple[Any, ...]) -> list[Any]:
    """Return the index with full slices in place of `...`, or at its end.

    An ellipsis that stands for no axis stays: it still separates the index arrays on both its sides.
    """
    used = len(index) - index.count(None) - index.count(Ellipsis)
    if used > ndim:
        message = f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        raise IndexError(at_user_line(message))
    missing: list[Any] = [FULL_SLICE] * (ndim - used)
    if Ellipsis not in index:
        return [*index, *missing]
    at = index.index(Ellipsis)
    return [*index[:at], *(missing or [Ellipsis]), *index[at + 1 :]]


def _in_range(i: int, n: int, axis: int) -> bool:
    if not -n <= i < n:
        raise IndexError(at_user_line(f"index {i} is out of bounds for axis {axis} with size {n}"))
    return True


def _index_shape(arrays: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    try:
        return broadcast_shapes(*arrays)
    except ValueError:
        listed = " ".join(str(s).replace(" ", "") for s in arrays)
        message = f"shape mismatch: indexing arrays could not be broadcast together with shapes {listed}"
        raise IndexError(at_user_line(message)) from None


def real_index(index: tuple[Any, ...], arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index as NumPy takes it."""
    return tuple([slice(*p) if type(p) is Slice else arrays[p.k] if type(p) is Slot else p for p in index])


# -- the ops ----------------------------------------------------------------------------------------------------------
def _getitem_run(x: Any, *arrays: Any, index: tuple[Any, ...], unique: bool = False) -> Any:
    return x[real_index(index, arrays)]


def _getitem_rule(t: Type, *arrays: Type, index: tuple[Any, ...], unique: bool = False) -> Type:
    return array_type(index_layout(t.shape, index, tuple([a.shape for a in arrays])).shape, t.dtype)


def _getitem_vjp(ct: Any, y: Any, x: Any, *arrays: Any, index: tuple[Any, ...], unique: bool = False) -> Any:
    none = (None,) * len(arrays)
    if all(p in (FULL_SLICE, REVERSED) for p in index):  # a reflection is its own transpose
        return apply(GETITEM, (ct,), (("index", index),)), *none
    params = (("shape", x.shape), ("index", index))
    return apply(SCATTER, (ct, *arrays), (*params, ("unique", True)) if unique else params), *none


def index_source(index: tuple[Any, ...], args: tuple[str, ...]) -> str:
    """Return the text between the brackets."""
    return ", ".join([_part_source(p, args) for p in index]) or "()"


def _part_source(part: Any, args: tuple[str, ...]) -> str:
    if type(part) is Slice and any([type(p) is Slot for p in part]):
        first, last, step = ["" if p is None else _part_source(p, args) for p in part]
        return f"{first}:{last}:{step}" if step else f"{first}:{last}"
    return args[part.k] if type(part) is Slot else "..." if part is Ellipsis else repr(part)


def _scatter_run(ct: Any, *arrays: Any, shape: tuple[int, ...], index: tuple[Any, ...], unique: bool = False) -> Any:
    out = np.zeros(shape, dtype_of(ct))
    if arrays and not unique:
        np.add.at(out, real_index(index, arrays), ct)
    else:
        out[real_index(index, arrays)] = ct
    return out


def _scatter_rule(t: Type, *arrays: Type, shape: tuple[int, ...], index: tuple[Any, ...], unique: bool = False) -> Type:
    region = index_layout(shape, index, tuple([a.shape for a in arrays])).shape
    if t.shape != region and broadcast_shapes(t.shape, region) != region:
        raise ValueError(f"the shape {t.shape} does not fit the places, which have the shape {region}")
    return array_type(shape, t.dtype)


def _scatter_vjp(ct: Any, y: Any, x: Any, *arrays: Any, shape: Any, index: Any, unique: bool = False) -> Any:
    params = (("index", index), ("unique", True)) if unique else (("index", index),)
    return apply(GETITEM, (ct, *arrays), params), *[None for _ in arrays]


# -- batch rules ------------------------------------------------------------------------------------------------------
def _lead_arrays(batched: tuple[bool, ...], arrays: tuple[Any, ...], front: int) -> list[Any]:
    """Return index arrays that broadcast to (batch, *front)."""
    return [
        np.reshape(a, (a.shape[0], *(1,) * (front + 1 - a.ndim), *a.shape[1:])) if b else a
        for a, b in zip(arrays, batched)
    ]


def _batched_index(index: tuple[Any, ...], arrays: list[Any], size: int, front: int) -> tuple[Any, ...]:
    """The index for a batched operand, when arrays in it are batched: each row of them reads its own row."""
    rows = np.reshape(np.arange(size), (size, *(1,) * front))
    arrays.append(rows)
    return (Slot(len(arrays) - 1), *index)


def _moved(x: Any, start: int, count: int, to: int) -> Any:
    """Return x with `count` axes from `start` on moved together to `to`."""
    if start == to or not count:
        return x
    return np.moveaxis(x, tuple(range(start, start + count)), tuple(range(to, to + count)))


def _getitem_batch(batched: tuple[bool, ...], x: Any, *arrays: Any, index: Any, unique: bool = False) -> Any:
    """Read a batch: each row at the same index, each row at its own, or one array at the index of each row.

    The axes of index arrays go to the place that they have in one row's result; NumPy may put them first.
    """
    one = index_layout(
        x.shape[1:] if batched[0] else x.shape,
        index,
        tuple([a.shape[1:] if b else shape_of(a) for a, b in zip(arrays, batched[1:])]),
    )
    front = len(one.front)
    if not any(batched[1:]):
        y = apply(GETITEM, (x, *arrays), (("index", (FULL_SLICE, *index)), ("unique", unique)))
        return y if one.place or not front else _moved(y, _front_place(index, x.ndim), front, 1)
    lead = _lead_arrays(batched[1:], arrays, front)
    if batched[0]:
        index = _batched_index(index, lead, x.shape[0], front)
        y = apply(GETITEM, (x, *lead), (("index", index),))
        return _moved(y, 1, front, 1 + one.place)
    y = apply(GETITEM, (x, *lead), (("index", index),))
    place = index_layout(x.shape, index, tuple([shape_of(a) for a in lead])).place
    return _moved(_moved(y, place, 1 + front, 0), 1, front, 1 + one.place)


def _front_place(index: tuple[Any, ...], ndim: int) -> int:
    """Return the place of the axes of index arrays when a full slice is put before the index."""
    return 1 if _starts_together(completed(ndim - 1, index)) else 0


def _starts_together(full: list[Any]) -> bool:
    spots = [i for i, p in enumerate(full) if type(p) in (Slot, int)]
    return spots[-1] - spots[0] == len(spots) - 1


def _scatter_batch(
    batched: tuple[bool, ...], ct: Any, *arrays: Any, shape: Any, index: Any, unique: bool = False
) -> Any:
    """Write a batch, each row into zeros of its own; the counterpart of `_getitem_batch`."""
    size = next(x.shape[0] for x, b in zip((ct, *arrays), batched) if b)
    one = index_layout(shape, index, tuple([a.shape[1:] if b else shape_of(a) for a, b in zip(arrays, batched[1:])]))
    front = len(one.front)
    if not batched[0]:
        ct = np.broadcast_to(ct, (size, *ct.shape))
    if not any(batched[1:]):
        if front and not one.place:
            ct = _moved(ct, 1, front, _front_place(index, len(shape) + 1))
        index = (FULL_SLICE, *index)
    else:
        lead = _lead_arrays(batched[1:], arrays, front)
        index = _batched_index(index, lead, size, front)
        ct, arrays = _moved(ct, 1 + one.place, front, 1), tuple(lead)
    return apply(SCATTER, (ct, *arrays), (("shape", (size, *shape)), ("index", index), ("unique", unique)))


_ROWS = np.array([2, 0, 2])
_INDICES = both(
    drawn((4,), index=(1,)),
    drawn((3, 4), index=(Slice(1, None, None), None, Slice(None, None, -2))),
    drawn((2, 3, 4), index=(Ellipsis, -1)),
    constants(_ROWS, first=(3, 2), index=(Slot(0),)),
    constants(_ROWS, np.array([[1], [1]]), first=(3, 2, 2), index=(Slot(0), Slice(None, None, None), Slot(1))),
    constants(_ROWS, first=(2, 3, 2), index=(1, Slot(0), Slice(0, 1, None))),
    constants(_ROWS, first=(2, 3, 2), index=(1, None, Slot(0))),
    constants(np.array([0, 2]), first=(3,), index=(Slot(0),), unique=True),
    constants(np.int64(-1), first=(3, 2), index=(Slot(0),)),
)
_SPOTS = both(
    drawn((), shape=(4,), index=(1,)),
    drawn((2, 1, 2), shape=(3, 4), index=(Slice(1, None, None), None, Slice(None, None, -2))),
    constants(_ROWS, first=(3, 2), shape=(3, 2), index=(Slot(0),)),
    constants(_ROWS, np.array([[1], [1]]), first=(2, 3, 2), shape=(3, 2, 2), index=(Slot(0), FULL_SLICE, Slot(1))),
    constants(_ROWS, first=(3, 1), shape=(2, 3, 2), index=(1, Slot(0), Slice(0, 1, None))),
    constants(np.array([0, 2]), first=(2,), shape=(3,), index=(Slot(0),), unique=True),
)
GETITEM = define(
    "getitem",
    _getitem_run,
    _getitem_rule,
    "indexing",
    params={"index": INDEX, "unique": maybe(BOOL)},
    vjp=_getitem_vjp,
    linear=(0,),
    batch=_getitem_batch,
    source=lambda args, node: f"{args[0]}[{index_source(node.param('index'), args[1:])}]",
    view=True,
    sample=_INDICES,
)
SCATTER = define(
    "scatter",
    _scatter_run,
    _scatter_rule,
    "indexing",
    params={"shape": SIZES, "index": INDEX, "unique": maybe(BOOL)},
    vjp=_scatter_vjp,
    linear=(0,),
    batch=_scatter_batch,
    sample=_SPOTS,
)
