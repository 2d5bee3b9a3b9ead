"""A graph is a program as data; this package makes, prints, reads, checks and interprets graphs.

Comes in: NumPy dtypes and shapes.  Goes out: `Type`, `Node`, `Graph`, `Builder`, `parse`, `verify`, `interpret`.
Must not be imported here: anything of tapec but `config`, `errors`, `fast_namedtuple` and `pytree`.
"""

from collections.abc import Mapping
from typing import Any

from tapec.ir.builder import Builder
from tapec.ir.checks.interpreter import by_python, compute, interpret
from tapec.ir.checks.verifier import verify
from tapec.ir.dead_code import prune
from tapec.ir.graph import Graph
from tapec.ir.node import CONSTANT, CT, INPUT, ITEM, Node, constant, input_node, is_literal
from tapec.ir.node_replacement import rebuilt, replaced
from tapec.ir.op import OPS, Op, OpSet, OpTable, get_op, ops, register
from tapec.ir.types import Type, broadcast_shapes, type_of


def parse(text: str, constants: Mapping[str, Any] | None = None) -> Graph:
    """The graph that a text describes; of several, the last. `constants` holds what the text refers to as `@name`."""
    from tapec.ir.text.parser import parse

    return parse(text, constants)


__all__ = [
    "CONSTANT",
    "CT",
    "INPUT",
    "ITEM",
    "OPS",
    "Builder",
    "Graph",
    "Node",
    "Op",
    "OpSet",
    "OpTable",
    "Type",
    "broadcast_shapes",
    "constant",
    "get_op",
    "input_node",
    "interpret",
    "by_python",
    "compute",
    "is_literal",
    "ops",
    "parse",
    "prune",
    "rebuilt",
    "register",
    "replaced",
    "type_of",
    "verify",
]
