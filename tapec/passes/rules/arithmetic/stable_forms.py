"""This rule uses a softmax that is there in the place of the exponentials of its logarithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, ops
from tapec.ir.pattern import variables
from tapec.ops import Symbol
from tapec.passes.engine.node_facts import maximum_below, unshaped
from tapec.passes.engine.rule import Rule

__all__ = ["STABLE_FORMS"]

b, x = variables("b x")


# -- exponentials of logarithms of a softmax --------------------------------------------------------------------------
class Softmax(NamedTuple):
    """The exponentials of a softmax, of which the largest is 1, and the sum by which they are divided."""

    e: Node
    total: Node
    shape: tuple[int, ...]


def softmax_again(x: Node, b: Node) -> Softmax | None:
    """Return the softmax that exp(x - b) is; None for another b.

    It is one where b is log(sum(exp(x))), or m + log(sum(exp(x - m))) with the maximum m of x.
    """
    end = unshaped(b)
    for part in end.inputs if end.op is ops.add else (end,):
        log = unshaped(part)
        total = unshaped(log.inputs[0]) if log.op is ops.log else log
        top = maximum_below(total) if total.op is ops.sum else None
        if top is None:
            continue
        (e,) = total.inputs
        if end is part:
            same = e.inputs[0] is x
        else:
            shift = end.inputs[1] if part is end.inputs[0] else end.inputs[0]
            same = unshaped(shift) is top and top.inputs[0] is x
        # the shape of the maximum with keepdims, which broadcasts to the exponentials
        shape = e.inputs[0].inputs[1].type.shape
        if same and b.type.shape == shape and e.type == x.type and total.type.dtype == e.type.dtype:
            return Softmax(e, total, shape)
    return None


def divided(y: Symbol, fact: Softmax) -> Any:
    total: Any = Symbol(fact.total, y.builder)
    exponentials: Any = Symbol(fact.e, y.builder)
    return exponentials / (total if total.shape == fact.shape else np.reshape(total, fact.shape))


STABLE_FORMS = (Rule("softmax-again", np.exp(x - b), divided, lambda x, b: softmax_again(x, b), changes="rounding"),)
