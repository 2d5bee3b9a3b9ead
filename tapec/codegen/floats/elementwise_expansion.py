"""Expand ops on arrays, element by element.

Each rule takes the lists of its inputs' elements and returns that of the result's; None when it cannot be done so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.common.made_names import made_name, wished_name
from tapec.codegen.common.naming import element_names
from tapec.codegen.floats.scalar_ops import FLOAT, ZERO, Elements, element_type, is_elementwise
from tapec.ir import CT, Node, Op, OpSet, OpTable, input_node, ops
from tapec.ir.sizes import is_expression
from tapec.ir.static_index import Slot
from tapec.ops.indexing.getitem_and_scatter import GETITEM

__all__ = ["MOVES", "ON_NUMBERS", "rule_of", "tell_derivatives"]

Values = list[Any]
Rule = Callable[["Elements", Node, Sequence[Values]], "Values | None"]


@lru_cache(maxsize=4096)
def _spread(shape: tuple[int, ...], to: tuple[int, ...]) -> list[int]:
    """Return which element of an operand each element of the broadcast result reads."""
    return np.broadcast_to(_numbered(shape), to).ravel().tolist()


def _numbered(shape: tuple[int, ...], start: int = 0) -> Any:
    size = int(np.prod(shape, dtype=int))
    return np.arange(start, start + size).reshape(shape)


@lru_cache(maxsize=4096)
def _groups(shape: tuple[int, ...], axis: tuple[int, ...]) -> list[list[int]]:
    """Return, for each element of a reduction, the elements that it adds up."""
    rest = [k for k in range(len(shape)) if k not in axis]
    size, summands = [math.prod([shape[k] for k in axes]) for axes in (rest, axis)]
    return _numbered(shape).transpose(*rest, *axis).reshape(size, summands).tolist()


def _elementwise(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    op, shape = node.op, node.type.shape
    if not shape:
        return [b.apply(op, *[x[0] for x in xs])]
    if op in (ops.add, ops.subtract) and node.inputs[-1].op is ops.scatter and node.inputs[0].type == node.type:
        if node.inputs[-1].type == node.type:
            return _with_parts(b, op, *xs)
    spread = [
        x if i.type.shape == shape else [x[k] for k in _spread(i.type.shape, shape)] for x, i in zip(xs, node.inputs)
    ]
    return b.apply_each(op, zip(*spread))


def _with_parts(b: Elements, op: Op, x: Values, parts: Values) -> Values:
    """Add only the elements of a scatter that are not structural zeros: long gradients are sums of single elements."""
    out = list(x)
    for k in [k for k, part in enumerate(parts) if part is not ZERO]:
        out[k] = b.apply(op, out[k], parts[k])
    return out


def _sum_of(b: Elements, parts: Sequence[Any]) -> Any:
    total: Any = ZERO
    for p in parts:
        total = b.apply(ops.add, total, p)
    return total


def _sum(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    (x,) = xs
    return [_sum_of(b, [x[k] for k in group]) for group in _groups(node.inputs[0].type.shape, node.param("axis"))]


def _sum_of_products(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    products = b.apply_each(ops.multiply, zip(*xs))
    return [
        _sum_of(b, [products[k] for k in group]) for group in _groups(node.inputs[0].type.shape, node.param("axis"))
    ]


def _trace(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    (x,) = xs
    lines = np.diagonal(_numbered(node.inputs[0].type.shape), **dict(node.params)).reshape(node.type.size, -1).tolist()
    return [_sum_of(b, [x[k] for k in line]) for line in lines]


def _running(op: Op) -> Callable[..., Values | None]:
    """Make a rule that joins each element with all that stand before it along an axis."""

    def rule(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
        out = list(xs[0])
        for line in _lines(node.type.shape, node.param("axis")):
            for before, k in pairwise(line):
                out[k] = b.apply(op, out[before], out[k])
        return out

    return rule


def _lines(shape: tuple[int, ...], axis: int) -> list[list[int]]:
    """Return the elements along an axis, for each place on the others."""
    return _groups(shape, (axis,)) if shape[axis] else []


def _cross(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    x, y = ([v[k] for k in _spread(i.type.shape, node.type.shape)] for v, i in zip(xs, node.inputs))
    out = []
    for k in range(0, len(x), 3):
        for i, j in ((k + 1, k + 2), (k + 2, k), (k, k + 1)):
            out.append(b.apply(ops.subtract, b.apply(ops.multiply, x[i], y[j]), b.apply(ops.multiply, x[j], y[i])))
    return out


def _mean(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    count = node.inputs[0].type.size // (node.type.size or 1)
    return [b.apply(ops.divide, total, float(count)) for total in _sum(b, node, xs)] if count else None


def _extreme(op: Op) -> Callable[..., Values | None]:
    def rule(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
        out = []
        for group in _groups(node.inputs[0].type.shape, node.param("axis")):
            if not group:
                return None
            best = xs[0][group[0]]
            for k in group[1:]:
                best = b.apply(op, best, xs[0][k])
            out.append(best)
        return out

    return rule


def _matmul(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    p, q = (i.type.shape for i in node.inputs)
    if len(p) > 2 or len(q) > 2:
        return None
    rows, inner = (1, p[0]) if len(p) == 1 else p
    columns = 1 if len(q) == 1 else q[1]
    x, y = xs
    return [
        _sum_of(b, [b.apply(ops.multiply, x[r * inner + k], y[k * columns + c]) for k in range(inner)])
        for r in range(rows)
        for c in range(columns)
    ]


@lru_cache(maxsize=4096)
def _rearranged(op: Op, params: Any, shapes: tuple[tuple[int, ...], ...]) -> list[int]:
    """Return which of all inputs' elements each element of the result is, found by running the op on their numbers."""
    start, numbers = 0, []
    for shape in shapes:
        numbers.append(_numbered(shape, start))
        start += numbers[-1].size
    return np.asarray(op.run(*numbers, **dict(params))).ravel().tolist()


