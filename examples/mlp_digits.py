"""A small neural network that reads the handwritten digits that come with scikit-learn.

pip install tapec[examples]
python examples/mlp_digits.py
"""

import numpy as np
from sklearn.datasets import load_digits

import tapec


def network(params, x):
    hidden = np.maximum(x @ params["w1"] + params["b1"], 0.0)
    return hidden @ params["w2"] + params["b2"]


@tapec.value_and_grad
def loss(params, x, labels):
    """Mean cross entropy."""
    logits = network(params, x)
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_sum = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_sum - shifted[np.arange(len(labels)), labels])


def start(rng, sizes=(64, 48, 10)):
    return {
        "w1": rng.normal(size=sizes[:2]) * np.sqrt(2 / sizes[0]),
        "b1": np.zeros(sizes[1]),
        "w2": rng.normal(size=sizes[1:]) * np.sqrt(2 / sizes[1]),
        "b2": np.zeros(sizes[2]),
    }


loss.example_args = lambda: (start(np.random.default_rng(0)), np.ones((32, 64)), np.arange(32) % 10)


def main():
    rng = np.random.default_rng(0)
    x, labels = load_digits(return_X_y=True)
    x = x / 16.0
    order = rng.permutation(len(x))
    train, test = order[:1400], order[1400:]

    params = start(rng)
    speed = {name: np.zeros_like(value) for name, value in params.items()}
    for epoch in range(15):
        for batch in np.split(rng.permutation(train)[:1376], 43):
            value, gradient = loss(params, x[batch], labels[batch])
            for name, g in gradient.items():
                speed[name] = 0.9 * speed[name] - 0.05 * g
                params[name] = params[name] + speed[name]
        if epoch % 5 == 4:
            right = np.mean(np.argmax(network(params, x[test]), axis=1) == labels[test])
            print(f"epoch {epoch + 1:2d}  loss {value:.4f}  right on unseen digits {right:.1%}")


if __name__ == "__main__":
    main()
