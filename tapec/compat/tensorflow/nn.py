"""`tf.nn`: activations and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.compat.tensorflow.arrays import argsort, gather
from tapec.compat.tensorflow.elementwise import UNARY, pair, special
from tapec.compat.tensorflow.plain_values import axes as axes_of
from tapec.compat.tensorflow.plain_values import invalid, sizes
from tapec.compat.tensorflow.random import generator
from tapec.compat.tensorflow.reductions import reduce_mean, reduce_variance
from tapec.compat.tensorflow.tape import stop_gradient
from tapec.compat.tensorflow.tf_tensor import constant
from tapec.errors import UnsupportedError, at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ops.elementwise import activations

__all__ = [
    "bias_add",
    "dropout",
    "elu",
    "embedding_lookup",
    "gelu",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "log_softmax",
    "moments",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softplus",
    "softsign",
    "sparse_softmax_cross_entropy_with_logits",
    "swish",
    "tanh",
    "top_k",
]

tanh = UNARY["tanh"]


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: Any = None) -> Any:
    """Add a vector along the last axis; along the second one, where the format starts with NC."""
    x, b = pair(value, bias)
    axis = 1 if data_format is not None and data_format.startswith("NC") else len(x.shape) - 1
    if data_format is not None and axis != 1 and not (data_format.startswith("N") and data_format.endswith("C")):
        raise invalid(f"bias_add takes a data_format such as NHWC or NCHW, not {data_format!r}")
    if not 0 < axis < len(x.shape) or constant(b).shape != x.shape[axis : axis + 1]:
        raise invalid(f"a bias of shape {constant(b).shape} does not fit axis {axis} of shape {x.shape}")
    return x + np.reshape(b, (-1,) + (1,) * (len(x.shape) - 1 - axis))


def relu(features: Any, name: Any = None) -> Any:
    return activations.relu(constant(features))


def relu6(features: Any, name: Any = None) -> Any:
    return activations.relu6(constant(features))


def leaky_relu(features: Any, alpha: float = 0.2, name: Any = None) -> Any:
    x = constant(features)
    return np.where(x > 0, activations.relu(x), x * alpha)  # of which the second derivative is zero, not missing


def elu(features: Any, name: Any = None) -> Any:
    x = constant(features)
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


def selu(features: Any, name: Any = None) -> Any:
    x = constant(features)
    return np.where(x >= 0, x * _SELU_SCALE, np.expm1(np.minimum(x, 0)) * (_SELU_SCALE * _SELU_ALPHA))


def sigmoid(x: Any, name: Any = None) -> Any:
    return activations.sigmoid(constant(x))


def silu(features: Any, beta: float = 1.0) -> Any:
    x = constant(features)
    return x * activations.sigmoid(x * beta)


swish = silu


def gelu(features: Any, approximate: bool = False, name: Any = None) -> Any:
    x = constant(features)
    if approximate:
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi).item() * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + special("erf")(x / np.sqrt(2).item()))


def softplus(features: Any, name: Any = None) -> Any:
    return np.logaddexp(constant(features), 0)


def softsign(features: Any, name: Any = None) -> Any:
    x = constant(features)
    return x / (np.abs(x) + 1)


def softmax(logits: Any, axis: Any = None, name: Any = None) -> Any:
    x, axis = constant(logits), -1 if axis is None else axes_of(axis)
    e = np.exp(x - stop_gradient(np.max(x, axis=axis, keepdims=True)))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(logits: Any, axis: Any = None, name: Any = None) -> Any:
    x, axis = constant(logits), -1 if axis is None else axes_of(axis)
    x = x - stop_gradient(np.max(x, axis=axis, keepdims=True))
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))


# -- losses ----------------------------------------------------------------------------------------------------------
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1, name: Any = None) -> Any:
    """Return the cross entropy; gradients flow to the labels too."""
    logits = constant(logits)
    return -np.sum(constant(labels, logits.dtype) * log_softmax(logits, axis), axis=axes_of(axis))


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: Any = None) -> Any:
    logits, index = constant(logits), constant(labels)
    return -np.take_along_axis(log_softmax(logits), index[..., None], -1)[..., 0]


def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any, name: Any = None) -> Any:
    logits = constant(logits)
    return softplus(logits) - logits * constant(labels, logits.dtype)


def l2_loss(t: Any, name: Any = None) -> Any:
    x = constant(t)
    return np.sum(x * x) / 2


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: Any = None) -> Any:
    x = constant(x)
    return x / np.sqrt(np.maximum(np.sum(x * x, axis=axes_of(axis), keepdims=True), epsilon))


# -- more ------------------------------------------------------------------------------------------------------------
def moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    """Return mean and variance. `shift` is of no use here, nor in TensorFlow."""
    return reduce_mean(x, axes, keepdims), reduce_variance(x, axes, keepdims)


def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: Any = None) -> Any:
    """Set elements to zero, as many as `rate` says on average, and scale the others up; anew at each call."""
    x, rate = constant(x), float(rate)
    if x.dtype.kind not in "fc":
        raise invalid(f"dropout scales floats, not numbers of dtype {x.dtype}. Fix: tf.cast")
    if not 0 <= rate < 1:
        raise invalid(f"dropout takes a rate of at least 0 and below 1, not {rate}")
    noise = x.shape if noise_shape is None else sizes(noise_shape)
    kept = generator("dropout", seed).random(noise) >= rate
    return x * constant((kept / (1 - rate)).astype(x.dtype))


class TopK(NamedTuple):
    """Holds the result of `top_k`."""

    values: Any
    indices: Any


def top_k(input: Any, k: int = 1, sorted: bool = True, name: Any = None) -> TopK:
    """The k largest along the last axis, and where they are; of equal ones the first. They are sorted in any case."""
    x, k = constant(input), int(k)
    if not x.shape or not 0 <= k <= x.shape[-1]:
        raise invalid(f"top_k: there are no {k} elements along the last axis of shape {x.shape}")
    index = argsort(x, -1, "DESCENDING")[..., :k]
    return TopK(np.take_along_axis(x, index, -1), index)


def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: Any = None) -> Any:
    if max_norm is not None:
        raise UnsupportedError(at_user_line("embedding_lookup clips no rows. Fix: tf.clip_by_norm of what it gives"))
    return gather(params, ids)
