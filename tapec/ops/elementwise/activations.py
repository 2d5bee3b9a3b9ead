"""Define activation functions that NumPy has no name for, written as NumPy would write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ops.core.define import as_operand, define
from tapec.ops.core.op_helpers import same_type
from tapec.ops.core.sample_domains import Domain, nonzero
from tapec.ops.core.stand_in import apply

__all__ = ["relu", "relu6", "sigmoid"]


# Second derivatives are zero, not missing, since the derivative of sign is zero.
RELU = define(
    "relu",
    lambda x: np.maximum(x, 0),
    same_type,
    "elementwise",
    partials=lambda y, x: (np.sign(y),),
    source="np.maximum({0}, 0)",
    sample=(nonzero,),
)
RELU6 = define(
    "relu6",
    lambda x: np.minimum(np.maximum(x, 0), 6),
    same_type,
    "elementwise",
    partials=lambda y, x: (np.sign(y * (6 - y)),),
    source="np.minimum(np.maximum({0}, 0), 6)",
    sample=(nonzero,),
)
SIGMOID = define(
    "sigmoid",
    lambda x: 1 / (1 + np.exp(-x)),
    same_type,
    "elementwise",
    partials=lambda y, x: (y * (1 - y),),
    source="1 / (1 + np.exp(-{0}))",
    sample=(Domain(-2.0, 2.0),),
)


def relu(x: Any) -> Any:
    """Return max(x, 0), with derivative 0 at 0."""
    return apply(RELU, (as_operand(x),))


def relu6(x: Any) -> Any:
    """Return x clipped to 0 to 6, with derivative 0 at both ends."""
    return apply(RELU6, (as_operand(x),))


def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)), with a derivative that is finite everywhere."""
    return apply(SIGMOID, (as_operand(x),))
