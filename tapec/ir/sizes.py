"""Find out which axis of which input has the length of an axis of a value, whatever that length is.

Numbers that are such sizes have them for names: `size('y')` is the number of elements of y, `size('x', 0)` its length.
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from tapec.ir import tuning
from tapec.ir.node import INPUT, Node
from tapec.ir.op import OpTable, ops
from tapec.ir.static_index import Slice, Slot

__all__ = [
    "Place",
    "equal_axes",
    "factor_of",
    "has_size",
    "inverse_of",
    "input_like",
    "is_expression",
    "is_size",
    "multiple_text",
    "number_of",
    "positive_name",
    "shape_sizes",
    "size_name",
    "size_text",
    "sizes_in",
    "tells_size",
]

_SIZE = re.compile(r"size\('([^']*)'(?:, (\d+))?\)")
_EXPRESSION = re.compile(r"(?:math\.\w+|float|[\d.eE]+|[-+*/%(), ])+")
_FACTOR = re.compile(r"(-?\d[\d.e+-]*) [*/] ")
_INVERSE = re.compile(rf"1\.0 / (?:({_SIZE.pattern})|\(({_SIZE.pattern} [-+] \d+)\))")
_NEGATIVE = re.compile(rf"-(?:1\.0 \* )?((?:\d[\d.e+-]* [*/] )?(?:{_SIZE.pattern}|\((?:{_SIZE.pattern}|[^()])*\)))")

Place = tuple[Node, int]
Sizes = Callable[..., int]  # from the name of an input, and an axis, to the number of elements


def is_size(name: str) -> bool:
    """Tell whether a name says that a number is a size.

    >>> is_size("size('y')"), is_size("2.0 / size('y')")
    (True, False)
    """
    return _SIZE.fullmatch(name) is not None


def multiple_text(factor: float, operator: str, name: str) -> str:
    """Write a factor times an expression, or over it.

    >>> multiple_text(2.0, "/", "size('y')"), multiple_text(-1.0, "*", "size('x') + 1")
    ("2.0 / size('y')", "-1.0 * (size('x') + 1)")
    """
    if factor == 1.0 and operator == "*":
        return f"float({name})"
    return f"{factor!r} {operator} {name}" if is_size(name) else f"{factor!r} {operator} ({name})"


def factor_of(name: str) -> float | None:
    """Return the number that an expression begins with, if that is multiplied or divided.

    >>> factor_of("2.0 / size('y')"), factor_of("size('y') / 2.0")
    (2.0, None)
    """
    match = _FACTOR.match(name)
    return float(match.group(1)) if match else None


def positive_name(name: str) -> str | None:
    """Name the opposite of a number whose name is a negative factor of an expression, or over one; else None.

    >>> positive_name("-2.0 / size('y')"), positive_name("-1.0 * size('y')"), positive_name("-2.0 + size('y')")
    ("2.0 / size('y')", "size('y')", None)
    >>> positive_name("-1.0 / (size('y') - 1)")
    "1.0 / (size('y') - 1)"
    """
    match = _NEGATIVE.fullmatch(name)
    return match and match[1]


def inverse_of(name: str) -> str | None:
    """Name the whole number of which a number with this name is the inverse: a size, or one that is a few more or less.

    >>> inverse_of("1.0 / size('y')"), inverse_of("1.0 / (size('y') - 1)"), inverse_of("1.0 / (size('y') * 0.5)")
    ("size('y')", "size('y') - 1", None)
    """
    match = _INVERSE.fullmatch(name)
    return match and (match[1] or match[4])


def is_expression(name: str) -> bool:
    """Tell whether a name is an expression, with sizes or without, and no variable.

    >>> is_expression("2.0 / size('y')"), is_expression("1 / 3"), is_expression("y"), is_expression("y[0]")
    (True, True, False, False)
    """
    return not name.isidentifier() and _EXPRESSION.fullmatch(_SIZE.sub("0", name)) is not None


def tells_size(name: str) -> bool:
    """Tell whether a name is an expression with sizes.

    >>> tells_size("2.0 / size('y')"), tells_size("y")
    (True, False)
    """
    return "size('" in name


def sizes_in(name: str) -> Iterator[tuple[str, str, int | None]]:
    """Give the sizes that a name tells of: their text, the name of the input, and the axis if it is of one.

    >>> list(sizes_in("2.0 / size('x', 1)"))
    [("size('x', 1)", 'x', 1)]
    """
    for match in _SIZE.finditer(name):
        yield match.group(0), match.group(1), int(match.group(2)) if match.group(2) else None


def size_text(name: str, axis: int | None) -> str:
    """Write the size of an input: `size('x', 1)` of one axis, `size('x')` of all."""
    return f"size({name!r})" if axis is None else f"size({name!r}, {axis})"


def number_of(text: str, sizes: Sizes) -> Any:
    """Return the number that an expression of sizes and functions of `math` gives, where it gives a finite one.

    >>> number_of("2.0 / size('y', 0)", shape_sizes({"y": (64,)}))
    0.03125
    """
    if not is_expression(text):
        return None
    try:
        value = eval(_code_of(text), {"__builtins__": {}, "math": math, "size": sizes, "float": float})
        return value if type(value) is int or (type(value) is float and math.isfinite(value)) else None
    except (ArithmeticError, LookupError, SyntaxError, TypeError, ValueError):  # of other sizes than it was written for
        return None


@lru_cache(maxsize=1024)
def _code_of(text: str) -> types.CodeType:
    return compile(text, "<expression>", "eval")


def shape_sizes(shapes: Mapping[str, tuple[int, ...]]) -> Sizes:
    """Return the function that answers `size` in expressions, for inputs of these shapes."""
    return lambda name, axis=None: math.prod(shapes[name]) if axis is None else shapes[name][axis]


def size_name(node: Node, axes: tuple[int, ...]) -> str | None:
    """Name the number of elements along some axes of a value by an input that has as many, whatever their number is."""
    shape = node.type.shape
    axes = tuple([k for k in axes if shape[k] != 1])
    if not axes or 0 in shape:
        return None
    steps = iter(range(tuning.SIZE_MAX_STEPS))
    if len(axes) == sum([n != 1 for n in shape]):
        alike = _alike(node, steps)
        if alike is not None:
            return _text(alike, None)
    found = [_source(node, k, steps) for k in axes]
    whole = found[0][0] if found[0] is not None else None
    if whole is not None and found == [(whole, k) for k, n in enumerate(whole.type.shape) if n != 1]:
        return _text(whole, None)
    texts = [None if place is None else _text(*place) for place in found]
    return None if None in texts else " * ".join(map(str, texts))


def has_size(node: Node, axis: int, size: str) -> bool:
    """Tell whether an axis of a value is as long as an input's is, of which `size` is the name, whatever that is."""
    left, seen = [(node, axis)], set[Place]()
    while left and len(seen) < tuning.SIZE_MAX_STEPS:
        i, k = place = left.pop()
        if i.op is INPUT and _text(i, k) == size:
            return True
        if place not in seen:
            seen.add(place)
            left += [other for one, other in equal_axes(i) if one == place]
    return False


