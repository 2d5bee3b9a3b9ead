"""Small programs, in which calls cost more than arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy

from tests.benchmarks.families.workload import LEARNING_RATE, Array, Task, Workload

__all__ = ["WORKLOADS", "rosenbrock"]


def square(np: Any, x: Any) -> Any:
    return x * x


def square_by_hand(x: float) -> tuple[float, float]:
    return x * x, 2.0 * x


def polynomial(np: Any, x: Any) -> Any:
    return 3.0 * x**3 - 2.0 * x**2 + x - 5.0 + np.sin(2.0 * x) * x


def polynomial_by_hand(x: float) -> tuple[float, float]:
    x2 = x * x
    sin, cos = math.sin(2.0 * x), math.cos(2.0 * x)
    return 3.0 * x2 * x - 2.0 * x2 + x - 5.0 + sin * x, 9.0 * x2 - 4.0 * x + 1.0 + 2.0 * cos * x + sin


def rosenbrock(np: Any, x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_by_hand(x: Array) -> tuple[float, Array]:
    a = x[:-1]
    d = x[1:] - a * a
    e = 1.0 - a
    d_x = numpy.zeros_like(x)
    d_x[1:] = 200.0 * d
    d_x[:-1] -= 400.0 * a * d + 2.0 * e
    return 100.0 * (d @ d) + e @ e, d_x


def logistic_data(rng: numpy.random.Generator, rows: int, columns: int) -> tuple[Any, ...]:
    x = rng.normal(size=(rows, columns))
    y = numpy.where(x @ rng.normal(size=columns) + 0.3 * rng.normal(size=rows) > 0, 1.0, -1.0)
    return 0.1 * rng.normal(size=columns), numpy.float64(0.05), x, y


def logistic(np: Any, w: Any, b: Any, x: Any, y: Any) -> Any:
    return np.mean(np.logaddexp(0.0, -y * (x @ w + b))) + 0.005 * np.sum(w * w)


def logistic_by_hand(w: Array, b: float, x: Array, y: Array) -> tuple[float, Array, float]:
    m = x @ w
    m += b
    m *= y
    numpy.negative(m, out=m)
    losses = numpy.logaddexp(0.0, m)
    d_m = numpy.exp(m - losses)
    d_m *= y
    d_m *= -1.0 / len(y)
    return losses.mean() + 0.005 * (w @ w), x.T @ d_m + 0.01 * w, d_m.sum()


def net_data(rng: numpy.random.Generator, rows: int, columns: int, hidden: int) -> tuple[Any, ...]:
    x = rng.normal(size=(rows, columns))
    y = numpy.sin(x.sum(1, keepdims=True))
    w, v = rng.normal(size=(columns, hidden)) / columns**0.5, rng.normal(size=(hidden, 1)) / hidden**0.5
    return w, 0.1 * rng.normal(size=hidden), v, 0.1 * rng.normal(size=1), x, y


def net(np: Any, w: Any, b: Any, v: Any, c: Any, x: Any, y: Any) -> Any:
    h = np.tanh(x @ w + b)
    return np.mean((h @ v + c - y) ** 2)


def net_by_hand(w: Array, b: Array, v: Array, c: Array, x: Array, y: Array) -> tuple[Any, ...]:
    h = x @ w
    h += b
    numpy.tanh(h, out=h)
    e = h @ v
    e += c
    e -= y
    flat = e.ravel()
    loss = flat @ flat / flat.size
    e *= 2.0 / flat.size
    d_v = h.T @ e
    d_c = e.sum(0)
    d_h = e @ v.T
    h *= h
    numpy.subtract(1.0, h, out=h)
    d_h *= h
    return loss, x.T @ d_h, d_h.sum(0), d_v, d_c


def step_by_hand(parameters: list[Array], x: Array, y: Array) -> list[Any]:
    loss, *gradients = net_by_hand(*parameters, x, y)
    for p, g in zip(parameters, gradients, strict=True):
        g *= LEARNING_RATE
        p -= g
    return [loss, *parameters]


WORKLOADS = (
    Workload("square", "latency", square, square_by_hand, lambda rng: (numpy.float64(3.0),)),
    Workload("polynomial and sine", "latency", polynomial, polynomial_by_hand, lambda rng: (numpy.float64(0.7),)),
    Workload(
        "rosenbrock 10", "latency", rosenbrock, rosenbrock_by_hand, lambda rng, n: (rng.normal(size=n),), (10,), (5,)
    ),
    Workload("logistic 200×10", "latency", logistic, logistic_by_hand, logistic_data, (200, 10), (12, 3), wrt=(0, 1)),
    Workload("net 4-8-1", "latency", net, net_by_hand, net_data, (32, 4, 8), (6, 4, 3), wrt=(0, 1, 2, 3)),
    Workload(
        "tape step 16-32-1",
        "latency",
        net,
        step_by_hand,
        net_data,
        (64, 16, 32),
        (6, 4, 3),
        wrt=(0, 1, 2, 3),
        task=Task.STEP,
    ),
)
