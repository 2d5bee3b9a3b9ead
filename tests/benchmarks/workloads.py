"""Workloads that gradients are compared on: the objective once over a namespace, its derivative by hand, data.

`objective(np, *args)` is written as a user writes it; `by_hand(*args)` is the gradient by the first argument, as an
expert would write it in NumPy (for scalar programs: in Python floats). `torch` is the objective in PyTorch's own words,
where the namespace does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

__all__ = ["WARM_UP", "WORKLOADS", "Workload"]

rng = numpy.random.default_rng(0)


@dataclass(frozen=True)
class Workload:
    """`what` is grad, hessian or per_example."""

    name: str
    category: str
    objective: Callable[..., Any]
    by_hand: Callable[..., Any]
    args: tuple[Any, ...]
    torch: Callable[..., Any] | None = None
    what: str = "grad"


# -- latency: little work, so the call is what costs ------------------------------------------------------------------
def wave(np, x):
    return x * x * np.sin(x) + 3.0 * x


def wave_by_hand(x):
    return 2.0 * x * math.sin(x) + x * x * math.cos(x) + 3.0


def rosenbrock(np, x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_by_hand(x):
    a = x[:-1]
    d = x[1:] - a * a
    g = numpy.zeros_like(x)
    g[:-1] = -400.0 * a * d - 2.0 * (1.0 - a)
    g[1:] += 200.0 * d
    return g


def logistic(np, w, x, y):
    z = x @ w
    return np.mean(np.logaddexp(0.0, z) - y * z)


def logistic_by_hand(w, x, y):
    return x.T @ ((1.0 / (1.0 + numpy.exp(-(x @ w))) - y) / len(y))


def logistic_torch(torch, w, x, y):
    z = x @ w
    return torch.mean(torch.nn.functional.softplus(z) - y * z)


def small_net(np, w, v, x, y):
    return np.mean((np.tanh(x @ w) @ v - y) ** 2)


def small_net_by_hand(w, v, x, y):
    h = numpy.tanh(x @ w)
    d = (2.0 / len(y)) * (h @ v - y)
    return x.T @ ((d[:, None] * v) * (1.0 - h * h))


# -- scalar loops -----------------------------------------------------------------------------------------------------
def pendulum(np, length):
    angle, speed = 1.0, 0.0
    for _ in range(40):
        speed = speed - 0.05 * (9.81 / length * np.sin(angle) + 0.2 * speed)
        angle = angle + 0.05 * speed
    return (angle - 0.3) ** 2


def pendulum_by_hand(length):
    angle, speed, d_angle, d_speed = 1.0, 0.0, 0.0, 0.0
    pull = 9.81 / length
    d_pull = -pull / length
    for _ in range(40):
        s, c = math.sin(angle), math.cos(angle)
        d_speed = d_speed - 0.05 * (d_pull * s + pull * c * d_angle + 0.2 * d_speed)
        speed = speed - 0.05 * (pull * s + 0.2 * speed)
        d_angle += 0.05 * d_speed
        angle += 0.05 * speed
    return 2.0 * (angle - 0.3) * d_angle


def pendulum_torch(torch, length):
    angle, speed = torch.tensor(1.0, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)
    for _ in range(40):
        speed = speed - 0.05 * (9.81 / length * torch.sin(angle) + 0.2 * speed)
        angle = angle + 0.05 * speed
    return (angle - 0.3) ** 2


# -- large elementwise ------------------------------------------------------------------------------------------------
def chain(np, x):
    return np.sum(np.tanh(x) * np.exp(-x * x) + np.log1p(x * x))


def chain_by_hand(x):
    t = numpy.tanh(x)
    q = x * x
    e = numpy.exp(-q)
    g = (1.0 - t * t) * e
    t *= x
    t *= e
    t *= 2.0
    g -= t
    q += 1.0
    numpy.divide(x, q, out=q)
    q *= 2.0
    g += q
    return g


def cross_entropy(np, w, x, labels):
    z = x @ w
    m = np.max(z, axis=1, keepdims=True)
    log_sum = np.log(np.sum(np.exp(z - m), axis=1)) + m[:, 0]
    return np.mean(log_sum - z[np.arange(z.shape[0]), labels])


def cross_entropy_by_hand(w, x, labels):
    z = x @ w
    z -= z.max(axis=1, keepdims=True)
    numpy.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    z[numpy.arange(len(labels)), labels] -= 1.0
    z /= len(labels)
    return x.T @ z


def cross_entropy_torch(torch, w, x, labels):
    return torch.nn.functional.cross_entropy(x @ w, labels)


# -- linear algebra ---------------------------------------------------------------------------------------------------
def attention(np, q, k, v, g):
    s = q @ k.T / 8.0
    e = np.exp(s - np.max(s, axis=1, keepdims=True))
    return np.sum((e / np.sum(e, axis=1, keepdims=True)) @ v * g)


def attention_by_hand(q, k, v, g):
    p = q @ k.T
    p /= 8.0
    p -= p.max(axis=1, keepdims=True)
    numpy.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    d_p = g @ v.T
    d_p -= numpy.einsum("ij,ij->i", p, d_p)[:, None]
    d_p *= p
    d_q = d_p @ k
    d_q /= 8.0
    return d_q


def attention_torch(torch, q, k, v, g):
    return torch.sum(torch.softmax(q @ k.T / 8.0, dim=1) @ v * g)


def network(np, w, v, x, y):
    return np.mean((np.tanh(np.tanh(x @ w) @ v) - y) ** 2)


def network_by_hand(w, v, x, y):
    h = numpy.tanh(x @ w)
    out = numpy.tanh(h @ v)
    d = out - y
    out *= out
    numpy.subtract(1.0, out, out=out)
    d *= out
    d *= 2.0 / d.size
    d_h = d @ v.T
    h *= h
    numpy.subtract(1.0, h, out=h)
    d_h *= h
    return x.T @ d_h


def gaussian(np, log_length, apart, y):
    k = np.exp(-apart * np.exp(-2.0 * log_length)) + 0.1 * np.eye(apart.shape[0])
    return y @ np.linalg.solve(k, y) + np.linalg.slogdet(k)[1]


def gaussian_by_hand(log_length, apart, y):
    scale = numpy.exp(-2.0 * log_length)
    e = numpy.exp(-apart * scale)
    inverse = numpy.linalg.inv(e + 0.1 * numpy.eye(len(y)))
    alpha = inverse @ y
    inverse -= numpy.outer(alpha, alpha)
    e *= apart
    return 2.0 * scale * numpy.vdot(inverse, e)


def gaussian_torch(torch, log_length, apart, y):
    k = torch.exp(-apart * torch.exp(-2.0 * log_length)) + 0.1 * torch.eye(apart.shape[0], dtype=apart.dtype)
    return y @ torch.linalg.solve(k, y) + torch.linalg.slogdet(k)[1]


# -- higher order -----------------------------------------------------------------------------------------------------
def rosenbrock_hessian_by_hand(x):
    n = len(x)
    h = numpy.zeros((n, n))
    i = numpy.arange(n - 1)
    h[i, i] = 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    h[i + 1, i + 1] += 200.0
    h[i, i + 1] = h[i + 1, i] = -400.0 * x[:-1]
    return h


def logistic_each(np, w, x, y):
    z = np.sum(x * w)
    return np.logaddexp(0.0, z) - y * z


def logistic_each_torch(torch, w, x, y):
    z = torch.sum(x * w)
    return torch.nn.functional.softplus(z) - y * z


def logistic_each_by_hand(w, x, y):
    return x * (1.0 / (1.0 + numpy.exp(-(x @ w))) - y)[:, None]


# -- gathers ----------------------------------------------------------------------------------------------------------
def embedding(np, table, rows, v):
    return np.sum(np.tanh(table[rows] @ v))


def embedding_by_hand(table, rows, v):
    t = numpy.tanh(table[rows] @ v)
    g = numpy.zeros_like(table)
    numpy.add.at(g, rows, (1.0 - t * t)[:, None] * v)
    return g


def normal(*shape: int) -> Any:
    return rng.standard_normal(shape)


_points = normal(200)
_labels = rng.integers(0, 1000, 512)
_zeros_ones = (normal(200) > 0).astype(float)
_apart = (_points[:, None] - _points) ** 2

WARM_UP = Workload("warm-up", "", lambda np, x: np.sum(np.sin(x)), numpy.cos, (normal(3),))
WORKLOADS = (
    Workload("wave", "latency", wave, wave_by_hand, (0.7,)),
    Workload("rosenbrock 10", "latency", rosenbrock, rosenbrock_by_hand, (normal(10),)),
    Workload(
        "logistic 200×10",
        "latency",
        logistic,
        logistic_by_hand,
        (normal(10), normal(200, 10), _zeros_ones),
        logistic_torch,
    ),
    Workload(
        "net 4-8-1", "latency", small_net, small_net_by_hand, (normal(4, 8), normal(8), normal(32, 4), normal(32))
    ),
    Workload("pendulum, 40 steps", "scalar loop", pendulum, pendulum_by_hand, (1.3,), pendulum_torch),
    Workload("chain of 10⁶", "elementwise", chain, chain_by_hand, (normal(1_000_000),)),
    Workload(
        "cross entropy 512×1000",
        "elementwise",
        cross_entropy,
        cross_entropy_by_hand,
        (normal(20, 1000), normal(512, 20), _labels),
        cross_entropy_torch,
    ),
    Workload(
        "softmax regression 10000×784",
        "matrices",
        cross_entropy,
        cross_entropy_by_hand,
        (normal(784, 10) / 28, normal(10_000, 784), rng.integers(0, 10, 10_000)),
        cross_entropy_torch,
    ),
    Workload(
        "attention 1024×64",
        "matrices",
        attention,
        attention_by_hand,
        tuple(normal(1024, 64) for _ in range(4)),
        attention_torch,
    ),
    Workload(
        "net 784-256-10",
        "matrices",
        network,
        network_by_hand,
        (normal(784, 256) / 28, normal(256, 10) / 16, normal(128, 784), normal(128, 10)),
    ),
    Workload(
        "Gaussian process 200", "matrices", gaussian, gaussian_by_hand, (0.3, _apart, normal(200)), gaussian_torch
    ),
    Workload(
        "Hessian, rosenbrock 50", "higher order", rosenbrock, rosenbrock_hessian_by_hand, (normal(50),), what="hessian"
    ),
    Workload(
        "per example 256×50",
        "higher order",
        logistic_each,
        logistic_each_by_hand,
        (normal(50), normal(256, 50), (normal(256) > 0).astype(float)),
        logistic_each_torch,
        what="per_example",
    ),
    Workload(
        "embedding 10000×64",
        "gather",
        embedding,
        embedding_by_hand,
        (normal(10_000, 64), rng.integers(0, 10_000, 512), normal(64)),
    ),
)
