"""An elementwise chain is computed again on a part of its operands, where only a part of its result is read.

    (np.sin(x) * y)[:3]        chain [sin(x), sin(x) * y]        np.sin(x[:3]) * y[:3]

Slices, picked elements and diagonals read parts; the rules about each say what part of an operand they need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.ir import Node, ops
from tapec.ops import apply

__all__ = ["elementwise_chain", "is_elementwise", "recomputed"]


def is_elementwise(node: Node) -> bool:
    """Return whether each element of a result comes from single elements of the operands, in one operation.

    Powers do not count: NumPy's `x ** 0.5` is a root for arrays, and something else for scalars.
    """
    return node.op.kind == "elementwise" and not (node.op.multi or node.params or node.op is ops.power)


def elementwise_chain(whole: Node, uses: Any) -> list[Node]:
    """Return the operations of the shape of `whole` that only `whole` needs, in order, with `whole` at the end."""
    nodes = [whole]
    for node in nodes:
        nodes += [i for i in node.inputs if i.type.shape == whole.type.shape and is_elementwise(i) and uses(i) == 1]
    return nodes[::-1]


def recomputed(nodes: list[Node], operand: Callable[[Node, Node], Any]) -> Any:
    """Return the result of a chain on other operands: `operand(i, node)` for each i that is not in the chain."""
    made: dict[Node, Any] = {}
    for node in nodes:
        made[node] = apply(node.op, tuple([made[i] if i in made else operand(i, node) for i in node.inputs]))
    return made[nodes[-1]]
