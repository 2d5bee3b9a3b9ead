"""Define the items that a block of code is lowered from besides nodes, and how emission's own ops run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, ITEM, Graph, Node
from tapec.ops.control.cond import REGION

if TYPE_CHECKING:
    from tapec.codegen.schedule.inlining import Plan

__all__ = [
    "UNKNOWN",
    "Deferred",
    "Fork",
    "Results",
    "is_block_loop",
    "items_of_path",
    "no_run",
]


class Results(NamedTuple):
    """A path of the function ends here and returns these values; None when no path for these guards is known."""

    nodes: tuple[Node, ...] | None
    leaves: tuple[Node, ...]


UNKNOWN = Results(None, ())


class Fork(NamedTuple):
    """A fork runs its items when `test` is `value` (negated: is not `value`), and the path ends in them."""

    test: Node
    value: Any
    negated: bool
    items: list[Any]
    leaves: tuple[Node, ...]


class Deferred(NamedTuple):
    """Lines that make no value: a function writes them when it is their turn, in the lowering of the block.

    `moved` is the value that they put somewhere, if that is one. What they read last is free after them, unless they
    are `open`: then somebody else goes on to read it.
    """

    write: Callable[[Any], None]
    leaves: tuple[Node, ...]
    moved: Node | None = None
    open: bool = False


def no_run(*values: Any, **params: Any) -> Any:
    """Stand in for the computation and the type rule of an op that only emission makes."""
    raise TypeError("this operation runs in generated code alone")


def is_block_loop(node: Node) -> bool:
    """Return whether a node is a region that is computed in a loop over blocks of rows."""
    return node.op is REGION and bool(node.params)


def items_of_path(graph: Graph, plan: Plan) -> list[Any]:
    """Return the items of a function without tests, in order."""
    results = Results(graph.outputs, plan.nest_results(graph.outputs))
    items = [n for n in plan.nodes if n not in plan.nested and n.op is not CONSTANT and n.op is not ITEM]
    return [*items, results]
