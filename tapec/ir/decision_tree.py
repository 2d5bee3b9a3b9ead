"""A decision tree says which outputs of a graph are the result, depending on the values of others.

A function whose control flow depends on values is one graph, in which all known paths share what they have in common,
and a tree over it: at a `Branch` the value of one output chooses the case; at a `Leaf` stand the outputs that are the
result.
"""

from __future__ import annotations

from typing import Any

from tapec.fast_namedtuple import NamedTuple

__all__ = ["Branch", "Leaf", "Tree"]


class Leaf(NamedTuple):
    """Marks the end of a path: indices of the graph's outputs that are the result."""

    outputs: tuple[int, ...]


class Branch(NamedTuple):
    """Holds a guard: the index of the output that decides, and the trees for the values that are known."""

    output: int
    cases: tuple[tuple[Any, Any], ...]


Tree = Leaf | Branch
