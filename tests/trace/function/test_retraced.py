"""Functions that are recorded at each call: they compute with what their arrays held when these were read."""

import numpy as np
import pytest

import tapec

history = []


def refilled(x):
    history.append(1.0)
    buffer, s = np.zeros(len(x)), 0.0
    for i in range(2):
        s = s + np.sum(buffer * x) ** 2
        buffer[:] = 0.0
        buffer[i] = 1.0
    return s


def changed_after(x):
    history.append(1.0)
    made = np.arange(float(len(x)))
    y = np.concatenate([made, x])
    made[:] = 5.0
    return np.sum(np.sin(y) * np.concatenate([x, made]))


def random(x):
    weights = np.random.default_rng().uniform(1.0, 2.0, x.shape)
    y = np.sum(weights * x - weights * x.copy())
    weights[:] = 3.0
    return y + np.sum(weights * x**2)


@pytest.mark.parametrize("f", [refilled, changed_after, random])
@pytest.mark.parametrize("n", [2, 3, 9000])
def test_arrays_that_change_after_they_were_read(f, n):
    value_and_grad, compiled = tapec.value_and_grad(f), tapec.compile(f)
    direction = np.cos(np.arange(n))
    for shift in (0.0, 0.3):
        x = np.linspace(-0.5, 0.7, n) + shift
        value, gradient = value_and_grad(x)
        slope = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
        np.testing.assert_allclose([value, compiled(x)], f(x), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-5, atol=1e-7)
