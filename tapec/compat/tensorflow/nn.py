"""`tf.nn`: activations and losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.compat.tensorflow.arrays import argsort, gather
from tapec.compat.tensorflow.elementwise import BINARY, UNARY, special
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
bias_add = BINARY["add"]


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


def softmax(logits: Any, axis: int = -1, name: Any = None) -> Any:
    x = constant(logits)
    e = np.exp(x - stop_gradient(np.max(x, axis=axis, keepdims=True)))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(logits: Any, axis: int = -1, name: Any = None) -> Any:
    x = constant(logits)
    x = x - stop_gradient(np.max(x, axis=axis, keepdims=True))
    return x - np.log(np.sum(np.exp(x), axis=axis, keepdims=True))


# -- losses ----------------------------------------------------------------------------------------------------------
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1, name: Any = None) -> Any:
    """Return the cross entropy; gradients flow to the labels too."""
    logits = constant(logits)
    return -np.sum(constant(labels, logits.dtype) * log_softmax(logits, axis), axis=axis)


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
    return x / np.sqrt(np.maximum(np.sum(x * x, axis=axis, keepdims=True), epsilon))


# -- more ------------------------------------------------------------------------------------------------------------
def moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: Any = None) -> Any:
    return reduce_mean(x, axes, keepdims), reduce_variance(x, axes, keepdims)


def dropout(x: Any, rate: float, noise_shape: Any = None, seed: Any = None, name: Any = None) -> Any:
    x = constant(x)
    kept = np.random.default_rng(seed).random(noise_shape or x.shape) >= rate
    return x * constant((kept / (1 - rate)).astype(x.dtype))


class TopK(NamedTuple):
    """Holds the result of `top_k`."""

    values: Any
    indices: Any


def top_k(input: Any, k: int = 1, sorted: bool = True, name: Any = None) -> TopK:
    """The k largest along the last axis, and where they are; of equal ones the first."""
    x = constant(input)
    index = argsort(x, -1, "DESCENDING")[..., :k]
    return TopK(np.take_along_axis(x, index, -1), index)


def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: Any = None) -> Any:
    if max_norm is not None:
        raise UnsupportedError(at_user_line("embedding_lookup clips no rows. Fix: tf.clip_by_norm of what it gives"))
    return gather(params, ids)
