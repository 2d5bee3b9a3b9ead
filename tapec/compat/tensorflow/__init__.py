"""`import tapec.compat.tensorflow as tf`: the names that the documentation of GradientTape uses.

Comes in: programs for eager TensorFlow.  Goes out: float32 tensors, no mixing of dtypes, TensorFlow's printing.
This is a face: all work is done by tapec, and what is not here is better written with NumPy.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from tapec.compat.tensorflow import keras, linalg, math, nn, random
from tapec.compat.tensorflow.arrays import (
    argsort,
    boolean_mask,
    broadcast_to,
    concat,
    expand_dims,
    eye,
    fill,
    gather,
    gather_nd,
    linspace,
    meshgrid,
    one_hot,
    ones,
    ones_like,
    pad,
    rank,
    repeat,
    reshape,
    reverse,
    roll,
    shape,
    size,
    sort,
    split,
    squeeze,
    stack,
    tile,
    transpose,
    unstack,
    zeros,
    zeros_like,
)
from tapec.compat.tensorflow.arrays import range_ as range
from tapec.compat.tensorflow.arrays import slice_ as slice
from tapec.compat.tensorflow.control_flow import cond, map_fn, while_loop
from tapec.compat.tensorflow.elementwise import BINARY, UNARY, add_n, cast, clip_by_value, where
from tapec.compat.tensorflow.elementwise import complex_ as complex
from tapec.compat.tensorflow.linalg import clip_by_global_norm, clip_by_norm, einsum, matmul, norm, tensordot
from tapec.compat.tensorflow.nn import sigmoid
from tapec.compat.tensorflow.plain_values import InvalidArgumentError, TensorShape
from tapec.compat.tensorflow.reductions import (
    argmax,
    argmin,
    cumsum,
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from tapec.compat.tensorflow.tape import (
    GradientTape,
    UnconnectedGradients,
    convert_to_tensor,
    custom_gradient,
    function,
    identity,
    stop_gradient,
)
from tapec.compat.tensorflow.tf_tensor import IndexedSlices, Tensor, Variable, constant

__version__ = "2.0.0"  # of the interface

print = print

float16, float32, float64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
int8, int16, int32, int64 = np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64)
uint8, bool, complex64, complex128 = np.dtype(np.uint8), np.dtype(bool), np.dtype(np.complex64), np.dtype(np.complex128)
double = float64
newaxis = None

_AT_TOP = (
    "abs acos acosh add asin asinh atan atan2 atanh cos cosh divide equal exp floor greater greater_equal less "
    "less_equal logical_and logical_not logical_or maximum minimum multiply negative not_equal pow round sign sin sinh "
    "sqrt square subtract tan tanh truediv"
)
globals().update({name: (UNARY | BINARY)[name] for name in _AT_TOP.split()})

errors = SimpleNamespace(InvalidArgumentError=InvalidArgumentError)
optimizers = keras.optimizers
contrib = SimpleNamespace(eager=SimpleNamespace(GradientTape=GradientTape, Variable=Variable))


def enable_eager_execution() -> None:
    """Do nothing: execution is always eager."""


def executing_eagerly() -> Any:
    return True


def is_tensor(x: Any) -> Any:
    return isinstance(x, (Tensor, Variable, IndexedSlices))
