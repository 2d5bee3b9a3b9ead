"""How the benchmarks of this folder measure and print."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["best", "in_turn", "once", "row"]


def best(function: Callable[[], Any], seconds: float = 0.3, clock: Callable[[], float] = time.perf_counter) -> float:
    """Microseconds a call, by this clock: the best of seven bursts."""
    for _ in range(3):
        function()
    start = clock()
    n = 0
    while clock() - start < seconds / 20:
        function()
        n += 1
    times = []
    for _ in range(7):
        start = clock()
        for _ in range(n):
            function()
        times.append((clock() - start) / n)
    return min(times) * 1e6


def in_turn(*functions: Callable[[], Any], rounds: int = 80) -> list[float]:
    """Microseconds a call of each: the least of many calls, by turns, so that a slow moment of the machine hits all."""
    least = [float("inf")] * len(functions)
    for _ in range(rounds):
        for k, function in enumerate(functions):
            start = time.perf_counter()
            function()
            least[k] = min(least[k], time.perf_counter() - start)
    return [seconds * 1e6 for seconds in least]


def once(function: Callable[[], Any]) -> float:
    """Milliseconds of one call."""
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1e3


def row(what: str, value: float, unit: str, budget: str = "") -> None:
    print(f"{what:<58} {value:10.2f} {unit:<8} {budget}")
