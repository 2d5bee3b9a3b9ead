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
    """Return the same value, through which no gradient flows.

    Parameters
    ----------
    x : array, number, or nested structure
        The value. What is no number stays what it is.

    Returns
    -------
    array, number, or nested structure
        The value, of the structure of `x`. Tensors stay tensors.

    Examples
    --------
    >>> import tapec
    >>> tapec.grad(lambda x: x * tapec.stop_gradient(x))(3.0)
    np.float64(3.0)

    See Also
    --------
    tapec.custom_gradient : another gradient
    tapec.GradientTape.stop_recording : for a block of code
    """
    return map_leaves(_stopped, x)


def _stopped(x: Any) -> Any:
    return stop_one(x) if isinstance(x, _NUMBERS) else x
