"""Apply an operation to whole batches by its batching rule, or by the rule of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.ir import Node, ops
from tapec.ops.core.stand_in import apply
from tapec.ops.core.symbol import Symbol

__all__ = ["batched_by_rule"]


def batched_by_rule(node: Node, xs: Sequence[Any], flags: tuple[bool, ...]) -> Any:
    """Return what an operation gives for operands of which those with a flag have a batch axis in front; NotImplemented
    where it has no rule."""
    op = node.op
    if op.batch is not None:
        return op.batch(flags, *xs, **dict(node.given))
    if op.kind == "elementwise" or op is ops.cast:
        rank = max(i.type.ndim for i in node.inputs)
        aligned = [_aligned(x, rank) if b else x for x, b in zip(xs, flags, strict=True)]
        return apply(op, tuple(aligned), node.params)
    if op.kind == "reduction" and len(xs) == 1:
        return apply(op, tuple(xs), _behind_batch(node.params))
    return NotImplemented


def _aligned(x: Symbol, rank: int) -> Any:
    """Put axes of length one behind the batch axis, so that the rest broadcasts from the right as it did."""
    missing = rank + 1 - len(x.shape)
    return np.reshape(x, (x.shape[0], *[1] * missing, *x.shape[1:])) if missing > 0 else x


def _behind_batch(params: Any) -> Any:
    """The parameters of a reduction, its axes counted behind the batch axis."""
    return tuple([(k, _next(v) if k == "axis" else v) for k, v in params])


def _next(axis: Any) -> Any:
    return tuple([k + 1 for k in axis]) if isinstance(axis, tuple) else axis + 1
