"""Where does a plate conduct badly? Temperatures tell, with the heat equation as a constraint.

The temperature u solves div(k grad u) = -source by conjugate gradients. Its gradient with respect to k solves one more
such equation, the adjoint one, and does not look into the solver.

    python examples/pde_conductivity.py          # writes pde_conductivity.png where matplotlib is installed
"""

import numpy as np
from picture import save_plot
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

import tapec

N = 20
CENTRES = (np.arange(N) + 0.5) / N


def flow_out(k, u):
    """Heat that leaves each cell of a plate whose edges are held at zero; k is the conductivity of cells."""
    k, u = np.pad(k, 1, mode="edge"), np.pad(u, 1)
    right = 0.5 * (k[1:, 1:-1] + k[:-1, 1:-1]) * (u[1:, 1:-1] - u[:-1, 1:-1])
    up = 0.5 * (k[1:-1, 1:] + k[1:-1, :-1]) * (u[1:-1, 1:] - u[1:-1, :-1])
    return (right[:-1] - right[1:] + up[:, :-1] - up[:, 1:]) * N**2


def temperature(k, source):
    def solve(matvec, b):
        a = LinearOperator((N * N, N * N), matvec=lambda v: np.ravel(matvec(np.reshape(v, (N, N)))), dtype=float)
        return np.reshape(cg(a, np.ravel(b), rtol=1e-8)[0], (N, N))

    return tapec.custom_linear_solve(lambda u: flow_out(k, u), source, solve)


@tapec.value_and_grad
def loss(log_k, source, measured):
    k = np.exp(np.reshape(log_k, (N, N)))
    rough = np.sum(np.diff(log_k.reshape(N, N), axis=0) ** 2) + np.sum(np.diff(log_k.reshape(N, N), axis=1) ** 2)
    return np.sum((temperature(k, source) - measured) ** 2) / 0.002**2 + 2.0 * rough


loss.example_args = lambda: (np.zeros(N * N), np.ones((N, N)), np.ones((N, N)))


def main():
    rng = np.random.default_rng(0)
    x, y = np.meshgrid(CENTRES, CENTRES, indexing="ij")
    truth = np.exp(-1.5 * np.exp(-((x - 0.35) ** 2 + (y - 0.6) ** 2) / 0.02))  # a bad spot
    source = np.ones((N, N))
    measured = temperature(truth, source) + 0.0005 * rng.normal(size=(N, N))
    found = minimize(
        loss, np.zeros(N * N), args=(source, measured), jac=True, method="L-BFGS-B", options={"maxiter": 60}
    )
    k = np.exp(found.x.reshape(N, N))
    spot = np.unravel_index(np.argmin(k), k.shape)
    print(f"conducts worst, {k.min():.2f}, at ({CENTRES[spot[0]]:.2f}, {CENTRES[spot[1]]:.2f}); {found.nfev} gradients")

    def draw(axes):
        shown = np.concatenate([truth, np.full((1, N), np.nan), k])
        picture = axes.imshow(shown.T, origin="lower", cmap="viridis", vmin=0.2, vmax=1.1)
        axes.figure.colorbar(picture, label="conductivity", shrink=0.7)
        axes.set(xticks=[N / 2, 1.5 * N + 1], xticklabels=["truth", "found"], yticks=[])

    save_plot("pde_conductivity.png", draw, (7, 3))


if __name__ == "__main__":
    main()
