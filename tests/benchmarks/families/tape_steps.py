"""Steps of training on a tape: of single numbers, and of a net with few or many rows of data."""

from __future__ import annotations

from typing import Any

import numpy

from tests.benchmarks.families.latency import WORKLOADS as LATENCY
from tests.benchmarks.families.latency import net, net_data, step_by_hand
from tests.benchmarks.families.workload import LEARNING_RATE, Array, Task, Workload

__all__ = ["TAPE_STEPS"]

PAIRS = 19


def square(np: Any, x: Any) -> Any:
    return x * x


def square_by_hand(parameters: list[Array]) -> list[Any]:
    (x,) = parameters
    loss = x * x
    x -= LEARNING_RATE * 2.0 * x
    return [loss, x]


def forty(np: Any, x: Any) -> Any:
    """Two operations for each pair, and two."""
    y = x
    for _ in range(PAIRS):
        y = y * x
        y = y + x
    return 0.5 * (y * y)


def forty_by_hand(parameters: list[Array]) -> list[Any]:
    [array] = parameters
    x = float(array)
    y, slope = x, 1.0
    for _ in range(PAIRS):
        slope = slope * x + y + 1.0
        y = y * x + x
    array -= LEARNING_RATE * y * slope
    return [0.5 * y * y, array]


def of_net(rows: int) -> Workload:
    return Workload(
        f"net 64-128-1, {rows} rows",
        "tape steps",
        net,
        step_by_hand,
        net_data,
        (rows, 64, 128),
        (6, 4, 3),
        wrt=(0, 1, 2, 3),
        task=Task.STEP,
    )


TAPE_STEPS = (
    Workload(
        "square of a number",
        "tape steps",
        square,
        square_by_hand,
        lambda rng: (numpy.array(0.9),),
        task=Task.STEP,
    ),
    Workload("40 operations", "tape steps", forty, forty_by_hand, lambda rng: (numpy.array(0.9),), task=Task.STEP),
    *[w for w in LATENCY if w.task is Task.STEP],
    of_net(128),
    of_net(8192),
)
