"""A recurrent network (GRU) learns a wave from noisy pieces of it, and continues one by itself.

python examples/rnn_wave.py                  # writes rnn_wave.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot

import tapec

HIDDEN, STEPS, BATCH = 16, 25, 64


def wave(t):
    return np.sin(t) * np.cos(0.37 * t)


def sigmoid(x):
    return 0.5 * (np.tanh(0.5 * x) + 1.0)


def step(params, h, x):
    """One step of a gated recurrent unit: the new state, and the guess of the next value."""
    z, r = np.split(sigmoid(h @ params["gates"] + x[:, None] * params["inputs"] + params["bias"]), 2, axis=1)
    new = np.tanh((r * h) @ params["state"] + x[:, None] * params["drive"])
    h = (1.0 - z) * h + z * new
    return h, h @ params["out"]


@tapec.value_and_grad
def loss(params, pieces):
    h, errors = np.zeros((len(pieces), HIDDEN)), 0.0
    for k in range(pieces.shape[1] - 1):
        h, guess = step(params, h, pieces[:, k])
        errors = errors + np.mean((guess - pieces[:, k + 1]) ** 2)
    return errors / (pieces.shape[1] - 1)


def start(rng):
    return {
        "gates": rng.normal(size=(HIDDEN, 2 * HIDDEN)) / 4,
        "inputs": rng.normal(size=2 * HIDDEN) / 4,
        "bias": np.zeros(2 * HIDDEN),
        "state": rng.normal(size=(HIDDEN, HIDDEN)) / 4,
        "drive": rng.normal(size=HIDDEN),
        "out": rng.normal(size=HIDDEN) / 4,
    }


loss.example_args = lambda: (start(np.random.default_rng(0)), np.zeros((2, 4)))


def main():
    rng = np.random.default_rng(0)
    params = start(rng)
    mean, square = ({name: np.zeros_like(v) for name, v in params.items()} for _ in range(2))
    for k in range(1, 601):
        times = rng.uniform(0.0, 60.0, size=(BATCH, 1)) + 0.4 * np.arange(STEPS)
        value, gradient = loss(params, wave(times) + 0.02 * rng.normal(size=times.shape))
        for name, g in gradient.items():  # Adam
            mean[name] = 0.9 * mean[name] + 0.1 * g
            square[name] = 0.99 * square[name] + 0.01 * g * g
            rate = 0.01 * np.sqrt(1 - 0.99**k) / (1 - 0.9**k)
            params[name] = params[name] - rate * mean[name] / (np.sqrt(square[name]) + 1e-8)
    times = 0.4 * np.arange(120)
    h, x, said = np.zeros((1, HIDDEN)), wave(times[:1]), []
    for k in range(len(times)):  # it hears 40 values, then itself
        h, guess = step(params, h, wave(times[k : k + 1]) if k < 40 else x)
        x = guess
        said.append(guess[0])
    error = np.sqrt(np.mean((np.array(said[40:60]) - wave(times[41:61])) ** 2))
    print(f"loss {value:.4f}; error of twenty values that it continued: {error:.3f}")

    def draw(axes):
        axes.plot(times, wave(times), color="0.7", linewidth=4, label="the wave")
        axes.plot(times[1:41], said[:40], label="told each value, guesses the next")
        axes.plot(times[41:], said[40:-1], label="goes on by itself")
        axes.set(xlabel="time")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)

    save_plot("rnn_wave.png", draw, (7, 3))


if __name__ == "__main__":
    main()
