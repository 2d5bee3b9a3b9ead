"""Logistic regression with SciPy's L-BFGS: a compiled value and gradient goes straight into `scipy.optimize`.

python examples/logistic_regression.py
"""

import numpy as np
from scipy.optimize import minimize

import tapec


@tapec.value_and_grad
def loss(w, x, y, decay):
    """Mean log-loss of labels 0 and 1, and a pull towards small weights."""
    logits = x @ w[:-1] + w[-1]
    return np.mean(np.logaddexp(0.0, logits) - y * logits) + decay * np.sum(w**2)


loss.example_args = (np.zeros(3), np.eye(4, 2), np.array([0.0, 1.0, 1.0, 0.0]), 1e-3)


def main():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    truth = np.array([2.0, -1.0, 0.5])
    y = (rng.uniform(size=400) < 1 / (1 + np.exp(-x @ truth[:-1] - truth[-1]))).astype(float)

    found = minimize(loss, np.zeros(3), args=(x, y, 1e-3), jac=True, method="L-BFGS-B")
    accuracy = np.mean((x @ found.x[:-1] + found.x[-1] > 0) == (y > 0))
    print(f"{found.nit} iterations, loss {found.fun:.4f}, accuracy {accuracy:.2f}")
    print("weights", np.round(found.x, 2), " truth", truth)


if __name__ == "__main__":
    main()
