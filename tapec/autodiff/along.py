"""Where axes of an operand are found again in a result that makes each of their places from the same place alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapec.autodiff.basis_rules import same_axis, spelled_out
from tapec.ir import CONSTANT, Node
from tapec.ir.index import Slice, Slot
from tapec.ops.indexing import counts_up
from tapec.ops.named_axes import axis_names

__all__ = ["Route", "carried", "is_diagonal", "is_point"]

Axes = tuple[Any, ...]  # the number of an axis; or ~k, a place; or (axis, step), a part of an axis


class Route(NamedTuple):
    """The axes of an array that run along those of `values`.

    ~k in place of an axis: the array belongs to their k-th place alone. (axis, step): axes have been made one, of
    which place i belongs to i // step, modulo how many there are.
    """

    values: Node
    axes: Axes


def is_point(axis: Any) -> bool:
    return type(axis) is int and axis < 0


def carried(node: Node, k: int, route: Route, diagonal: Collection[Node]) -> Iterable[Axes]:
    """The axes of a route of the k-th operand in the result, one way or several; none where places are mixed.

    `diagonal` has the operands that are known to be diagonal matrices.
    """
    if node.op.name == "reshape":
        return _reshape(node, route)
    matrix = _MATRIX_RULES.get(node.op.name)
    if matrix is not None:
        return matrix(node, k, route.axes, diagonal)
    rule = _RULES.get(node.op.name) or _KINDS.get(node.op.kind)
    return () if rule is None else rule(node, k, route.axes)


def is_diagonal(node: Node, known: Collection[Node]) -> bool:
    """Is it a matrix with zeros off its diagonal? `known` has what is, among its operands."""
    if node.op.name in ("diag", "eye"):
        return node.type.ndim == 2 and node.param("k") == 0
    if node.op.name in ("multiply", "add", "subtract"):
        found = [i in known and i.type.shape == node.type.shape for i in node.inputs]
        return any(found) if node.op.name == "multiply" else all(found)
    return node.op.name in ("transpose", "cast", "copy", "conjugate", "negative", "inv") and node.inputs[0] in known


def _moved(axes: Axes, to: Callable[[int], int | None]) -> Iterator[Axes]:
    """Each axis where it goes to; nothing if one goes nowhere."""
    found: list[Any] = []
    for a in axes:
        if type(a) is tuple:
            place = to(a[0])
            found.append(None if place is None else (place, a[1]))
        else:
            found.append(a if a < 0 else to(a))
    if None not in found:
        yield tuple(found)


def _plain(axes: Axes) -> bool:
    return not any([type(a) is tuple for a in axes])


# -- element by element -----------------------------------------------------------------------------------------------
def _spread(node: Node, k: int, axes: Axes) -> list[Axes]:
    """An axis of length one that is broadcast has no places of its own any more."""
    before, after = node.inputs[k].type.shape, node.type.shape
    more = len(after) - len(before)
    return list(_moved(axes, lambda a: a + more if after[a + more] == before[a] else None))


def _operand(one: int) -> Callable[[Node, int, Axes], Iterable[Axes]]:
    """Element by element of one operand."""
    return lambda node, k, axes: _spread(node, k, axes) if k == one else ()


def _stack(node: Node, k: int, axes: Axes) -> Iterator[Axes]:
    """Single values in a row are an axis again."""
    new = node.param("axis")
    if _plain(axes):
        yield tuple([new if a < 0 else a + (a >= new) for a in axes])


# -- groups -----------------------------------------------------------------------------------------------------------
def _reduction(node: Node, k: int, axes: Axes) -> Iterator[Axes]:
    gone = dict(node.params).get("axis")
    if k != 0 or not isinstance(gone, tuple):
        return iter(())
    kept = node.param("keepdims")
    return _moved(axes, lambda a: None if a in gone else a if kept else a - sum([g < a for g in gone]))


def _along(node: Node, k: int, axes: Axes) -> Iterator[Axes]:
    """What mixes the places of one axis, or of several."""
    params = dict(node.params)
    mixed = params.get("axis", params.get("axes"))
    return _moved(axes, lambda a: None if a == mixed or (type(mixed) is tuple and a in mixed) else a)


# -- layout -----------------------------------------------------------------------------------------------------------
def _transpose(node: Node, k: int, axes: Axes) -> Iterator[Axes]:
    return _moved(axes, node.param("axes").index)


def _reshape(node: Node, route: Route) -> Iterator[Axes]:
    before, after = node.inputs[0].type.shape, node.type.shape
    found = [
        a if is_point(a) else _reshaped(before, after, a, n)
        for a, n in zip(route.axes, route.values.type.shape, strict=True)
    ]
    if None not in found:
        yield tuple(found)


def _reshaped(before: tuple[int, ...], after: tuple[int, ...], at: Any, n: int) -> Any:
    """Where an axis along n places is found again: in one of the same length, or as a part of another."""
    axis, step = at if type(at) is tuple else (at, 1)
    if type(at) is int and (same := same_axis(before, after, at)) is not None:
        return same
    stride = step * math.prod(before[axis + 1 :])
    for j, length in enumerate(after):
        tail = math.prod(after[j + 1 :])
        if tail and stride % tail == 0 and length % (stride // tail * n) == 0:
            return j if stride == tail and length == n else (j, stride // tail)
    return None


def _diag(node: Node, k: int, axes: Axes) -> Iterator[Axes]:
    """In a diagonal matrix a place is a row, and a column."""
    if dict(node.params).get("k", 0) == 0 and _plain(axes):
        yield from _moved(axes, lambda a: a)
        yield from _moved(axes, lambda a: a + 1)


def _diagonal(node: Node, k: int, axes: Axes) -> Iterator[Axes]:
    taken, last = (node.param("axis1"), node.param("axis2")), node.type.ndim - 1
    if node.param("offset") == 0 and _plain(axes):
        yield from _moved(axes, lambda a: last if a in taken else a - sum([t < a for t in taken]))


# -- indexing ---------------------------------------------------------------------------------------------------------
def _getitem(node: Node, k: int, axes: Axes) -> Iterator[Axes]:
    """Parts of an axis, in any order, are still along it; one place of it stands alone."""
    if _takes_diagonal(node, node.inputs[1:]):
        return _moved(axes, lambda a: 0)
    places = None if k else _places(node, node.inputs[0].type.shape, node.inputs[1:], axes)
    return iter(()) if places is None else _moved(axes, lambda a: places[a])


def _scatter(node: Node, k: int, axes: Axes) -> Iterator[Axes]:
    if _takes_diagonal(node, node.inputs[1:]):
        return _diag(node, 0, axes)
    places = None if k else _places(node, node.type.shape, node.inputs[1:], axes)
    return iter(()) if places is None else _put(axes, places, 0, _single_places(node, node.inputs[1:]))


def _setitem(node: Node, k: int, axes: Axes) -> Iterator[Axes]:
    """The value may have fewer axes than it is written to."""
    if k != 1:
        return iter([axes] if k == 0 else [])
    if _takes_diagonal(node, node.inputs[2:]):
        return _diag(node, 0, axes)
    places = _places(node, node.type.shape, node.inputs[2:], axes)
    if places is None:
        return iter(())
    written = sum([place >= 0 for place in places.values()]) + node.param("index").count(None)
    return _put(axes, places, written - node.inputs[1].type.ndim, _single_places(node, node.inputs[2:]))


def _put(axes: Axes, places: dict[int, int], more: int, single: dict[int, int]) -> Iterator[Axes]:
    """Where axes of a value go that has `more` axes less than there are places."""
    back: dict[Any, int] = {**single, **{place - more * (place >= 0): axis for axis, place in places.items()}}
    found = [back.get(a) for a in axes]
    if None not in found:
        yield tuple(found)


def _single_places(node: Node, arrays: Sequence[Node]) -> dict[int, int]:
    """The axes of which an index takes one place and keeps the axis, `i:i+1` or `[i]`, by ~i."""
    shape = node.type.shape
    axes = [p for p in spelled_out(node.param("index"), len(shape)) if p is not None]
    found: dict[int, int] = {}
    for axis, p in enumerate(axes):
        if type(p) is Slice and not any([type(end) is Slot for end in p]):
            taken: Any = range(shape[axis])[slice(*p)]
        elif type(p) is Slot and arrays[p.k].op is CONSTANT:
            taken = np.ravel(arrays[p.k].value)
        else:
            continue
        if len(taken) == 1 < shape[axis]:
            found[~(int(taken[0]) % shape[axis])] = axis
    return found


def _places(node: Node, shape: tuple[int, ...], arrays: Sequence[Node], axes: Axes) -> dict[int, int] | None:
    """Which axis of an array is which of what an index takes of it; ~k where that is its k-th place."""
    index = spelled_out(node.param("index"), len(shape))
    if not _plain(axes):
        return None
    if len(arrays) == len(index) > 1 and _is_grid(arrays):
        return {k: k for k in range(len(index))}
    if arrays and (len(arrays) > 1 or arrays[0].type.ndim != 1 or arrays[0].type.dtype.kind not in "iu"):
        return None
    found: dict[int, int] = {}
    axis = place = 0
    for p in index:
        if not (p is None or isinstance(p, (int, Slice)) or (type(p) is Slot and int not in map(type, index))):
            return None
        if p is not None:
            found[axis] = ~(p % shape[axis]) if isinstance(p, int) else place
        axis += p is not None
        place += not isinstance(p, int)
    return found


def _takes_diagonal(node: Node, arrays: Sequence[Node]) -> bool:
    """Is it x[i, i], with the numbers of rows?"""
    if node.param("index") != (Slot(0), Slot(1)) or len({a.type.shape for a in arrays}) != 1:
        return False
    return all([a.type.ndim == 1 and counts_up(a, a.type.shape[0]) for a in arrays])


def _is_grid(arrays: Sequence[Node]) -> bool:
    """Do index arrays move elements along one axis only, as `take_along_axis` has them? The others count places."""
    n = len(arrays)
    shapes = [a.type.shape for a in arrays]
    open_ones = [len(s) == n and math.prod(s[:k] + s[k + 1 :]) == 1 for k, s in enumerate(shapes)]
    return all([len(s) == n for s in shapes]) and sum(open_ones) >= n - 1


# -- with diagonal matrices -------------------------------------------------------------------------------------------
def _multiply(node: Node, k: int, axes: Axes, diagonal: Collection[Node]) -> list[Axes]:
    found = _spread(node, k, axes)
    if node in diagonal and len(axes) == 1:
        found += [(1 - a,) for (a,) in found if a in (0, 1)]
    return found


def _product(node: Node, k: int, axes: Axes, diagonal: Collection[Node]) -> Iterator[Axes]:
    """An axis that is summed with a diagonal matrix goes on as the other one of that."""
    found = axis_names(node)
    if found is None:
        return iter(())
    names, out = found
    own, other = names[k], names[1 - k]
    through = dict(zip(other, other[::-1], strict=True)) if node.inputs[1 - k] in diagonal else {}

    def to(a: int) -> int | None:
        name = own[a] if own[a] in out else through.get(own[a])
        return out.index(name) if name in out else None

    return _moved(axes, to)


def _solve(node: Node, k: int, axes: Axes, diagonal: Collection[Node]) -> Iterator[Axes]:
    """Columns stay apart, and rows where a diagonal matrix is solved, or inverted."""
    if node.inputs[0] in diagonal:
        return _moved(axes, lambda a: a if a == 0 or k == len(node.inputs) - 1 else None)
    return _moved(axes, lambda a: a if k == 1 and a == node.type.ndim - 1 > 0 else None)


_KINDS: dict[str, Callable[[Node, int, Axes], Iterable[Axes]]] = {"elementwise": _spread, "reduction": _reduction}
_RULES: dict[str, Callable[[Node, int, Axes], Iterable[Axes]]] = {
    **dict.fromkeys(["cast", "copy", "again", "broadcast_to", "tril", "triu", "take_along_axis"], _spread),
    **dict.fromkeys(["sort", "tile", "repeat"], _spread),
    **dict.fromkeys(["cumsum", "cumprod", "diff", "fftn", "ifftn", "rfftn", "irfftn"], _along),
    **dict.fromkeys(["concatenate", "roll", "pad"], lambda node, k, axes: [axes] if _plain(axes) else []),
    "interp": _operand(0),
    "polyval": _operand(1),
    "stack": _stack,
    "transpose": _transpose,
    "diag": _diag,
    "diagonal": _diagonal,
    "getitem": _getitem,
    "scatter": _scatter,
    "setitem": _setitem,
}
_MATRIX_RULES: dict[str, Callable[[Node, int, Axes, Collection[Node]], Iterable[Axes]]] = {
    **dict.fromkeys(["matmul", "einsum", "tensordot", "vecdot", "matvec", "vecmat"], _product),
    **dict.fromkeys(["inv", "solve"], _solve),
    "multiply": _multiply,
}
