"""Jacobians, Hessians, and a gradient for each example."""

from __future__ import annotations

from typing import Any

import numpy

from tests.benchmarks.families.latency import rosenbrock
from tests.benchmarks.families.workload import Array, Task, Workload

__all__ = ["WORKLOADS"]


def field(np: Any, x: Any, a: Any) -> Any:
    return np.tanh(a @ x) * np.sin(x)


def field_jacobian_by_hand(x: Array, a: Array) -> tuple[Array]:
    t = numpy.tanh(a @ x)
    jacobian = a * ((1.0 - t * t) * numpy.sin(x))[:, None]
    i = numpy.arange(len(x))
    jacobian[i, i] += t * numpy.cos(x)
    return (jacobian,)


def rosenbrock_hessian_by_hand(x: Array) -> tuple[Array]:
    """By its three diagonals."""
    n = len(x)
    hessian = numpy.zeros((n, n))
    i = numpy.arange(n)
    hessian[i[1:], i[1:]] = 200.0
    hessian[i[:-1], i[:-1]] += 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    hessian[i[:-1], i[1:]] = hessian[i[1:], i[:-1]] = -400.0 * x[:-1]
    return (hessian,)


def examples_data(rng: numpy.random.Generator, rows: int, columns: int) -> tuple[Array, ...]:
    x = rng.normal(size=(rows, columns))
    return 0.2 * rng.normal(size=columns), x, numpy.where(x @ rng.normal(size=columns) > 0, 1.0, -1.0)


def example_loss(np: Any, w: Any, x: Any, y: Any) -> Any:
    return np.logaddexp(0.0, -y * (x @ w)) + 0.05 * np.sum(w * w)


def example_gradients_by_hand(w: Array, x: Array, y: Array) -> tuple[Array]:
    s = x @ w
    s *= y
    numpy.exp(s, out=s)
    s += 1.0
    numpy.divide(y, s, out=s)
    numpy.negative(s, out=s)
    gradients = x * s[:, None]
    gradients += 0.1 * w
    return (gradients,)


WORKLOADS = (
    Workload(
        "Jacobian 100×100",
        "higher order",
        field,
        field_jacobian_by_hand,
        lambda rng, n: (rng.normal(size=n), rng.normal(size=(n, n)) / n**0.5),
        (100,),
        (6,),
        task=Task.JACOBIAN,
    ),
    Workload(
        "Hessian, rosenbrock 100",
        "higher order",
        rosenbrock,
        rosenbrock_hessian_by_hand,
        lambda rng, n: (rng.normal(size=n),),
        (100,),
        (6,),
        task=Task.HESSIAN,
    ),
    Workload(
        "per example 512×50",
        "higher order",
        example_loss,
        example_gradients_by_hand,
        examples_data,
        (512, 50),
        (7, 4),
        task=Task.PER_EXAMPLE,
    ),
)
