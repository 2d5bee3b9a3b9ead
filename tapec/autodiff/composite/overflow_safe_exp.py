"""Keep exponentials finite on the way to what is flat far out.

tanh(exp(u)) is one where the exponential is infinite, and its slope there is zero; zero times infinity would be nan. So
in the derivative of such a function an exponential is held to a number, at any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.autodiff.composite.composite_rule import Shortcut, unless_infinite
from tapec.autodiff.composite.matchers import LAYOUT, exponent_of
from tapec.autodiff.composite.rewritten_value import Writer, WrittenOut, back_through
from tapec.autodiff.rule_application import signed_cotangents
from tapec.autodiff.symbolic.signed_cotangents import settled
from tapec.ir import Node, OpSet, OpTable, is_literal, ops
from tapec.ops import apply
from tapec.ops.elementwise.arithmetic import largest_number

__all__ = [
    "FLAT",
    "flat_function",
    "held",
    "is_exponential",
    "leads_to_exponential",
    "with_held_exponentials",
]

FLAT = (  # at one end or at both
    *("exp", "exp2", "expm1", "tanh", "arctan", "sigmoid"),
    *("scipy.special.expit", "scipy.special.erf", "scipy.special.erfc", "scipy.special.ndtr"),
)
SLOPES: OpTable[Callable[[Any], Any]] = OpTable(
    {  # of exponentials, by their values
        "exp": lambda y: y,
        "exp2": lambda y: y * math.log(2.0),
        "expm1": lambda y: y + 1,
    }
)
BETWEEN = OpSet("negative add subtract multiply divide maximum minimum absolute sqrt log log1p logaddexp")


def leads_to_exponential(node: Node, far: int | None = None) -> bool:
    """Return whether a node is made of an exponential, by operations that are steep nowhere far out."""
    far = tuning.OVERFLOW_MAX_OPS if far is None else far
    return is_exponential(node) or (far > 0 and any([leads_to_exponential(i, far - 1) for i in _operands(node)]))


def is_exponential(node: Node) -> bool:
    """Return whether a node is an exponential, or a power of one."""
    return node.type.dtype.kind == "f" and power_of_exponential(node) is not None


def power_of_exponential(node: Node) -> tuple[float, list[Node]] | None:
    """The power, and all there is from the node down to the exponential."""
    op = node.op
    if op in SLOPES:
        return 1, [node]
    if _is_square(node):
        k = 2.0
    elif op is ops.power and (exponent := exponent_of(node) or 0) > 0:
        k = exponent
    else:
        return None
    found = power_of_exponential(node.inputs[0])
    if found is None or found[1][-1].op is ops.expm1:
        return None
    return k * found[0], [node, *found[1]]


def _is_square(node: Node) -> bool:
    return node.op is ops.square or (node.op is ops.power and exponent_of(node) == 2)


def _operands(node: Node) -> tuple[Node, ...]:
    op = node.op
    if op in LAYOUT or op is ops.divide or _is_square(node):
        return node.inputs[:1]
    return node.inputs if op in BETWEEN else ()


def with_held_exponentials(writer: Writer, node: Node, far: int | None = None) -> Any:
    """The value once more, of exponentials that are numbers."""
    far = tuning.OVERFLOW_MAX_OPS if far is None else far
    if is_exponential(node):
        return np.minimum(_copied(writer, node, far), largest_number(node.type.dtype))
    if is_literal(node) or not leads_to_exponential(node, far):
        return writer.value(node)
    writer.inner[node] = None
    n = len(_operands(node))
    operands = [with_held_exponentials(writer, i, far - 1) for i in node.inputs[:n]]
    if _is_square(node):
        return operands[0] * operands[0]  # whose slope is not doubled before it meets what is zero
    return apply(node.op, (*operands, *map(writer.value, node.inputs[n:])), node.params)


def _copied(writer: Writer, node: Node, far: int) -> Any:
    """The same power of the same exponential, whose own operand may be made of another one."""
    writer.inner[node] = None
    below = with_held_exponentials if node.op in SLOPES else _copied
    power = [i.value for i in node.inputs[1:] if is_literal(i)]
    operands = [below(writer, i, far - 1) for i in node.inputs if not is_literal(i)]
    return apply(node.op, (*operands, *power), node.params)


def held_exponentials(node: Node, end: Node) -> WrittenOut | None:
    """Write out what `end` is made of, if there are exponentials in it; else None."""
    if not leads_to_exponential(node):
        return None
    writer = Writer(end)
    return writer.written(node, with_held_exponentials(writer, node))


# -- as shortcuts ----------------------------------------------------------------------------------------
def flat_function(node: Node) -> Shortcut | None:
    """A function that is flat far out, with exponentials that are numbers in what it is made of."""
    found = held_exponentials(node.inputs[0], node)
    if found is None:
        return None

    def vjp(ct: Any, y: Any, x: Any, *xs: Any) -> tuple[Any, ...]:
        (part,) = signed_cotangents(node, ct, y, (x,), [True])
        return None, *back_through(found, settled(part), xs)

    return Shortcut((*node.inputs, *found.inputs), found.inner, vjp, None, node.inputs[0])


def held(node: Node) -> Shortcut | None:
    """The slope of an exponential that is held to a number is made of that: others have none where it is infinite."""
    e, most = node.inputs
    bound = is_literal(most) and node.role is not None and most.value == largest_number(node.type.dtype)
    found = power_of_exponential(e) if bound else None
    if found is None:
        return None
    power, inner = found
    exponential = inner[-1]

    def scaled(t: Any, y: Any) -> Any:
        moved = t * SLOPES[exponential.op](y)
        return moved if power == 1 else moved * power

    return Shortcut(
        inputs=(*exponential.inputs, e),
        inner=tuple(inner),
        vjp=lambda ct, y, u, e: (scaled(ct, y), None),
        jvp=lambda ts, y, u, e: unless_infinite(e, scaled(ts[0], y)),
    )
