"""Ops element by element: how each op is written on plain Python numbers.

An array is the list of its elements in C order. An element is a Python number, a node whose value is a Python float or
bool, or `ZERO`, a zero that is there by structure alone (a place that a scatter leaves free): it costs nothing in sums.
Division by zero, overflow and domain errors raise here, where NumPy would give inf or nan: who runs this code must be
ready to compute again with NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tapec.ir import CT, Node, Op, constant
from tapec.ir.types import Type, weak_type

__all__ = ["BOOL", "FLOAT", "RULES", "ZERO", "Elements", "spelled"]

FLOAT = weak_type(float)
BOOL = weak_type(bool)
ZERO: Any = type("Zero", (), {"__repr__": lambda self: "0"})()

Values = list[Any]

# ---------------------------------------------------------------------------------------------------------------
# operations on elements
# ---------------------------------------------------------------------------------------------------------------
FLOATS = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "negative": "-{0}",
    "absolute": "abs({0})",
    "fabs": "abs({0})",
    "square": "{0} * {0}",
    "reciprocal": "1.0 / {0}",
    "remainder": "{0} % {1}",
    "maximum": "{0} if {0} >= {1} or {0} != {0} else {1}",
    "minimum": "{0} if {0} <= {1} or {0} != {0} else {1}",
    "where": "{1} if {0} else {2}",
    "sign": "math.copysign(1.0, {0}) if {0} == {0} != 0.0 else {0}",
    "deg2rad": "math.radians({0})",
    "radians": "math.radians({0})",
    "rad2deg": "math.degrees({0})",
    "degrees": "math.degrees({0})",
    "power": "math.pow({0}, {1})",
    "arctan2": "math.atan2({0}, {1})",
    "hypot": "math.hypot({0}, {1})",
    "copysign": "math.copysign({0}, {1})",
    "fmod": "math.fmod({0}, {1})",
} | {
    ours: f"math.{theirs}({{0}})"
    for ours, theirs in {
        "exp": "exp", "exp2": "exp2", "expm1": "expm1", "sqrt": "sqrt", "cbrt": "cbrt",
        "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
        "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
        "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    }.items()
}  # fmt: skip
BOOLS = {
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "logical_and": "{0} and {1}",
    "logical_or": "{0} or {1}",
    "logical_not": "not {0}",
    "bitwise_and": "{0} and {1}",
    "bitwise_or": "{0} or {1}",
    "invert": "not {0}",
    "isnan": "{0} != {0}",
    "isfinite": "math.isfinite({0})",
    "isinf": "math.isinf({0})",
}
SAFE = {"add", "subtract", "multiply", "negative", "absolute", "fabs", "square", "maximum", "minimum", "where", "sign"}


def _scalar_op(name: str, source: str) -> Op:
    return Op(name=f"float {name}", run=_no_run, rule=_no_run, kind="float", source=source, facts={"plain": name})


def _no_run(*values: Any, **params: Any) -> Any:
    raise TypeError("an operation on Python numbers runs in generated code alone")


OPS = {name: _scalar_op(name, source) for name, source in (FLOATS | BOOLS).items()}
POWER = _scalar_op("integer power", "{0} ** {1}")
TO_FLOAT = _scalar_op("float", "float({0})")


# what gives one of its operands as it is: an int among them must be a float
SELECTING = {"where", "maximum", "minimum"}


def spelled(value: Any) -> Any:
    """An element as code has it: structural zeros are zeros."""
    return 0.0 if value is ZERO else value


class Elements:
    """Makes element nodes, equal ones once. `risky` tells whether any of them may raise."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.known: dict[Any, Any] = {}
        self.risky = False
        self.origin: Any = None
        self.role: str | None = None

    def apply(self, name: str, *args: Any) -> Any:
        """One operation on elements, simplified where a structural zero or a one makes it nothing."""
        simple = SIMPLER.get(name)
        if simple is not None:
            found = simple(self, *args)
            if found is not None:
                return found
        return self.make(OPS[name], BOOL if name in BOOLS else FLOAT, *args)

    def make(self, op: Op, type: Type, *args: Any) -> Any:
        if type is FLOAT and op.facts["plain"] in SELECTING:
            args = tuple([float(a) if isinstance(a, int) else a for a in args])
        inputs = tuple([a if isinstance(a, Node) else self.number(spelled(a)) for a in args])
        key = (op, inputs)
        node = self.known.get(key)
        if node is None:
            node = Node(op, inputs, (), type, self.origin, "", self.role)
            self.known[key] = node
            self.nodes.append(node)
            if op.facts["plain"] not in SAFE and op.facts["plain"] not in BOOLS:
                self.risky = True
        return node

    def number(self, value: Any) -> Node:
        key = (type(value), repr(value))
        node = self.known.get(key)
        if node is None:
            node = self.known[key] = constant(value)
        return node


