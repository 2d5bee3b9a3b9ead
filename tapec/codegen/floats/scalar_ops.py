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
from functools import cache, partial
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, CT, OPS, Node, Op, OpSet, OpTable, constant, ops, register
from tapec.ir.types import Type, weak_type

__all__ = ["FLOAT", "PYTHON_POWER", "ZERO", "Elements", "element_type", "is_bool", "spelled"]

FLOAT = weak_type(float)
INT = weak_type(int)
BOOL = weak_type(bool)
_NUMBER = {"f": FLOAT, "i": INT, "b": BOOL}
LARGEST = sys.float_info.max
ZERO: Any = type("Zero", (), {"__repr__": lambda self: "0"})()

# ---------------------------------------------------------------------------------------------------------------
# operations on elements
# ---------------------------------------------------------------------------------------------------------------
# of bools; results of all others are floats
BOOLS = OpSet(
    "greater greater_equal less less_equal equal not_equal isnan isfinite isinf "
    "logical_and logical_or logical_not bitwise_and bitwise_or invert"
)
SELECTING = OpSet("where maximum minimum")
# these raise no errors
SAFE = BOOLS | OpSet("add subtract multiply negative absolute fabs square maximum minimum where sign")


def _new_op(name: str, source: str, rule: Callable[..., Type], plain: Op | None = None) -> Op:
    """Define an op on Python's numbers, which runs as it is written."""
    known = OPS.get(f"float_{name}")
    if known is not None:
        return known
    run = partial(_run, source)
    op = Op(name=f"float_{name}", run=run, rule=rule, kind="float", source=source, gradient="none")
    if plain is not None:
        op.facts["plain"] = plain
    return register(op)


def _run(source: str, *values: Any) -> Any:
    return _function(source, len(values))(*values)


@cache
def _function(source: str, count: int) -> Callable[..., Any]:
    """Return the function of so many numbers that a template is."""
    names = [f"x{k}" for k in range(count)]
    return eval(f"lambda {', '.join(names)}: {source.format(*names)}", {"math": math})


def _float(*_: Type) -> Type:
    return FLOAT


def _bool(*_: Type) -> Type:
    return BOOL


def _selected(*types: Type) -> Type:
    """Return the type of what gives one of its last two operands."""
    return BOOL if types[-2:] == (BOOL, BOOL) else FLOAT


@cache
def float_op(plain: Op) -> Op:
    """Return the op that does to single elements what a plain op does to arrays."""
    assert plain.scalar is not None
    rule = _bool if plain in BOOLS else _selected if plain in SELECTING else _float
    op = _new_op(plain.name, plain.scalar, rule, plain)
    op.commutative = plain in (ops.add, ops.multiply)
    if plain not in SAFE:
        RISKY.add(op)
    return op


def place_op(*sizes: int) -> Op:
    """Return the op that gives the number of an element in an array of these sizes, from its place on each axis."""
    text = f"range({sizes[0]})[{{0}}]"
    for k, n in enumerate(sizes[1:], 1):
        text = f"({text}) * {n} + range({n})[{{{k}}}]"
    return _new_op(f"place_{'_'.join(map(str, sizes))}", text, lambda *_: INT)


def row_op(count: int) -> Op:
    """Return the op that puts so many numbers side by side."""
    slots = ", ".join([f"{{{k}}}" for k in range(count)])
    return _new_op(f"row_{count}", f"({slots},)" if count == 1 else f"({slots})", _row_type)


def _row_type(*types: Type) -> Type:
    return Type((len(types),), FLOAT.dtype if FLOAT in types else types[0].dtype)


def op_of(name: str) -> Op | None:
    """Return the op of a name that begins with `float_`, as in graph text; None where there is none."""
    what, *sizes = name.removeprefix("float_").split("_")
    if what in ("place", "row") and sizes and all([n.isdecimal() for n in sizes]):
        return place_op(*map(int, sizes)) if what == "place" else row_op(int(sizes[0]))
    plain = OPS.get(name.removeprefix("float_"))
    return OPS.get(name) if plain is None or plain.scalar is None else float_op(plain)


