"""Name values: the user's own names where they are known, else names from what they are, or letters."""

from __future__ import annotations

import builtins
import keyword
import re
from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.runtime_helpers import HELPERS
from tapec.ir import CONSTANT, INPUT, Graph, Node, Op, OpTable, is_literal, ops
from tapec.ir.lazy import normalized
from tapec.ir.sizes import is_expression
from tapec.ir.source_location import variable_for
from tapec.ir.types import Type

__all__ = [
    "RESULT",
    "Names",
    "element_names",
    "generic_name",
    "identifier",
    "is_by_rows",
    "letter",
    "made_name",
    "name_inputs",
    "value_of",
    "wished_name",
]

RESERVED = frozenset({*keyword.kwlist, "np", "math", "scipy", "_", "finite", *HELPERS})
SHADOWED = frozenset({*dir(builtins)})  # legal, and the user may write them; never chosen unasked


NOTHING: Mapping[Node, str] = {}
RESULT = "value"  # what is differentiated, where it comes along with its derivatives

# what is written before the name of the main operand, where that is not the operation's own name
PREFIXES = {
    "square": "sq",
    "diagonal": "diag",
    "cholesky": "chol",
    "take": "rows",
    "absolute": "abs",
} | dict.fromkeys(("greater", "greater_equal", "less", "less_equal", "equal", "not_equal"), "mask")
OWN_NAMES = frozenset(
    {
        *("exp", "expm1", "log", "log1p", "logsumexp", "sqrt", "cbrt", "sin", "cos", "tan", "arctan"),
        *("sinh", "cosh", "tanh", "sigmoid", "softplus", "erf", "floor", "ceil", "sum", "mean", "max", "min"),
        *("std", "var", "argmax", "argmin", "cumsum", "trace", "norm", "det"),
    }
)
SAID_ALONE = frozenset({"tanh", "sin", "cos"})  # of operands without a name, too
SUFFIXES = {"inv": "inv", "inv_lower": "inv", "transpose": "T"}
FACTORS = {2: "two", 0.5: "half", -1: "neg"}
SQUARED_SUMS = frozenset({"vecdot", "vdot", "dot", "inner"})

# how an expert would call an intermediate result whose operands have no names
LETTERS = OpTable(
    {
        "exp": "e",
        "log log1p": "logs",
        "sum": "s",
        "mean max min": "m",
        "matmul": "z",
        "cholesky": "L",
        "inv inv_lower": "inverse",
        "full scatter": "g",
        "sqrt": "r",
        "getitem transpose reshape stack concatenate": "v",
        "argmax argmin nanargmax nanargmin nonzero": "i",
    }
)
# other letters for values of these kinds, which are taken before one is used again
OTHERS = {"t": "uwp", "g": "dq", "v": "ac", "z": "ac", "s": "cq"}
# the same of the user's own operations, where cotangents are only `g`
WORDS = {
    "subtract": "diff",
    "divide": "ratio",
} | {name: "mask" for name, prefix in PREFIXES.items() if prefix == "mask"}


@lru_cache(maxsize=4096)
def identifier(text: str) -> str:
    """Return the legal variable name that is nearest to a text, as Python itself would write it."""
    name = re.sub(r"\W+", "_", text if text.isascii() else normalized(text)).strip("_") or "x"
    if not name.isidentifier():
        name = f"v{name}"
        if not name.isidentifier():  # numbers that are no digits, such as those of the Romans
            name = re.sub(r"\W+", "_", name, flags=re.ASCII).rstrip("_")
    return f"{name}_" if name in RESERVED or name in SHADOWED else name


def wished_name(node: Node) -> str | None:
    """Return the name that a value ought to have: its own, or that of the variable that the user stored it in."""
    if node.name is not None:
        is_told = node.op is CONSTANT or node.op is ops.full
        return None if is_told and is_expression(node.name) else node.name
    return variable_for(node) if node.role is None else None


def generic_name(node: Node, called: Mapping[Node, str] = NOTHING) -> str:
    """Return a name for a value that the user has none for: from what it is, or else a letter."""
    return made_name(node, called) or letter(node)


def value_of(items: Sequence[Any]) -> Node | None:
    """Return the value that a function returns before its derivatives; None for a function that returns no others."""
    nodes = getattr(items[-1], "nodes", None) if items else None
    if not nodes or nodes[0].role is not None or not any([n.role is not None for n in nodes]):
        return None
    value: Node = nodes[0]
    while value.op is ops.pack and len(value.inputs) == 1:  # a number becomes an array of no axes
        value = value.inputs[0]
    return value if not value.type.shape else None


def letter(node: Node) -> str:
    """Return a letter for the kind of value that the operation makes; ops that only code generation has bring it."""
    forward, kind = node.role is None or node.op.kind == "creation", _kind(node.op)
    if PREFIXES.get(kind) == "mask":
        return "mask"
    if kind == "subtract" and not wished_name(node.inputs[1]):
        kind = ""  # a difference from something is one, other sums with signs are not
    return node.op.facts.get("letter") or LETTERS.get(node.op) or (WORDS.get(kind, "t") if forward else "g")


