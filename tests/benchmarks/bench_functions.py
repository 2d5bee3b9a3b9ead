"""What compiled functions cost: calls, first calls, control flow. Run as a script; prints microseconds and ratios.

python -m tests.benchmarks.bench_functions
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapec
from tests.benchmarks.timing import best, once, row


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_by_hand(x):
    a = x[:-1]
    d = x[1:] - a * a
    e = 1.0 - a
    g = np.zeros_like(x)
    g[1:] = 200.0 * d
    g[:-1] -= 400.0 * a * d + 2.0 * e
    return 100.0 * (d @ d) + e @ e, g


def lotka_volterra(steps):
    def rhs(p, y):
        u, v = y[0], y[1]
        return np.stack([p[0] * u - p[1] * u * v, p[2] * u * v - p[3] * v])

    def loss(p, y):
        h = 0.02
        for _ in range(steps):
            k1 = rhs(p, y)
            k2 = rhs(p, y + 0.5 * h * k1)
            k3 = rhs(p, y + 0.5 * h * k2)
            k4 = rhs(p, y + h * k3)
            y = y + (h / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return np.sum(y * y)

    return loss


def chain(n):
    def loss(x):
        y = x
        for _ in range(n // 2):
            y = y * 1.0001
            y = y + x
        return np.sum(y)

    return loss


def twenty(x):
    y = np.sin(x)
    for _ in range(6):
        y = np.tanh(y) * x + np.exp(-y)
    return np.sum(y)


def calls() -> None:
    a, b = np.ones((4, 3)), np.ones((4, 3))
    product = tapec.compile(lambda a, b: a * b)
    row("call of two arrays above its body", best(lambda: product(a, b)) - best(lambda: a * b), "us", "<= 1.5")
    ten = {f"p{i}": np.ones(3) for i in range(10)}
    first = tapec.compile(lambda p: p["p0"] * 2.0)
    p0 = ten["p0"]
    row("call of a dict of ten arrays above its body", best(lambda: first(ten)) - best(lambda: p0 * 2.0), "us", "<= 5")

    x = np.random.default_rng(0).normal(size=10)
    ours, by_hand = tapec.value_and_grad(rosenbrock), rosenbrock_by_hand
    row("Rosenbrock n=10, value and gradient", best(lambda: ours(x)), "us", "<= 6")
    row("    by hand", best(lambda: by_hand(x)), "us")
    for name, peer in peers().items():
        row(f"    {name}", best(lambda peer=peer: peer(x)), "us")


def peers() -> dict[str, Callable[[Any], Any]]:
    """The same by whichever peers are installed."""
    found: dict[str, Callable[[Any], Any]] = {}
    try:
        import jax

        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp

        fast = jax.jit(jax.value_and_grad(lambda x: jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)))
        found["jax.jit"] = lambda x: [np.asarray(r) for r in fast(x)]
    except ImportError:
        pass
    try:
        import autograd
        import autograd.numpy as anp

        found["autograd"] = autograd.value_and_grad(
            lambda x: anp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
        )
    except ImportError:
        pass
    return found


def first_calls() -> None:
    tapec.grad(twenty)(np.ones(4))  # what is imported and remembered once is not counted
    row(
        "first call of a 20-operation function",
        once(lambda: tapec.grad(lambda x: 2.0 * twenty(x))(np.ones(5))),
        "ms",
        "<= 5",
    )
    p, y = np.array([1.5, 1.0, 3.0, 1.0]), np.array([1.0, 1.0])
    for steps, budget in ((10, "<= 150"), (200, "<= 3000")):
        g = tapec.value_and_grad(lotka_volterra(steps), argnums=(0, 1))
        row(f"first call of {steps} unrolled RK4 steps", once(lambda g=g: g(p, y)), "ms", budget)
        row("    later calls", best(lambda g=g: g(p, y)), "us")
    for n in (1_000, 10_000, 40_000):
        ms = once(lambda n=n: tapec.grad(chain(n))(np.ones(3)))
        row(f"first call of {n} operations, for each", ms * 1e3 / n, "us")


def paths() -> None:
    @tapec.grad
    def f(x):
        if x[0] > 0:
            return np.sum(np.sin(x) * x)
        return np.sum(np.cos(x) * x)

    a, b = np.ones(1000), -np.ones(1000)
    f(a), f(b)
    one = (best(lambda: f(a)) + best(lambda: f(b))) / 2
    both = best(lambda: (f(a), f(b))) / 2
    row("alternating between two known paths, ratio to one path", both / one, "", "<= 1.2")


if __name__ == "__main__":
    calls()
    first_calls()
    paths()
