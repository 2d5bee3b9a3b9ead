"""Selection by a condition, calls of whole graphs, and identity."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Graph, Type, broadcast_shapes
from tapec.ops.array import apply, implements
from tapec.ops.define import as_operand, define
from tapec.ops.samples import any_real


def _where_rule(c: Type, a: Type, b: Type) -> Type:
    from tapec.ops.define import ufunc_dtypes

    return Type(broadcast_shapes(c.shape, a.shape, b.shape), ufunc_dtypes(np.add, (a, b))[0])


WHERE = define(
    "where",
    np.where,
    _where_rule,
    "elementwise",
    vjp=lambda ct, y, c, a, b: (None, np.where(c, ct, 0), np.where(c, 0, ct)),
    linear=(1, 2),
    source="np.where({0}, {1}, {2})",
    sample=(any_real, any_real, any_real),
    numpy=np.where,
)


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None and y is None:
        return np.nonzero(condition)
    return apply(WHERE, (as_operand(condition), as_operand(x), as_operand(y)))


def _run_call(*values: Any, graph: Graph) -> Any:
    from tapec.ir.interpret import interpret

    return tuple(interpret(graph, *values))


CALL = define(
    "call",
    _run_call,
    lambda *types, graph: tuple(o.type for o in graph.outputs),
    "call",
    gradient="yes",
    multi=True,
)


GUARD = define("guard", lambda x, kind, value: (), lambda t, kind, value: (), "guard")

# the length of a value whose shape hangs on values: what is compiled for one length is guarded by it
LENGTH = define("length", lambda x: np.int64(len(x)), lambda t: Type((), np.dtype(np.int64)), "shape", source="len({0})")