def _is(x: Any, value: float) -> bool:
    return type(x) in (float, int) and x == value


def _add(b: Elements, x: Any, y: Any) -> Any:
    return y if x is ZERO else x if y is ZERO else None


def _subtract(b: Elements, x: Any, y: Any) -> Any:
    return x if y is ZERO else b.apply("negative", y) if x is ZERO else None


def _multiply(b: Elements, x: Any, y: Any) -> Any:
    if x is ZERO or y is ZERO:
        return ZERO
    for a, other in ((x, y), (y, x)):
        if _is(a, 1.0):
            return other
        if _is(a, -1.0):
            return b.apply("negative", other)
    return None


def _divide(b: Elements, x: Any, y: Any) -> Any:
    return x if x is ZERO or _is(y, 1.0) else None


def _negative(b: Elements, x: Any) -> Any:
    return x if x is ZERO else -x if type(x) is float else None


def _square(b: Elements, x: Any) -> Any:
    return b.apply("multiply", x, x)


def _power(b: Elements, x: Any, y: Any) -> Any:
    if type(y) in (float, int):
        if y == 2:
            return b.apply("multiply", x, x)
        if y == 1:
            return x
        if y == 0.5:
            return b.apply("sqrt", x)
        if y == int(y):
            return b.make(POWER, FLOAT, x, int(y))
    return None


SIMPLER: dict[str, Callable[..., Any]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "negative": _negative,
    "square": _square,
    "power": _power,
}


# ---------------------------------------------------------------------------------------------------------------
# ops on arrays: (elements, node, lists of the inputs' elements) -> elements of the result, None when it cannot be done
# ---------------------------------------------------------------------------------------------------------------
@lru_cache(maxsize=4096)
def _spread(shape: tuple[int, ...], to: tuple[int, ...]) -> list[int]:
    """Which element of an operand each element of the broadcast result reads."""
    return np.broadcast_to(_numbered(shape), to).ravel().tolist()


def _numbered(shape: tuple[int, ...], start: int = 0) -> Any:
    size = int(np.prod(shape, dtype=int))
    return np.arange(start, start + size).reshape(shape)


@lru_cache(maxsize=4096)
def _groups(shape: tuple[int, ...], axis: tuple[int, ...]) -> list[list[int]]:
    """For each element of a reduction the elements it adds up."""
    rest = [k for k in range(len(shape)) if k not in axis]
    size = int(np.prod([shape[k] for k in rest], dtype=int))
    return _numbered(shape).transpose(*rest, *axis).reshape(size, -1).tolist()


