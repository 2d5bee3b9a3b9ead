"""Programs as people write them: models in classes, loops, buffers, solvers. Gradients against differences."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import warnings

import numpy as np
import pytest

import tapec
from tapec.pytree import flatten, unflatten

pytestmark = pytest.mark.filterwarnings("error")

X = np.array([1.0, 2.0, 3.0])
RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(5, 3))
TARGET = RNG.normal(size=5)
LABELS = np.array([0, 2, 1, 1, 0])


def slope(f, args, d, h=1e-6):
    """The derivative of f along d, a direction of the first argument."""

    def moved(step):
        leaves: list = []
        tree = flatten(args[0], leaves)
        parts = [x + step * e if e is not None else x for x, e in zip(leaves, d, strict=True)]
        return float(f(unflatten(tree, parts), *args[1:]))

    return (8 * (moved(h) - moved(-h)) - (moved(2 * h) - moved(-2 * h))) / (12 * h)


def check(f, *args):
    """The gradient with respect to the first argument, in both modes, along a drawn direction."""
    rng = np.random.default_rng(1)
    leaves: list = []
    tree = flatten(args[0], leaves)
    moving = [isinstance(x, (float, np.ndarray)) for x in leaves]
    d = [np.asarray(rng.normal(size=np.shape(x)))[()] if m else None for x, m in zip(leaves, moving)]
    expected = slope(f, args, d)
    found: list = []
    flatten(tapec.grad(f)(*args), found)
    assert sum(np.sum(g * e) for g, e in zip(found, d) if e is not None) == pytest.approx(expected, rel=1e-5, abs=1e-7)
    _, tangent = tapec.jvp(lambda p: f(p, *args[1:]), (args[0],), (unflatten(tree, d),))
    assert tangent == pytest.approx(expected, rel=1e-5, abs=1e-7)


# ---------------------------------------------------------------------------------------------------------------
# models
# ---------------------------------------------------------------------------------------------------------------
class Dense:
    def __init__(self, rng, n_in, n_out, activation=np.tanh):
        self.w = rng.normal(size=(n_in, n_out)) * 0.5
        self.b = np.zeros(n_out)
        self.activation = activation

    def __call__(self, x):
        return self.activation(x @ self.w + self.b)

    def parameters(self):
        return [self.w, self.b]


class Network:
    def __init__(self):
        rng = np.random.default_rng(2)
        relu = functools.partial(np.maximum, 0.0)
        self.layers = [Dense(rng, 3, 4), Dense(rng, 4, 2, relu), Dense(rng, 2, 1, lambda v: v)]
        self.decay = 0.1
        self.training = True

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    def loss(self, x, y):
        residual = self.forward(x)[:, 0] - y
        size = sum(np.sum(p**2) for layer in self.layers for p in layer.parameters())
        return np.mean(residual * residual) + (self.decay * size if self.training else 0.0)


def test_a_network_in_classes():
    network = Network()
    check(network.loss, DATA, TARGET)
    f = tapec.value_and_grad(network.loss)
    changes = [
        lambda: setattr(network.layers[0], "w", network.layers[0].w * 1.1),
        lambda: network.layers[1].b.__iadd__(0.3),
        lambda: setattr(network, "decay", 0.5),
        lambda: setattr(network, "training", False),
        lambda: setattr(network.layers[1], "activation", np.sin),
        lambda: network.layers.pop(1) and setattr(network.layers[1], "w", np.ones((4, 1))),
    ]
    for change in changes:
        f(DATA, TARGET)
        change()
        assert f(DATA, TARGET)[0] == pytest.approx(network.loss(DATA, TARGET))
    assert all(type(layer.w) is np.ndarray for layer in network.layers)


def network(p, x, activation=np.tanh):
    for k, layer in enumerate(p["layers"]):
        x = x @ layer["w"] + layer["b"]
        if k < p["meta"]["depth"] - 1:
            x = activation(x)
    return x


def test_a_network_in_a_dict():
    layers = [{"w": RNG.normal(size=(3, 4)), "b": np.zeros(4)}, {"w": RNG.normal(size=(4, 1)), "b": np.zeros(1)}]
    p = {"layers": layers, "meta": {"name": "net", "depth": 2}}
    check(lambda p, x, y: np.mean((network(p, x)[:, 0] - y) ** 2), p, DATA, TARGET)


def recurrent(p, xs):
    h = np.zeros(4)
    states = []
    for x in xs:
        h = np.tanh(p["wx"] @ x + p["wh"] @ h + p["b"])
        states.append(h)
    return np.sum(np.stack(states) ** 2)


def attention(p, x):
    q, k, v = (x @ p[name] for name in "qkv")
    scores = q @ k.T / np.sqrt(q.shape[-1])
    scores = np.exp(scores - np.max(scores, -1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    return np.sum((scores @ v) ** 2)


def cross_entropy(w, x):
    z = x @ w
    z = z - z.max(1, keepdims=True)
    logs = z - np.log(np.exp(z).sum(1, keepdims=True))
    return -np.mean(logs[np.arange(5), LABELS])


def gaussian_process(p, x, y):
    distance = (x[:, None] - x[None]) ** 2
    kernel = p["s"] ** 2 * np.exp(-distance / (2 * p["l"] ** 2)) + p["n"] ** 2 * np.eye(len(x))
    factor = np.linalg.cholesky(kernel)
    a = np.linalg.solve(factor, y)
    return 0.5 * a @ a + np.sum(np.log(np.diag(factor)))


def lotka_volterra(p):
    state = np.array([1.0, 0.5])
    for _ in range(20):
        a, b = state
        state = state + 0.05 * np.array([p[0] * a - p[1] * a * b, -p[2] * b + p[3] * a * b])
    return np.sum(state**2)


def table(w):
    n = len(w)
    t = np.zeros_like(w, shape=(n + 1, n + 1))
    for i in range(n):
        for j in range(n):
            t[i + 1, j + 1] = np.maximum(t[i, j + 1], t[i + 1, j]) + w[i] * w[j]
    return t[n, n]


def buffers(w):
    out = np.empty_like(w)
    total = 0.0
    for i, v in enumerate(w):
        total = total * 0.5 + v
        out[i] = total
    out[::2] *= 2
    out -= out.mean()
    return np.sum(out**3)


WEIGHTS = np.array([0.3, 0.7, 1.1, 0.2])
PROGRAMS = {
    "recurrent": (
        recurrent,
        {"wx": RNG.normal(size=(4, 3)), "wh": RNG.normal(size=(4, 4)) * 0.3, "b": np.zeros(4)},
        DATA,
    ),
    "attention": (attention, {name: RNG.normal(size=(3, 3)) for name in "qkv"}, DATA),
    "cross entropy": (cross_entropy, RNG.normal(size=(3, 3)), DATA),
    "gaussian process": (
        gaussian_process,
        {"s": 1.1, "l": 0.7, "n": 0.3},
        np.linspace(0.0, 1.0, 6),
        np.sin(np.arange(6.0)),
    ),
    "lotka volterra": (lotka_volterra, np.array([1.0, 0.5, 0.8, 0.3])),
    "table": (table, WEIGHTS),
    "buffers": (buffers, WEIGHTS),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    f, *args = PROGRAMS[name]
    check(f, *args)


# ---------------------------------------------------------------------------------------------------------------
# control flow
# ---------------------------------------------------------------------------------------------------------------
def newton(c):
    z = 1.0
    while abs(z * z * z - c) > 1e-12:
        z = z - (z * z * z - c) / (3 * z * z)
    return z


def test_iteration_to_convergence():
    assert tapec.grad(newton)(8.0) == pytest.approx(1 / 12)


def halves(n):
    k = 0
    while n > 1:
        n = n / 2 if k % 2 else n - 1
        k += 1
    return n * k


def fibonacci(v):
    return v if v < 1 else fibonacci(v - 1) + fibonacci(v - 2)


def first_large(v):
    for q in v:
        if q > 1.5:
            return q * q
    return np.sum(v)


def caught(v):
    try:
        if v[0] > 0:
            raise ValueError
    except ValueError:
        return np.sum(v * 2)
    return np.sum(v)


FLOWS = {
    "while": (halves, 7.3),
    "recursion": (fibonacci, 4.5),
    "early return": (first_large, X),
    "exception": (caught, X),
    "chain": (lambda v: v if 0 < v < 5 else v * v, 3.0),
    "or": (lambda v: v if (v > 0 and v < 5) or v == -1 else v * v, 6.0),
    "largest": (lambda v: max([v[0], v[1], v[2]]), X),
    "sorted": (lambda v: sorted(v)[1], np.array([3.0, 1.0, 2.0])),
    "filter": (lambda v: sum(q * q for q in filter(lambda q: q > 1.5, v)), X),
    "walrus": (lambda v: sum(y * y for q in v if (y := q) > 1.5), X),
    "unpacked": (lambda v: (lambda a, *b: a * b[0])(*v), X),
    "zipped": (lambda v: sum(i * a * b for i, (a, b) in enumerate(zip(v, v))), X),
    "in a dict": (lambda v: sum({i: q * q for i, q in enumerate(v)}.values()), X),
    "reduced": (lambda v: functools.reduce(np.multiply, [v[0], v[1], v[2]]), X),
    "number methods": (lambda v: abs(v) + pow(v, 2) + divmod(v, 2.0)[1], 3.3),
    "selected": (lambda v: np.sum(v[v > 1.5] ** 2), X),
    "ordered": (lambda v: np.sum(v[np.argsort(-v)] * np.arange(3)), X),
}


@pytest.mark.parametrize("name", FLOWS)
def test_control_flow(name):
    check(*FLOWS[name])


# ---------------------------------------------------------------------------------------------------------------
# training and configuration
# ---------------------------------------------------------------------------------------------------------------
def test_adam_with_state_in_dicts():
    params = {"w": np.zeros(3)}
    state = {"m": {"w": np.zeros(3)}, "v": {"w": np.zeros(3)}, "t": 0}
    step = tapec.value_and_grad(lambda p: np.sum((p["w"] - X) ** 2))
    for _ in range(300):
        _, gradient = step(params)
        state["t"] += 1
        for k in params:
            state["m"][k] = 0.9 * state["m"][k] + 0.1 * gradient[k]
            state["v"][k] = 0.999 * state["v"][k] + 0.001 * gradient[k] ** 2
            m, v = state["m"][k] / (1 - 0.9 ** state["t"]), state["v"][k] / (1 - 0.999 ** state["t"])
            params[k] = params[k] - 0.1 * m / (np.sqrt(v) + 1e-8)
    np.testing.assert_allclose(params["w"], X, atol=1e-2)
    assert step.cache_info().compilations == 1


def test_learning_a_learning_rate():
    inner = tapec.grad(lambda w: np.sum((w - X) ** 2 * np.arange(1, 4)))

    def outer(rate):
        w = np.zeros(3)
        for _ in range(3):
            w = w - rate * inner(w)
        return np.sum((w - X) ** 2)

    check(outer, 0.05)


def test_a_step_with_a_gradient_inside():
    @tapec.compile
    def step(p, rate):
        gradient = tapec.grad(lambda p: np.sum((p["w"] - X) ** 2))(p)
        return {k: p[k] - rate * g for k, g in gradient.items()}

    np.testing.assert_allclose(step({"w": np.zeros(3)}, 0.1)["w"], 0.2 * X)


class Activation(enum.Enum):
    TANH = "tanh"
    RELU = "relu"


ACTIVATIONS = {Activation.TANH: np.tanh, Activation.RELU: lambda v: np.maximum(v, 0)}


@dataclasses.dataclass(frozen=True)
class Config:
    activation: Activation = Activation.TANH
    depth: int = 2
    scale: float = 0.5
    names: tuple[str, ...] = ("a", "b")


def configured(w, x, config):
    for _ in range(config.depth):
        x = ACTIVATIONS[config.activation](x @ w) * config.scale
    return np.sum(x)


CONFIG = Config()


def test_a_configuration_as_argument_closure_and_global(monkeypatch):
    w = RNG.normal(size=(3, 3))
    check(configured, w, DATA, Config(activation=Activation.RELU, depth=1))
    check(lambda w: configured(w, DATA, Config()), w)
    f = tapec.value_and_grad(lambda w: configured(w, DATA, CONFIG))
    for config in (Config(), Config(scale=2.0), Config(depth=3), Config(activation=Activation.RELU)):
        monkeypatch.setitem(globals(), "CONFIG", config)
        assert f(w)[0] == pytest.approx(configured(w, DATA, config))


@contextlib.contextmanager
def doubling():
    yield 2.0


def quietly(f):
    @functools.wraps(f)
    def call(*args):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            return f(*args)

    return call


@quietly
def wrapped(v):
    with doubling() as k:
        return np.sum(v * np.log(v)) * k


def test_wrappers_and_context_managers():
    check(wrapped, X)
