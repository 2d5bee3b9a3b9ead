"""Drawn programs of slices, products and sums on an image large enough for loops: optimised and as differentiated."""

import numpy as np
import pytest

import tapec

CUTS = [slice(None), slice(1, None), slice(None, -1), slice(1, -1), slice(0, -2), slice(2, None)]
UNARY = [np.sin, np.exp, np.abs, lambda x: x * x, lambda x: -x]
SEEDS = (*range(12), 44, 45, 310)


def drawn(seed):
    """A function of an image, a row and a number, in which every value is called z, a or b."""

    def f(u, r, s):
        rng = np.random.default_rng(seed)
        known, t = [u], 0.0
        for _ in range(rng.integers(3, 12)):
            x, y = (known[rng.integers(len(known))] for _ in range(2))
            kind = rng.integers(0, 7)
            if kind < 3 and rng.random() < 0.7:
                z = x[CUTS[rng.integers(6)], CUTS[rng.integers(6)]]
            elif kind < 3:
                z = x[..., CUTS[rng.integers(6)]]
            elif kind == 3:
                z = UNARY[rng.integers(5)](x)
            elif kind == 4:
                z = x * s
            else:
                n, m = min(x.shape[0], y.shape[0]), min(x.shape[1], y.shape[1])
                a, b = x[:n, :m], y[-n:, -m:]
                z = a - b if kind == 5 else a * b
            known.append(z)
            if rng.random() < 0.4:
                t = t + (np.sum(z * r[: z.shape[1]]) if rng.random() < 0.5 else np.sum(np.sqrt(z * z + 1)))
        return t + np.sum(known[-1])

    return f


@pytest.mark.parametrize("seed", SEEDS)
def test_optimised_and_plain_gradients_agree(seed):
    rng = np.random.default_rng(seed)
    u, r, s = 0.3 * rng.normal(size=(600, 500)), rng.normal(size=500), np.float64(rng.normal())
    f = drawn(seed)
    value, gradients = tapec.value_and_grad(f, argnums=(0, 1, 2))(u, r, s)
    with tapec.settings(optimize=False):
        plain_value, plain = tapec.value_and_grad(f, argnums=(0, 1, 2))(u, r, s)
    np.testing.assert_allclose(value, plain_value, rtol=1e-10)
    for got, wanted in zip(gradients, plain, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * np.max(np.abs(wanted), initial=0.0))
    with tapec.settings(check_nan=True):  # each value in an array of its own
        _, alone = tapec.value_and_grad(f, argnums=(0, 1, 2))(u, r, s)
    for got, wanted in zip(gradients, alone, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * np.max(np.abs(wanted), initial=0.0))