def input_like(node: Node) -> Node | None:
    """Return an input from which a value of the same shape is computed element by element, if there is one."""
    return _alike(node, iter(range(tuning.SIZE_MAX_STEPS)))


def _text(node: Node, axis: int | None) -> str | None:
    if node.name is None or "'" in node.name:
        return None
    return size_text(node.name, None if node.type.ndim == 1 else axis)


def _alike(node: Node, steps: Iterator[int]) -> Node | None:
    """Return an input of the same shape from which a value is computed element by element."""
    if node.op is INPUT:
        return node
    if node.op.kind != "elementwise" or next(steps, None) is None:
        return None
    same = [i for i in node.inputs if i.type.shape == node.type.shape]
    for i in sorted(same, key=lambda i: i.op is not INPUT):
        found = _alike(i, steps)
        if found is not None:
            return found
    return None


def _source(node: Node, axis: int, steps: Iterator[int]) -> Place | None:
    """Return the input, and its axis, that the length of an axis comes from; a vector, if it comes from several."""
    first = None
    for i, k in _sources(node, axis, steps, set()):
        if i.type.ndim == 1:
            return i, k
        first = first or (i, k)
    return first


def _sources(node: Node, axis: int, steps: Iterator[int], seen: set[Place]) -> Iterator[Place]:
    """Give the inputs, each with its axis, that the length of an axis comes from."""
    if node.op is INPUT:
        yield node, axis
    if node.op is INPUT or isinstance(node.type, tuple) or (node, axis) in seen or next(steps, None) is None:
        return
    seen.add((node, axis))
    find = _finder(node)
    places = [] if find is None else find(node, axis)
    n = node.type.shape[axis]
    for i, k in sorted(places, key=lambda place: place[0].op is not INPUT):
        if 0 <= k < len(i.type.shape) and i.type.shape[k] == n:
            yield from _sources(i, k, steps, seen)


