"""Differentiate and batch ops that run one body once: `call` and `region`.

y = call x @f          ct of x = call x, ct of y @f_vjp          tangent of y = call x, tangent of x @f_jvp
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.autodiff.bodies.body_helpers import (
    batch_size,
    batched_body,
    cotangents_body,
    moving_of,
    plain_symbols,
    spread_tangents,
    tangents_body,
)
from tapec.ir import Graph, Op
from tapec.ops import apply
from tapec.ops.control.cond import REGION
from tapec.ops.control.select_and_call import CALL

__all__ = ["RULES"]


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


RULES = {op: (_vjp_of(op), _jvp_of(op), _batch_of(op)) for op in (CALL, REGION)}
