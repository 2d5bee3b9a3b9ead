"""Fit the rates of a predator-prey system to noisy counts, with gradients through the integrator.

The loop is unrolled into straight code on Python floats; the first call compiles it.

    python examples/ode_fit.py                   # writes ode_fit.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot
from scipy.optimize import minimize

import tapec


def rates(z, p):
    prey, predators = z
    return np.array([p[0] * prey - p[1] * prey * predators, p[2] * prey * predators - p[3] * predators])


def rk4(z, p, h):
    k1 = rates(z, p)
    k2 = rates(z + 0.5 * h * k1, p)
    k3 = rates(z + 0.5 * h * k2, p)
    k4 = rates(z + h * k3, p)
    return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def simulate(log_p, start, h, steps):
    p = np.exp(log_p)
    z, path = start, [start]
    for _ in range(steps):
        z = rk4(z, p, h)
        path.append(z)
    return np.stack(path)


@tapec.value_and_grad
def loss(log_p, start, data):
    path = simulate(log_p, start, 0.25, len(data) - 1)
    return np.mean((np.log(path) - np.log(data)) ** 2)


TRUTH = np.array([1.0, 0.4, 0.1, 0.5])
START = np.array([6.0, 3.0])
loss.example_args = lambda: (np.log(TRUTH), START, np.ones((5, 2)))


def main():
    rng = np.random.default_rng(0)
    clean = simulate(np.log(TRUTH), START, 0.25, 40)
    data = clean * np.exp(0.05 * rng.normal(size=clean.shape))
    found = minimize(loss, np.log([0.7, 0.3, 0.2, 0.7]), args=(START, data), jac=True, method="L-BFGS-B")
    print(f"{found.nit} iterations, loss {found.fun:.5f}")
    print("rates", np.round(np.exp(found.x), 3), " truth", TRUTH)

    fit = simulate(found.x, START, 0.25, 40)

    def draw(axes):
        times = 0.25 * np.arange(41)
        for k, name in enumerate(("prey", "predators")):
            axes.plot(times, fit[:, k], label=name)
            axes.plot(times, data[:, k], "k.", markersize=4)
        axes.set(xlabel="time", ylabel="animals")
        axes.legend()

    save_plot("ode_fit.png", draw)


if __name__ == "__main__":
    main()
