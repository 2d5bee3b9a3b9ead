"""Differentiate and batch `cond`: derivatives are conditions on the same predicate.

    y = cond p, x @f, @g        ct of x = cond p, x, ct of y @f_vjp, @g_vjp

The body that runs for the gradient computes again what it needs of the body that ran. A batch with one predicate for
all examples is one condition; one with a predicate for each example runs both bodies, and selects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.autodiff.batching import batch_into
from tapec.autodiff.bodies.body_helpers import (
    batch_size,
    batched_body,
    cotangents_body,
    everywhere,
    moving_of,
    plain_symbols,
    spread_tangents,
    tangents_body,
)
from tapec.ir import Graph
from tapec.ops import Symbol, apply
from tapec.ops.control.cond import COND

__all__ = ["RULES", "selected"]

Bodies = tuple[Graph, Graph]


def _vjp(cts: Any, ys: Any, predicate: Any, *xs: Any, bodies: Bodies) -> Any:
    wrt = moving_of(bodies[0])
    backs = tuple([cotangents_body(body, wrt) for body in bodies])
    found = apply(COND, (predicate, *xs, *plain_symbols(cts)), (("bodies", backs),))
    parts = dict(zip(wrt, found, strict=True))
    return None, *[parts.get(k) for k in range(len(xs))]


def _jvp(ts: Any, ys: Any, predicate: Any, *xs: Any, bodies: Bodies) -> Any:
    wrt = [k for k, t in enumerate(ts[1:]) if t is not None]
    moved = tuple([tangents_body(body, wrt) for body in bodies])
    found = apply(COND, (predicate, *xs, *plain_symbols(ts[1:])), (("bodies", moved),))
    return spread_tangents(bodies[0], found)


def _batch(flags: tuple[bool, ...], predicate: Any, *xs: Any, bodies: Bodies) -> Any:
    size = batch_size(flags, (predicate, *xs))
    if not flags[0]:
        return apply(COND, (predicate, *xs), (("bodies", tuple([batched_body(b, flags[1:], size) for b in bodies])),))
    given = list(zip(xs, flags[1:], strict=True))
    then, otherwise = [batch_into(predicate.builder, body, given, size) for body in bodies]
    return tuple([selected(predicate, everywhere(*a, size), everywhere(*b, size)) for a, b in zip(then, otherwise)])


def selected(predicates: Symbol, a: Any, b: Any) -> Any:
    """Return, for each example, the value that its predicate selects."""
    return np.where(np.reshape(predicates, (-1, *[1] * (len(a.shape) - 1))), a, b)


RULES = {COND: (_vjp, _jvp, _batch)}