PICKED = _new_op("picked", "{0}[{1}]", lambda row, _: _NUMBER[row.dtype.kind])
POWER = _new_op("integer_power", "{0} ** {1}", _float)
PYTHON_POWER = _new_op("python_power", "{0} ** {1}", _float)
TO_FLOAT = _new_op("cast", "float({0})", _float)
RISKY = {POWER, PYTHON_POWER, TO_FLOAT}  # ops that may raise an error where NumPy gives inf or nan
NEGATIVE, MULTIPLY, DIVIDE = float_op(ops.negative), float_op(ops.multiply), float_op(ops.divide)
_EXPONENTIALS = (float_op(ops.exp), float_op(ops.exp2))


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
        self.errors: set[type[Exception]] = set()
        self.origin: Any = None
        self.role: str | None = None

    def apply(self, plain: Op, *args: Any) -> Any:
        """Apply one operation to elements, simplified where a structural zero or a one makes it needless."""
        simple, op, type = _on_elements(plain)
        if simple is not None:
            found = simple(self, *args)
            if found is not None:
                return found
        return self.made(op, type, args)

    def apply_each(self, plain: Op, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Apply one operation to each row of arguments."""
        simple, op, type = _on_elements(plain)
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
                self.errors.update((ArithmeticError, ValueError))
        return node

    def as_float(self, x: Any) -> Any:
        """Return an element as a float: Python counts with bools and ints, but an array of them has another type."""
        if x.__class__ is not Node:
            return x if x is ZERO else float(x)
        return x if x.type is FLOAT else self.make(TO_FLOAT, FLOAT, x)

    def as_bool(self, x: Any) -> Any:
        """Return the truth of an element: Python's `and` and `or` would give one of their operands."""
        return x if is_bool(x) else self.make(float_op(ops.not_equal), BOOL, x, 0.0)

    @property
    def raised(self) -> tuple[type[Exception], ...]:
        """Return what the nodes may raise, in one order."""
        return tuple(sorted(self.errors, key=lambda error: error.__name__))

    def place(self, sizes: Sequence[int], operands: Sequence[Any]) -> Any:
        """Return the number of an element in an array of these sizes, from its place on each axis.

        A place may be negative, as an index may.
        """
        self.errors.add(IndexError)
        return self.make(place_op(*sizes), INT, *operands)

    def picked(self, values: Sequence[Any], place: Any, type: Type) -> Any:
        """Return the value at a place."""
        self.errors.add(IndexError)
        row = self.make(row_op(len(values)), Type((len(values),), type.dtype), *values)
        return self.make(PICKED, type, row, place)

    def literal(self, node: Node) -> Any:
        """Return a number of the program as an element: itself, or a node where it has an expression for a name."""
        value = node.value.item() if isinstance(node.value, np.generic) else node.value
        return value if node.name is None else self.told(value, node.name)

    def told(self, value: Any, name: str) -> Node:
        """Return a number that an expression tells."""
        key = (type(value), name)
        if key not in self.known:
            self.known[key] = constant(value, name)
        return self.known[key]

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
        return b.apply(ops.logical_or, x, y)
    if x is y and x.__class__ is Node:
        return _twice(b, x)
    less = _unsigned(b, y)
    if less is not None:
        return b.apply(ops.subtract, x, less)
    less = _unsigned(b, x)
    return b.apply(ops.subtract, y, less) if less is not None else None


def _subtract(b: Elements, x: Any, y: Any) -> Any:
    if x.__class__ is not Node or y.__class__ is not Node:
        if _is_structural_zero(b, x) or _is_structural_zero(b, y):
            return b.as_float(x) if _is_structural_zero(b, y) else b.apply(ops.negative, b.as_float(y))
    more = _unsigned(b, y)
    return b.apply(ops.add, x, more) if more is not None else None


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
                return b.apply(ops.multiply, x.inputs[1 - k], 2.0 * factor.value)
    return None


def _multiply(b: Elements, x: Any, y: Any) -> Any:
    if x.__class__ is Node and y.__class__ is Node:
        return b.apply(ops.logical_and, x, y) if x.type is y.type is BOOL else None
    if type(x) is type(y) is float and b.role is CT:
        return _finite(x * y)
    if is_bool(x) and is_bool(y):
        return b.apply(ops.logical_and, x, y)
    if x is ZERO or y is ZERO:
        return ZERO
    for a, other in ((x, y), (y, x)):
        if _is(a, 1.0):
            return b.as_float(other)
        if _is(a, -1.0):
            return b.apply(ops.negative, b.as_float(other))
    return None


def _divide(b: Elements, x: Any, y: Any) -> Any:
    return b.as_float(x) if x is ZERO or _is(y, 1.0) else None


def _negative(b: Elements, x: Any) -> Any:
    return x if x is ZERO else -x if type(x) is float else None


def _absolute(b: Elements, x: Any) -> Any:
    return x if is_bool(x) else None


def _fabs(b: Elements, x: Any) -> Any:
    return b.make(float_op(ops.fabs), FLOAT, b.as_float(x))


def _square(b: Elements, x: Any) -> Any:
    return b.apply(ops.multiply, x, x)


def _power(b: Elements, x: Any, y: Any) -> Any:
    if type(y) in (float, int):
        x = b.as_float(x)
        if y == 2:
            return b.apply(ops.multiply, x, x)
        if y == 1:
            return x
        if y == 0.5:
            return b.apply(ops.sqrt, x)
        if y % 1 == 0:  # false for nan and infinity
            return b.make(POWER, FLOAT, x, int(y))
    return None


def _logaddexp(b: Elements, x: Any, y: Any) -> Any:
    """Write logaddexp. Infinities have no difference, so equal operands are told by a comparison, as NumPy does it."""
    less = b.apply(ops.negative, b.apply(ops.absolute, b.apply(ops.subtract, x, y)))
    other = b.apply(ops.add, b.apply(ops.maximum, x, y), b.apply(ops.log1p, b.apply(ops.exp, less)))
    return b.apply(ops.where, b.apply(ops.equal, x, y), b.apply(ops.add, x, math.log(2.0)), other)


def _clip(b: Elements, x: Any, low: Any, high: Any) -> Any:
    """Write clip with NumPy's own comparisons, which tell what becomes of -0.0 at a bound of 0.0."""
    raised = x
    if low != -math.inf:
        nan = b.apply(ops.isnan, x)
        raised = b.apply(ops.where, b.apply(ops.logical_or, b.apply(ops.greater, x, low), nan), x, low)
    nan = b.apply(ops.isnan, raised)
    return b.apply(ops.where, b.apply(ops.logical_or, b.apply(ops.less, raised, high), nan), raised, high)


def _selecting(plain: Op) -> Callable[..., Any]:
    """Make the rule of an op that gives one of its operands as it is.

    The result is a bool of bools, else a float, so both operands must be floats.
    """

    def simpler(b: Elements, *args: Any) -> Any:
        *test, x, y = args
        if is_bool(x) and is_bool(y):
            return b.make(float_op(plain), BOOL, *args)
        if test and (type(test[0]) is bool or _is_same_number(x, y)):
            return b.as_float(x if test[0] else y)
        if plain is ops.minimum and isinstance(x, Node) and x.op in _EXPONENTIALS and y == LARGEST:
            return x  # math.exp raises where this bound would matter
        return b.make(float_op(plain), FLOAT, *test, b.as_float(x), b.as_float(y))

    return simpler


def _is_same_number(x: Any, y: Any) -> bool:
    """Return whether both are one number, as in a selection among the zeros of unit vectors."""
    return x.__class__ is not Node and y.__class__ is not Node and repr(float(spelled(x))) == repr(float(spelled(y)))


def _logical(plain: Op) -> Callable[..., Any]:
    def simpler(b: Elements, x: Any, y: Any) -> Any:
        return b.make(float_op(plain), BOOL, b.as_bool(x), b.as_bool(y))

    return simpler


def _comparing(plain: Op) -> Callable[..., Any]:
    compare = operator.ne if plain is ops.not_equal else operator.eq

    def simpler(b: Elements, x: Any, y: Any) -> Any:
        """Compare two numbers now, such as those of unit vectors, which guards of cotangents compare."""
        return None if x.__class__ is Node or y.__class__ is Node else compare(spelled(x), spelled(y))

    return simpler


COMPOSED = OpSet("clip logaddexp")  # of several operations on floats
SIMPLER: OpTable[Callable[..., Any]] = OpTable(
    {
        "where": _selecting(ops.where),
        "equal": _comparing(ops.equal),
        "not_equal": _comparing(ops.not_equal),
        "maximum": _selecting(ops.maximum),
        "minimum": _selecting(ops.minimum),
        "add": _add,
        "subtract": _subtract,
        "multiply": _multiply,
        "divide": _divide,
        "negative": _negative,
        "absolute": _absolute,
        "fabs": _fabs,
        "logical_and": _logical(ops.logical_and),
        "logical_or": _logical(ops.logical_or),
        "square": _square,
        "power float_power": _power,
        "logaddexp": _logaddexp,
        "clip": _clip,
    }
)


def is_elementwise(plain: Op) -> bool:
    """Return whether `Elements.apply` takes an op."""
    return plain.scalar is not None or plain in COMPOSED


@cache
def _on_elements(plain: Op) -> tuple[Callable[..., Any] | None, Op, Type]:
    """Return what makes a result simpler than by an operation, the operation, and the type of the result."""
    op = plain if plain in COMPOSED else float_op(plain)
    return SIMPLER.get(plain), op, BOOL if plain in BOOLS else FLOAT
