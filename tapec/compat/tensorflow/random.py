"""`tf.random`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.compat.tensorflow.arrays import _sizes
from tapec.compat.tensorflow.tf_tensor import Tensor, constant

__all__ = ["normal", "set_seed", "shuffle", "truncated_normal", "uniform"]

_GENERATOR = np.random.default_rng()


def set_seed(seed: int) -> None:
    """Make the numbers drawn from now on the same in every run (not those that TensorFlow draws)."""
    global _GENERATOR
    _GENERATOR = np.random.default_rng(seed)


def _generator(seed: Any) -> np.random.Generator:
    return _GENERATOR if seed is None else np.random.default_rng(seed)


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, seed: Any = None, name: Any = None
) -> Tensor:
    return constant(_generator(seed).standard_normal(_sizes(shape)).astype(dtype)) * stddev + mean


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32, seed: Any = None, name: Any = None
) -> Tensor:
    """Draw normal numbers, none farther from the mean than two standard deviations."""
    generator = _generator(seed)
    x = generator.standard_normal(_sizes(shape))
    while np.any(far := np.abs(x) > 2):
        x = np.where(far, generator.standard_normal(x.shape), x)
    return constant(x.astype(dtype)) * stddev + mean


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = np.float32, seed: Any = None, name: Any = None
) -> Tensor:
    generator, sizes = _generator(seed), _sizes(shape)
    if np.dtype(dtype).kind in "iu":
        return constant(generator.integers(minval, maxval, sizes, dtype=dtype))
    top = 1 if maxval is None else maxval
    return constant(generator.random(sizes).astype(dtype)) * (top - minval) + minval


def shuffle(value: Any, seed: Any = None, name: Any = None) -> Any:
    x = constant(value)
    return np.take(x, _generator(seed).permutation(x.shape[0]), axis=0)
