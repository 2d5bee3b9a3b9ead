"""The program as data: types, nodes, graphs, their text, their check, and an interpreter that is the oracle.

Comes in: NumPy dtypes and shapes.  Goes out: `Type`, `Node`, `Graph`, `Builder`, `parse`, `verify`, `interpret`.
Must not be imported here: anything of tapec but `errors` and `config`.
"""

from tapec.ir.build import Builder
from tapec.ir.graph import CONSTANT, CT, INPUT, ITEM, Graph, Node, constant, input_node, is_literal
from tapec.ir.op import OPS, Op, get_op, register
from tapec.ir.types import Type, broadcast_shapes, type_of

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
    "Type",
    "broadcast_shapes",
    "constant",
    "get_op",
    "input_node",
    "is_literal",
    "register",
    "type_of",
]
