"""`apart` tells rounding from other differences between two results of one computation."""

from __future__ import annotations

import numpy as np

from tapec.ir import tuning

__all__ = ["apart", "nudged", "told"]


def apart(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
    """Return which elements of two arrays of one type differ by more than rounding, and by how much.

    Rounding is a part of the largest element of `b`; nan and inf must stand in the same places.
    """
    if a.dtype.kind not in "fc":
        at = a != b
        return at, float(np.max(np.abs(a.astype(float) - b.astype(float)), initial=0.0, where=at))
    finite = np.isfinite(a) & np.isfinite(b)
    off = np.where(finite, np.abs(a - b), 0.0)
    largest = float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b)))
    bound = tuning.ROUNDING_OF.get(a.dtype.itemsize // (1 + (a.dtype.kind == "c")), tuning.ROUNDING_OF[8])
    at = off > bound * largest
    at |= ~finite & (a != b) & ~(np.isnan(a) & np.isnan(b))
    return at, float(np.max(off, initial=0.0))


def nudged(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return floats a few units in the last place off, laid out alike: what moves a result as far is rounding."""
    steps = rng.choice((-4.0, -2.0, 2.0, 4.0), x.shape)
    return np.multiply(x, 1 + steps * np.finfo(x.dtype).eps, out=np.empty_like(x), casting="same_kind")


def told(a: np.ndarray, b: np.ndarray, at: np.ndarray, size: float, other: str) -> str:
    """Say how one result differs from another, `is 3.0, {other} 1.5`; `at` and `size` are those of `apart`."""
    first = np.unravel_index(int(np.argmax(at)), a.shape)
    text = f"is {a[first]}, {other} {b[first]}"
    if not a.ndim:
        return text
    index = ", ".join(map(str, map(int, first)))
    return f"at [{index}] {text} ({int(at.sum())} of {a.size} elements differ, by up to {size:.1e})"
