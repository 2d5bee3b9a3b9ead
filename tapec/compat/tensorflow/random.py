"""`tf.random`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.compat.tensorflow.plain_values import invalid, sizes
from tapec.compat.tensorflow.tf_tensor import Tensor, constant

__all__ = ["normal", "set_seed", "shuffle", "truncated_normal", "uniform"]

_seed: int | None = None
_common = np.random.default_rng()  # draws what has no seed of its own
_sequences: dict[tuple[str, int], np.random.Generator] = {}  # of each function and seed


def set_seed(seed: int | None) -> None:
    """Start all sequences of random numbers anew, the same in every run (not those that TensorFlow draws)."""
    global _common, _seed
    _seed = None if seed is None else int(seed)
    _common = np.random.default_rng(None if _seed is None else _positive(_seed))
    _sequences.clear()


def generator(function: str, seed: Any) -> np.random.Generator:
    """Return what draws the next numbers: a sequence of its own for each function and seed, or the common one."""
    if seed is None:
        return _common
    key = function, int(seed)
    if key not in _sequences:
        start = 87654321 if _seed is None else _seed  # the same in all programs that set none
        _sequences[key] = np.random.default_rng([_positive(start), _positive(key[1]), *function.encode()])
    return _sequences[key]


def _positive(seed: int) -> int:
    return seed % 2**64


def _floats(function: str, dtype: Any) -> np.dtype:
    """Return a dtype of floats."""
    found = np.dtype(dtype)
    if found.kind != "f":
        raise invalid(f"tf.random.{function} draws floats, not numbers of dtype {found}. Fix: tf.cast what it gives")
    return found


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, seed: Any = None, name: Any = None
) -> Tensor:
    dtype = _floats("normal", dtype)
    return constant(generator("normal", seed).standard_normal(sizes(shape)).astype(dtype)) * stddev + mean


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, seed: Any = None, name: Any = None
) -> Tensor:
    """Draw normal numbers, none farther from the mean than two standard deviations."""
    dtype, draws = _floats("truncated_normal", dtype), generator("truncated_normal", seed)
    x = draws.standard_normal(sizes(shape))
    while np.any(far := np.abs(x) > 2):
        x = np.where(far, draws.standard_normal(x.shape), x)
    return constant(x.astype(dtype)) * stddev + mean


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = np.float32, seed: Any = None, name: Any = None
) -> Tensor:
    """Draw numbers from `minval` up to, but without, `maxval`; of integers both are of their dtype."""
    draws, wanted = generator("uniform", seed), sizes(shape)
    if np.dtype(dtype).kind in "iu":
        if maxval is None:
            raise invalid(f"tf.random.uniform of dtype {np.dtype(dtype)} needs a maxval")
        low, high = (constant(bound, dtype).numpy() for bound in (minval, maxval))
        if np.any(low >= high):
            raise invalid(f"tf.random.uniform: there are no whole numbers from {minval} up to, but without, {maxval}")
        return constant(draws.integers(low, high, wanted, dtype=dtype))
    top = 1 if maxval is None else maxval
    return constant(draws.random(wanted).astype(_floats("uniform", dtype))) * (top - minval) + minval


def shuffle(value: Any, seed: Any = None, name: Any = None) -> Any:
    x = constant(value)
    return np.take(x, generator("shuffle", seed).permutation(x.shape[0]), axis=0)
