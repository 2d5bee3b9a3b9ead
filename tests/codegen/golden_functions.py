"""Ten functions whose generated gradients are pinned, byte for byte, in the folder `golden`."""

import numpy as np

rng = np.random.default_rng(0)


def layer(w, x, y):
    h = np.tanh(x @ w)
    r = h - y
    return np.mean(r**2)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def logistic(w, b, x, y):
    margin = y * (x @ w + b)
    return np.mean(np.logaddexp(0.0, -margin)) + 0.005 * np.sum(w * w)


def cross_entropy(logits, labels):
    z = logits - np.max(logits, axis=1, keepdims=True)
    total = np.log(np.sum(np.exp(z), axis=1))
    return np.mean(total - z[np.arange(len(labels)), labels])


def wave(x, y):
    return np.sum(np.tanh(x * y) * np.exp(-x * x) + np.log1p(y * y))


def normalised(x, gain, shift):
    centred = x - np.mean(x, axis=1, keepdims=True)
    scale = np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5)
    return np.sum(np.tanh(centred / scale * gain + shift))


def embedding(table, index, y):
    found = np.tanh(table[index])
    return np.mean((np.sum(found, axis=1) - y) ** 2)


def predator(rates, state):
    for _ in range(2):
        prey, hunters = state[0], state[1]
        met = prey * hunters
        change = np.stack([rates[0] * prey - rates[1] * met, rates[2] * met - rates[3] * hunters])
        state = state + 0.02 * change
    return np.sum(state * state)


def newton(x):
    y = x
    while abs(y * y - x) > 1e-9 * x:
        y = 0.5 * (y + x / y)
    return y


def likelihood(theta, x, y):
    square = np.sum(x * x, axis=1)
    distance = square[:, None] + square[None, :] - 2.0 * (x @ x.T)
    kernel = np.exp(theta[0] - 0.5 * distance) + np.exp(theta[1]) * np.eye(len(y))
    factor = np.linalg.cholesky(kernel)
    alpha = np.linalg.solve(kernel, y)
    return 0.5 * (y @ alpha) + np.sum(np.log(np.diag(factor)))


# name -> function, arguments, which of them are differentiated
CASES = {
    "layer": (layer, (rng.normal(size=(40, 30)), rng.normal(size=(60, 40)), rng.normal(size=(60, 30))), (0,)),
    "rosenbrock": (rosenbrock, (rng.normal(size=12),), (0,)),
    "logistic": (
        logistic,
        (rng.normal(size=10), np.float64(0.1), rng.normal(size=(50, 10)), np.sign(rng.normal(size=50))),
        (0, 1),
    ),
    "cross_entropy": (cross_entropy, (rng.normal(size=(1024, 300)), rng.integers(0, 300, 1024)), (0,)),
    "wave": (wave, (rng.normal(size=200_000), rng.normal(size=200_000)), (0, 1)),
    "normalised": (normalised, (rng.normal(size=(2048, 128)), rng.normal(size=128), rng.normal(size=128)), (0, 1, 2)),
    "embedding": (embedding, (rng.normal(size=(50, 8)), rng.integers(0, 50, 64), rng.normal(size=64)), (0,)),
    "predator": (predator, (np.array([1.5, 1.0, 1.0, 3.0]), np.array([1.0, 0.8])), (0, 1)),
    "newton": (newton, (np.float64(2.0),), (0,)),
    "likelihood": (likelihood, (np.array([0.3, -1.0]), rng.normal(size=(40, 3)), rng.normal(size=40)), (0,)),
}
