"""Where the places of eigenvalues are found again in a result that makes each of its own from one of them alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapec.autodiff.basis_rules import same_axis, spelled_out
from tapec.ir import CONSTANT, Node, is_literal
from tapec.ir.index import Slice, Slot
from tapec.ops.indexing import counts_up
from tapec.ops.named_axes import axis_names

__all__ = ["LOST", "Axes", "Known", "Route", "Use", "carried", "is_diagonal", "is_single"]

# For each axis of the values what is known of an array: k, its k-th axis has their places; (k, step, n), place i of
# its k-th axis is their i // step, modulo n; ~k, all of it belongs to their k-th place. Of a diagonal matrix two are.
Axes = tuple[frozenset[Any], ...]

LOST: Axes = ()  # the array depends on the values in a way that is not understood


class Route(NamedTuple):
    """From the results of a decomposition to an array."""

    of: Node
    axes: Axes


class Known(NamedTuple):
    """What is known of the nodes so far."""

    diagonal: Collection[Node]
    routes: Callable[[Node], Iterable[Route]]


class Use(NamedTuple):
    """A route of the k-th operand of a node."""

    node: Node
    k: int
    route: Route
    known: Known

    @property
    def operand(self) -> Node:
        return self.node.inputs[self.k]

    def moved(
        self,
        to: Callable[[int], Iterable[Any]],
        *,
        gone: Axes | None = LOST,
        single: Callable[[int], Iterable[int]] = lambda k: (k,),
        parts: bool = True,
    ) -> Axes | None:
        """Each axis where it goes to, and `gone` if one goes nowhere."""
        found = []
        for places in self.route.axes:
            now: set[Any] = set()
            for a in places:
                if type(a) is not tuple:
                    now.update(single(a) if a < 0 else to(a))
                elif parts:
                    now.update([(b, *a[1:]) for b in to(a[0])])
            if not now:
                return gone
            found.append(frozenset(now))
        return tuple(found)


def carried(use: Use) -> Axes | None:
    """The axes of the route in the result; None where it ends, as in a sum over all places."""
    rule = _RULES.get(use.node.op.name) or _KINDS.get(use.node.op.kind)
    if use.route.axes == LOST:
        return LOST
    if rule is None:
        return None if _ends(use) else LOST
    found = rule(use)
    if found is not None and use.node in use.known.diagonal:
        return tuple([places | {0, 1} if places & {0, 1} else places for places in found])
    return found


def _ends(use: Use) -> bool:
    """A number made of all places has none of its own, and a matrix that is divided by one value has not its place."""
    if any([all(map(is_single, places)) for places in use.route.axes]):
        return use.operand.type.ndim > 1
    result = use.node.type
    return not any([t.ndim for t in (result if isinstance(result, tuple) else (result,))])


def is_single(a: Any) -> bool:
    return type(a) is int and a < 0


def is_diagonal(node: Node, known: Collection[Node]) -> bool:
    """Is it a matrix with zeros off its diagonal? `known` has what is, among its operands."""
    if isinstance(node.type, tuple) or node.type.ndim != 2:
        return False
    name, shape = node.op.name, node.type.shape
    if node.op is CONSTANT:
        return bool(np.array_equal(node.value, np.diag(np.diagonal(node.value))))
    if name in ("diag", "eye"):
        return bool(node.param("k") == 0)
    if name == "full":
        return bool(node.param("value") == 0)
    found = [i in known and i.type.shape == shape for i in node.inputs]
    if name == "multiply":
        return any(found)
    if name == "where":
        return found[0] and (found[2] or (is_literal(node.inputs[2]) and node.inputs[2].value == 0))
    if name == "setitem":
        return found[0] and _takes_diagonal(node, node.inputs[2:])
    if name == "scatter":
        return _takes_diagonal(node, node.inputs[1:])
    return name in _KEEP_DIAGONAL and all(found)


_KEEP_DIAGONAL = ("add", "subtract", "matmul", "transpose", "cast", "copy", "conjugate", "negative", "inv")


# -- element by element -----------------------------------------------------------------------------------------------
def _spread(use: Use) -> Axes | None:
    """An axis of length one that is broadcast has no places of its own any more."""
    before, after = use.operand.type.shape, use.node.type.shape
    more = len(after) - len(before)
    same = [a for a, n in enumerate(before) if after[a + more] == n]
    return use.moved(lambda a: [a + more] if a in same else [], gone=None if 1 in before else LOST)


def _tile(use: Use) -> Axes | None:
    before, after = use.operand.type.shape, use.node.type.shape
    more = len(after) - len(before)
    return use.moved(lambda a: [a + more if after[a + more] == before[a] else (a + more, 1, before[a])], parts=False)


def _repeat(use: Use) -> Axes | None:
    times, along, n = use.node.param("repeats"), use.node.param("axis"), use.operand.type.shape
    if not isinstance(times, int):
        return LOST
    return use.moved(lambda a: [(a, times, n[a]) if a == along else a], parts=False)


def _of_operand(one: int) -> Callable[[Use], Axes | None]:
    """Element by element of one operand."""
    return lambda use: _spread(use) if use.k == one else LOST


def _stack(use: Use) -> Axes | None:
    """Single values in a row are an axis again, each by its own place if it has those of factors, too."""
    new = use.node.param("axis")
    routes = [r for r in use.known.routes(use.operand) if r.of is use.route.of]
    singles = {a for r in routes for places in r.axes for a in places if is_single(a)}
    several = len(singles) > 1
    if several and ~use.k not in singles:
        return LOST
    own, gone = ({~use.k}, None) if several else (singles, LOST)
    return use.moved(lambda a: [a + (a >= new)], single=lambda a: [new] if a in own else [], gone=gone, parts=False)


# -- groups -----------------------------------------------------------------------------------------------------------
def _reduction(use: Use) -> Axes | None:
    params = dict(use.node.params)
    summed = params["axis"] if "axis" in params else (params["axis1"], params["axis2"])
    kept = params.get("keepdims", False)
    after = {a: a if kept else a - sum([s < a for s in summed]) for a in range(use.operand.type.ndim)}
    return use.moved(lambda a: [] if a in summed else [after[a]], gone=LOST if use.k else None)


def _along(use: Use) -> Axes | None:
    """What mixes the places of one axis, or of several."""
    params = dict(use.node.params)
    mixed = params.get("axis", params.get("axes"))
    return use.moved(lambda a: [] if a == mixed or (type(mixed) is tuple and a in mixed) else [a])


# -- layout -----------------------------------------------------------------------------------------------------------
def _in_place(use: Use) -> Axes | None:
    return use.moved(lambda a: [a], parts=False)


def _transpose(use: Use) -> Axes | None:
    return use.moved(lambda a: [use.node.param("axes").index(a)])


def _reshape(use: Use) -> Axes | None:
    before, after = use.operand.type.shape, use.node.type.shape
    axes = [{_reshaped(before, after, a) for a in places} - {None} for places in use.route.axes]
    return tuple(map(frozenset, axes)) if all(axes) else LOST


def _reshaped(before: tuple[int, ...], after: tuple[int, ...], a: Any) -> Any:
    """Where an axis, or a part of one, is found again: in one of the same length, or as a part of another."""
    if is_single(a):
        return a
    if type(a) is int and (same := same_axis(before, after, a)) is not None:
        return same
    axis, step, n = a if type(a) is tuple else (a, 1, before[a])
    stride = step * math.prod(before[axis + 1 :])
    for j, length in enumerate(after):
        tail = math.prod(after[j + 1 :])
        if tail and n and stride % tail == 0 and length % (stride // tail * n) == 0:
            return j if stride == tail and length == n else (j, stride // tail, n)
    return None


def _diag(use: Use) -> Axes | None:
    """In a diagonal matrix a place is a row, and a column."""
    off = dict(use.node.params).get("k", 0)
    return LOST if off else use.moved(lambda a: [a, a + 1], parts=False)


def _diagonal(use: Use) -> Axes | None:
    taken, last = (use.node.param("axis1"), use.node.param("axis2")), use.node.type.ndim - 1
    if use.node.param("offset"):
        return LOST
    return use.moved(lambda a: [last if a in taken else a - sum([t < a for t in taken])], parts=False)


# -- indexing ---------------------------------------------------------------------------------------------------------
def _getitem(use: Use) -> Axes | None:
    """Parts of an axis, in any order, are still along it; one place of it stands alone."""
    shape, arrays = use.operand.type.shape, use.node.inputs[1:]
    if _takes_diagonal(use.node, arrays):
        return use.moved(lambda a: [0], parts=False)
    places = _places(use.node, shape, arrays)
    if places is None:
        return LOST
    alone = {axis: [~place] for axis, place in _taken_alone(use.node, shape, arrays).items()}
    return use.moved(lambda a: [*places[a], *alone.get(a, [])], parts=False)


def _scatter(use: Use) -> Axes | None:
    """A single value that came to a cotangent of another place is a factor of it, as in w[k] / w[-1]."""
    factor = any([all(map(is_single, places)) for places in use.route.axes])
    return _written(use, use.node.inputs[1:], gone=None if factor else LOST)


def _setitem(use: Use) -> Axes | None:
    return _written(use, use.node.inputs[2:], gone=LOST) if use.k else use.route.axes


def _written(use: Use, arrays: Sequence[Node], gone: Axes | None) -> Axes | None:
    """Where a value goes, which may have fewer axes than it is written to."""
    node, shape = use.node, use.node.type.shape
    if _takes_diagonal(node, arrays):
        return _diag(use)
    places = _places(node, shape, arrays)
    if places is None:
        return LOST
    back = {place: [axis] for axis, found in places.items() for place in found}
    alone = {~place: [axis] for axis, place in _taken_alone(node, shape, arrays).items()}
    more = len(back) + node.param("index").count(None) - use.operand.type.ndim
    return use.moved(lambda a: back.get(a + more, []), single=lambda a: alone.get(a, []), gone=gone, parts=False)


def _places(node: Node, shape: tuple[int, ...], arrays: Sequence[Node]) -> dict[int, list[int]] | None:
    """Which axis of an array is which of what an index takes of it; none of them where that is a single place."""
    index = spelled_out(node.param("index"), len(shape))
    if len(arrays) == len(index) > 1 and _is_grid(arrays):
        return {k: [k] for k in range(len(index))}
    if arrays and (len(arrays) > 1 or arrays[0].type.ndim != 1 or arrays[0].type.dtype.kind not in "iu"):
        return None
    found: dict[int, list[int]] = {}
    axis = place = 0
    for p in index:
        if not (p is None or isinstance(p, (int, Slice)) or (type(p) is Slot and int not in map(type, index))):
            return None
        if p is not None:
            found[axis] = [] if isinstance(p, int) else [place]
        axis += p is not None
        place += not isinstance(p, int)
    return found


def _taken_alone(node: Node, shape: tuple[int, ...], arrays: Sequence[Node]) -> dict[int, int]:
    """The axes of which an index takes one place alone, `i`, `i:i+1` or `[i]`, and which."""
    axes = [p for p in spelled_out(node.param("index"), len(shape)) if p is not None]
    found: dict[int, int] = {}
    for axis, p in enumerate(axes):
        taken: Any = ()
        if isinstance(p, int):
            taken = [p]
        elif type(p) is Slice and not any([type(end) is Slot for end in p]):
            taken = range(shape[axis])[slice(*p)]
        elif type(p) is Slot and arrays[p.k].op is CONSTANT:
            taken = np.ravel(arrays[p.k].value)
        if len(taken) == 1 < shape[axis]:
            found[axis] = int(taken[0]) % shape[axis]
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


# -- products ---------------------------------------------------------------------------------------------------------
def _product(use: Use) -> Axes | None:
    """Places of one operand that are summed with those of the other are added up; a diagonal matrix keeps them."""
    node = use.node
    found = _stacked(node) if node.op.name in _CORES else axis_names(node)
    if found is None:
        return LOST
    names, out = found
    own, other, beside = names[use.k], names[1 - use.k], node.inputs[1 - use.k]
    through = dict(zip(other, other[::-1], strict=True)) if beside in use.known.diagonal else {}
    routes = [r for r in use.known.routes(beside) if r.of is use.route.of]
    met = {other[a] for r in routes for places in r.axes for a in places if type(a) is int and a >= 0}
    added = any([own[a] in met for places in use.route.axes for a in places if type(a) is int and a >= 0])

    def to(a: int) -> list[int]:
        name = own[a] if own[a] in out else through.get(own[a])
        return [k for k, n in enumerate(out) if n == name and node.type.shape[k] == use.operand.type.shape[a]]

    return use.moved(to, gone=None if added else LOST)


_CORES = {"matmul": ("mc", "cn"), "matvec": ("mc", "c"), "vecmat": ("c", "cn"), "vecdot": ("c", "c")}


def _stacked(node: Node) -> tuple[list[list[Any]], list[Any]]:
    """The names of axes where those before the last ones are broadcast."""
    cores = [core if i.type.ndim > 1 else "c" for i, core in zip(node.inputs, _CORES[node.op.name], strict=True)]
    fronts = [i.type.ndim - len(core) for i, core in zip(node.inputs, cores, strict=True)]
    names = [[*range(-front, 0), *core] for front, core in zip(fronts, cores, strict=True)]
    return names, [*range(-max(fronts), 0), *[n for core in cores for n in core if n != "c"]]


def _solve(use: Use) -> Axes | None:
    """Columns stay apart, and rows where a diagonal matrix is solved, or inverted."""
    last = use.k == len(use.node.inputs) - 1
    if use.node.inputs[0] in use.known.diagonal:
        return use.moved(lambda a: [a] if a == 0 or last else [])
    return use.moved(lambda a: [a] if use.k == 1 and a == use.node.type.ndim - 1 > 0 else [])


_KINDS: dict[str, Callable[[Use], Axes | None]] = {"elementwise": _spread, "reduction": _reduction}
_RULES: dict[str, Callable[[Use], Axes | None]] = {
    **dict.fromkeys(["cast", "copy", "again", "broadcast_to", "tril", "triu", "take_along_axis", "sort"], _spread),
    **dict.fromkeys(["cumsum", "cumprod", "diff", "fftn", "ifftn", "rfftn", "irfftn"], _along),
    **dict.fromkeys(["concatenate", "roll", "pad"], _in_place),
    **dict.fromkeys(["matmul", "matvec", "vecmat", "vecdot", "einsum", "tensordot"], _product),
    **dict.fromkeys(["inv", "solve"], _solve),
    "norm": _reduction,
    "tile": _tile,
    "repeat": _repeat,
    "interp": _of_operand(0),
    "polyval": _of_operand(1),
    "stack": _stack,
    "transpose": _transpose,
    "reshape": _reshape,
    "diag": _diag,
    "diagonal": _diagonal,
    "getitem": _getitem,
    "scatter": _scatter,
    "setitem": _setitem,
}
