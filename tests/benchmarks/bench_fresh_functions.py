"""What a gradient of a function costs that is made anew for each batch, beside a call of one that is kept.

python -m tests.benchmarks.bench_fresh_functions

Beside it stands what autograd and JAX take for the same, where they are installed: a gradient of a function made anew.
"""

from __future__ import annotations

import functools
import importlib
import statistics
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

import tapec

CALLS = 400
PEERS = {"autograd": "autograd.numpy", "jax": "jax.numpy"}


def peers(space: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the name and `grad` of other libraries, whose NumPy is `np` in these globals meanwhile."""
    for name, module in PEERS.items():
        try:
            library, space["np"] = importlib.import_module(name), importlib.import_module(module)
        except ImportError:
            continue
        yield name, library.grad
    space["np"] = importlib.import_module("numpy")


def loss(w, batch):
    x, y = batch
    return np.mean((x @ w - y) ** 2)


def by_definition(batch):
    def of_batch(w):
        return loss(w, batch)

    return of_batch


class Model:
    def __init__(self, batch):
        self.batch = batch

    def loss(self, w):
        return loss(w, self.batch)

    def __call__(self, w):
        return loss(w, self.batch)


FORMS: dict[str, Callable[[Any], Any]] = {
    "lambda": lambda batch: lambda w: loss(w, batch),
    "lambda with a default": lambda batch: lambda w, batch=batch: loss(w, batch),
    "nested definition": by_definition,
    "functools.partial": lambda batch: functools.partial(loss, batch=batch),
    "bound method": lambda batch: Model(batch).loss,
    "callable instance": lambda batch: Model(batch),
}


class Net:
    """Holds twenty arrays, in layers."""

    def __init__(self, rng):
        self.layers = [{"w": rng.normal(size=(8, 8)), "b": rng.normal(size=8)} for _ in range(10)]


def through_two_closures(net):
    def layer(h, k):
        return np.tanh(h @ net.layers[k]["w"] + net.layers[k]["b"])

    def forward(x):
        for k in range(10):
            x = layer(x, k)
        return x

    return lambda x: np.sum(forward(x))


def median(call: Callable[[Any], Any], cases: list[Any]) -> float:
    """Return the median of the microseconds that a call takes, once it is known."""
    for case in cases[:20]:
        call(case)
    times = []
    for case in cases:
        start = perf_counter()
        call(case)
        times.append(perf_counter() - start)
    return 1e6 * statistics.median(times)


def report(name: str, make: Callable[[Any], Any], cases: list[Any], x: Any) -> None:
    """Print what a call of a kept gradient takes, and one of a gradient that is made for the call."""
    kept = tapec.grad(make(cases[0]))
    warm = median(lambda _: kept(x), cases)
    fresh = median(lambda case: tapec.grad(make(case))(x), cases)
    others = [
        f"{peer} {median(lambda case: grad(make(case))(x), cases[:60]):8.1f} us"  # noqa: B023  # used up at once
        for peer, grad in peers(globals())
    ]
    own = f"kept {warm:7.1f} us   fresh {fresh:7.1f} us   above {fresh - warm:6.1f} us"
    print(f"{name:28} {own}   {'   '.join(others)}", flush=True)


def report_numbers() -> None:
    """Print what a gradient takes that captures two whole numbers which change 64 times."""
    step, w = 0, np.array([0.1, 0.2, 0.3])

    def f(w):
        return np.sum(w * 0.9**step) + step * np.sum(w)

    gradient = tapec.grad(f)
    for step in range(64):  # noqa: B007  # the function reads it
        gradient(w)
    compilations = gradient.cache_info().compilations
    times = []
    for step in range(64, 164):  # noqa: B007
        start = perf_counter()
        gradient(w)
        times.append(perf_counter() - start)
    others = [f"{peer} {median(lambda _: grad(f)(w), [None] * 60):8.1f} us" for peer, grad in peers(globals())]  # noqa: B023
    own = f"{compilations} compilations, then {1e6 * statistics.median(times):5.1f} us a call"
    print(f"{'a whole number that changes':28} {own}   {'   '.join(others)}", flush=True)


def main() -> None:
    rng = np.random.default_rng(0)
    batches = [(rng.normal(size=(32, 8)), rng.normal(size=32)) for _ in range(CALLS)]
    for name, make in FORMS.items():
        report(name, make, batches, rng.normal(size=8))
    report_numbers()
    report("two closures, 20 arrays", through_two_closures, [Net(rng) for _ in range(CALLS)], rng.normal(size=8))


if __name__ == "__main__":
    main()
