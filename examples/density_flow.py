"""A normalising flow learns the density of two moons: layers that can be inverted, and their log determinants.

python examples/density_flow.py              # writes density_flow.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot
from sklearn.datasets import make_moons

import tapec

LAYERS, WIDTH = 6, 24


def to_normal(params, x):
    """Carry points to where they are normally distributed; also the log of how much room that takes or makes."""
    a, b, log_det = x[:, 0], x[:, 1], 0.0
    for layer in params:
        h = np.tanh(a[:, None] * layer["w"] + layer["b"]) @ layer["v"] + layer["c"]
        scale = np.tanh(h[:, 0])
        b = b * np.exp(scale) + h[:, 1]
        log_det = log_det + scale
        a, b = b, a
    return a, b, log_det


def log_density(params, x):
    a, b, log_det = to_normal(params, x)
    return log_det - 0.5 * (a * a + b * b) - np.log(2 * np.pi)


@tapec.value_and_grad
def loss(params, x):
    return -np.mean(log_density(params, x))


def start(rng):
    shapes = {"w": (WIDTH,), "b": (WIDTH,), "v": (WIDTH, 2), "c": (2,)}
    return [{name: 0.3 * rng.normal(size=shape) for name, shape in shapes.items()} for _ in range(LAYERS)]


loss.example_args = lambda: (start(np.random.default_rng(0)), np.ones((8, 2)))


def main():
    rng = np.random.default_rng(1)
    x = make_moons(2000, noise=0.08, random_state=0)[0]
    params = start(rng)
    mean, square = ([{name: np.zeros_like(v) for name, v in layer.items()} for layer in params] for _ in range(2))
    for rate in np.linspace(0.01, 0.0005, 2000):
        gradient = loss(params, x[rng.integers(0, len(x), size=256)])[1]
        for layer, g, m, s in zip(params, gradient, mean, square, strict=True):  # Adam
            for name in layer:
                m[name] = 0.9 * m[name] + 0.1 * g[name]
                s[name] = 0.99 * s[name] + 0.01 * g[name] ** 2
                layer[name] = layer[name] - rate * m[name] / (np.sqrt(s[name]) + 1e-3)
    across, up = np.meshgrid(np.linspace(-1.8, 2.8, 120), np.linspace(-1.2, 1.7, 80))
    density = np.exp(log_density(params, np.stack([across.ravel(), up.ravel()], axis=1)))
    room = np.sum(density) * (across[0, 1] - across[0, 0]) * (up[1, 0] - up[0, 0])
    print(f"minus log likelihood {loss(params, x)[0]:.3f}; probability in the picture {room:.3f}")

    def draw(axes):
        axes.contourf(across, up, density.reshape(across.shape), levels=12, cmap="Blues")
        axes.plot(*x[:150].T, ".", color="tab:red", markersize=3, label="150 of the points")
        axes.legend(loc="upper right")

    save_plot("density_flow.png", draw, (6, 3.6))


if __name__ == "__main__":
    main()
