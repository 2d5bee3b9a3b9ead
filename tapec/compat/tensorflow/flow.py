"""Control flow as functions; everything here runs at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.compat.tensorflow.faces import constant

__all__ = ["cond", "map_fn", "while_loop"]


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: Any = None) -> Any:
    return true_fn() if pred else false_fn()


def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, **_: Any) -> Any:
    values = list(loop_vars)
    while cond(*values):
        found = body(*values)
        values = list(found) if isinstance(found, (list, tuple)) else [found]
    return type(loop_vars)(values) if isinstance(loop_vars, (list, tuple)) else values


def map_fn(fn: Callable[[Any], Any], elems: Any, **_: Any) -> Any:
    return np.stack([constant(fn(row)) for row in constant(elems)])
