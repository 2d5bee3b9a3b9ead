"""Give control flow as functions; everything here runs at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.compat.tensorflow.plain_values import invalid
from tapec.compat.tensorflow.tf_tensor import constant
from tapec.pytree import LEAF, flatten, unflatten

__all__ = ["cond", "map_fn", "while_loop"]


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: Any = None) -> Any:
    return true_fn() if pred else false_fn()


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: Any = None,
) -> Any:
    """Run a loop. What tells TensorFlow how to run its graphs changes nothing here, nor in its own eager mode."""
    values = list(loop_vars)
    left = math.inf if maximum_iterations is None else int(maximum_iterations)
    while left > 0 and cond(*values):
        found = body(*values)
        values = list(found) if isinstance(found, (list, tuple)) else [found]
        left -= 1
    return type(loop_vars)(values) if isinstance(loop_vars, (list, tuple)) else values


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: Any = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: Any = None,
) -> Any:
    """Apply `fn` to each row of a tensor, or of all tensors of a structure; it may return a structure too.

    `dtype` is that of all results, or a structure of dtypes like that of the result. What tells TensorFlow how to run
    its graphs changes nothing here, nor in its own eager mode.
    """
    leaves: list[Any] = []
    tree = flatten(elems, leaves)
    if all([isinstance(x, (bool, int, float, complex)) for x in leaves]):
        tree, leaves = LEAF, [elems]
    rows: list[list[Any]] = []
    for row in zip(*map(constant, leaves), strict=True):
        rows.append([])
        result = flatten(fn(unflatten(tree, row)), rows[-1])
    if not rows:
        raise invalid("map_fn: there are no rows, so nobody knows what the function returns")
    dtypes: list[Any] = []
    of_dtypes = flatten(dtype, dtypes)
    if of_dtypes is LEAF:
        dtypes *= len(rows[0])
    elif of_dtypes != result:
        raise invalid(f"map_fn: dtype={dtype} for a result of another structure. Fix: one dtype, or one for each part")
    columns = zip(zip(*rows, strict=True), dtypes, strict=True)
    return unflatten(result, [np.stack([constant(x, dtype) for x in column]) for column, dtype in columns])
