"""Write the labels on the boxes of a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.ir import CONSTANT, Node, is_literal

__all__ = ["folded_label", "node_label", "repeated_label", "short"]


def short(text: str, length: int) -> str:
    """The text, cut with an ellipsis when it is too long."""
    return text if len(text) <= length else text[: length - 1] + "…"


def node_label(node: Node) -> tuple[str, str]:
    """Return what an operation does, and the type of its result: `power · 2.0`, `f64[3]`."""
    if isinstance(node.type, tuple):
        kind = "(" + ", ".join(map(str, node.type)) + ")"
    else:
        kind = str(node.type)
    if node.op is CONSTANT:
        return short(node.name or _value(node.value), 24), kind
    words = [node.op.name]
    if any(is_literal(i) for i in node.inputs):
        words += [_value(i.value) if is_literal(i) else "·" for i in node.inputs]
    words += [_param(key, value) for key, value in node.params if _telling(key, value)]
    words += [body.name for body in node.bodies]
    return short(" ".join(words), 32), short(kind, 32)


def repeated_label(nodes: Sequence[Node]) -> tuple[str, str]:
    """Return the label of operations of a loop: that of the first, without what differs from round to round."""
    title, kind = node_label(nodes[0])
    if any([node_label(node)[0] != title for node in (nodes[1], nodes[-1])]):
        title = nodes[0].op.name
    return f"{title} ×{len(nodes)}", kind


def folded_label(nodes: Sequence[Node]) -> tuple[str, str]:
    """Return how many operations a folded cluster has, and the names of the most frequent ones."""
    counts = Counter(n.op.name for n in nodes)
    listed = ", ".join(f"{name} × {n}" if n > 1 else name for name, n in counts.most_common(3))
    rest = len(counts) - 3
    many = f"{len(nodes)} operations" if len(nodes) > 1 else "1 operation"
    return many, short(listed, 44) + (f" and {rest} more" if rest > 0 else "")


def _value(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    if isinstance(value, np.ndarray) and value.size > 3:
        return "constant"
    return short(str(value).replace("\n", " "), 20)


def _telling(key: str, value: Any) -> bool:
    """Return whether a parameter is worth its room. One that is off or absent is not, nor one that the type shows."""
    return not (value is None or value is False or key in ("shape", "dtype"))


def _param(key: str, value: Any) -> str:
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    return f"{key}={short(str(value), 18)}"
