"""Control flow: an adaptive integrator with `while` and `if` on computed values, differentiated as it stands.

Each path through the steps is traced once and becomes a branch of the generated code; `explain` shows the guards.

    python examples/adaptive_integrator.py
"""

import numpy as np

import tapec


def van_der_pol(mu, x, v):
    return v, mu * (1.0 - x * x) * v - x


def integrate(mu, x, v, end, tolerance=1e-3):
    """Heun's method; a step is halved while it is too coarse, and doubled after one that was very fine."""
    t, h = 0.0, 0.25
    while t < end:
        h = min(h, end - t)
        a, b = van_der_pol(mu, x, v)
        c, d = van_der_pol(mu, x + h * a, v + h * b)
        error = h / 2 * (np.abs(c - a) + np.abs(d - b))
        if error > tolerance:
            h = h / 2
            continue
        x, v, t = x + h / 2 * (a + c), v + h / 2 * (b + d), t + h
        if error < tolerance / 4:
            h = 2 * h
    return x


position = tapec.compile(integrate)
slope = tapec.grad(integrate)
integrate.example_args = (1.0, 1.0, 0.0, 1.0)


def main():
    for mu in (0.5, 1.0, 1.0001, 2.0):
        eps = 1e-6
        measured = (integrate(mu + eps, 1.0, 0.0, 1.0) - integrate(mu - eps, 1.0, 0.0, 1.0)) / (2 * eps)
        x, dx = position(mu, 1.0, 0.0, 1.0), slope(mu, 1.0, 0.0, 1.0)
        print(f"mu {mu:<6}  x(1) = {x:.6f}  dx/dmu = {dx:.6f}  measured {measured:.6f}")
    paths = slope.explain(1.0, 1.0, 0.0, 1.0).paths
    print(f"{len(paths)} paths compiled, {slope.cache_info().compilations} compilations")


if __name__ == "__main__":
    main()
