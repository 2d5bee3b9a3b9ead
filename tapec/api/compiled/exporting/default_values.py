"""Give the parameters of shown code the default values that the user's function has.

    def stress(points, target, eps=1e-9)      ->      def stress_value_and_grad(points, target, eps=1e-09):

So what is copied can be called as the user's function is. Only finite numbers are given, to the last parameters.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Sequence
from typing import Any

from tapec.ir import Node

__all__ = ["with_defaults"]


def with_defaults(source: str, name: str, inputs: Sequence[Node], signature: inspect.Signature | None) -> str:
    """Return the text of code with default values in the head of its function, where that has one line.

    An input has one where the code was made for a number of the default's type: not where it was made for an array.
    """
    if signature is None:
        return source
    kinds = {i.name: i.type.dtype.kind for i in inputs if i.type.weak}
    numbers = {
        p.name: p.default
        for p in signature.parameters.values()
        if _is_written_out(p.default) and kinds.get(p.name) == {int: "i", float: "f"}[type(p.default)]
    }
    head = re.search(rf"^def {re.escape(name)}\((.*)\):$", source, re.MULTILINE) if numbers else None
    if head is None:
        return source
    parameters = head[1].split(", ")
    for k in range(len(parameters) - 1, -1, -1):
        if parameters[k] not in numbers:
            break
        parameters[k] = f"{parameters[k]}={numbers[parameters[k]]!r}"
    return f"{source[: head.start(1)]}{', '.join(parameters)}{source[head.end(1) :]}"


def _is_written_out(value: Any) -> bool:
    """Return whether a value is a number that Python reads as it prints it, unlike inf and nan."""
    return type(value) is int or (type(value) is float and math.isfinite(value))
