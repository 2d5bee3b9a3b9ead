"""Fit a smooth curve through data with outliers: `least_squares` with a robust loss and a sparse Jacobian.

One unknown for each of 400 points, pulled to the data and to its neighbours: the Jacobian has 3 numbers in a row, and
tapec computes just those.

    python examples/robust_curve_fit.py          # writes robust_curve_fit.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot
from scipy.optimize import least_squares

import tapec

SMOOTH = 15.0


def residuals(u, data):
    """What u misses of the data, and how much it bends."""
    return np.concatenate([u - data, SMOOTH * (u[2:] - 2 * u[1:-1] + u[:-2])])


jacobian = tapec.jacobian(residuals, sparse=True)


def main():
    rng = np.random.default_rng(0)
    x = np.linspace(0, 4 * np.pi, 400)
    data = np.sin(x) + 0.1 * rng.normal(size=400)
    data[rng.integers(0, 400, 40)] += rng.normal(scale=4.0, size=40)

    found = least_squares(residuals, data, jac=jacobian, args=(data,), loss="soft_l1", f_scale=0.1)
    plain = least_squares(residuals, data, jac=jacobian, args=(data,))
    shape, stored = jacobian(data, data).shape, jacobian(data, data).nnz
    print(f"Jacobian {shape[0]} × {shape[1]}, {stored} numbers stored")
    for name, fit in (("robust", found), ("plain", plain)):
        print(
            f"{name:7s} {fit.nfev:3d} evaluations, error of the curve {np.sqrt(np.mean((fit.x - np.sin(x)) ** 2)):.3f}"
        )

    def draw(axes):
        axes.plot(x, data, ".", color="0.7", markersize=3, label="data")
        axes.plot(x, plain.x, label="plain")
        axes.plot(x, found.x, label="robust")
        axes.set(xlabel="x", ylim=(-2, 2))  # some of the data lie outside
        axes.legend()

    save_plot("robust_curve_fit.png", draw)


if __name__ == "__main__":
    main()
