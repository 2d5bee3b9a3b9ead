"""Bring a graph into a form without promotion: each operand is converted to the dtype in which NumPy computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, ITEM, Builder, Graph, Node, OpSet, get_op, is_literal, ops, rebuilt
from tapec.passes.whole_graph.lean_bodies import lean_bodies

__all__ = ["ORDERED", "operand_dtypes", "with_explicit_dtypes"]

ORDERED = OpSet("less less_equal greater greater_equal")
OF_BOOLS = OpSet("logical_and logical_or logical_xor logical_not any all")
SEEN_AS_NUMBERS = ORDERED | OpSet("isnan isinf isfinite")  # bools are cast for them
IN_RESULT_DTYPE = OpSet("sum prod cumsum cumprod matmul vecdot tensordot concatenate stack mean cross")
OF_COMPLEX = OpSet("fftn ifftn irfftn")
KEPT = OpSet("cast number number_kind")  # these take a Python number as it is
PYTHON = {"f": float, "c": complex, "i": int, "u": int, "b": bool}


def with_explicit_dtypes(graph: Graph, takes_numbers: OpSet) -> Graph:
    """Convert operands where NumPy promotes: others leave mixed kinds undefined, or promote by rules of their own.

    Python numbers stay beside arrays as operands of the ops in `takes_numbers`.
    """
    graph = lean_bodies(graph, lambda body: with_explicit_dtypes(body, takes_numbers), False)
    found = {n for n in graph.nodes if n.op is not CONSTANT and n.op is not ITEM and n.op not in KEPT and not n.bodies}

    def typed(builder: Builder, node: Node, new: Mapping[Node, Node]) -> Node:
        inputs = [new.get(i, i) for i in node.inputs]
        numbers = node.op in takes_numbers and not all([i.type.weak or is_literal(i) for i in node.inputs])
        if not node.op.multi and node.type.weak:
            return builder.add(node.with_inputs(tuple(inputs)))  # Python computes
        for k, dtype in enumerate(operand_dtypes(node)):
            i = inputs[k]
            if numbers and (is_literal(i) or stands_for_number(k, inputs, dtype)):
                inputs[k] = builder.constant(PYTHON[dtype.kind](i.value))
            elif is_literal(i):
                inputs[k] = builder.constant(np.asarray(i.value).astype(dtype)[()])
            elif i.type.dtype != dtype or (i.type.weak and not numbers):
                inputs[k] = builder.emit(get_op("cast"), (i,), (("dtype", dtype),), node.origin)
        return builder.add(node.with_inputs(tuple(inputs)))

    return rebuilt(graph, found, typed)


def stands_for_number(k: int, inputs: Sequence[Node], dtype: np.dtype) -> bool:
    """Return whether a constant without axes may be a plain number: another operand decides on the dtype."""
    others = [i for j, i in enumerate(inputs) if j != k and i.op is not CONSTANT]
    fixed = any([not i.type.weak and i.type.dtype == dtype for i in others])
    return fixed and inputs[k].op is CONSTANT and not inputs[k].type.shape


def operand_dtypes(node: Node) -> list[np.dtype]:
    """Return the dtypes that the operands of an operation are converted to."""
    op, types, t = node.op, [i.type for i in node.inputs], node.type
    if op is ops.where:
        return [np.dtype(bool), t.dtype, t.dtype]
    if op in OF_BOOLS:
        return [np.dtype(bool)] * len(types)
    if isinstance(op.numpy, np.ufunc) and op.kind == "elementwise":
        found = loop_dtypes(op.numpy, types)
        found = [np.dtype(np.float32) if d.char == "e" and d not in (x.dtype for x in types) else d for d in found]
        return [np.dtype(np.int8) if d.kind == "b" and op in SEEN_AS_NUMBERS else d for d in found]
    if op in IN_RESULT_DTYPE:
        return [t.dtype] * len(types)
    if op in OF_COMPLEX:
        return [np.result_type(types[0].dtype, np.complex64)]
    if op.kind in ("linalg", "transform"):
        return [np.result_type(*[i.dtype if i.dtype.kind in "fc" else float for i in types])] * len(types)
    return [i.dtype for i in types]


def loop_dtypes(ufunc: np.ufunc, types: Sequence[Any]) -> list[np.dtype]:
    """Return the dtypes in which NumPy computes."""
    weak = {"f": float, "i": int, "c": complex}
    numbers = all([t.weak for t in types])
    given = tuple([weak.get(t.dtype.kind, t.dtype) if t.weak and not numbers else t.dtype for t in types])
    return list(ufunc.resolve_dtypes(given + (None,) * ufunc.nout)[: ufunc.nin])