def _elementwise(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    name, shape = node.op.name, node.type.shape
    if not shape:
        return [b.apply(name, *[x[0] for x in xs])]
    reads = [_spread(i.type.shape, shape) for i in node.inputs]
    return [b.apply(name, *[x[r[k]] for x, r in zip(xs, reads)]) for k in range(node.type.size)]


def _sum_of(b: Elements, parts: Sequence[Any]) -> Any:
    total: Any = ZERO
    for p in parts:
        total = b.apply("add", total, p)
    return total


def _sum(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    (x,) = xs
    return [_sum_of(b, [x[k] for k in group]) for group in _groups(node.inputs[0].type.shape, node.param("axis"))]


def _mean(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    count = node.inputs[0].type.size // (node.type.size or 1)
    return [b.apply("divide", total, float(count)) for total in _sum(b, node, xs)] if count else None


def _extreme(name: str) -> Callable[..., Values | None]:
    def rule(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
        out = []
        for group in _groups(node.inputs[0].type.shape, node.param("axis")):
            if not group:
                return None
            best = xs[0][group[0]]
            for k in group[1:]:
                best = b.apply(name, best, xs[0][k])
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
        _sum_of(b, [b.apply("multiply", x[r * inner + k], y[k * columns + c]) for k in range(inner)])
        for r in range(rows)
        for c in range(columns)
    ]


@lru_cache(maxsize=4096)
def _rearranged(op: Op, params: Any, shapes: tuple[tuple[int, ...], ...]) -> list[int]:
    """Which of all the inputs' elements each element of the result is: the op itself, done on their numbers."""
    start, numbers = 0, []
    for shape in shapes:
        numbers.append(_numbered(shape, start))
        start += numbers[-1].size
    return np.asarray(op.run(*numbers, **dict(params))).ravel().tolist()


def _layout(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    if node.op.name == "getitem" and len(xs) > 1:
        return None
    whole = xs[0] if len(xs) == 1 else [e for x in xs for e in x]
    return [whole[k] for k in _rearranged(node.op, node.params, tuple([i.type.shape for i in node.inputs]))]


def _diag(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    """Zeros off the diagonal; its elements are counted from one here."""
    places = np.diag(np.arange(1, len(xs[0]) + 1), node.param("k")).ravel().tolist()
    return [xs[0][k - 1] if k else ZERO for k in places]


def _scatter(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    if len(xs) > 1:
        return None
    where = _rearranged(_GETITEM, (("index", node.param("index")),), (node.param("shape"),))
    out = [ZERO] * node.type.size
    for k, value in zip(where, xs[0]):
        out[k] = value
    return out


def _setitem(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    if len(xs) > 2:
        return None
    where = _rearranged(_GETITEM, (("index", node.param("index")),), (node.type.shape,))
    out = list(xs[0])
    value = xs[1] if len(xs[1]) == len(where) else xs[1] * len(where) if len(xs[1]) == 1 else None
    if value is None:
        return None
    for k, v in zip(where, value):
        out[k] = v
    return out


def _full(b: Elements, node: Node, xs: Sequence[Values]) -> Values:
    value = float(node.param("value"))
    return [ZERO if value == 0.0 and node.role is CT else value] * node.type.size


def _cast(b: Elements, node: Node, xs: Sequence[Values]) -> Values | None:
    if node.inputs[0].type.dtype == bool:
        return [float(x) if type(x) is bool else b.make(TO_FLOAT, FLOAT, x) for x in xs[0]]
    return xs[0]


_GETITEM = Op(name="numbers", run=lambda x, index: _at(x, index), rule=_no_run, kind="layout")


def _at(x: Any, index: Any) -> Any:
    from tapec.ops.indexing import real_index

    return x[real_index(index, ())]


RULES: dict[str, Callable[[Elements, Node, Sequence[Values]], Values | None]] = {
    **dict.fromkeys([*FLOATS, *BOOLS], _elementwise),
    **dict.fromkeys(
        ["reshape", "transpose", "getitem", "broadcast_to", "concatenate", "stack", "roll", "tile", "repeat", "copy"]
        + ["diagonal"],
        _layout,
    ),
    "diag": _diag,
    "sum": _sum,
    "mean": _mean,
    "max": _extreme("maximum"),
    "min": _extreme("minimum"),
    "matmul": _matmul,
    "scatter": _scatter,
    "setitem": _setitem,
    "full": _full,
    "cast": _cast,
    "positive": _layout,
}
