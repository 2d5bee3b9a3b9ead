"""A physics-informed network for the heat equation u_t = a u_xx on a rod.

The loss contains second derivatives of the network by its input, so its gradient differentiates three times.

    python examples/heat_pinn.py                 # writes heat_pinn.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot
from scipy.optimize import minimize

import tapec

DIFFUSION, WIDTH = 0.1, 16
SHAPES = ((2, WIDTH), (WIDTH,), (WIDTH, WIDTH), (WIDTH,), (WIDTH,), ())
ENDS = np.cumsum([0, *(int(np.prod(shape)) for shape in SHAPES)])


def unpack(theta):
    return [np.reshape(theta[a:b], shape) for a, b, shape in zip(ENDS[:-1], ENDS[1:], SHAPES, strict=True)]


def network(theta, x, t):
    """Temperature at points x and times t; zero at both ends of the rod, and sin(pi x) at the start."""
    w1, b1, w2, b2, w3, b3 = unpack(theta)
    hidden = np.tanh(np.tanh(np.stack([x, t], axis=-1) @ w1 + b1) @ w2 + b2)
    return np.sin(np.pi * x) + t * x * (1 - x) * (hidden @ w3 + b3)


def along(f, x):
    """The derivative of a function that acts point by point."""
    return tapec.jvp(f, (x,), (np.ones_like(x),))[1]


@tapec.value_and_grad
def loss(theta, x, t):
    u_t = along(lambda t: network(theta, x, t), t)
    u_xx = along(lambda x: along(lambda x: network(theta, x, t), x), x)
    return np.mean((u_t - DIFFUSION * u_xx) ** 2)


loss.example_args = lambda: (0.1 * np.ones(ENDS[-1]), np.linspace(0, 1, 8), np.linspace(0, 1, 8))


def main():
    rng = np.random.default_rng(0)
    theta = 0.5 * rng.normal(size=ENDS[-1])
    x, t = rng.uniform(size=200), rng.uniform(size=200)
    found = minimize(loss, theta, args=(x, t), jac=True, method="L-BFGS-B", options={"maxiter": 400})
    grid = np.linspace(0, 1, 101)
    exact = np.exp(-DIFFUSION * np.pi**2 * 0.7) * np.sin(np.pi * grid)
    error = np.max(np.abs(network(found.x, grid, np.full(101, 0.7)) - exact))
    print(f"{found.nit} iterations, residual {found.fun:.1e}, largest error at t = 0.7: {error:.1e}")

    def draw(axes):
        for time in (0.0, 0.3, 0.7, 1.0):
            axes.plot(grid, network(found.x, grid, np.full(101, time)), label=f"t = {time}")
            truth = np.exp(-DIFFUSION * np.pi**2 * time) * np.sin(np.pi * grid)
            axes.plot(grid, truth, "k:", linewidth=1, label="exact" if time == 1.0 else None)
        axes.set(xlabel="place", ylabel="temperature")
        axes.legend()

    save_plot("heat_pinn.png", draw)


if __name__ == "__main__":
    main()
