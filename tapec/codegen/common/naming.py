"""Name values: the user's own names where they are known, short and regular ones elsewhere."""

from __future__ import annotations

import builtins
import keyword
import re
from bisect import insort
from collections.abc import Iterable
from functools import lru_cache

from tapec.codegen import tuning
from tapec.codegen.runtime_helpers import HELPERS
from tapec.ir import Graph, Node, OpTable, ops
from tapec.ir.lazy import normalized
from tapec.ir.sizes import tells_size
from tapec.ir.source_location import variable_for

__all__ = ["Names", "described_name", "generic_name", "identifier", "name_inputs", "wished_name"]

RESERVED = frozenset({*keyword.kwlist, "np", "math", "scipy", "_", "finite", *HELPERS})
SHADOWED = frozenset({*dir(builtins)})  # legal, and the user may write them; never chosen unasked

# how an expert would call an intermediate result
LETTERS = OpTable(
    {
        "exp": "e",
        "log log1p": "l",
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
        return node.name if not tells_size(node.name) else None
    return variable_for(node) if node.role is None else None


def generic_name(node: Node) -> str:
    """Return a letter for the kind of value that the operation makes; ops that only code generation has bring it."""
    kind = "g" if node.role is not None and node.op.kind != "creation" else "t"
    return node.op.facts.get("letter") or LETTERS.get(node.op, kind)


# what an expert would call a value that is made of a named one
DESCRIBED = OpTable(
    {op: f"{op}_{{}}" for op in ("exp", "log", "log1p", "sqrt", "sin", "cos", "tanh", "mean", "sum")}
    | {"max": "max_{}", "min": "min_{}", "transpose": "{}T", "inv inv_lower": "{}inv", "square": "{}sq"}
)


def described_name(node: Node, base: str) -> str | None:
    """Return a name for what an operation makes of a value that is called `base`; None where that says nothing."""
    stem = base.rstrip("_")
    pattern = DESCRIBED.get(node.op)
    if node.op is ops.multiply and node.inputs[0] is node.inputs[1]:
        pattern = "{}sq"
    if pattern is None or not stem:
        return None
    name = pattern.format(stem if len(stem) < 4 or pattern[0] != "{" else f"{stem}_")
    return name if len(name) <= tuning.DESCRIBED_MAX_CHARACTERS else None


class Names:
    """Keeps the names that are in use. A name is free again when the value that it stood for is dead.

    `count` is how many numbered names a stem has had; `freed` has those of its numbers that are free again, negated and
    in order, so that the least number is the last. `ever` has all names that have been in use since `mark`, else None.
    """

    __slots__ = ("count", "ever", "fixed", "freed", "taken")

    def __init__(self, fixed: Iterable[str] = ()):
        self.fixed: set[str] = set(fixed) | RESERVED
        self.taken: dict[str, tuple[str, int]] = {}
        self.count: dict[str, int] = {}
        self.ever: set[str] | None = None
        self.freed: dict[str, list[int]] = {}

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
        copy.freed = {stem: list(numbers) for stem, numbers in self.freed.items()}
        return copy


def name_inputs(graph: Graph, names: Names) -> dict[Node, str]:
    """Name the inputs as the user called them; those without a name get what is left."""
    wishes = {node: variable_for(node) or node.name for node in graph.inputs}
    called = {node: names.take(identifier(wish)) for node, wish in wishes.items() if wish}
    called |= {node: names.take("x" if node.origin is None else "t") for node, wish in wishes.items() if not wish}
    return {node: called[node] for node in graph.inputs}
