"""Large operations without a fast loop in NumPy: the same in several that have one."""

import numpy as np
import pytest

from tests.codegen.kit import check, gradient_of, graph_of

x = np.random.default_rng(3).normal(size=(60, 50)) * 30
x[0, :8] = np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 1e-300


@pytest.mark.parametrize("k", [0, 0.0, -0.0, 1.5, -700.0])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_logaddexp_with_a_number(k, dtype):
    with np.errstate(over="ignore"):
        values = x.astype(dtype)
    for f in (lambda x: np.logaddexp(k, x), lambda x: np.logaddexp(x, k)):
        compiled = check(graph_of(f, values), values)
        assert "np.log1p" in compiled.source and "logaddexp" not in compiled.source
        with np.errstate(all="ignore"):
            eps = np.finfo(dtype).eps
            np.testing.assert_allclose(compiled.function(values)[0], f(values), rtol=4 * eps, atol=0)


def test_its_gradient():
    values = x[1:]
    compiled = check(gradient_of(lambda x: np.sum(np.logaddexp(0.0, x) ** 2), values), values)
    assert "logaddexp" not in compiled.source


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.logaddexp(0.0, x[:5, :5]),  # few
        lambda x: np.logaddexp(-np.inf, x),
        lambda x: np.logaddexp(x, x[::-1]),  # infinities of one sign
        lambda x: np.logaddexp(x[0], x),
    ],
)
def test_what_is_left_as_it_is(f):
    assert "logaddexp" in check(graph_of(f, x), x).source