def equal_axes(node: Node) -> Iterator[tuple[Place, Place]]:
    """Give pairs of axes, of a value and its operands, that are equally long whatever that length is."""
    find = _finder(node)
    for axis, n in enumerate(node.type.shape):
        for i, k in [] if find is None or n == 1 else find(node, axis):
            if 0 <= k < len(i.type.shape) and i.type.shape[k] == n:
                yield (node, axis), (i, k)
    if node.op is ops.matmul:
        a, b = node.inputs
        yield (a, a.type.ndim - 1), (b, max(b.type.ndim - 2, 0))


def _finder(node: Node) -> Callable[[Node, int], list[Place]] | None:
    return _aligned if node.op.kind in ("elementwise", "cumulative") else _OPERANDS.get(node.op)


def _aligned(node: Node, axis: int) -> list[Place]:
    return [(i, axis - node.type.ndim + i.type.ndim) for i in node.inputs if not isinstance(i.type, tuple)]


def _of_product(node: Node, axis: int) -> list[Place]:
    a, b = node.inputs
    if a.type.ndim > 2 and b.type.ndim > 2:
        return []
    if b.type.ndim > 1 and axis == node.type.ndim - 1:
        return [(b, b.type.ndim - 1)]
    if b.type.ndim <= 2:
        return [(a, axis)]
    return [(b, axis)] if axis < b.type.ndim - 2 else [(a, 0)]


def _of_concatenate(node: Node, axis: int) -> list[Place]:
    return [] if axis == node.param("axis") else [(i, axis) for i in node.inputs]


def _of_transpose(node: Node, axis: int) -> list[Place]:
    return [(node.inputs[0], node.param("axes")[axis])]


def _of_reduction(node: Node, axis: int) -> list[Place]:
    x, gone = node.inputs[0], node.param("axis")
    if node.param("keepdims"):
        return [(x, axis)]
    return [(x, [k for k in range(x.type.ndim) if k not in gone][axis])]


def _of_reshape(node: Node, axis: int) -> list[Place]:
    (x,) = node.inputs
    before = math.prod(node.type.shape[:axis])
    return [(x, k) for k in range(x.type.ndim) if math.prod(x.type.shape[:k]) == before]


def _of_index(node: Node, axis: int) -> list[Place]:
    x, *index = node.inputs
    if not index:
        kept = _kept_axes(node.param("index"), x.type.ndim)
        origin = None if kept is None else kept[axis]
        return [] if origin is None else [(x, origin)]
    slots = len(node.param("index"))
    if node.param("index") != tuple(map(Slot, range(slots))) or any([i.type.dtype.kind == "b" for i in index]):
        return []
    ndim = max([i.type.ndim for i in index], default=0)
    if axis < ndim:
        return [(i, axis - ndim + i.type.ndim) for i in index]
    return [(x, axis - ndim + slots)]


def _of_scatter(node: Node, axis: int) -> list[Place]:
    x, *index = node.inputs
    kept = None if index else _kept_axes(node.param("index"), node.type.ndim)
    return [] if kept is None or axis not in kept else [(x, kept.index(axis))]


def _kept_axes(index: tuple[Any, ...], ndim: int) -> list[int | None] | None:
    """Return the axes that those of a part are, None for new ones and parts of axes; None where arrays are indices."""
    used = sum([p is not None and p is not ... for p in index])
    index = index if ... in index else (*index, ...)
    kept: list[int | None] = []
    axis = 0
    for part in index:
        if part is ...:
            kept += range(axis, axis + ndim - used)
            axis += ndim - used
        elif part is None:
            kept.append(None)
        elif type(part) is Slice:
            kept.append(axis if part.start is part.stop is None and part.step in (None, -1) else None)
            axis += 1
        elif type(part) is int:
            axis += 1
        else:
            return None
    return kept


_OPERANDS: OpTable[Callable[[Node, int], list[Place]]] = OpTable(
    {
        "matmul": _of_product,
        "transpose": _of_transpose,
        "sum mean max min": _of_reduction,
        "concatenate": _of_concatenate,
        "reshape": _of_reshape,
        "broadcast_to": _aligned,
        "getitem": _of_index,
        "scatter": _of_scatter,
    }
)
