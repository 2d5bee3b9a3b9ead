"""np.interp at equal abscissae, and at and beyond the ends."""

import numpy as np
import pytest

import tapec

PLACES = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
GRIDS = [[0, 1, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1, 2], [0, 2, 2, 2], [1], [0, 0, 2, 2]]


@pytest.mark.parametrize("grid", GRIDS)
def test_gradients_of_values_at_equal_abscissae(grid):
    xp, fp = np.array(grid, float), np.random.default_rng(0).normal(size=len(grid))
    f = lambda fp: np.sum(np.interp(PLACES, xp, fp) * np.arange(1.0, 8.0))
    slopes = [(f(fp + e) - f(fp - e)) / 2e-6 for e in 1e-6 * np.eye(len(fp))]
    np.testing.assert_allclose(tapec.grad(f)(fp), slopes, atol=1e-6)
