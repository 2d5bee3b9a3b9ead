"""Gaussian process regression: the marginal likelihood and its gradient share one Cholesky factorisation.

python examples/gaussian_process.py          # writes gaussian_process.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot
from scipy.optimize import minimize

import tapec


def kernel(log_scale, log_length, a, b):
    apart = a[:, None] - b[None, :]
    return np.exp(2 * log_scale - 0.5 * apart**2 * np.exp(-2 * log_length))


@tapec.value_and_grad
def negative_log_likelihood(theta, x, y):
    log_scale, log_length, log_noise = theta
    k = kernel(log_scale, log_length, x, x) + (np.exp(2 * log_noise) + 1e-8) * np.eye(len(x))
    root = np.linalg.cholesky(k)
    alpha = np.linalg.solve(k, y)
    return 0.5 * y @ alpha + np.sum(np.log(np.diag(root))) + 0.5 * len(x) * np.log(2 * np.pi)


negative_log_likelihood.example_args = lambda: (np.zeros(3), np.linspace(0, 1, 20), np.sin(np.arange(20.0)))


def main():
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(-4, 4, 60))
    y = np.sin(1.5 * x) + 0.2 * rng.normal(size=60)

    found = minimize(negative_log_likelihood, np.zeros(3), args=(x, y), jac=True, method="L-BFGS-B")
    scale, length, noise = np.exp(found.x)
    print(f"{found.nit} iterations, -log likelihood {found.fun:.3f}")
    print(f"scale {scale:.2f}, length {length:.2f}, noise {noise:.2f} (the data has 0.2)")

    grid = np.linspace(-5, 5, 200)
    k = kernel(*found.x[:2], x, x) + noise**2 * np.eye(60)
    cross = kernel(*found.x[:2], grid, x)
    mean = cross @ np.linalg.solve(k, y)
    spread = np.sqrt(np.maximum(scale**2 - np.sum(cross * np.linalg.solve(k, cross.T).T, axis=1), 0.0))

    def draw(axes):
        axes.fill_between(grid, mean - 2 * spread, mean + 2 * spread, alpha=0.2, label="± 2 deviations")
        axes.plot(grid, mean, label="mean")
        axes.plot(x, y, "k.", markersize=4, label="data")
        axes.set(xlabel="x", ylabel="f(x), without noise")
        axes.legend(loc="upper center", ncols=3)

    save_plot("gaussian_process.png", draw)


if __name__ == "__main__":
    main()
