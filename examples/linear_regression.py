"""Linear regression on a tape: record the loss, take its gradient, step against it.

python examples/linear_regression.py
tapec source examples/linear_regression.py:loss      # the gradient that is generated for the loss
"""

import numpy as np

import tapec


def loss(w, b, x, y):
    """Mean square of what the line misses."""
    residual = x @ w + b - y
    return np.mean(residual**2)


def data(rng, n=200):
    x = rng.normal(size=(n, 3))
    y = x @ np.array([1.0, -2.0, 0.5]) + 3.0 + 0.1 * rng.normal(size=n)
    return x, y


loss.example_args = lambda: (np.zeros(3), 0.0, *data(np.random.default_rng(0)))


def main():
    x, y = data(np.random.default_rng(0))
    w, b = tapec.Variable(np.zeros(3), name="w"), tapec.Variable(0.0, name="b")
    for step in range(100):
        with tapec.GradientTape() as tape:
            value = loss(w, b, x, y)
        d_w, d_b = tape.gradient(value, [w, b])
        w.assign_sub(0.1 * d_w)
        b.assign_sub(0.1 * d_b)
        if step % 20 == 0:
            print(f"step {step:3d}  loss {value:.5f}")
    print("w =", np.round(w.numpy(), 2), " b =", np.round(b.numpy(), 2))
    print("one gradient function was generated, and served every step:", tapec.cache_info().compilations == 1)


if __name__ == "__main__":
    main()
