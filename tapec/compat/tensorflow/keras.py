"""Have as much of `tf.keras` as the documentation of GradientTape uses: dense layers, and gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tapec.compat.tensorflow import nn, random
from tapec.compat.tensorflow.elementwise import cast, clip_by_value
from tapec.compat.tensorflow.linalg import clip_by_norm
from tapec.compat.tensorflow.plain_values import invalid, refuse_options
from tapec.compat.tensorflow.tf_tensor import Face, IndexedSlices, Variable, constant

__all__ = ["activations", "layers", "losses", "optimizers"]


# -- by name -----------------------------------------------------------------------------------------------------------
def linear(x: Any) -> Any:
    return constant(x)


def elu(x: Any, alpha: float = 1.0) -> Any:
    x = constant(x)
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)) * alpha)


def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Any:
    """Zero, or a line of slope `alpha`, below the threshold; x from there on, and no more than `max_value`."""
    x = constant(x)
    if not alpha and not threshold:
        y = nn.relu(x)
    else:
        y = np.where(x > threshold, x, (x - threshold) * alpha)
    return y if max_value is None else np.minimum(y, max_value)


def softmax(x: Any, axis: int = -1) -> Any:
    return nn.softmax(x, axis)


def _of_nn(name: str) -> Callable[..., Any]:
    def call(x: Any) -> Any:
        return getattr(nn, name)(x)

    call.__name__ = name
    return call


_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "elu": elu,
    "linear": linear,
    "relu": relu,
    "softmax": softmax,
    **{name: _of_nn(name) for name in ("selu", "sigmoid", "softplus", "softsign", "tanh")},
}


def _scaled(scale: float, fan: Callable[[int, int], float], uniform: bool) -> Callable[..., Any]:
    """Make an initializer whose variance is that of `scale` over the number of units that go in, out, or both."""

    def draw(shape: Any, dtype: Any) -> Any:
        variance = scale / max(1.0, fan(shape[0], shape[-1]))
        if uniform:
            limit = float(np.sqrt(3 * variance))
            return random.uniform(shape, -limit, limit, dtype)
        return random.truncated_normal(shape, 0.0, float(np.sqrt(variance)) / 0.87962566103423978, dtype)

    return draw


_INITIALIZERS: dict[str, Callable[..., Any]] = {
    "zeros": lambda shape, dtype: np.zeros(shape, dtype),
    "ones": lambda shape, dtype: np.ones(shape, dtype),
    "random_normal": lambda shape, dtype: random.normal(shape, 0.0, 0.05, dtype),
    "random_uniform": lambda shape, dtype: random.uniform(shape, -0.05, 0.05, dtype),
    "truncated_normal": lambda shape, dtype: random.truncated_normal(shape, 0.0, 0.05, dtype),
}
for _name, _scale, _fan in (
    ("glorot", 1.0, lambda n, m: (n + m) / 2),
    ("he", 2.0, lambda n, m: n),
    ("lecun", 1.0, lambda n, m: n),
):
    _INITIALIZERS[f"{_name}_uniform"] = _scaled(_scale, _fan, True)
    _INITIALIZERS[f"{_name}_normal"] = _scaled(_scale, _fan, False)


def _named(what: str, given: Any, known: dict[str, Callable[..., Any]]) -> Any:
    """Return a function that is given by its name, by itself, or not at all."""
    if given is None or callable(given):
        return given
    if given not in known:
        some = f"one of {', '.join(sorted(known))}, or " if known else ""
        raise invalid(f"there is no {what} {given!r}. Fix: {some}a function")
    return known[given]


# -- layers ------------------------------------------------------------------------------------------------------------
class Dense:
    """Computes `activation(inputs @ kernel + bias)`. It has no variables before it is first called.

    Initializers are names, or functions of `(shape, dtype=...)`; constraints are functions that optimizers apply. What
    says the shape of inputs is taken, but is no matter here: the first inputs say it.
    """

    def __init__(
        self,
        units: int,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        *,
        trainable: bool = True,
        name: str = "dense",
        dtype: Any = np.float32,
        dynamic: bool = False,
        input_shape: Any = None,
        input_dim: Any = None,
        batch_input_shape: Any = None,
        batch_size: Any = None,
        weights: Any = None,
    ):
        refuse_options(
            "Dense",
            "add what it gives of layer.kernel, layer.bias or the outputs to the loss",
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
        )
        self.units = int(units)
        self.activation = _named("activation", activation, _ACTIVATIONS)
        self.use_bias = use_bias
        self.kernel_initializer = _named("initializer", kernel_initializer, _INITIALIZERS) or _INITIALIZERS["zeros"]
        self.bias_initializer = _named("initializer", bias_initializer, _INITIALIZERS) or _INITIALIZERS["zeros"]
        self.kernel_constraint = _named("constraint", kernel_constraint, {})
        self.bias_constraint = _named("constraint", bias_constraint, {})
        self.trainable = trainable
        self.name = name
        self.dtype = np.dtype(np.float32 if dtype is None else dtype)
        self.variables: list[Variable] = []
        self._first = weights

    @property
    def trainable_variables(self) -> list[Variable]:
        return [v for v in self.variables if self.trainable and v.trainable]

    @property
    def non_trainable_variables(self) -> list[Variable]:
        return [v for v in self.variables if not self.trainable or not v.trainable]

    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables

    def build(self, input_shape: Any) -> None:
        shape = (int(input_shape[-1]), self.units)
        self.kernel = self._variable("kernel", shape, self.kernel_initializer, self.kernel_constraint)
        if self.use_bias:
            self.bias = self._variable("bias", shape[1:], self.bias_initializer, self.bias_constraint)
        if self._first is not None:
            if len(self._first) != len(self.variables):
                raise invalid(f"{len(self._first)} weights for the {len(self.variables)} Variables of {self.name!r}")
            for variable, value in zip(self.variables, self._first):
                variable.assign(value)

    def _variable(self, name: str, shape: tuple[int, ...], initializer: Any, constraint: Any) -> Variable:
        first = initializer(shape, dtype=self.dtype)
        made = Variable(first, name=f"{self.name}/{name}", dtype=self.dtype, constraint=constraint, shape=shape)
        self.variables.append(made)
        return made

    def __call__(self, inputs: Any) -> Any:
        x = cast(inputs, self.dtype)
        if not self.variables:
            self.build(x.shape)
        y = x @ self.kernel
        y = y + self.bias if self.use_bias else y
        return self.activation(y) if self.activation else y


# -- optimizers --------------------------------------------------------------------------------------------------------
class Optimizer:
    """The base of optimizers: it clips gradients and lets the learning rate decay, if asked for.

    `clipnorm` is for the norm of each gradient, `clipvalue` for its elements. `decay` divides the learning rate by
    `1 + decay * steps`. `lr` is the old name of `learning_rate`, which may be a function without arguments.
    """

    def __init__(self, learning_rate: Any, name: Any, clipnorm: Any, clipvalue: Any, decay: Any, lr: Any):
        for option, value in {"clipnorm": clipnorm, "clipvalue": clipvalue, "decay": decay, "lr": lr}.items():
            if value is not None and value < 0:
                raise invalid(f"{option}={value} is below zero")
        self.name = name
        self.learning_rate = learning_rate if lr is None else lr
        self.clipnorm, self.clipvalue, self.decay = clipnorm, clipvalue, decay
        self._steps = 0
        self._states: dict[int, Any] = {}  # by the serial numbers of Variables

    @property
    def lr(self) -> Any:
        return self.learning_rate

    @lr.setter
    def lr(self, value: Any) -> None:
        self.learning_rate = value

    def apply_gradients(self, grads_and_vars: Any, name: Any = None) -> None:
        """Change each Variable that has a gradient, and apply its constraint."""
        given = list(grads_and_vars)
        pairs = [(gradient, variable) for gradient, variable in given if gradient is not None]
        if given and not pairs:
            raise invalid(f"there is no gradient for any of {[v.name for _, v in given]}. Fix: a loss that reads them")
        rate = float(self.learning_rate() if callable(self.learning_rate) else self.learning_rate)
        rate /= 1 + (self.decay or 0) * self._steps
        self._steps += 1
        for gradient, variable in pairs:
            constraint = getattr(variable, "constraint", None)
            sparse = isinstance(gradient, IndexedSlices)
            if sparse and constraint is not None:
                raise invalid(f"Variable {variable.name!r} has a constraint, which does not go with IndexedSlices")
            g = gradient if isinstance(gradient, Face) else constant(gradient, variable.dtype)
            self._update(self._clipped(g), variable, rate)
            if constraint is not None:
                variable.assign(constraint(variable))

    def _clipped(self, g: Any) -> Any:
        if self.clipnorm is None and self.clipvalue is None:
            return g
        if isinstance(g, IndexedSlices):
            return IndexedSlices(self._clipped(g.values), g.indices, g._inner.dense_shape)
        g = g if self.clipnorm is None else clip_by_norm(g, self.clipnorm)
        return g if self.clipvalue is None else clip_by_value(g, -self.clipvalue, self.clipvalue)

    def _update(self, g: Any, variable: Any, rate: float) -> None:
        raise NotImplementedError

    def _state(self, variable: Any, start: Any) -> Any:
        return self._states.get(_serial(variable), start)


def _serial(variable: Any) -> int:
    """Return the number of a Variable, which no other one gets, not even after its end."""
    return getattr(variable, "_inner", variable)._serial


class SGD(Optimizer):
    """Gradient descent, with momentum if asked for; rows without gradients stay where they are."""

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        name: str = "SGD",
        *,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        decay: float | None = None,
        lr: Any = None,
    ):
        super().__init__(learning_rate, name, clipnorm, clipvalue, decay, lr)
        if not 0 <= momentum <= 1:
            raise invalid(f"momentum={momentum} is not between 0 and 1")
        self.momentum, self.nesterov = momentum, nesterov

    def _update(self, g: Any, variable: Any, rate: float) -> None:
        if not self.momentum:
            variable.assign_sub(g * rate)
            return
        change = np.asarray(g) * variable.dtype.type(rate)
        before = self._state(variable, np.zeros_like(change))
        moving = self.momentum * before + change
        step = self.momentum * moving + change if self.nesterov else moving
        if isinstance(g, IndexedSlices):
            rows = np.zeros((len(change), *[1] * (change.ndim - 1)), bool)
            rows[np.asarray(g.indices)] = True
            moving, step = np.where(rows, moving, before), np.where(rows, step, 0)
        self._states[_serial(variable)] = moving
        variable.assign_sub(np.asarray(step, variable.dtype))


class Adam(Optimizer):
    """Adam, as Kingma and Ba have it; with the largest second moment so far, if `amsgrad`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        name: str = "Adam",
        *,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        decay: float | None = None,
        lr: Any = None,
    ):
        super().__init__(learning_rate, name, clipnorm, clipvalue, decay, lr)
        self.beta_1, self.beta_2, self.epsilon, self.amsgrad = beta_1, beta_2, epsilon, amsgrad

    def _update(self, g: Any, variable: Any, rate: float) -> None:
        rate *= np.sqrt(1 - self.beta_2**self._steps) / (1 - self.beta_1**self._steps)
        gradient = np.asarray(g, np.float64)
        m, v, largest = self._state(variable, (0.0, 0.0, 0.0))
        m = self.beta_1 * m + (1 - self.beta_1) * gradient
        v = self.beta_2 * v + (1 - self.beta_2) * gradient * gradient
        largest = np.maximum(largest, v) if self.amsgrad else v
        self._states[_serial(variable)] = m, v, largest
        variable.assign_sub((rate * m / (np.sqrt(largest) + self.epsilon)).astype(variable.dtype))


# -- losses ------------------------------------------------------------------------------------------------------------
def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    difference = constant(y_pred) - y_true
    return np.mean(difference * difference, axis=-1)


layers = SimpleNamespace(Dense=Dense)
optimizers = SimpleNamespace(SGD=SGD, Adam=Adam)
losses = SimpleNamespace(MSE=mean_squared_error, mean_squared_error=mean_squared_error, mse=mean_squared_error)
activations = SimpleNamespace(**_ACTIVATIONS)
