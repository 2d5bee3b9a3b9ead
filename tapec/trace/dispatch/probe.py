"""Find out which ops a function is made of, by calling it with symbols.

Symbols have no values that an answer could depend on. A function that looks at values refuses to answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import CONSTANT, ITEM, Node, Type, input_node
from tapec.ops.core.stand_in import ArrayLike, gives_views, out_at
from tapec.ops.core.symbol import Question
from tapec.ops.layout.copies import COPY
from tapec.trace import tuning
from tapec.trace.dispatch.plan_steps import Answer, Notes

__all__ = ["answer"]


def answer(ours: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Answer | None:
    """Ask our function with symbols; None where they are not enough, or where the answer goes into an array."""
    if "out" in kwargs or len(args) > out_at(ours):
        return None
    builder = Notes()
    inputs: list[Node] = []
    questions: list[Question] = []

    def asked(a: Any) -> Any:
        if type(a) in (list, tuple):
            return type(a)(map(asked, a))
        if not isinstance(a, (ArrayLike, np.ndarray, np.generic)):
            return a
        inputs.append(input_node(f"x{len(inputs)}", Type(a.shape, a.dtype)))
        questions.append(Question(inputs[-1], builder))
        return questions[-1]

    def copied(x: Any) -> Any:
        return x._apply(COPY, (x,), ()) if any([x is given for given in questions]) else x

    try:
        symbols = tuple(map(asked, args))
        result = ours(*symbols, **{name: asked(a) for name, a in kwargs.items()})
        if not gives_views(ours) and kwargs.get("copy", True):
            result = tuple(map(copied, result)) if type(result) is tuple else copied(result)
    except Exception:  # the call itself raises it again
        return None
    return _taken_down(builder, inputs, result)


def _taken_down(builder: Notes, inputs: list[Node], result: Any) -> Answer | None:
    several = isinstance(result, (list, tuple))
    results = list(result) if several else [result]
    if not results or any(type(r) is not Question for r in results):
        return None
    constants = [n for n in builder.nodes if n.op is CONSTANT]
    ops = [n for n in builder.nodes if n.op is not CONSTANT]
    if any(map(_depends_on_values, ops)):
        return None
    if any(getattr(n.value, "nbytes", 0) > tuning.PLAN_CONSTANT_MAX_BYTES for n in constants):
        return None
    if any(_asks(value) for n in ops for _, value in n.params):  # np.std(x, ddof=np.int64(1))
        return None
    ends = [r.node for r in results]
    if not set(ends) <= {*inputs, *ops} or len(set(ends)) < len(ends):
        return None
    return Answer(inputs, constants, ops, ends, type(result) if several else None)


def _depends_on_values(node: Node) -> bool:
    """Return whether the next step may depend on the length of a result.

    It does not if nothing is done with the result, and nobody could see it.
    """
    if node.op.kind == "dynamic":
        return any(t.shape is not None for t in (node.type if node.op.multi else (node.type,)))
    return node.op is not ITEM and any(i.type.shape is None for i in node.inputs)


def _asks(value: Any) -> bool:
    """Return whether a parameter depends on a value."""
    return type(value) is Question or (type(value) is tuple and any(map(_asks, value)))
