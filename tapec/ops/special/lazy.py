"""Gates to the ops of scipy.special: each function here imports the definitions when it is first called."""

from __future__ import annotations

import numpy as np

from tapec.ir import Op

__all__ = ["special_op"]


def special_op(ufunc: np.ufunc) -> Op | None:
    """Define the op of a ufunc of scipy.special; None for any other, and for one without a rule."""
    from tapec.ops.special.ufunc_definitions import define

    return define(ufunc)
