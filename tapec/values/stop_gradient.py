"""Define `stop_gradient` for whatever users nest their arrays in."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ops import ArrayLike
from tapec.ops.control.custom_gradients import stop_gradient as stop_one
from tapec.pytree import map_leaves

__all__ = ["stop_gradient"]

_NUMBERS = (ArrayLike, np.ndarray, np.generic, int, float, complex)


def stop_gradient(x: Any) -> Any:
    """Return the same value, through which no gradient flows: an array, or a structure of arrays and whatever else.

    >>> import tapec
    >>> x = tapec.constant(3.0)
    >>> with tapec.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * tapec.stop_gradient(x)
    >>> tape.gradient(y, x)
    tapec.Tensor(3.0, shape=(), dtype=float64)
    """
    return map_leaves(_stopped, x)


def _stopped(x: Any) -> Any:
    return stop_one(x) if isinstance(x, _NUMBERS) else x
