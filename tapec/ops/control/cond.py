"""Define `cond`, which runs one of two bodies, and `region`, which runs one: what a kernel computes.

cond:    inputs = predicate, operands of both bodies     outputs = results of the body that ran
region:  inputs = operands                               outputs = results
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Graph, Type
from tapec.ir.param_types import OBJECT, maybe
from tapec.ops.control.body_graphs import body_of, check_operands, run_body
from tapec.ops.core.define import define
from tapec.ops.core.sample_domains import Case

__all__ = ["COND", "REGION"]


def _run_cond(predicate: Any, *values: Any, bodies: tuple[Graph, Graph]) -> tuple[Any, ...]:
    return run_body(bodies[0] if predicate else bodies[1], values)


def _cond_rule(predicate: Type, *types: Type, bodies: tuple[Graph, Graph]) -> tuple[Type, ...]:
    then, otherwise = bodies
    if predicate.shape or predicate.dtype.kind != "b":
        raise TypeError(f"the predicate should be one bool, not {predicate}")
    for body in bodies:
        check_operands(body, types)
    results = tuple([o.type for o in then.outputs])
    if results != tuple([o.type for o in otherwise.outputs]):
        raise TypeError(f"the bodies {then.name} and {otherwise.name} have results of other types")
    return results


def _cond_samples(rng: np.random.Generator) -> list[Case]:
    f3, f0 = Type((3,), float), Type((), float)
    then = body_of("then", lambda x, a: (np.sin(x) * a, np.sum(x)), [f3, f0])
    otherwise = body_of("otherwise", lambda x, a: (x + 1.0, a), [f3, f0])
    given = rng.normal(size=3), np.float64(0.7)
    return [Case((np.bool_(p), *given), {"bodies": (then, otherwise)}) for p in (True, False)]


COND = define(
    "cond",
    _run_cond,
    _cond_rule,
    "body",
    bodies=(2,),
    gradient="yes",
    multi=True,
    sample=_cond_samples,
)


def _run_region(*values: Any, bodies: tuple[Graph], plan: Any = None) -> tuple[Any, ...]:
    return run_body(bodies[0], values)


def _region_rule(*types: Type, bodies: tuple[Graph], plan: Any = None) -> tuple[Type, ...]:
    check_operands(bodies[0], types)
    return tuple([o.type for o in bodies[0].outputs])


def _region_samples(rng: np.random.Generator) -> list[Case]:
    f3 = Type((3,), float)
    body = body_of("fused", lambda x, y: (np.sum(x * y), np.exp(x), x - y), [f3, f3])
    return [Case((rng.normal(size=3), rng.normal(size=3)), {"bodies": (body,)})]


# `plan` is how a target computes the region, block by block of its rows for instance; its meaning is the body alone
REGION = define(
    "region",
    _run_region,
    _region_rule,
    "body",
    params={"plan": maybe(OBJECT)},
    bodies=(1,),
    gradient="yes",
    multi=True,
    sample=_region_samples,
)
