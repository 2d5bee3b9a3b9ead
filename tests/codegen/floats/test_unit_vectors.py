"""Jacobians on floats: numbers of unit vectors are computed when code is made; what is selected leaks nothing."""

import numpy as np
import pytest

import tapec
from tests.properties import calls, entry, has, on_floats


def floats(f, x):
    """Return the form on floats of the generated code."""
    assert on_floats(f.source(x))
    return entry(f.source(x))


def differences(f, x, eps=1e-6):
    return np.stack([(f(x + eps * e) - f(x - eps * e)) / (2 * eps) for e in np.eye(len(x))], axis=1)


def pendulum(x):
    """Products and quotients of what nothing flows into from the first element."""
    s, c = np.sin(x[1]), np.cos(x[1])
    force = (2.0 + 0.05 * x[3] ** 3 * s) / (1.5 - c * c / 3.0)
    bent = np.sqrt(4.0 + s) * np.log(3.0 + force)
    return np.stack([x[2], x[3], force / bent, bent * (s - force * c)])


def step(x):
    half = x + 0.05 * pendulum(x)
    return x + 0.1 * pendulum(half)


@pytest.mark.parametrize("f", [pendulum, step])
@pytest.mark.parametrize("transform", [tapec.jacrev, tapec.jacfwd])
def test_programs(f, transform):
    x = np.array([0.1, 0.2, -0.3, 0.4])
    jacobian = transform(f)
    np.testing.assert_allclose(jacobian(x), differences(f, x), atol=1e-8)
    assert calls(floats(jacobian, x), ".tolist")


def test_numbers_of_unit_vectors_are_computed_at_once():
    x = np.array([0.1, 0.2, -0.3, 0.4])
    jacobian = tapec.jacobian(lambda x: x + 0.5 * (0.25 * pendulum(x) + 0.25 * pendulum(2.0 * x)))
    np.testing.assert_allclose(jacobian(x)[0], [1.0, 0.0, 0.375, 0.0])
    assert has(floats(jacobian, x), "[1.0, 0.0, 0.375, 0.0]")


def test_no_selection_among_structural_zeros():
    x = np.array([0.1, 0.2, -0.3, 0.4])
    jacobian = tapec.jacobian(lambda x: np.stack([np.maximum(x[0] * x[1], x[2]), x[2] * np.exp(x[3])]))
    np.testing.assert_allclose(jacobian(x), [[0.2, 0.1, 0.0, 0.0], [0.0, 0.0, np.exp(0.4), -0.3 * np.exp(0.4)]])
    assert not has(floats(jacobian, x), "0.0 if _ else 0.0")


@pytest.mark.parametrize("large", [1e200, np.inf, np.nan])
def test_selected_values_are_computed(large):
    def f(x):
        cubed = x[1] * x[1] * x[1]
        return np.stack([np.where(x[0] > 0, 2.0 * cubed, 0.0), np.exp(x[0]) * x[2], x[2] * x[2] / x[0]])

    jacobian = tapec.jacrev(f)
    jacobian(np.array([0.1, 0.2, -0.3]))
    x = np.array([-0.5, large, 0.5])
    assert calls(floats(jacobian, x), ".tolist")
    expected = [[0.0, 0.0, 0.0], [np.exp(-0.5) * 0.5, 0.0, np.exp(-0.5)], [-1.0, 0.0, -2.0]]
    np.testing.assert_allclose(jacobian(x), expected)
