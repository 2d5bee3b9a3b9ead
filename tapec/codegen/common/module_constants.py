"""Name the constants of generated modules, and describe them in the source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.common.naming import Names, identifier
from tapec.ir import CONSTANT, Node, is_literal
from tapec.ir.sizes import is_expression

__all__ = ["describe", "is_eye", "is_range", "name_constants"]


def name_constants(nodes: Iterable[Node], names: Names, called: dict[Node, str]) -> dict[str, Any]:
    """Name the arrays in the program, which become constants of the module; numbers are written where they are used."""
    constants = {}
    for node in nodes:
        if node.op is CONSTANT and not is_literal(node):
            is_named = node.name and not is_expression(node.name)
            wish = identifier(node.name) if is_named else _letter(node.value)
            called[node] = fixed = names.fix(wish)
            constants[fixed] = node.value
    return constants


def _letter(value: Any) -> str:
    return "eye" if is_eye(value) else "rows" if is_range(value) else "c"


def describe(name: str, value: Any) -> str:
    """Describe a constant in one line: `c = np.array([1.0, 2.0])`, `rows = np.arange(100)`, or its dtype and shape."""
    x = np.asarray(value)
    if is_eye(x):
        return f"{name} = np.eye({len(x)})"
    if is_range(x):
        return f"{name} = np.arange({len(x)})"
    if x.size <= tuning.SHOWN_MAX_ELEMENTS:
        text = " ".join(np.array2string(x, separator=", ", threshold=tuning.SHOWN_MAX_ELEMENTS + 1).split())
        return f"{name} = np.array({text})" if x.ndim else f"{name} = np.{x.dtype.name}({x.item()!r})"
    return f"{name}: an array of {x.dtype.name}[{', '.join(map(str, x.shape))}]"


def is_eye(x: Any) -> bool:
    """Return whether an array equals `np.eye(n)`."""
    if x.ndim != 2 or x.shape[0] != x.shape[1] or not 1 < len(x) <= tuning.IDENTITY_MAX_ROWS or x.dtype != float:
        return False
    return bool(np.count_nonzero(x) == len(x) and (x.diagonal() == 1.0).all())


def is_range(x: Any) -> bool:
    """Return whether an array equals `np.arange(n)`, of any type of integers."""
    if x.ndim != 1 or x.size < 2 or x.dtype.kind not in "iu" or x[0] != 0 or x[-1] != x.size - 1:
        return False
    return bool((x == np.arange(x.size)).all())
