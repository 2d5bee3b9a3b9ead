"""An implicit layer: the output solves an equation, and its gradient comes from the equation, not from the solver.

Prices clear a market when demand meets supply; which tax brings in the most? The solver is SciPy's `brentq`, which
knows nothing of gradients.

    python examples/implicit_layer.py
"""

import numpy as np
from scipy.optimize import brentq

import tapec


def clearing_price(tax, shift):
    """The price at which demand equals supply; sellers get the price without the tax."""

    def excess(price):
        return np.exp(shift - price) - (price - tax) ** 2

    def solve(f, start):
        return brentq(f, start, start + 20.0)

    return tapec.custom_root(excess, tax, solve)


def revenue(tax, shift):
    price = clearing_price(tax, shift)
    return tax * (price - tax) ** 2


slope = tapec.grad(revenue)
bend = tapec.grad(slope)
revenue.example_args = (0.5, 2.0)


def main():
    tax, shift = 0.5, 2.0
    for step in range(6):
        print(f"step {step}  tax {tax:.6f}  revenue {revenue(tax, shift):.6f}  slope {slope(tax, shift):+.1e}")
        tax = tax - slope(tax, shift) / bend(tax, shift)  # Newton, with the second derivative through the solution
    eps = 1e-5
    measured = (revenue(0.5 + eps, shift) - revenue(0.5 - eps, shift)) / (2 * eps)
    print(f"at 0.5 the slope is {slope(0.5, shift):.8f}; differences say {measured:.8f}")


if __name__ == "__main__":
    main()
