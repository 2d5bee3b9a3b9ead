"""Import the rules of ops with bodies on first use: few programs have such ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.autodiff.bodies.recomputation import CHECKPOINT
from tapec.ir import Op
from tapec.ops.control.cond import COND, REGION
from tapec.ops.control.custom_gradients import CUSTOM_GRAPH
from tapec.ops.control.loop import LOOP
from tapec.ops.control.select_and_call import CALL


def rules_of(op: Op) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    """Return how an op is differentiated in reverse and forward mode, and batched."""
    from tapec.autodiff.bodies import call_rules, cond_rules, loop_rules

    return (call_rules.RULES | cond_rules.RULES | loop_rules.RULES)[op]


def batched_checkpoint(*given: Any, **params: Any) -> Any:
    from tapec.autodiff.bodies import call_rules

    return call_rules.batched_checkpoint(*given, **params)


def batched_custom(*given: Any, **params: Any) -> Any:
    from tapec.autodiff.bodies import call_rules

    return call_rules.batched_custom(*given, **params)


def _enter(op: Op) -> None:
    op.vjp = lambda *given, **params: rules_of(op)[0](*given, **params)
    op.jvp = lambda *given, **params: rules_of(op)[1](*given, **params)
    op.batch = lambda *given, **params: rules_of(op)[2](*given, **params)


CHECKPOINT.batch, CUSTOM_GRAPH.batch = batched_checkpoint, batched_custom
for _op in (CALL, COND, LOOP, REGION):
    _enter(_op)
LOOP.facts["by_wanted"] = (
    True  # its rule takes the operands whose cotangents are `wanted`: others cost values that are kept
)
