"""Define `where`, calls of whole graphs, guards, and the length of a result whose shape depends on values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.ir import Graph, Node, Type, broadcast_shapes, get_op, interpret
from tapec.ir.param_types import BOOL, NUMBER, OBJECT, OP_NAME, OP_PARAMS, SIZE, ParamType
from tapec.ir.types import weak_type
from tapec.ops.core.define import as_operand, define, ufunc_dtypes
from tapec.ops.core.sample_domains import Case, any_real
from tapec.ops.core.stand_in import apply, implements
from tapec.ops.reductions.predicates import count_all


def _where_rule(c: Type, a: Type, b: Type) -> Type:
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
    scalar="{1} if {0} else {2}",
)


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None and y is None:
        return np.nonzero(condition)
    if x is None or y is None:
        raise ValueError(at_user_line("np.where takes both x and y, or neither"))
    return apply(WHERE, (as_operand(condition), as_operand(x), as_operand(y)))


def _run_call(*values: Any, bodies: tuple[Graph]) -> Any:
    return tuple(interpret(bodies[0], *values))


def _call_rule(*types: Type, bodies: tuple[Graph]) -> tuple[Type, ...]:
    (graph,) = bodies
    if [t.shape for t in types] != [i.type.shape for i in graph.inputs]:
        raise ValueError(f"graph {graph.name} takes {[i.type for i in graph.inputs]}")
    return tuple([o.type for o in graph.outputs])


# a compiled function that was called in a recording; when the recording becomes a graph, the call is written out
CALL = define(
    "call",
    _run_call,
    _call_rule,
    "call",
    bodies=(1,),
    gradient="yes",
    multi=True,
)


_NUMBER_CLASS = ParamType("the class of a number", lambda v: type(v) is str and v in ("int", "float", "complex"))

GUARD = define(
    "guard", lambda x, kind, value: (), lambda t, kind, value: (), "guard", params={"kind": OBJECT, "value": NUMBER}
)

# Whether a number of Python's is of this class: a power of floats may be complex. `sure`: it is, or Python raises an
# error.
NUMBER_KIND = define(
    "number_kind",
    lambda x, kind, sure: type(x).__name__ == kind,
    lambda t, kind, sure: weak_type(bool),
    "shape",
    params={"kind": _NUMBER_CLASS, "sure": BOOL},
    source=lambda args, node: f"type({args[0]}) is {node.param('kind')}",
)


def _length(*values: Any, op: str, params: Any, index: int) -> Any:
    made = get_op(op)
    found = made.run(*values, **dict(params))
    return np.int64(len(found[index] if made.multi else found))


def _length_source(args: tuple[str, ...], node: Any) -> str:
    """Return source that computes a length: without the whole result where that is cheaper, as a count for
    `nonzero`.
    """
    if node.param("op") == "nonzero":
        return count_all(args[0])
    if node.param("op") == "repeated_places":
        return f"int({args[0]}.sum())"
    if node.param("op") == "bincount" and (node.inputs[0].type.size or dict(node.param("params"))["minlength"]):
        return f"max(int({args[0]}.max(initial=0)) + 1, {dict(node.param('params'))['minlength']})"
    inner = Node(get_op(node.param("op")), node.inputs, node.param("params"), node.type)
    source = inner.op.source
    text = source(args, inner) if callable(source) else source.format(*args)
    return f"len({text}[{node.param('index')}])" if inner.op.multi else f"len({text})"


# the length of a result whose shape depends on values; code compiled for one length has a guard on it
LENGTH = define(
    "length",
    _length,
    lambda first, *more, op, params, index: Type((), np.dtype(np.int64)),
    "shape",
    params={"op": OP_NAME, "params": OP_PARAMS, "index": SIZE},
    source=_length_source,
    sample=lambda rng: [Case((rng.random(7) > 0.5,), {"op": "nonzero", "params": (), "index": 0})],
)