def _layout(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    if node.op is ops.getitem and len(xs) > 1:
        return _picked(b, node, xs)
    whole = xs[0] if len(xs) == 1 else [e for x in xs for e in x]
    found = [whole[k] for k in _rearranged(node.op, node.params, tuple([i.type.shape for i in node.inputs]))]
    return found if len(xs) == 1 else _as_floats(b, node, found)


def _as_floats(b: Elements, node: Node, elements: Values) -> Values:
    """Return the elements of an array into which others were put, as floats if it is one of floats."""
    return [b.as_float(e) for e in elements] if node.type.dtype.kind == "f" else elements


# ---------------------------------------------------------------------------------------------------------------
# places that are known when the code runs
# ---------------------------------------------------------------------------------------------------------------
def _choices(node: Node, shape: tuple[int, ...], operands: Sequence[Node]) -> tuple[list[int], list[list[int]]] | None:
    """Return, for an index of numbers known when the code runs, the sizes of the axes, and the elements for each place.

    There is one list of elements for each combination of numbers; None where they are too many.
    """
    index = node.param("index")
    if any([i.type.shape or i.type.dtype.kind != "i" for i in operands]) or Ellipsis in index or None in index:
        return None
    slots = [k for k, part in enumerate(index) if type(part) is Slot]
    sizes = [shape[k] for k in slots]
    if len(slots) != len(operands) or [index[k].k for k in slots] != [*range(len(slots))]:
        return None
    if math.prod(sizes) > tuning.CHOICE_MAX_ELEMENTS:
        return None
    found = []
    for place in product(*map(range, sizes)):
        numbers = iter(place)
        exact = tuple([next(numbers) if type(part) is Slot else part for part in index])
        found.append(_rearranged(GETITEM, (("index", exact),), (shape,)))
    return sizes, found


def _picked(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    """Write `(a, b, c)[k]`."""
    choices = _choices(node, node.inputs[0].type.shape, node.inputs[1:])
    if choices is None:
        return None
    sizes, groups = choices
    numbers = [x[0] for x in xs[1:]]
    place = numbers[0] if len(numbers) == 1 else b.place(sizes, numbers)
    return [b.picked([xs[0][k] for k in column], place, element_type(node.type)) for column in zip(*groups)]


def _put(b: Elements, node: Node, whole: Values, parts: Values, numbers: Sequence[Values]) -> Values | None:
    """Write each element as a selection: either the value that is put there, or the old element."""
    choices = _choices(node, node.type.shape, node.inputs[-len(numbers) :])
    if choices is None or node.type.dtype.kind != "f":
        return None
    sizes, groups = choices
    values = _one_each(parts, len(groups[0]))
    if values is None:
        return None
    place = b.place(sizes, [n[0] for n in numbers])
    out = list(whole)
    for k, group in enumerate(groups):
        here = b.apply(ops.equal, place, k)
        for p, value in zip(group, values):
            out[p] = b.apply(ops.where, here, value, out[p])
    return out


def _one_each(values: Values, count: int) -> Values | None:
    """Return the values for so many places, if there is one for each, or one for all; else None."""
    return values if len(values) == count else values * count if len(values) == 1 else None


def _diag(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    """Expand `diag`; its elements are counted from one here."""
    places = np.diag(np.arange(1, len(xs[0]) + 1), node.param("k")).ravel().tolist()
    zero = _free_place(node)
    return [xs[0][k - 1] if k else zero for k in places]


def _free_place(node: Node) -> Any:
    """Return what is in the places that a node leaves free: a structural zero in a derivative, and in what the user
    wrote a number, which makes nan of an infinity."""
    return 0.0 if node.role is None else ZERO


def _scatter(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    if len(xs) > 1:
        return _put(b, node, [_free_place(node)] * node.type.size, xs[0], xs[1:])
    where = _rearranged(GETITEM, (("index", node.param("index")),), (node.param("shape"),))
    out = [_free_place(node)] * node.type.size
    for k, value in zip(where, xs[0]):
        out[k] = value
    return out


def _setitem(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    if len(xs) > 2:
        return _put(b, node, xs[0], xs[1], xs[2:])
    where = _rearranged(GETITEM, (("index", node.param("index")),), (node.type.shape,))
    out = list(xs[0])
    values = _one_each(xs[1], len(where))
    if values is None:
        return None
    for k, v in zip(where, values):
        out[k] = v
    return _as_floats(b, node, out)


def _eye(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    zero = _free_place(node)
    return [1.0 if one else zero for one in node.op.run(**dict(node.params)).ravel().tolist()]


def _full(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    if node.type.dtype.kind == "b":
        return [bool(node.param("value"))] * node.type.size
    value = float(node.param("value"))
    told = b.told(value, node.name) if node.name and is_expression(node.name) else value
    return [ZERO if value == 0.0 and node.role is CT else told] * node.type.size


def _cast(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    return [b.as_bool(x) if node.type.dtype.kind == "b" else b.as_float(x) for x in xs[0]]


MOVES = OpSet(  # what gives elements as they are
    "reshape transpose getitem broadcast_to concatenate stack roll tile repeat copy diagonal positive"
)
RULES: OpTable[Rule] = OpTable(
    {
        **dict.fromkeys(MOVES.names, _layout),
        "diag": _diag,
        "sum": _sum,
        "trace": _trace,
        "cumsum": _running(ops.add),
        "cumprod": _running(ops.multiply),
        "sum_of_products": _sum_of_products,
        "mean": _mean,
        "max": _extreme(ops.maximum),
        "min": _extreme(ops.minimum),
        "matmul": _matmul,
        "cross": _cross,
        "scatter": _scatter,
        "setitem": _setitem,
        "full": _full,
        "eye": _eye,
        "cast": _cast,
        "number": lambda b, node, xs: [b.as_float(xs[0][0])],
    }
)
ON_NUMBERS = OpSet(
    "sum sum_of_products mean matmul scatter setitem diag"
)  # of bools, NumPy makes something else of them


def rule_of(op: Op) -> Rule | None:
    """Return what makes the elements of a result from those of the operands, if an op has such a rule."""
    return RULES.get(op) or (_elementwise if is_elementwise(op) else None)


def tell_derivatives(node: Node, elements: Sequence[Any]) -> None:
    """Tell the elements of a derivative what they are derivatives by, where nothing has told them yet."""
    value = node.of if node.role is not None else None
    untold = [k for k, e in enumerate(elements) if e.__class__ is Node and e.role is not None and e.of is None]
    if value is None or not untold or value.type.shape != node.type.shape:
        return
    if not value.type.shape:
        elements[0].of = value
        return
    name = wished_name(value) or made_name(value)
    names = element_names(name, value.type) if name else []
    for k in untold if names else ():
        elements[k].of = input_node(names[k], FLOAT)
