"""Name values: the user's own names where they are known, else names from what they are, or words."""

from __future__ import annotations

import builtins
import keyword
import re
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tapec.codegen.common.made_names import NOTHING, made_name, place_key, wished_name, words_for
from tapec.codegen.runtime_helpers import HELPERS
from tapec.ir import Graph, Node, ops
from tapec.ir.bare_graph import all_nodes
from tapec.ir.lazy import normalized
from tapec.ir.source_location import variable_for
from tapec.ir.types import Type

__all__ = [
    "RESULT",
    "Names",
    "element_names",
    "generic_name",
    "generic_names",
    "identifier",
    "is_by_rows",
    "name_inputs",
    "value_of",
    "wishes_inside",
]

RESERVED = frozenset({*keyword.kwlist, "np", "math", "scipy", "_", "finite", *HELPERS})
SHADOWED = frozenset({*dir(builtins)})  # legal, and the user may write them; never chosen unasked


RESULT = "value"  # what is differentiated, where it comes along with its derivatives


@lru_cache(maxsize=4096)
def identifier(text: str) -> str:
    """Return the legal variable name that is nearest to a text, as Python itself would write it."""
    name = re.sub(r"\W+", "_", text if text.isascii() else normalized(text)).strip("_") or "x"
    if not name.isidentifier():
        name = f"v{name}"
        if not name.isidentifier():  # numbers that are no digits, such as those of the Romans
            name = re.sub(r"\W+", "_", name, flags=re.ASCII).rstrip("_")
    return f"{name}_" if name in RESERVED or name in SHADOWED else name


def generic_names(
    node: Node, called: Mapping[Node, str] = NOTHING, given: Mapping[Any, str] = NOTHING
) -> tuple[str, ...]:
    """Return names for a value that the user has none for: from what it is, or else words for its kind."""
    made = made_name(node, called, given)
    return words_for(node) if made is None else (identifier(made),)


def generic_name(node: Node, called: Mapping[Node, str] = NOTHING) -> str:
    """Return the first of these names."""
    return generic_names(node, called)[0]


def wishes_inside(nodes: Iterable[Node]) -> Iterator[str]:
    """Give the names that values of the user's want in bodies of these nodes."""
    for node in nodes:
        for body in node.bodies:
            for n in all_nodes(getattr(body, "graph", body).nodes):
                if (wish := wished_name(n)) is not None:
                    yield identifier(wish)


def value_of(items: Sequence[Any]) -> Node | None:
    """Return the value that a function returns before its derivatives; None for a function that returns no others."""
    nodes = getattr(items[-1], "nodes", None) if items else None
    if not nodes or nodes[0].role is not None or not any([n.role is not None for n in nodes]):
        return None
    value: Node = nodes[0]
    while value.op is ops.pack and len(value.inputs) == 1:  # a number becomes an array of no axes
        value = value.inputs[0]
    return value if not value.type.shape else None


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
    `given` has names by the places of operations (`place_key`).
    `meant` has generic names that have been in use, `wished` the names that values of the user's want.
    """

    __slots__ = ("count", "ever", "fixed", "freed", "given", "meant", "taken", "wished")

    def __init__(self, fixed: Iterable[str] = ()):
        self.fixed: set[str] = set(fixed) | RESERVED
        self.taken: dict[str, tuple[str, int]] = {}
        self.count: dict[str, int] = {}
        self.ever: set[str] | None = None
        self.freed: dict[str, list[int]] = {}
        self.given: dict[Any, str] = {}
        self.meant: set[str] = set()
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

    def name_value(self, node: Node, called: Mapping[Node, str], likely: Sequence[str] = ()) -> str:
        """Take one of these names, or one that tells what a value is, after which its derivative may be called."""
        name = self.take_first((*likely, *generic_names(node, called, self.given)))
        if node.role is None and (key := place_key(node)) is not None:
            self.given.setdefault(key, name)
        return name

    def take_first(self, likely: Sequence[str]) -> str:
        """Take the first of these names that has meant nothing yet and that no value of the user's wants; else one
        that is free, else the first with a number.
        """
        free = [c for c in likely if c not in self.taken and c not in self.fixed and c not in self.wished]
        name = self.take(next((c for c in free if c not in self.meant), free[0] if free else likely[0]))
        self.meant.add(name)
        return name

    def take_unused(self, likely: Sequence[str]) -> str:
        """Take the first of these names that is free and that no value of the user's wants; else the first with a
        number."""
        free = [c for c in likely if c not in self.taken and c not in self.fixed and c not in self.wished]
        return self.take(free[0] if free else likely[0])

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
            if name not in self.taken and name not in self.fixed and name not in self.wished:
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
        copy.meant, copy.wished, copy.given = set(self.meant), self.wished, self.given
        copy.freed = {stem: list(numbers) for stem, numbers in self.freed.items()}
        return copy


def name_inputs(graph: Graph, names: Names) -> dict[Node, str]:
    """Name the inputs as the user called them; those without a name get what is left."""
    wishes = {node: variable_for(node) or node.name for node in graph.inputs}
    called = {node: names.take(identifier(wish)) for node, wish in wishes.items() if wish}
    called |= {node: names.take("x" if node.origin is None else "t") for node, wish in wishes.items() if not wish}
    return {node: called[node] for node in graph.inputs}
