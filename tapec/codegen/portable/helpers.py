"""Define the helpers of portable code, for what libraries do each in its own way."""

from __future__ import annotations

from typing import Any

__all__ = ["added_at", "cholesky_of"]


def added_at(xp: Any, shape: Any, places: Any, values: Any) -> Any:
    """Return zeros with rows added at places of the first axis; a place may come several times."""
    zeros = xp.zeros(shape, dtype=values.dtype)
    library = xp.__name__.split(".")  # such as jax.numpy, or array_api_compat.torch
    if "jax" in library:
        return zeros.at[places].add(values)
    if "torch" in library:
        return zeros.index_add(0, places, values)
    if "numpy" in library or "cupy" in library:
        xp.add.at(zeros, places, values)
    elif "array_api_strict" in library:
        for k in range(places.shape[0]):
            zeros[int(places[k]), ...] += values[k, ...]
    else:
        raise TypeError(f"{xp.__name__} has no function that adds at places of an array, which this code needs")
    return zeros


def cholesky_of(xp: Any, matrix: Any, upper: bool) -> Any:
    """Return a Cholesky factor; dask gives the other one than the standard says, so it is refused."""
    if "dask" in xp.__name__:
        raise TypeError(f"{xp.__name__} has no function that gives the lower Cholesky factor, which this code needs")
    return xp.linalg.cholesky(matrix, upper=upper)
