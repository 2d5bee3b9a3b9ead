"""Define `loop`, which runs a body again and again.

    inputs  = [count,] constants, carried values, sequences        count: where it is an operand
    body:     constants, carried values, one row of each sequence  ->  carried values, one row of each collected result
    condition: constants, carried values                           ->  one bool: whether there is another turn
    outputs = carried values after the last turn, collected rows

How many turns there are is a static `count`, or, where that is None, an operand, or what a second body says: the
condition, which is asked before each turn. Sequences have `count` rows along the first axis. Rows are read and
collected where the count is static, since the shape of a result never depends on values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, Node, Type, interpret, type_of
from tapec.ir.flops import flops
from tapec.ir.param_types import SIZE, optional
from tapec.ops.control.body_graphs import body_of, check_operands
from tapec.ops.core.define import define
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import apply

__all__ = ["LOOP", "Operands", "loop", "operands_of"]


class Operands(NamedTuple):
    """The operands of a loop, whatever stands for them: values, types, nodes, flags."""

    turns: tuple[Any, ...]  # one, or none
    constants: tuple[Any, ...]
    carried: tuple[Any, ...]
    rows: tuple[Any, ...]


def operands_of(
    values: Sequence[Any], *, count: int | None, constants: int, carried: int, bodies: tuple[Graph, ...]
) -> Operands:
    """Part the operands of a loop by what they are for."""
    first = int(count is None and len(bodies) == 1)
    ends = first + constants, first + constants + carried
    parts = values[:first], values[first : ends[0]], values[ends[0] : ends[1]], values[ends[1] :]
    return Operands(*map(tuple, parts))


def loop(
    bodies: tuple[Graph, ...],
    constants: Sequence[Any] = (),
    carried: Sequence[Any] = (),
    rows: Sequence[Any] = (),
    count: Any = None,
) -> tuple[Any, ...]:
    """Perform a loop on whatever the operands are; a count that is no int is an operand."""
    static = count if count is None or type(count) is int else None
    first = () if count is None or type(count) is int else (count,)
    params = (("count", static), ("constants", len(constants)), ("carried", len(carried)), ("bodies", bodies))
    found: tuple[Any, ...] = apply(LOOP, (*first, *constants, *carried, *rows), params)
    return found


def _run(*values: Any, **params: Any) -> tuple[Any, ...]:
    of, bodies, carried = operands_of(values, **params), params["bodies"], params["carried"]
    body, count = bodies[0], params["count"]
    _rule(*map(type_of, values), **params)
    if of.turns:
        count = int(of.turns[0])
    state, turn = of.carried, 0
    collected = [np.empty((count or 0, *o.type.shape), o.type.dtype) for o in body.outputs[carried:]]
    while turn < count if count is not None else interpret(bodies[1], *of.constants, *state)[0]:
        found = tuple(interpret(body, *of.constants, *state, *[row[turn] for row in of.rows]))
        state = found[:carried]
        for rows, row in zip(collected, found[carried:], strict=True):
            rows[turn] = row
        turn += 1
    return (*state, *collected)


def _rule(*types: Type, count: int | None, constants: int, carried: int, bodies: tuple[Graph, ...]) -> Any:
    of = operands_of(types, count=count, constants=constants, carried=carried, bodies=bodies)
    body = bodies[0]
    if len(of.constants) < constants or len(of.carried) < carried:
        raise TypeError(f"the loop has {len(types)} operands, fewer than {constants} constants and {carried} carried")
    if of.turns and (of.turns[0].shape or of.turns[0].dtype.kind not in "iu"):
        raise TypeError(f"the count should be one integer, not {of.turns[0]}")
    if any([t.shape[:1] != (count,) for t in of.rows]):
        raise TypeError(f"sequences should have {count} rows, not the shapes {[t.shape for t in of.rows]}")
    check_operands(body, (*of.constants, *of.carried, *[Type(t.shape[1:], t.dtype) for t in of.rows]))
    results = [o.type for o in body.outputs]
    if tuple(results[:carried]) != of.carried:
        raise TypeError(f"graph {body.name} carries {list(of.carried)} on as {results[:carried]}")
    if count is None and len(results) > carried:
        raise TypeError("a loop collects rows where its count is known")
    if len(bodies) == 2:
        if count is not None:
            raise TypeError("a loop has a count or a condition")
        check_operands(bodies[1], (*of.constants, *of.carried))
        asked = [o.type for o in bodies[1].outputs]
        if len(asked) != 1 or asked[0].shape or asked[0].dtype.kind != "b":
            raise TypeError(f"the condition {bodies[1].name} should give one bool, not {asked}")
    return (*of.carried, *[Type((count or 0, *t.shape), t.dtype) for t in results[carried:]])


def _flops(node: Node) -> float:
    """Count what the body takes, once for each turn that is known of."""
    return float(sum([flops(n) for n in node.bodies[0].nodes]) * (node.param("count") or 1))


def _samples(rng: np.random.Generator) -> list[Case]:
    f3, f0, i0 = Type((3,), float), Type((), float), Type((), np.dtype(np.int64))
    x, w, rows = rng.normal(size=3), rng.normal(size=(3, 3)), rng.normal(size=(4, 3))
    layer = body_of(
        "layer",
        lambda w, h, t, row: (np.tanh(w @ h + row), t + np.sum(h * row), h * t),
        [Type((3, 3), float), f3, f0, f3],
    )
    step = body_of("step", lambda a, y: (y + a * np.cos(y),), [f0, f3])
    halves = body_of("halves", lambda a, y, k: (y * a, k + np.int64(1)), [f0, f3, i0])
    large = body_of("large", lambda a, y, k: (np.sum(y * y) > 0.01,), [f0, f3, i0])
    each = body_of(
        "each", lambda w, a, row, t: (np.cumsum(w @ row) * a, t * np.sum(a)), [Type((3, 3), float), f3, f3, f0]
    )
    swap = body_of("swap", lambda a, b, row: (b, a, a * row), [f3, f3, f0])
    params = {"constants": 1, "carried": 1}
    return [
        Case((w, x, np.float64(0.3), rows), {"count": 4, "constants": 1, "carried": 2, "bodies": (layer,)}),
        Case((np.float64(0.5), x), {"count": 3, **params, "bodies": (step,)}),
        Case((np.float64(0.5), x), {"count": 0, **params, "bodies": (step,)}),
        Case((np.int64(3), np.float64(0.5), x), {"count": None, **params, "bodies": (step,)}),
        Case(
            (np.float64(0.6), x, np.int64(0)),
            {"count": None, "constants": 1, "carried": 2, "bodies": (halves, large)},
        ),
        Case((w, x, rows, rows[:, 0]), {"count": 4, "constants": 2, "carried": 0, "bodies": (each,)}),
        Case((x, x + 1.0, rows[:3, 0]), {"count": 3, "constants": 0, "carried": 2, "bodies": (swap,)}),
    ]


LOOP = define(
    "loop",
    _run,
    _rule,
    "body",
    params={"count": optional(SIZE), "constants": SIZE, "carried": SIZE},
    bodies=(1, 2),
    gradient="yes",
    multi=True,
    flops=_flops,
    sample=_samples,
)