def made_name(node: Node, called: Mapping[Node, str] = NOTHING, alone: bool = False) -> str | None:
    """Return a name from an operation and the name of its main operand, such as `exp_z` or `zT`; None without one.

    Little is made of operands that have no names themselves, and no name that would be long. `called` has the
    names of inputs whose nodes have none. `alone` lets a few operations stand for themselves, in languages in which
    those words are no functions.
    """
    name, kind = _Made(called).name(node, tuning.MADE_NAME_MAX_OPS), _kind(node.op)
    if name is None and alone and kind in SAID_ALONE and node.role is None:
        return kind
    return identifier(name) if name else None


class _Made:
    """Makes names from operations, of at most so many (`depth`) on the way to a name of the user's."""

    __slots__ = ("called",)

    def __init__(self, called: Mapping[Node, str]):
        self.called = called

    def name(self, node: Node, depth: int) -> str | None:
        kind, inputs = _kind(node.op), node.inputs
        if not inputs or not depth or "letter" in node.op.facts:
            return None
        name, second = None, inputs[1] if len(inputs) == 2 else None
        if kind == "divide" and second is not None and is_literal(inputs[0]):
            stem = self.stem(second, depth - 1)
            name = f"inv_{stem}" if stem and inputs[0].value == 1 else None
        elif kind == "negative" or (kind == "multiply" and any(map(is_literal, inputs))):
            name = self.multiple(node)
        elif first := self.stem(inputs[0], depth - 1):
            if kind == "float_of_array":
                name = first
            elif kind == "getitem":
                name = _name_of_part(node, first)
            elif kind in PREFIXES or kind in OWN_NAMES:
                name = f"{PREFIXES.get(kind, kind)}_{first}"
            elif kind in SUFFIXES:
                name = f"{first}{'' if first[-1].isalpha() and len(first) < 6 else '_'}{SUFFIXES[kind]}"
            elif second is not None and kind == "python_power" and is_literal(second) and second.value == 2:
                name = f"sq_{first}"
            elif second is inputs[0] and (kind == "multiply" or kind in SQUARED_SUMS):
                name = f"sq_{first}" if kind == "multiply" else f"sumsq_{first}"
            elif second is not None and kind in ("multiply", "matmul", "divide"):
                name = _name_of_product(kind, self.own(inputs[0]), self.own(second))
        return name if name and len(name) <= tuning.MADE_NAME_MAX_CHARACTERS else None

    def multiple(self, node: Node) -> str | None:
        """Return `half_x` for `0.5 * x`, and such names for a few other factors."""
        value = next((i for i in node.inputs if not is_literal(i)), node.inputs[0])
        factor = next((i.value for i in node.inputs if is_literal(i)), -1)
        own, word = self.own(value), FACTORS.get(factor)
        return f"{word}_{identifier(own)}" if own and word and not own.startswith("d_") else None

    def own(self, node: Node) -> str | None:
        """Return the name that the user has for a value."""
        if node.op is CONSTANT:
            return None
        return wished_name(node) or (self.called.get(node) if node.op is INPUT else None)

    def stem(self, node: Node, depth: int) -> str | None:
        """Return how a value is called within the names of what is made of it."""
        own, kind = self.own(node), _kind(node.op)
        if own:
            return identifier(own)
        if depth and kind == "reshape":
            return self.stem(node.inputs[0], depth - 1)
        return self.name(node, depth)


def _kind(op: Op) -> str:
    """Return the name of an operation, the same for arrays and for floats."""
    return op.name.removeprefix("float_")


def _name_of_part(node: Node, whole: str) -> str:
    """Return `x0` for `x[0]`, and the name of the whole where only axes of length one come in."""
    if len(node.inputs) > 1:
        return f"picked_{whole}"
    index = node.param("index")
    index = index if type(index) is tuple else (index,)
    if all([type(i) is int and i >= 0 for i in index]):
        return f"{whole}{'_' if whole[-1].isdigit() else ''}{'_'.join(map(str, index))}"
    return whole if all([i is None or i is Ellipsis or i == slice(None) for i in index]) else f"part_{whole}"


def _name_of_product(kind: str, first: str | None, second: str | None) -> str | None:
    """Return `uv` for a product of short names, `u_over_v` for a quotient."""
    if not first or not second or first.startswith("d_") or second.startswith("d_"):
        return None
    first, second = identifier(first), identifier(second)
    if kind == "divide":
        return f"{first}_over_{second}" if first != second else None
    if max(len(first), len(second)) > tuning.FACTOR_MAX_CHARACTERS:
        return None
    return f"{first}{second}" if first.isalpha() and second.isalpha() else f"{first}_{second}"


