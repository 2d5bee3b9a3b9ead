"""What compiling costs: differentiation, each pass, first calls on large arrays. Run as a script.

python -m tests.benchmarks.bench_compile
"""

from __future__ import annotations

import numpy as np

import tapec
from tapec.passes.pass_report import Report
from tapec.passes.pipeline import optimize
from tapec.runtime.gc_pause import resting_collector
from tests.benchmarks.bench_functions import chain, lotka_volterra
from tests.benchmarks.timing import best, once, row


def recurrent(x, w):
    h = np.zeros((8, 16))
    for t in range(50):
        h = np.tanh(x[t] @ w + h @ w + 0.1)
    return np.mean(h**2)


def passes() -> None:
    p, y = np.array([1.5, 1.0, 3.0, 1.0]), np.array([1.0, 1.0])
    rng = np.random.default_rng(0)
    programs = {
        "200 unrolled RK4 steps": (lotka_volterra(200), (p, y)),
        "a recurrent network": (recurrent, (rng.normal(size=(50, 8, 16)), rng.normal(size=(16, 16)))),
        **{f"{n} operations": (chain(n), (np.ones(3),)) for n in (1_000, 10_000, 100_000)},
    }
    for name, (function, args) in programs.items():
        f = tapec.value_and_grad(function)
        graph = f.ir(*args, stage="gradient")
        report = Report()
        with resting_collector():
            ms = min(once(lambda graph=graph: optimize(graph)) for _ in range(3))
            optimize(graph, report)
        row(f"passes over {name}, for each node", ms * 1e3 / len(graph.nodes), "us")
        for part in report.passes:
            row(f"    {part.name}", part.seconds * 1e6 / len(graph.nodes), "us")


def large_arrays() -> None:
    """A first call traces, compiles, and runs once: it should cost little more than the next one."""
    x = np.random.default_rng(0).normal(size=1_000_000)

    def loss(x):
        return np.sum(np.tanh(x) * np.exp(-x * x) + np.log1p(x * x))

    tapec.value_and_grad(lambda x: 2.0 * loss(x))(x)
    f = tapec.value_and_grad(loss)
    row("first call on a million numbers", once(lambda: f(x)), "ms", "<= 50")
    row("    later calls", best(lambda: f(x)) / 1e3, "ms")


if __name__ == "__main__":
    passes()
    large_arrays()
