"""A pattern says what a rewrite rule looks for, written with the same operators and functions as code.

    a, b = variables("a b")
    k = number("k")
    np.log(1.0 + a)      a * k      np.where(a, b, 0)      np.reshape(np.reshape(a, params), params)

A variable stands for any value, and for the same one wherever it occurs; a number variable for a Python number, or an
array that is one number everywhere. Ops are named by NumPy's names, and looked up when a rule is first tried; static
parameters are left to conditions and replacements, `params` stands for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from tapec.ir.cost import elements
from tapec.ir.node import Node
from tapec.ir.op import OPS, Op, OpSet
from tapec.ir.uniform_value import uniform_value

__all__ = [
    "Call",
    "Look",
    "Number",
    "Pattern",
    "Some",
    "Variable",
    "looks_below",
    "number",
    "params",
    "variables",
]

params: Any = ...
_NUMBERS = OpSet("constant full")  # ops whose values may be one number everywhere
_OP_NAMES = {"astype": "cast", "amax": "max", "amin": "min", "abs": "absolute"}


class Pattern:
    """Base of all patterns: makes patterns of NumPy's operators and functions, and says cheaply which nodes cannot
    match.
    """

    __hash__ = object.__hash__
    heads: tuple[str, ...] = ()  # names and kinds of ops that its root may be; all if empty
    operand: tuple[str, ...] = ()  # likewise for one of the root's first three operands
    suited: OpSet | None = None  # the ops of all nodes that match, if the op decides

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Call:
        return call(ufunc.__name__, *args)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Call:
        return call(func.__name__, *args)

    def __getitem__(self, index: Any) -> Call:
        return call("getitem", self)

    def __neg__(self) -> Call:
        return call("negative", self)

    def __add__(self, other: Any) -> Call:
        return call("add", self, other)

    def __radd__(self, other: Any) -> Call:
        return call("add", other, self)

    def __sub__(self, other: Any) -> Call:
        return call("subtract", self, other)

    def __rsub__(self, other: Any) -> Call:
        return call("subtract", other, self)

    def __mul__(self, other: Any) -> Call:
        return call("multiply", self, other)

    def __rmul__(self, other: Any) -> Call:
        return call("multiply", other, self)

    def __truediv__(self, other: Any) -> Call:
        return call("divide", self, other)

    def __rtruediv__(self, other: Any) -> Call:
        return call("divide", other, self)

    def __pow__(self, other: Any) -> Call:
        return call("power", self, other)

    def __matmul__(self, other: Any) -> Call:
        return call("matmul", self, other)

    def __lt__(self, other: Any) -> Call:
        return call("less", self, other)

    def __le__(self, other: Any) -> Call:
        return call("less_equal", self, other)

    def __gt__(self, other: Any) -> Call:
        return call("greater", self, other)

    def __ge__(self, other: Any) -> Call:
        return call("greater_equal", self, other)

    def variants(self) -> Iterator[Pattern]:
        """Yield the pattern itself, and the patterns that it becomes when operands of commutative ops are swapped."""
        yield self

    def fits(self, op: Op) -> bool:
        """Return whether a node of this op could match."""
        return True

    def suits(self, node: Node) -> bool:
        """Return whether this node could match, as far as the node tells without its operands."""
        return self.fits(node.op)

    def fits_operands(self, ops: tuple[Op, ...]) -> bool:
        """Return whether a node could match whose first three operands are of these ops."""
        raise NotImplementedError

    def matches(self, node: Node, found: dict[str, Any], inner: list[Node]) -> bool:
        """Return whether the node matches; if so, `found` has the values of the variables, `inner` the nodes of the
        pattern.
        """
        raise NotImplementedError


class Variable(Pattern):
    """A variable stands for any value, and for one value wherever it occurs in a pattern."""

    def __init__(self, name: str):
        self.name = name

    def matches(self, node: Node, found: dict[str, Any], inner: list[Node]) -> bool:
        return found.setdefault(self.name, node) is node

    def __repr__(self) -> str:
        return self.name


class Number(Pattern):
    """A number stands for a value that is one number everywhere: a given number, or any, which is bound to a name.

    Of a given zero the sign counts.
    """

    heads = tuple(_NUMBERS.names)

    def __init__(self, name: str | None, value: Any = None):
        self.name = name
        self.value = value
        self.suited = None if name is None else _NUMBERS

    def fits(self, op: Op) -> bool:
        return op in _NUMBERS

    def suits(self, node: Node) -> bool:
        if self.name is not None:
            return self.fits(node.op)
        value = uniform_value(node)
        if value != self.value or type(value) is bool:
            return False
        return value != 0 or _is_negative(value) == _is_negative(self.value)

    def matches(self, node: Node, found: dict[str, Any], inner: list[Node]) -> bool:
        if self.name is None:
            return self.suits(node)
        value = uniform_value(node)
        if value is None or type(value) is bool:
            return False
        first = found.setdefault(self.name, value)
        return first is value or repr(first) == repr(value)

    def __repr__(self) -> str:
        return self.name or repr(self.value)


@cache
def _only(name: str) -> OpSet:
    return OpSet([name])


class Call(Pattern):
    """A call stands for an op on operands that match."""

    def __init__(self, name: str, args: tuple[Pattern, ...]):
        self.name = name
        self.args = args
        self.heads = (name,)
        self.suited = self.ops = _only(name)

    @property
    def operand(self) -> tuple[str, ...]:  # type: ignore[override]
        return next((part.heads for part in self.args if part.heads), ())

    def variants(self) -> Iterator[Pattern]:
        op = OPS.get(self.name)
        swap = op is not None and op.commutative and len(self.args) == 2 and repr(self.args[0]) != repr(self.args[1])
        for args in product(*[tuple(a.variants()) for a in self.args]):
            yield Call(self.name, args)
            if swap:
                yield Call(self.name, args[::-1])

    def fits(self, op: Op) -> bool:
        return op in self.ops

    def fits_operands(self, ops: tuple[Op, ...]) -> bool:
        if len(ops) != len(self.args):
            return False
        for part, op in zip(self.args, ops):  # noqa: SIM110  # a generator takes longer, and first calls ask it often
            if not part.fits(op):
                return False
        return True

    def matches(self, node: Node, found: dict[str, Any], inner: list[Node]) -> bool:
        inputs, args = node.inputs, self.args
        if node.op not in self.ops or len(inputs) != len(args):
            return False
        inner.append(node)
        if len(args) == 2:
            return args[0].matches(inputs[0], found, inner) and args[1].matches(inputs[1], found, inner)
        return all([part.matches(i, found, inner) for part, i in zip(args, inputs)])

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.args))})"


class Some(Pattern):
    """A node of one of the ops `ops`, or of an op of one of `kinds`, with an operand of one of the ops `of`.

    With `every`, all operands have to be of one of the ops `of`; without `of`, any operands will do.
    """

    def __init__(self, *ops: str, kinds: tuple[str, ...] = (), of: tuple[str, ...] = (), every: bool = False):
        self.ops, self.of = OpSet(ops), OpSet(of)
        self.kinds = kinds
        self.heads = ops + kinds
        self.operand = of
        self.every = every

    def fits(self, op: Op) -> bool:
        return (op in self.ops or op.kind in self.kinds) and not op.multi

    def matches(self, node: Node, found: dict[str, Any], inner: list[Node]) -> bool:
        inner.append(node)
        return True

    def fits_operands(self, ops: tuple[Op, ...]) -> bool:
        if not self.of:
            return True
        hits = [op in self.of for op in ops]
        return bool(hits) and all(hits) if self.every else any(hits)

    def __repr__(self) -> str:
        return f"{'|'.join(self.heads)}({'|'.join(self.operand)} ...)"


def _is_negative(zero: Any) -> bool:
    return math.copysign(1.0, complex(zero).real) < 0


def variables(names: str) -> list[Any]:
    """Return a variable for each of the names."""
    return [Variable(name) for name in names.split()]


def number(name: str) -> Any:
    """Return a variable that stands for numbers."""
    return Number(name)


def call(name: str, *args: Any) -> Call:
    parts = [a if isinstance(a, Pattern) else Number(None, a) for a in args if a is not Ellipsis]
    return Call(_OP_NAMES.get(name, name), tuple(parts))


Look = Callable[[Node, Any], bool]  # (node, walk) -> whether the node may match


def looks_below(pattern: Pattern, smaller: tuple[str, str] | None = None) -> tuple[Look, ...]:
    """Return quick tests of a node whose op, and whose operands' ops, fit the pattern; a node that fails one cannot
    match.

    They ask whether operands are the given number, or the same as another, or an operand of another; and likewise of
    operands of operands, and of theirs. With `smaller`, the first of two variables, operands of one operand, must have
    fewer elements. Matching builds dictionaries and lists; these tests build nothing.
    """
    if not isinstance(pattern, Call):
        return ()
    looks: list[Look] = []
    places: dict[str, int] = {}
    for k, part in enumerate(pattern.args):
        if type(part) is Variable and places.setdefault(part.name, k) != k:
            looks.append(_same(places[part.name], k))
        elif type(part) is Number and part.name is None:
            looks.append(_suits(k, part.suits))
    if smaller is not None:
        looks.append(_smaller_below(pattern, *smaller))
    for i, part in enumerate(pattern.args):
        for k, below in enumerate(operands(part)):
            if type(below) is not Variable:
                looks.append(_suits_below(i, k, below))
            elif below.name in places:
                looks.append(_same_below(i, k, places[below.name]))
    for i, part in enumerate(pattern.args):
        for j, below in enumerate(operands(part)):
            for k, deep in enumerate(operands(below)):
                if type(deep) is not Variable:
                    looks.append(_suits_deep(i, j, k, deep))
    return tuple(looks)


def operands(pattern: Pattern) -> tuple[Pattern, ...]:
    return pattern.args if isinstance(pattern, Call) else ()


def _same(j: int, k: int) -> Look:
    return lambda node, walk: node.inputs[j] is node.inputs[k]


def _same_below(i: int, k: int, j: int) -> Look:
    def look(node: Node, walk: Any) -> bool:
        below = node.inputs[i].inputs
        return k < len(below) and below[k] is node.inputs[j]

    return look


def _smaller_below(pattern: Call, small: str, large: str) -> Look:
    """Return a test of the sizes of two variables, which have to be operands of one operand of the pattern."""
    named = [list(map(repr, operands(part))) for part in pattern.args]
    i = next((i for i, names in enumerate(named) if small in names and large in names), None)
    if i is None:
        raise ValueError(f"{pattern!r}: no operand of it is of {small} and {large}")
    j, k = named[i].index(small), named[i].index(large)

    def look(node: Node, walk: Any) -> bool:
        below = node.inputs[i].inputs
        return elements(below[j]) < elements(below[k])

    return look


def _suits(k: int, suits: Callable[[Node], bool]) -> Look:
    return lambda node, walk: suits(node.inputs[k])


def _suits_below(i: int, k: int, pattern: Pattern) -> Look:
    suited, suits = pattern.suited, pattern.suits

    def look(node: Node, walk: Any) -> bool:
        below = node.inputs[i].inputs
        return k < len(below) and (below[k].op in suited if suited else suits(below[k]))

    return look


def _suits_deep(i: int, j: int, k: int, pattern: Pattern) -> Look:
    suited, suits = pattern.suited, pattern.suits

    def look(node: Node, walk: Any) -> bool:
        deep = node.inputs[i].inputs[j].inputs
        return k < len(deep) and (deep[k].op in suited if suited else suits(deep[k]))

    return look
