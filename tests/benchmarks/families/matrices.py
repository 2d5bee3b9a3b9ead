"""Products and factorisations of matrices, where BLAS and LAPACK do most of the work."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy

from tests.benchmarks.families.elementwise import cross_entropy, cross_entropy_in_place
from tests.benchmarks.families.workload import Array, Workload

__all__ = ["WORKLOADS"]


def classifier_data(
    rng: numpy.random.Generator, rows: int, columns: int, hidden: int, kinds: int, dtype: Any
) -> tuple[Array, ...]:
    parts = (
        rng.normal(size=(columns, hidden)) / columns**0.5,
        0.1 * rng.normal(size=hidden),
        rng.normal(size=(hidden, kinds)) / hidden**0.5,
        0.1 * rng.normal(size=kinds),
        rng.uniform(size=(rows, columns)),
    )
    return *[numpy.asarray(part, dtype) for part in parts], rng.integers(0, kinds, rows)


def classifier(np: Any, w: Any, b: Any, v: Any, c: Any, x: Any, labels: Any) -> Any:
    h = np.maximum(x @ w + b, 0.0)
    return cross_entropy(np, h @ v + c, labels)


def classifier_by_hand(w: Array, b: Array, v: Array, c: Array, x: Array, labels: Array) -> tuple[Any, ...]:
    h = x @ w
    h += b
    numpy.maximum(h, 0.0, out=h)
    z = h @ v
    z += c
    value = cross_entropy_in_place(z, labels)
    d_h = z @ v.T
    d_h *= h > 0.0
    return value, x.T @ d_h, d_h.sum(0), h.T @ z, z.sum(0)


def recurrent_data(rng: numpy.random.Generator, steps: int, rows: int, columns: int, hidden: int) -> tuple[Array, ...]:
    return (
        rng.normal(size=(columns, hidden)) / columns**0.5,
        0.7 * rng.normal(size=(hidden, hidden)) / hidden**0.5,
        0.1 * rng.normal(size=hidden),
        rng.normal(size=(hidden, 1)) / hidden**0.5,
        rng.normal(size=(steps, rows, columns)),
        rng.normal(size=(rows, 1)),
    )


def recurrent(np: Any, w: Any, r: Any, b: Any, v: Any, x: Any, y: Any) -> Any:
    h = np.zeros((x.shape[1], w.shape[1]))
    for t in range(x.shape[0]):
        h = np.tanh(x[t] @ w + h @ r + b)
    return np.mean((h @ v - y) ** 2)


def recurrent_by_hand(w: Array, r: Array, b: Array, v: Array, x: Array, y: Array) -> tuple[Any, ...]:
    """Products with inputs, and those for the gradients of weights, stand outside of the loops."""
    steps, rows, columns = x.shape
    hidden = len(b)
    flat = x.reshape(-1, columns)
    states = numpy.empty((steps + 1, rows, hidden))
    states[0] = 0.0
    z = (flat @ w).reshape(steps, rows, hidden)
    z += b
    for t in range(steps):
        z_t = z[t]
        z_t += states[t] @ r
        numpy.tanh(z_t, out=states[t + 1])
    last = states[steps]
    e = last @ v
    e -= y
    value = numpy.vdot(e, e) / e.size
    e *= 2.0 / e.size
    d_v = last.T @ e
    d_h = e @ v.T
    numpy.multiply(states[1:], states[1:], out=z)
    numpy.subtract(1.0, z, out=z)  # the derivative of tanh
    for t in range(steps - 1, -1, -1):
        d_z = z[t]
        d_z *= d_h
        if t:
            numpy.matmul(d_z, r.T, out=d_h)
    d_z = z.reshape(-1, hidden)
    return value, flat.T @ d_z, states[:-1].reshape(-1, hidden).T @ d_z, d_z.sum(0), d_v


def process_data(rng: numpy.random.Generator, n: int) -> tuple[Array, ...]:
    x = rng.uniform(-2, 2, size=(n, 3))
    y = numpy.sin(x[:, 0]) + numpy.cos(2 * x[:, 1]) + 0.1 * rng.normal(size=n)
    return numpy.array([0.1, -0.1, 0.3, 0.2, -1.5]), x, y


def process(np: Any, theta: Any, x: Any, y: Any) -> Any:
    """The negative log likelihood of a Gaussian process; `theta` has logarithms of lengths, amplitude and noise."""
    x = x / np.exp(theta[:3])
    squares = np.sum(x * x, axis=1)
    distance = squares[:, None] + squares[None, :] - 2.0 * (x @ x.T)
    k = np.exp(2.0 * theta[3] - 0.5 * distance) + np.exp(2.0 * theta[4]) * np.eye(len(y))
    factor = np.linalg.cholesky(k)
    alpha = np.linalg.solve(factor.T, np.linalg.solve(factor, y))
    return 0.5 * (y @ alpha) + np.sum(np.log(np.diag(factor))) + 0.5 * len(y) * math.log(2.0 * math.pi)


def process_by_hand(theta: Array, x: Array, y: Array) -> tuple[float, Array]:
    """By the closed form, with the inverse of the kernel."""
    n = len(y)
    x = x * numpy.exp(-theta[:3])
    squares = numpy.einsum("ij,ij->i", x, x)
    smooth = x @ x.T
    smooth -= 0.5 * squares[:, None]
    smooth -= 0.5 * squares
    smooth += 2.0 * theta[3]
    numpy.exp(smooth, out=smooth)
    noise = math.exp(2.0 * theta[4])
    k = smooth.copy()
    k[numpy.arange(n), numpy.arange(n)] += noise
    factor = numpy.linalg.cholesky(k)
    d_k = numpy.linalg.inv(k)
    alpha = d_k @ y
    value = 0.5 * (y @ alpha) + numpy.log(factor.diagonal()).sum() + 0.5 * n * math.log(2.0 * math.pi)
    d_k -= numpy.outer(alpha, alpha)
    d_k *= 0.5
    d_noise = numpy.trace(d_k)
    d_k *= smooth
    rows = d_k.sum(1)
    d_theta = numpy.empty(5)
    d_theta[:3] = 2.0 * (rows @ (x * x) - numpy.einsum("ik,ik->k", x, d_k @ x))
    d_theta[3] = 2.0 * rows.sum()
    d_theta[4] = 2.0 * noise * d_noise
    return value, d_theta


def factors_data(rng: numpy.random.Generator, rows: int, columns: int, rank: int) -> tuple[Array, ...]:
    ratings = rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns)) / rank**0.5
    known = (rng.uniform(size=(rows, columns)) < 0.3).astype(float)
    return 0.3 * rng.normal(size=(rows, rank)), 0.3 * rng.normal(size=(columns, rank)), ratings, known


def factors(np: Any, u: Any, v: Any, ratings: Any, known: Any) -> Any:
    return np.sum(known * (u @ v.T - ratings) ** 2) + 0.1 * (np.sum(u * u) + np.sum(v * v))


def factors_by_hand(u: Array, v: Array, ratings: Array, known: Array) -> tuple[float, Array, Array]:
    e = u @ v.T
    e -= ratings
    e *= known  # which is 0 or 1, so its square is itself
    value = numpy.vdot(e, e) + 0.1 * (numpy.vdot(u, u) + numpy.vdot(v, v))
    d_u = e @ v
    d_u += 0.1 * u
    d_u *= 2.0
    d_v = e.T @ u
    d_v += 0.1 * v
    d_v *= 2.0
    return value, d_u, d_v


def classification(dtype: Any, tolerance: float) -> Workload:
    return Workload(
        f"net 784-256-10, {numpy.dtype(dtype).name}",
        "matrices",
        classifier,
        classifier_by_hand,
        partial(classifier_data, dtype=dtype),
        (256, 784, 256, 10),
        (8, 6, 5, 4),
        wrt=(0, 1, 2, 3),
        tolerance=tolerance,
    )


WORKLOADS = (
    classification(numpy.float32, 1e-5),
    classification(numpy.float64, 1e-9),
    Workload(
        "recurrent net, 50 steps",
        "matrices",
        recurrent,
        recurrent_by_hand,
        recurrent_data,
        (50, 32, 32, 64),
        (6, 3, 4, 5),
        wrt=(0, 1, 2, 3),
    ),
    Workload("Gaussian process 300", "matrices", process, process_by_hand, process_data, (300,), (12,)),
    Workload(
        "matrix factors 1000×800",
        "matrices",
        factors,
        factors_by_hand,
        factors_data,
        (1000, 800, 20),
        (9, 7, 3),
        wrt=(0, 1),
    ),
)
