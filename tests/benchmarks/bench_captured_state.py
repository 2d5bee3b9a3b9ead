"""What a gradient costs that reads a little of much captured state: large containers beside small ones.

python -m tests.benchmarks.bench_captured_state

Nothing is read but what the function asks for, so a call should cost the same for ten items as for ten thousand.
Beside it stands what autograd and JAX take for the large ones, where they are installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy
import numpy as np

import tapec
from tests.benchmarks.bench_fresh_functions import peers

CALLS = 200
SMALL, LARGE = 10, 10_000
Program = tuple[Callable[[Any], Any], Callable[[], Any]]  # a function of an array, and what happens before each call


def nothing() -> None:
    """Do nothing: what the function captures stays as it is."""


def slice_of_numbers(n: int) -> Program:
    numbers = [0.5 + k for k in range(n)]
    return lambda w: np.sum(w * sum(numbers[2:5])), nothing


def rows_of_tuples(n: int) -> Program:
    rows = [(np.full(3, 0.5 + k), float(k)) for k in range(n)]

    def loss(w):
        x, y = rows[n // 2]
        return (w @ x - y) ** 2

    return loss, nothing


def growing_log(n: int) -> Program:
    log = [{"step": k, "loss": float(k)} for k in range(n)]
    return lambda w: np.sum(w**2) / len(log), lambda: log.append({"step": len(log), "loss": 0.0})


class Layer:
    def __init__(self, k):
        self.w, self.b = np.eye(3) * (1 + 0.01 * k), np.zeros(3)


class Model:
    """Holds many layers, of which a method reads one."""

    def __init__(self, n):
        self.layers = [Layer(k) for k in range(n)]

    def loss(self, w):
        layer = self.layers[3]
        return np.sum(np.tanh(layer.w @ w + layer.b))


def model_of_layers(n: int) -> Program:
    return Model(n).loss, nothing


class Recorder:
    """Wraps a function, and keeps a record of each call."""

    def __init__(self, f, n):
        self.f = f
        self.records = [{"call": k, "norm": float(k)} for k in range(n)]

    def __call__(self, w):
        self.records.append({"call": len(self.records), "norm": np.sum(w * w)})
        return self.f(w)


def wrapper_that_stores(n: int) -> Program:
    return Recorder(lambda w: np.sum(np.sin(w)), n), nothing


def column_of_a_table(n: int) -> Program:
    import pandas

    table = pandas.DataFrame({name: np.arange(n) * 0.5 for name in "abcdefgh"})

    def loss(w):
        x = table["c"].to_numpy()
        return np.sum(w) * x[3]

    return loss, nothing


PROGRAMS: dict[str, tuple[Callable[[int], Program], int]] = {
    "three of a list of numbers": (slice_of_numbers, LARGE),
    "one of a list of tuples": (rows_of_tuples, LARGE),
    "len of a log that grows": (growing_log, LARGE),
    "one layer of 200": (model_of_layers, 200),
    "a wrapper that keeps records": (wrapper_that_stores, LARGE),
    "one column of a table": (column_of_a_table, LARGE),
}


def least(make: Callable[[int], Program], n: int, grad: Any = tapec.grad) -> float:
    """Return the microseconds of a call, once it is known: the least of many."""
    f, change = make(n)
    gradient, w = grad(f), numpy.array([0.1, 0.2, 0.3])
    times = []
    for _ in range(10):
        change()
        gradient(w)
    until = perf_counter() + 2
    while len(times) < CALLS and perf_counter() < until:
        change()
        start = perf_counter()
        gradient(w)
        times.append(perf_counter() - start)
    return 1e6 * min(times)


def main() -> None:
    for name, (make, n) in PROGRAMS.items():
        if make is column_of_a_table and "pandas" not in sys.modules:
            try:
                import pandas  # noqa: F401
            except ImportError:
                continue
        small, large = least(make, SMALL), least(make, n)
        own = f"{SMALL} items {small:7.1f} us   {n:5} {large:7.1f} us   above {large - small:6.1f} us"
        others = [f"{peer} {least(make, n, grad):9.1f} us" for peer, grad in peers(globals())]
        print(f"{name:30} {own}   {'   '.join(others)}", flush=True)


if __name__ == "__main__":
    main()
