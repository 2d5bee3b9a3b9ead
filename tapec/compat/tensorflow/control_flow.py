"""Give control flow as functions; everything here runs at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.compat.tensorflow.plain_values import InvalidArgumentError
from tapec.compat.tensorflow.tf_tensor import constant
from tapec.errors import at_user_line
from tapec.pytree import LEAF, flatten, unflatten

__all__ = ["cond", "map_fn", "while_loop"]


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: Any = None) -> Any:
    return true_fn() if pred else false_fn()


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, *, maximum_iterations: Any = None, **_: Any
) -> Any:
    values = list(loop_vars)
    left = math.inf if maximum_iterations is None else int(maximum_iterations)
    while left > 0 and cond(*values):
        found = body(*values)
        values = list(found) if isinstance(found, (list, tuple)) else [found]
        left -= 1
    return type(loop_vars)(values) if isinstance(loop_vars, (list, tuple)) else values


def map_fn(fn: Callable[..., Any], elems: Any, **_: Any) -> Any:
    """Apply `fn` to each row of a tensor, or of all tensors of a structure; it may return a structure too."""
    leaves: list[Any] = []
    tree = flatten(elems, leaves)
    if all([isinstance(x, (bool, int, float, complex)) for x in leaves]):
        tree, leaves = LEAF, [elems]
    rows: list[list[Any]] = []
    for row in zip(*map(constant, leaves), strict=True):
        rows.append([])
        result = flatten(fn(unflatten(tree, row)), rows[-1])
    if not rows:
        raise InvalidArgumentError(at_user_line("map_fn: there are no rows, so nobody knows what the function returns"))
    return unflatten(result, [np.stack(list(map(constant, column))) for column in zip(*rows, strict=True)])
