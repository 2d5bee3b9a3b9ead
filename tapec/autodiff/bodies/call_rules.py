"""Differentiate and batch ops that run one body once: `call` and `region`; batch checkpoints and gradients of users.

y = call x @f          ct of x = call x, ct of y @f_vjp          tangent of y = call x, tangent of x @f_jvp
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.autodiff.bodies.body_helpers import (
    batch_size,
    batched_body,
    cotangents_body,
    everywhere,
    moving_of,
    plain_symbols,
    spread_tangents,
    tangents_body,
    with_axes,
)
from tapec.autodiff.bodies.recomputation import CHECKPOINT
from tapec.ir import Graph, Op
from tapec.ops import apply
from tapec.ops.control.cond import REGION
from tapec.ops.control.custom_gradients import CUSTOM_GRAPH
from tapec.ops.control.select_and_call import CALL

__all__ = ["RULES", "batched_checkpoint", "batched_custom"]


def _vjp_of(op: Op) -> Callable[..., Any]:
    def vjp(cts: Any, ys: Any, *xs: Any, bodies: tuple[Graph]) -> Any:
        wrt = moving_of(bodies[0])
        found = apply(op, (*xs, *plain_symbols(cts)), (("bodies", (cotangents_body(bodies[0], wrt),)),))
        parts = dict(zip(wrt, found, strict=True))
        return tuple([parts.get(k) for k in range(len(xs))])

    return vjp


def _jvp_of(op: Op) -> Callable[..., Any]:
    def jvp(ts: Any, ys: Any, *xs: Any, bodies: tuple[Graph]) -> Any:
        wrt = [k for k, t in enumerate(ts) if t is not None]
        found = apply(op, (*xs, *plain_symbols(ts)), (("bodies", (tangents_body(bodies[0], wrt),)),))
        return spread_tangents(bodies[0], found)

    return jvp


def _batch_of(op: Op) -> Callable[..., Any]:
    def batch(flags: tuple[bool, ...], *xs: Any, bodies: tuple[Graph]) -> Any:
        return apply(op, xs, (("bodies", (batched_body(bodies[0], flags, batch_size(flags, xs)),)),))

    return batch


def batched_checkpoint(flags: tuple[bool, ...], *xs: Any, bodies: tuple[Graph]) -> Any:
    return _batch_of(CHECKPOINT)(flags, *xs, bodies=bodies)


def batched_custom(
    flags: tuple[bool, ...],
    *xs: Any,
    args: int,
    results: int,
    gives: tuple[int | None, ...],
    bodies: tuple[Graph],
) -> Any:
    """Batch the call of a custom gradient: every result and cotangent gets a batch axis.

    The cotangent of an argument that all examples share is a sum over them.
    """
    size = batch_size(flags, xs)
    inputs = [everywhere(x, b, size) if args <= k < args + results else x for k, (x, b) in enumerate(zip(xs, flags))]
    owner = {place: k for k, place in enumerate(gives) if place is not None}

    def placed(place: int, y: Any, has_axis: bool) -> Any:
        y = everywhere(y, has_axis, size)
        return y if flags[owner[place]] else np.sum(y, axis=0)

    backward = with_axes(bodies[0], (True,) * results + flags[args + results :], size, placed)
    params = (("args", args), ("results", results), ("gives", gives), ("bodies", (backward,)))
    return apply(CUSTOM_GRAPH, tuple(inputs), params)


RULES = {op: (_vjp_of(op), _jvp_of(op), _batch_of(op)) for op in (CALL, REGION)}