def element_names(name: str, t: Type) -> list[str]:
    """Return `x` for a scalar, `x0`, `x1`, ... for elements of an array, `x00`, `x01`, ... for those of a matrix."""
    if not t.shape:
        return [name]
    stem = f"{name}_" if name[-1].isdigit() else name
    if is_by_rows(t):
        return [f"{stem}{i}{j}" for i in range(t.shape[0]) for j in range(t.shape[1])]
    return [f"{stem}{k}" for k in range(t.size)]


def is_by_rows(t: Type) -> bool:
    """Return whether an array is a matrix that is written out by rows."""
    return t.ndim == 2 and max(t.shape) <= 10


class Names:
    """Keeps the names that are in use. A name is free again when the value that it stood for is dead.

    `count` is how many numbered names a stem has had; `freed` has those of its numbers that are free again, negated and
    in order, so that the least number is the last. `ever` has all names that have been in use since `mark`, else None.
    `letters` has those that have been in use, `wished` the names that values of the user's want.
    """

    __slots__ = ("count", "ever", "fixed", "freed", "letters", "taken", "wished")

    def __init__(self, fixed: Iterable[str] = ()):
        self.fixed: set[str] = set(fixed) | RESERVED
        self.taken: dict[str, tuple[str, int]] = {}
        self.count: dict[str, int] = {}
        self.ever: set[str] | None = None
        self.freed: dict[str, list[int]] = {}
        self.letters: set[str] = set()
        self.wished: set[str] = set()

    def fix(self, wish: str) -> str:
        """Take a name for the whole module, as that of a constant or a helper."""
        name = self.take(wish)
        self.fixed.add(name)
        return name

    def mark(self) -> tuple[set[str], set[str]]:
        """Start to remember which names have been in use (`ever`); return the names in use now."""
        self.ever = set()
        return set(self.taken), set(self.fixed)

    def back_to(self, mark: tuple[set[str], set[str]], keep: set[str]) -> None:
        """Free all names taken since the mark but those to `keep`."""
        taken, self.fixed = mark
        self.ever = None
        for name in [n for n in self.taken if n not in taken and n not in keep]:
            self.release(name)

    def take_new(self, wish: str) -> str:
        """Take a name that has not been in use since the mark, and keep it for good."""
        assert self.ever is not None
        tried = [self._free(wish)]
        while tried[-1] in self.ever:
            tried.append(self._free(wish))
        for name in tried[:-1]:
            self.release(name)
        self.ever.add(tried[-1])
        self.fixed.add(tried[-1])
        return tried[-1]

    def take(self, wish: str) -> str:
        """Take the wished name, or the first of `name2`, `name3`, ... that is free."""
        name = self._free(wish)
        if self.ever is not None:
            self.ever.add(name)
        return name

    def take_letter(self, letter: str) -> str:
        """Take a letter for a value without a name: one that has meant nothing yet, if there is one, or a free one."""
        likely = [letter, *[c for c in OTHERS.get(letter, "") if c not in self.wished]]
        free = [c for c in likely if c not in self.taken and c not in self.fixed]
        name = self.take(next((c for c in free if c not in self.letters), free[0] if free else letter))
        self.letters.add(name)
        return name

    def _free(self, wish: str) -> str:
        if wish not in self.taken and wish not in self.fixed:
            self.taken[wish] = (wish, 0)
            return wish
        stem = f"{wish}_" if wish[-1].isdigit() else wish  # the second `x1` is `x1_2`: `x12` may be another variable
        freed = self.freed.get(stem)
        while True:
            if freed:
                k = -freed.pop()
            else:
                k = self.count.get(stem, 1) + 1
                self.count[stem] = k
            name = f"{stem}{k}"
            if name not in self.taken and name not in self.fixed:
                self.taken[name] = (stem, k)
                return name

    def release(self, name: str) -> None:
        """Free a name whose value is dead."""
        stem, k = self.taken.pop(name, (name, 0))
        if k:
            insort(self.freed.setdefault(stem, []), -k)

    def branch(self) -> Names:
        """Copy the state, for a part of the program that ends by itself."""
        copy = Names(self.fixed)
        copy.taken = dict(self.taken)
        copy.count = dict(self.count)
        copy.letters, copy.wished = set(self.letters), self.wished
        copy.freed = {stem: list(numbers) for stem, numbers in self.freed.items()}
        return copy


def name_inputs(graph: Graph, names: Names) -> dict[Node, str]:
    """Name the inputs as the user called them; those without a name get what is left."""
    wishes = {node: variable_for(node) or node.name for node in graph.inputs}
    called = {node: names.take(identifier(wish)) for node, wish in wishes.items() if wish}
    called |= {node: names.take("x" if node.origin is None else "t") for node, wish in wishes.items() if not wish}
    return {node: called[node] for node in graph.inputs}
