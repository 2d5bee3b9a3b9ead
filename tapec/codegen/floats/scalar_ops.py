"""Write each elementwise op on plain Python numbers.

An array is the list of its elements in C order. An element is a Python number, a node whose value is a Python float or
bool, or `ZERO`, a structural zero (a place that a scatter leaves free): it costs nothing in sums. Division by zero,
overflow and domain errors raise here, where NumPy would give inf or nan: the caller must be ready to compute again with
NumPy.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from tapec.codegen.common.block_items import no_run
from tapec.ir import CONSTANT, CT, Node, Op, constant
from tapec.ir.types import Type, weak_type

__all__ = ["FLOAT", "ZERO", "Elements", "element_type", "is_bool", "spelled"]

FLOAT = weak_type(float)
INT = weak_type(int)
BOOL = weak_type(bool)
LARGEST = sys.float_info.max
ZERO: Any = type("Zero", (), {"__repr__": lambda self: "0"})()

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
    "float_power": "math.pow({0}, {1})",
    "arctan2": "math.atan2({0}, {1})",
    "hypot": "math.hypot({0}, {1})",
    "copysign": "math.copysign({0}, {1})",
    "fmod": "math.fmod({0}, {1})",
    "scipy.special.expit": "1.0 / (1.0 + math.exp(-{0}))",
    "scipy.special.ndtr": "0.5 * math.erfc(-0.7071067811865476 * {0})",
    "scipy.special.erf": "math.erf({0})",
    "scipy.special.erfc": "math.erfc({0})",
    "scipy.special.gamma": "math.gamma({0})",
    "scipy.special.gammaln": "math.lgamma({0})",
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
    op = Op(name=f"float {name}", run=no_run, rule=no_run, kind="float", source=source, facts={"plain": name})
    op.commutative = name in ("add", "multiply")
    return op


@lru_cache(maxsize=256)
def _text_op(name: str, source: str) -> Op:
    return _scalar_op(name, source)


OPS = {name: _scalar_op(name, source) for name, source in (FLOATS | BOOLS).items()}
PICKED = _scalar_op("picked", "{0}[{1}]")
POWER = _scalar_op("integer power", "{0} ** {1}")
TO_FLOAT = _scalar_op("float", "float({0})")


RISKY = {o for o in (*OPS.values(), POWER, TO_FLOAT) if o.facts["plain"] not in SAFE and o.facts["plain"] not in BOOLS}
TYPES = {name: BOOL if name in BOOLS else FLOAT for name in OPS}
NEGATIVE, MULTIPLY, DIVIDE = OPS["negative"], OPS["multiply"], OPS["divide"]


def element_type(t: Type) -> Type:
    """Return the type of the elements of an array of this type."""
    return BOOL if t.dtype.kind == "b" else INT if t.dtype.kind == "i" else FLOAT


def is_bool(x: Any) -> bool:
    return x.type is BOOL if x.__class__ is Node else type(x) is bool


def spelled(value: Any) -> Any:
    """Return an element as code has it: a structural zero is a zero."""
    return 0.0 if value is ZERO else value


class Elements:
    """Makes element nodes, equal ones once; `errors` has what these may raise where NumPy would not."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.known: dict[Any, Any] = {}
        self.errors: set[str] = set()
        self.origin: Any = None
        self.role: str | None = None

    def apply(self, name: str, *args: Any) -> Any:
        """Apply one operation to elements, simplified where a structural zero or a one makes it needless."""
        simple, op, type = ELEMENTWISE[name]
        if simple is not None:
            found = simple(self, *args)
            if found is not None:
                return found
        return self.made(op, type, args)

    def apply_each(self, name: str, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Apply one operation to each row of arguments."""
        simple, op, type = ELEMENTWISE[name]
        if simple is None:
            return [self.made(op, type, args) for args in rows]
        made = []
        for args in rows:
            found = simple(self, *args)
            made.append(self.made(op, type, args) if found is None else found)
        return made

    def make(self, op: Op, type: Type, *inputs: Any) -> Any:
        return self.made(op, type, inputs)

    def made(self, op: Op, type: Type, inputs: tuple[Any, ...]) -> Any:
        """Return the node of an operation on these operands, the one there is if it was made before."""
        for a in inputs:
            if a.__class__ is not Node:
                inputs = tuple([a if a.__class__ is Node else self.number(spelled(a)) for a in inputs])
                break
        # `a + b` and `b + a` are one node, written as the first of them was
        key = (op, inputs[::-1]) if op.commutative and id(inputs[0]) > id(inputs[1]) else (op, inputs)
        node = self.known.get(key)
        if node is None:
            node = Node(op, inputs, (), type, self.origin, "", self.role)
            self.known[key] = node
            self.nodes.append(node)
            if op in RISKY and not (op is DIVIDE and inputs[1].op is CONSTANT and inputs[1].value):
                self.errors.update(("ArithmeticError", "ValueError"))
        return node

    def as_float(self, x: Any) -> Any:
        """Return an element as a float: Python counts with bools and ints, but an array of them has another type."""
        if x.__class__ is not Node:
            return x if x is ZERO else float(x)
        return x if x.type is FLOAT else self.make(TO_FLOAT, FLOAT, x)

    def as_bool(self, x: Any) -> Any:
        """Return the truth of an element: Python's `and` and `or` would give one of their operands."""
        return x if is_bool(x) else self.make(OPS["not_equal"], BOOL, x, 0.0)

    @property
    def risky(self) -> tuple[str, ...]:
        return tuple(sorted(self.errors))

    def place(self, sizes: Sequence[int], operands: Sequence[Any]) -> Any:
        """Return the number of an element in an array of these sizes, from its place on each axis.

        A place may be negative, as an index may.
        """
        parts = [f"range({n})[{{{k}}}]" for k, n in enumerate(sizes)]
        self.errors.add("IndexError")
        text = parts[0]
        for n, part in zip(sizes[1:], parts[1:]):
            text = f"({text}) * {n} + {part}"
        return self.make(_text_op("place", text), INT, *operands)

    def picked(self, values: Sequence[Any], place: Any, type: Type) -> Any:
        """Return the value at a place."""
        self.errors.add("IndexError")
        slots = ", ".join([f"{{{k}}}" for k in range(len(values))])
        row = self.make(_text_op("row", f"({slots},)" if len(values) == 1 else f"({slots})"), type, *values)
        return self.make(PICKED, type, row, place)

    def number(self, value: Any) -> Node:
        # as text where values do not tell: 0.0 == -0.0, nan != nan
        key = (type(value), value if value and value == value else repr(value))
        node = self.known.get(key)
        if node is None:
            node = self.known[key] = constant(value)
        return node


def _is(x: Any, value: float) -> bool:
    return type(x) in (float, int) and x == value


def _finite(x: float) -> float | None:
    """Return a finite result of two numbers, as in unit vectors; what raises or warns does so when the code runs."""
    return x if math.isfinite(x) else None


def _is_structural_zero(b: Elements, x: Any) -> bool:
    """Return whether an element is a structural zero. Among cotangents each zero is one, also one of a constant."""
    return x is ZERO or (b.role is not None and _is(x, 0.0))


def _add(b: Elements, x: Any, y: Any) -> Any:
    if x.__class__ is not Node or y.__class__ is not Node:
        if _is_structural_zero(b, x) or _is_structural_zero(b, y):
            return b.as_float(y if _is_structural_zero(b, x) else x)
        if type(x) is type(y) is float and b.role is CT:
            return _finite(x + y)
    if is_bool(x) and is_bool(y):
        return b.apply("logical_or", x, y)
    if x is y and x.__class__ is Node:
        return _twice(b, x)
    less = _unsigned(b, y)
    if less is not None:
        return b.apply("subtract", x, less)
    less = _unsigned(b, x)
    return b.apply("subtract", y, less) if less is not None else None


def _subtract(b: Elements, x: Any, y: Any) -> Any:
    if x.__class__ is not Node or y.__class__ is not Node:
        if _is_structural_zero(b, x) or _is_structural_zero(b, y):
            return b.as_float(x) if _is_structural_zero(b, y) else b.apply("negative", b.as_float(y))
    more = _unsigned(b, y)
    return b.apply("add", x, more) if more is not None else None


def _unsigned(b: Elements, x: Any) -> Any:
    """Return y for an x that is its negative, if the sign can be taken off: `-y`, `-y * z`, `y * -2.0`.

    None for others.
    """
    if x.__class__ is not Node:
        return None
    if x.op is NEGATIVE:
        return x.inputs[0]
    if x.op is MULTIPLY or x.op is DIVIDE:
        p, q = x.inputs
        if p.op in _MAY_BE_SIGNED and (bare := _bare(p)) is not None:
            return b.apply(x.op.facts["plain"], bare, q)
        if q.op in _MAY_BE_SIGNED and (bare := _bare(q)) is not None:
            return b.apply(x.op.facts["plain"], p, bare)
    return None


_MAY_BE_SIGNED = (NEGATIVE, CONSTANT)


def _bare(factor: Node) -> Any:
    """Return a factor without its sign; None where it has none."""
    if factor.op is NEGATIVE:
        return factor.inputs[0]
    return -factor.value if factor.value < 0 else None


def _twice(b: Elements, x: Node) -> Any:
    """Double an x of the form `0.5 * y`, which gives y: numbers are doubled without rounding."""
    if x.op is MULTIPLY:
        for k, factor in enumerate(x.inputs):
            if factor.op is CONSTANT and math.isfinite(2.0 * factor.value):
                return b.apply("multiply", x.inputs[1 - k], 2.0 * factor.value)
    return None


def _multiply(b: Elements, x: Any, y: Any) -> Any:
    if x.__class__ is Node and y.__class__ is Node:
        return b.apply("logical_and", x, y) if x.type is y.type is BOOL else None
    if type(x) is type(y) is float and b.role is CT:
        return _finite(x * y)
    if is_bool(x) and is_bool(y):
        return b.apply("logical_and", x, y)
    if x is ZERO or y is ZERO:
        return ZERO
    for a, other in ((x, y), (y, x)):
        if _is(a, 1.0):
            return b.as_float(other)
        if _is(a, -1.0):
            return b.apply("negative", b.as_float(other))
    return None


def _divide(b: Elements, x: Any, y: Any) -> Any:
    return b.as_float(x) if x is ZERO or _is(y, 1.0) else None


def _negative(b: Elements, x: Any) -> Any:
    return x if x is ZERO else -x if type(x) is float else None


def _absolute(b: Elements, x: Any) -> Any:
    return x if is_bool(x) else None


def _fabs(b: Elements, x: Any) -> Any:
    return b.make(OPS["fabs"], FLOAT, b.as_float(x))


def _square(b: Elements, x: Any) -> Any:
    return b.apply("multiply", x, x)


def _power(b: Elements, x: Any, y: Any) -> Any:
    if type(y) in (float, int):
        x = b.as_float(x)
        if y == 2:
            return b.apply("multiply", x, x)
        if y == 1:
            return x
        if y == 0.5:
            return b.apply("sqrt", x)
        if y % 1 == 0:  # false for nan and infinity
            return b.make(POWER, FLOAT, x, int(y))
    return None


def _logaddexp(b: Elements, x: Any, y: Any) -> Any:
    """Write logaddexp. Infinities have no difference, so equal operands are told by a comparison, as NumPy does it."""
    less = b.apply("negative", b.apply("absolute", b.apply("subtract", x, y)))
    other = b.apply("add", b.apply("maximum", x, y), b.apply("log1p", b.apply("exp", less)))
    return b.apply("where", b.apply("equal", x, y), b.apply("add", x, math.log(2.0)), other)


def _clip(b: Elements, x: Any, low: Any, high: Any) -> Any:
    """Write clip with NumPy's own comparisons, which tell what becomes of -0.0 at a bound of 0.0."""
    raised = x
    if low != -math.inf:
        nan = b.apply("isnan", x)
        raised = b.apply("where", b.apply("logical_or", b.apply("greater", x, low), nan), x, low)
    nan = b.apply("isnan", raised)
    return b.apply("where", b.apply("logical_or", b.apply("less", raised, high), nan), raised, high)


def _selecting(name: str) -> Callable[..., Any]:
    """Make the rule of an op that gives one of its operands as it is.

    The result is a bool of bools, else a float, so both operands must be floats.
    """

    def simpler(b: Elements, *args: Any) -> Any:
        *test, x, y = args
        if is_bool(x) and is_bool(y):
            return b.make(OPS[name], BOOL, *args)
        if test and (type(test[0]) is bool or _is_same_number(x, y)):
            return b.as_float(x if test[0] else y)
        if name == "minimum" and isinstance(x, Node) and x.op in (OPS["exp"], OPS["exp2"]) and y == LARGEST:
            return x  # math.exp raises where this bound would matter
        return b.make(OPS[name], FLOAT, *test, b.as_float(x), b.as_float(y))

    return simpler


def _is_same_number(x: Any, y: Any) -> bool:
    """Return whether both are one number, as in a selection among the zeros of unit vectors."""
    return x.__class__ is not Node and y.__class__ is not Node and repr(float(spelled(x))) == repr(float(spelled(y)))


def _logical(name: str) -> Callable[..., Any]:
    def simpler(b: Elements, x: Any, y: Any) -> Any:
        return b.make(OPS[name], BOOL, b.as_bool(x), b.as_bool(y))

    return simpler


def _comparing(name: str) -> Callable[..., Any]:
    compare = getattr(operator, {"not_equal": "ne", "equal": "eq"}[name])

    def simpler(b: Elements, x: Any, y: Any) -> Any:
        """Compare two numbers now, such as those of unit vectors, which guards of cotangents compare."""
        return None if x.__class__ is Node or y.__class__ is Node else compare(spelled(x), spelled(y))

    return simpler


COMPOSED = ("clip", "logaddexp")  # of several operations on floats
SIMPLER: dict[str, Callable[..., Any]] = {
    "where": _selecting("where"),
    "equal": _comparing("equal"),
    "not_equal": _comparing("not_equal"),
    "maximum": _selecting("maximum"),
    "minimum": _selecting("minimum"),
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "negative": _negative,
    "absolute": _absolute,
    "fabs": _fabs,
    "logical_and": _logical("logical_and"),
    "logical_or": _logical("logical_or"),
    "square": _square,
    "power": _power,
    "float_power": _power,
    "logaddexp": _logaddexp,
    "clip": _clip,
}
ELEMENTWISE: dict[str, Any] = {name: (SIMPLER.get(name), OPS.get(name), TYPES.get(name)) for name in (*OPS, *COMPOSED)}
