"""Large arrays, element by element and along rows: memory traffic is what costs."""

from __future__ import annotations

from typing import Any

import numpy

from tests.benchmarks.families.workload import Array, Workload

__all__ = ["WORKLOADS", "cross_entropy", "cross_entropy_in_place"]

GELU_SCALE, GELU_CUBE = 0.7978845608028654, 0.044715  # GELU in its form with tanh


def chain(np: Any, x: Any, y: Any) -> Any:
    return np.sum(np.tanh(x * y) * np.exp(-x * x) + np.log1p(y * y))


def chain_by_hand(x: Array, y: Array) -> tuple[float, Array, Array]:
    t = x * y
    numpy.tanh(t, out=t)
    e = x * x
    numpy.negative(e, out=e)
    numpy.exp(e, out=e)
    q = y * y
    value = t @ e + numpy.log1p(q).sum()
    d_x = t * t
    numpy.subtract(1.0, d_x, out=d_x)
    d_x *= e  # the cotangent of x * y
    d_y = x * d_x
    q += 1.0
    numpy.divide(y, q, out=q)
    q *= 2.0
    d_y += q
    d_x *= y
    t *= e
    t *= x
    t *= 2.0
    d_x -= t
    return value, d_x, d_y


def cross_entropy(np: Any, z: Any, labels: Any) -> Any:
    z = z - np.max(z, axis=1, keepdims=True)
    log_sum = np.log(np.sum(np.exp(z), axis=1))
    return np.mean(log_sum - z[np.arange(len(labels)), labels])


def cross_entropy_in_place(z: Array, labels: Array) -> float:
    """The mean cross entropy of logits, which are overwritten by their gradient."""
    n = len(labels)
    rows = numpy.arange(n)
    z -= z.max(1, keepdims=True)
    chosen = z[rows, labels]
    numpy.exp(z, out=z)
    total = z.sum(1, keepdims=True)
    value = (numpy.log(total[:, 0]) - chosen).mean()
    total *= n
    z /= total
    z[rows, labels] -= z.dtype.type(1.0 / n)
    return value


def cross_entropy_by_hand(z: Array, labels: Array) -> tuple[float, Array]:
    d_z = z.copy()
    return cross_entropy_in_place(d_z, labels), d_z


def layer_norm_data(rng: numpy.random.Generator, rows: int, columns: int) -> tuple[Array, ...]:
    x, gain, shift = rng.normal(size=(rows, columns)), rng.normal(size=columns), rng.normal(size=columns)
    return x, 1.0 + 0.1 * gain, 0.1 * shift, rng.normal(size=(rows, columns))


def layer_norm_gelu(np: Any, x: Any, gain: Any, shift: Any, w: Any) -> Any:
    mean = np.mean(x, axis=1, keepdims=True)
    variance = np.mean((x - mean) ** 2, axis=1, keepdims=True)
    u = (x - mean) / np.sqrt(variance + 1e-5) * gain + shift
    return np.sum(0.5 * u * (1.0 + np.tanh(GELU_SCALE * (u + GELU_CUBE * u**3))) * w)


def layer_norm_gelu_by_hand(x: Array, gain: Array, shift: Array, w: Array) -> tuple[float, Array, Array, Array]:
    n = x.shape[1]
    normal = x - x.mean(1, keepdims=True)
    scale = 1.0 / numpy.sqrt(numpy.einsum("ij,ij->i", normal, normal)[:, None] / n + 1e-5)
    normal *= scale
    u = normal * gain
    u += shift
    squares = u * u
    t = GELU_CUBE * squares
    t += 1.0
    t *= u
    t *= GELU_SCALE
    numpy.tanh(t, out=t)
    share = t + 1.0
    share *= 0.5  # GELU is u * share
    t *= t
    numpy.subtract(1.0, t, out=t)
    squares *= 3.0 * GELU_CUBE
    squares += 1.0
    t *= squares
    t *= u
    t *= 0.5 * GELU_SCALE
    u *= share
    value = numpy.vdot(u, w)
    t += share
    t *= w  # the cotangent of u
    d_shift = t.sum(0)
    d_gain = numpy.einsum("ij,ij->j", t, normal)
    t *= gain
    mean = t.mean(1, keepdims=True)
    along = numpy.einsum("ij,ij->i", t, normal)[:, None] / n
    t -= mean
    normal *= along
    t -= normal
    t *= scale
    return value, t, d_gain, d_shift


WORKLOADS = (
    Workload(
        "chain of 10⁶",
        "elementwise",
        chain,
        chain_by_hand,
        lambda rng, n: (rng.normal(size=n), rng.normal(size=n)),
        (1_000_000,),
        (50,),
        wrt=(0, 1),
    ),
    Workload(
        "cross entropy 1024×1000",
        "elementwise",
        cross_entropy,
        cross_entropy_by_hand,
        lambda rng, rows, kinds: (3.0 * rng.normal(size=(rows, kinds)), rng.integers(0, kinds, rows)),
        (1024, 1000),
        (8, 5),
    ),
    Workload(
        "layer norm and GELU 4096×512",
        "elementwise",
        layer_norm_gelu,
        layer_norm_gelu_by_hand,
        layer_norm_data,
        (4096, 512),
        (8, 5),
        wrt=(0, 1, 2),
    ),
)
