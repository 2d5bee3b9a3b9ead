"""Have as much of `tf.keras` as the documentation of GradientTape uses: dense layers, and gradient descent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from tapec.compat.tensorflow import nn, random
from tapec.compat.tensorflow.tf_tensor import Variable, constant

__all__ = ["activations", "layers", "losses", "optimizers"]

_ACTIVATIONS = {name: getattr(nn, name) for name in ("elu", "relu", "selu", "sigmoid", "softmax", "softplus", "tanh")}


class Dense:
    """Computes `activation(inputs @ kernel + bias)`. It has no variables before it is first called."""

    def __init__(self, units: int, activation: Any = None, use_bias: bool = True, name: str = "dense", **_: Any):
        self.units = units
        self.activation = _ACTIVATIONS[activation] if isinstance(activation, str) else activation
        self.use_bias = use_bias
        self.name = name
        self.variables: list[Variable] = []

    @property
    def trainable_variables(self) -> list[Variable]:
        return [v for v in self.variables if v.trainable]

    trainable_weights = trainable_variables

    def build(self, input_shape: Any) -> None:
        n = input_shape[-1]
        limit = float(np.sqrt(6 / (n + self.units)))
        self.kernel = Variable(random.uniform((n, self.units), -limit, limit), name=f"{self.name}/kernel")
        self.variables.append(self.kernel)
        if self.use_bias:
            self.bias = Variable(np.zeros(self.units, np.float32), name=f"{self.name}/bias")
            self.variables.append(self.bias)

    def __call__(self, inputs: Any) -> Any:
        x = constant(inputs)
        if not self.variables:
            self.build(x.shape)
        y = x @ self.kernel
        y = y + self.bias if self.use_bias else y
        return self.activation(y) if self.activation else y


class SGD:
    """Gradient descent, with momentum if asked for."""

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.0, **_: Any):
        self.learning_rate = learning_rate
        self.momentum = momentum
        self._moving: dict[int, np.ndarray] = {}

    def apply_gradients(self, grads_and_vars: Any, **_: Any) -> None:
        for gradient, variable in grads_and_vars:
            if gradient is None:
                continue
            if not self.momentum:
                variable.assign_sub(gradient * self.learning_rate)
                continue
            step = np.asarray(gradient) * variable.dtype.type(self.learning_rate)
            step += self.momentum * self._moving.get(id(variable), np.zeros_like(step))
            self._moving[id(variable)] = step
            variable.assign_sub(step)


class Adam:
    """Adam, as Kingma and Ba have it."""

    def __init__(self, learning_rate: float = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7):
        self.learning_rate = learning_rate
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self._steps = 0
        self._moments: dict[int, tuple[Any, Any]] = {}

    def apply_gradients(self, grads_and_vars: Any, **_: Any) -> None:
        self._steps += 1
        rate = self.learning_rate * np.sqrt(1 - self.beta_2**self._steps) / (1 - self.beta_1**self._steps)
        for gradient, variable in grads_and_vars:
            if gradient is not None:
                g = np.asarray(gradient, np.float64)
                m, v = self._moments.get(id(variable), (0.0, 0.0))
                m = self.beta_1 * m + (1 - self.beta_1) * g
                v = self.beta_2 * v + (1 - self.beta_2) * g * g
                self._moments[id(variable)] = m, v
                variable.assign_sub((rate * m / (np.sqrt(v) + self.epsilon)).astype(variable.dtype))


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    difference = constant(y_pred) - y_true
    return np.mean(difference * difference, axis=-1)


layers = SimpleNamespace(Dense=Dense)
optimizers = SimpleNamespace(SGD=SGD, Adam=Adam)
losses = SimpleNamespace(MSE=mean_squared_error, mean_squared_error=mean_squared_error, mse=mean_squared_error)
activations = SimpleNamespace(**_ACTIVATIONS)
