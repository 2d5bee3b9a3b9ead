"""A graph is a program as data; this package makes, prints, reads, checks and interprets graphs.

Comes in: NumPy dtypes and shapes.  Goes out: `Type`, `Node`, `Graph`, `Builder`, `parse`, `verify`, `interpret`.
Must not be imported here: anything of tapec but `config`, `errors`, `fast_namedtuple` and `pytree`.

Attributes
----------
OPS : dict
    All ops that are defined by now, by name.
ops : object
    The same ops as attributes: `node.op is ops.multiply`. An op that is not defined yet is None.
INPUT : Op
    The op of inputs.
CONSTANT : Op
    The op of constants.
ITEM : Op
    The op that takes one result of an op that has several.
CT : str
    The role of nodes that a derivative rule made.

Examples
--------
>>> import tapec
>>> x = tapec.ir.input_node("x", tapec.ir.Type((3,), float))
>>> x.op is tapec.ir.INPUT, tapec.ir.ops.sin is tapec.ir.OPS["sin"]
(True, True)
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
    """Read a graph from its text, as `str` of a graph gives it.

    A type may be left out: then the op's rule gives it.

    Parameters
    ----------
    text : str
        The text. Of several graphs in it, the last is returned.
    constants : mapping, default None
        The arrays that the text refers to as `@name`.

    Returns
    -------
    Graph
        The graph.

    Raises
    ------
    ParseError
        If it cannot be read. The message tells line and column.

    Examples
    --------
    >>> import tapec
    >>> text = '''graph square(%x: f64[3]) {
    ...   %0 = multiply %x, %x
    ...   return %0
    ... }'''
    >>> tapec.ir.parse(text)
    <graph square: 1 inputs, 1 nodes, 1 outputs>

    See Also
    --------
    tapec.ir.verify : checks it
    """
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
