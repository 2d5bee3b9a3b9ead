"""A target writes a graph down. This is the only door between the rest of the library and what writes code.

A host target writes whole functions: `numpy`, which is what runs, and `portable`. A region target writes bodies over
scalars: `floats`, which may also write a whole program. Targets do not know each other's insides: a host is given the
region targets that it asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from tapec.codegen.common.loader import Space
from tapec.codegen.common.module_layout import Function
from tapec.errors import UnsupportedError
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, INPUT, ITEM, Graph, Node
from tapec.ir.bare_graph import all_nodes
from tapec.ir.checks.step_observer import StepObserver
from tapec.ir.decision_tree import Tree
from tapec.ir.source_location import place_of
from tapec.passes.listed_pass import Pass, in_force, run_all

__all__ = ["Job", "Lowered", "TARGETS", "Target", "register_target", "target_key", "target_of"]


class Job(NamedTuple):
    """Says what is to be written: a function of the graph's inputs, or of the leaf of the tree that they lead to.

    Constants and helpers go into `space`. `silenced` are the kinds of floating point errors that the function ignores,
    `donated` the inputs whose memory it may write; `observer` runs the steps that change the graph.
    """

    graph: Graph
    name: str
    space: Space
    tree: Tree | None = None
    silenced: tuple[str, ...] = ()
    donated: Collection[Node] = ()
    observer: StepObserver | None = None


class Lowered(NamedTuple):
    """Holds a function that was written, and the name of the target that wrote it."""

    target: str
    function: Function


class Target:
    """Describes what a target writes, and writes it. `name` and `version` are in the key of each cache."""

    name: str
    version: int = 1
    passes: tuple[Pass, ...] = ()  # what it does to a graph before it writes it
    takes_programs: bool = False  # a region target that is asked for whole programs, too
    takes_lists: bool = False  # may its functions have lists as parameters?

    def refusal(self, node: Node) -> str | None:
        """Return why an operation cannot be written, by its op or its dtype; None when it can."""
        return None

    def partition(self, graph: Graph) -> Graph:
        """Return the program with what a region target takes of it as `region` nodes."""
        return graph

    def lower(self, job: Job) -> Lowered | None:
        """Write a program, or the body of a region; None when the target leaves it to others."""
        raise NotImplementedError

    def load(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return what is called in the place of a function that was loaded from text."""
        return function

    def prepared(self, graph: Graph, observer: StepObserver | None = None) -> Graph:
        """Return the graph after the target's passes; raise an error for an operation that it does not write."""
        graph = run_all(in_force(self.passes), graph, None, observer)
        for node in all_nodes(graph.nodes):
            known = node.op is CONSTANT or node.op is ITEM or node.op is INPUT
            reason = None if known else self.refusal(node)
            if reason is not None:
                place = "" if node.origin is None else f"{place_of(node.origin).short}: "
                raise UnsupportedError(f"{place}{node.op.name} cannot be written for the target {self.name}: {reason}")
        return graph


TARGETS: dict[str, Callable[[], Target]] = {}  # by name, each as a function that imports it

RUNNING = ("numpy", "floats")  # one of these writes what is called


def register_target(name: str, load: Callable[[], Target]) -> None:
    """Enter a target under a name, as a function that returns it: it is imported when it is first asked for."""
    TARGETS[name] = load


def target_key(name: str | None) -> list[str]:
    """Return the words of a key that stand for a target: its name and version, or those of all that may run."""
    return [f"{target.name} {target.version}" for target in map(target_of, RUNNING if name is None else (name,))]


def target_of(name: str) -> Target:
    """Return the target of a name."""
    if name not in TARGETS:
        raise ValueError(f"there is no target {name!r}; there are {', '.join(sorted(TARGETS))}")
    return TARGETS[name]()
