"""Define the helpers of portable code, for what libraries do each in its own way."""

from __future__ import annotations

from typing import Any

__all__ = ["added_at", "cholesky_of"]


def added_at(xp: Any, shape: Any, places: Any, values: Any) -> Any:
    """Return zeros with rows added at places of the first axis; a place may come several times."""
    zeros = xp.zeros(shape, dtype=values.dtype)
    one_by_one = ((int(places[k]), values[k, ...]) for k in range(places.shape[0]))
    libraries = {
        "numpy": lambda: (xp.add.at(zeros, places, values), zeros)[1],
        "cupy": lambda: (xp.add.at(zeros, places, values), zeros)[1],
        "jax": lambda: zeros.at[places].add(values),
        "torch": lambda: zeros.index_add(0, places, values),
        "array_api_strict": lambda: ([zeros.__setitem__((p, ...), zeros[p, ...] + v) for p, v in one_by_one], zeros)[1],
    }
    name = next((part for part in xp.__name__.split(".") if part in libraries), None)
    if name is None:
        raise TypeError(f"{xp.__name__} has no function that adds at places of an array, which this code needs")
    return libraries[name]()


def cholesky_of(xp: Any, matrix: Any, upper: bool) -> Any:
    """Return a Cholesky factor; dask gives the other one than the standard says, so it is refused."""
    if "dask" in xp.__name__:
        raise TypeError(f"{xp.__name__} has no function that gives the lower Cholesky factor, which this code needs")
    return xp.linalg.cholesky(matrix, upper=upper)
