"""A training loop on the tape, with Variables and an optimiser of one's own (Adam), as TensorFlow users write it.

python examples/tape_training.py
"""

import numpy as np

import tapec


class Dense:
    """A layer: two Variables."""

    def __init__(self, rng, inputs, outputs):
        self.w = tapec.Variable(rng.normal(size=(inputs, outputs)) / np.sqrt(inputs), name="w")
        self.b = tapec.Variable(np.zeros(outputs), name="b")

    def __call__(self, x):
        return x @ self.w + self.b


class Adam:
    def __init__(self, rate=0.01):
        self.rate, self.step, self.moments = rate, 0, {}

    def apply(self, pairs):
        self.step += 1
        for gradient, variable in pairs:
            g = gradient.numpy()
            m, v = self.moments.get(id(variable), (0.0, 0.0))
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            self.moments[id(variable)] = m, v
            scale = np.sqrt(1 - 0.999**self.step) / (1 - 0.9**self.step)
            variable.assign_sub(self.rate * scale * m / (np.sqrt(v) + 1e-8))


def main():
    rng = np.random.default_rng(0)
    first, second = Dense(rng, 1, 32), Dense(rng, 32, 1)
    optimizer = Adam()
    x = np.linspace(-3, 3, 128)[:, None]
    y = np.sin(2 * x)
    for step in range(600):
        with tapec.GradientTape() as tape:
            loss = np.mean((second(np.tanh(first(x))) - y) ** 2)
        variables = tape.watched_variables()
        optimizer.apply(zip(tape.gradient(loss, variables), variables, strict=True))
        if step % 150 == 0 or step == 599:
            print(f"step {step:3d}  loss {loss:.5f}")


if __name__ == "__main__":
    main()
