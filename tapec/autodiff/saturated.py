"""Exponentials on the way to what is flat far out.

tanh(exp(u)) is one where the exponential is infinite, and its slope there is zero; zero times infinity would be nan. So
in the derivative of such a function an exponential is held to a number, at any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tapec.autodiff.written import Writer, WrittenOut
from tapec.ir import Node, is_literal
from tapec.ops import apply
from tapec.ops.elementwise import largest_number

__all__ = [
    "FLAT",
    "LAYOUT",
    "held_exponentials",
    "is_held",
    "leads_to_exponential",
    "not_exponentials",
    "with_held_exponentials",
]

FLAT = (  # at one end or at both
    *("exp", "exp2", "expm1", "tanh", "arctan", "sigmoid"),
    *("scipy.special.expit", "scipy.special.erf", "scipy.special.erfc", "scipy.special.ndtr"),
)
LAYOUT = frozenset({"getitem", "take_along_axis", "reshape", "transpose", "broadcast_to"})
BETWEEN = frozenset({"negative", "add", "subtract", "multiply", "divide", "sqrt", "log", "log1p"})
FAR = 6  # operations between such a function and an exponential


def leads_to_exponential(node: Node, far: int = FAR) -> bool:
    """Is it made of an exponential, by operations that are steep nowhere far out?"""
    return _is_exponential(node) or (far > 0 and any([leads_to_exponential(i, far - 1) for i in _operands(node)]))


def _is_exponential(node: Node) -> bool:
    return node.op.name in ("exp", "exp2") and node.type.dtype.kind == "f"


def _operands(node: Node) -> tuple[Node, ...]:
    name = node.op.name
    if name in LAYOUT or name == "divide":
        return node.inputs[:1]
    return node.inputs if name in BETWEEN else ()


def with_held_exponentials(writer: Writer, node: Node, far: int = FAR) -> Any:
    """The value once more, of exponentials that are numbers."""
    if _is_exponential(node):
        writer.inner[node] = None
        return np.minimum(apply(node.op, (writer.value(node.inputs[0]),)), largest_number(node.type.dtype))
    if is_literal(node) or not leads_to_exponential(node, far):
        return writer.value(node)
    writer.inner[node] = None
    n = len(_operands(node))
    operands = [with_held_exponentials(writer, i, far - 1) for i in node.inputs[:n]]
    return apply(node.op, (*operands, *map(writer.value, node.inputs[n:])), node.params)


def held_exponentials(node: Node, end: Node) -> WrittenOut | None:
    """What `end` is made of, if exponentials are in it."""
    if not leads_to_exponential(node):
        return None
    writer = Writer(end)
    return writer.written(node, with_held_exponentials(writer, node))


def not_exponentials(nodes: Iterable[Node]) -> list[Node]:
    return [n for n in nodes if not _is_exponential(n)]


def is_held(node: Node) -> bool:
    """Is it such an exponential?"""
    e, most = node.inputs
    bound = is_literal(most) and node.role is not None and most.value == largest_number(node.type.dtype)
    return bound and _is_exponential(e)
