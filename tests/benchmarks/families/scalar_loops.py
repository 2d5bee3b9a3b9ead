"""Loops over scalars: unrolled steps of an integrator, and a loop whose end depends on data."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from tests.benchmarks.families.workload import Array, Workload

__all__ = ["WORKLOADS"]

STEP = 0.02


def rates(np: Any, p: Any, y: Any) -> Any:
    u, v = y[0], y[1]
    return np.stack([p[0] * u - p[1] * u * v, p[2] * u * v - p[3] * v])


def predators(np: Any, p: Any, y: Any, steps: int) -> Any:
    """Lotka and Volterra's prey and predators, by the classical method of Runge and Kutta."""
    for _ in range(steps):
        k1 = rates(np, p, y)
        k2 = rates(np, p, y + 0.5 * STEP * k1)
        k3 = rates(np, p, y + 0.5 * STEP * k2)
        k4 = rates(np, p, y + STEP * k3)
        y = y + (STEP / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return np.sum(y * y)


def predators_by_hand(p: Array, y: Array, steps: int) -> tuple[float, Array, Array]:
    """Written out, since a function call costs more than the arithmetic of a stage."""
    h = STEP
    a, b, c, d = p.tolist()
    u, v = y.tolist()
    states = []
    for _ in range(steps):
        uv = u * v
        k1u, k1v = a * u - b * uv, c * uv - d * v
        u2, v2 = u + 0.5 * h * k1u, v + 0.5 * h * k1v
        uv = u2 * v2
        k2u, k2v = a * u2 - b * uv, c * uv - d * v2
        u3, v3 = u + 0.5 * h * k2u, v + 0.5 * h * k2v
        uv = u3 * v3
        k3u, k3v = a * u3 - b * uv, c * uv - d * v3
        u4, v4 = u + h * k3u, v + h * k3v
        uv = u4 * v4
        k4u, k4v = a * u4 - b * uv, c * uv - d * v4
        states.append((u, v, u2, v2, u3, v3, u4, v4))
        u += h / 6.0 * (k1u + 2.0 * k2u + 2.0 * k3u + k4u)
        v += h / 6.0 * (k1v + 2.0 * k2v + 2.0 * k3v + k4v)
    value = u * u + v * v

    d_u, d_v = 2.0 * u, 2.0 * v
    d_a = d_b = d_c = d_d = 0.0
    for u, v, u2, v2, u3, v3, u4, v4 in reversed(states):
        sixth_u, sixth_v = h / 6.0 * d_u, h / 6.0 * d_v
        # stage 4: (ku, kv) is the cotangent of its rates, (su, sv) that of the point where it takes them
        ku, kv = sixth_u, sixth_v
        uv = u4 * v4
        d_a, d_b, d_c, d_d = d_a + ku * u4, d_b - ku * uv, d_c + kv * uv, d_d - kv * v4
        t = kv * c - ku * b
        su, sv = ku * a + t * v4, t * u4 - kv * d
        d_u, d_v = d_u + su, d_v + sv
        # stage 3
        ku, kv = 2.0 * sixth_u + h * su, 2.0 * sixth_v + h * sv
        uv = u3 * v3
        d_a, d_b, d_c, d_d = d_a + ku * u3, d_b - ku * uv, d_c + kv * uv, d_d - kv * v3
        t = kv * c - ku * b
        su, sv = ku * a + t * v3, t * u3 - kv * d
        d_u, d_v = d_u + su, d_v + sv
        # stage 2
        ku, kv = 2.0 * sixth_u + 0.5 * h * su, 2.0 * sixth_v + 0.5 * h * sv
        uv = u2 * v2
        d_a, d_b, d_c, d_d = d_a + ku * u2, d_b - ku * uv, d_c + kv * uv, d_d - kv * v2
        t = kv * c - ku * b
        su, sv = ku * a + t * v2, t * u2 - kv * d
        d_u, d_v = d_u + su, d_v + sv
        # stage 1
        ku, kv = sixth_u + 0.5 * h * su, sixth_v + 0.5 * h * sv
        uv = u * v
        d_a, d_b, d_c, d_d = d_a + ku * u, d_b - ku * uv, d_c + kv * uv, d_d - kv * v
        t = kv * c - ku * b
        d_u, d_v = d_u + ku * a + t * v, d_v + t * u - kv * d
    return value, numpy.array([d_a, d_b, d_c, d_d]), numpy.array([d_u, d_v])


def newton(np: Any, x: Any) -> Any:
    """A square root: as many steps as it takes."""
    y = x
    while abs(y * y - x) > 1e-12 * x:
        y = 0.5 * (y + x / y)
    return y


def newton_by_hand(x: float) -> tuple[float, float]:
    x = float(x)
    y, dy = x, 1.0
    while abs(y * y - x) > 1e-12 * x:
        q = x / y
        dy = 0.5 * (dy + (1.0 - q * dy) / y)
        y = 0.5 * (y + q)
    return y, dy


def integration(steps: int) -> Workload:
    return Workload(
        f"Lotka-Volterra, {steps} steps",
        "scalar loops",
        partial(predators, steps=steps),
        partial(predators_by_hand, steps=steps),
        lambda rng: (numpy.array([1.5, 1.0, 1.0, 3.0]), numpy.array([1.0, 0.8])),
        wrt=(0, 1),
    )


WORKLOADS = (
    integration(10),
    integration(50),
    integration(200),
    Workload("Newton's square root", "scalar loops", newton, newton_by_hand, lambda rng: (numpy.float64(12345.678),)),
)
