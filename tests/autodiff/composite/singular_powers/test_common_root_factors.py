"""Products with roots of their own factors are flat where these are zero."""

import numpy as np
import pytest

import tapec
from tests.autodiff.composite.singular_powers.test_power_of_power import FIRST
from tests.properties import has, statements

K = np.array([2.0, 0.3, 1.7])
FLOW = {  # of x and of something else that is positive, each zero with its slopes where x is
    "multiple": lambda x, k: x * np.sqrt(2 * x),
    "multiples": lambda x, k: 3 * x * np.sqrt(2.5 * x),
    "power of a multiple": lambda x, k: (2 * x) ** 0.5 * x,
    "cube root": lambda x, k: x * np.cbrt(3 * x),
    "square": lambda x, k: x**2 * np.sqrt(3 * x),
    "product": lambda x, k: x * x * np.sqrt(3 * x),
    "with an array": lambda x, k: x * np.sqrt(k * x),
    "its own root": lambda x, k: k * x * np.sqrt(x),
    "quotient": lambda x, k: x / k * np.sqrt(x / 9.81),
    "root first": lambda x, k: k * np.sqrt(x / k) * x,
    "scaled root": lambda x, k: 0.5 * np.sqrt(k * x) * x,
    "negative": lambda x, k: -x * np.sqrt(-k * -x),
    "square of a negative": lambda x, k: (-x) ** 2 * np.sqrt(k * x),
    "size": lambda x, k: x * np.abs(k * x) ** 0.852,
    "sign": lambda x, k: np.sign(x) * np.sqrt(np.abs(x) / k) * x,
    "beside what is there": lambda x, k: x * np.sqrt(x * (k + x)),
    "hydraulic radius": lambda x, k: (a := k * x) * (a / (k + 2 * x)) ** (2 / 3) / 0.03,
    "two roots": lambda x, k: x * np.sqrt(k * x) * np.cbrt(x / k),
    "two factors": lambda x, k: k * x * np.sqrt(k * x),
    "of one that is there twice": lambda x, k: np.sinh(x) * np.sqrt(np.sinh(x) * k),
    "square of a root": lambda x, k: x * np.sqrt(k * x) ** 2,
    "beside its reciprocal": lambda x, k: x * k * np.sqrt(k * x) / (x + k) / k,
    "root of a root": lambda x, k: x * np.sqrt(np.sqrt(np.abs(x)) * 2),
    "root beside one of it": lambda x, k: x * (r := np.sqrt(k * x)) * np.sqrt(k * r),
    "value between on several levels": lambda x, k: (u := -x) * (u * k * 2 * 3 * 5 * u) * np.sqrt(k * x),
    "root of a cube": lambda x, k: np.sqrt(k * x**3),
    "power of a power": lambda x, k: (k * x**4 / 7.0) ** 0.3,
    "cube root of a power": lambda x, k: np.cbrt(k * x**5),
}


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FLOW)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value", "ignore:underflow")
def test_at_zero(name, dtype, optimize):
    tapec.cache_clear()
    x, k = np.array([0.0, 0.0, 1.3], dtype), K.astype(dtype)
    with tapec.settings(optimize=optimize):
        for way in FIRST.values():
            slope = way(lambda x: np.sum(FLOW[name](x, k)))(x)
            assert slope.dtype == dtype
            np.testing.assert_array_equal(slope[:2], 0.0)
        both = tapec.grad(lambda x, k: np.sum(FLOW[name](x, k)), argnums=(0, 1))(x, k)
        np.testing.assert_array_equal([both[0][:2], both[1][:2]], 0.0)


@pytest.mark.parametrize("name", FLOW)
def test_elsewhere(name):
    tapec.cache_clear()
    loss = lambda x, k: np.sum(FLOW[name](x, k) * [1.0, -2.0, 0.5])
    tapec.check_grads(loss, (np.array([0.4, 1.3, 2.2]), K), order=2)


def test_where_both_are_below_zero():
    f = lambda x, k: np.sum(
        x * np.sqrt(k * x) + x * np.cbrt(k * x) + x * np.abs(k * x) ** 0.7 + (-x) ** 1.5 * np.sqrt(k * x)
    )
    tapec.check_grads(f, (np.array([-0.4, -1.3, -2.2]), -K), order=2)


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_infinite_slopes_stay():
    """Along what is zero under a root, where the rest is not; in second derivatives."""
    by_x, by_k = tapec.grad(lambda x, k: x * np.sqrt(k * x), argnums=(0, 1))(2.0, 0.0)
    assert by_x == 0 and by_k == np.inf
    assert tapec.grad(lambda k: np.sqrt(k * 8.0**3))(0.0) == np.inf
    assert tapec.grad(lambda k, x: np.sqrt(k * x**3))(0.0, 2.0) == np.inf
    assert tapec.hessian(lambda x: x * np.sqrt(2 * x))(0.0) == np.inf
    assert tapec.grad(lambda x: 3 * np.sqrt(2 * x))(0.0) == np.inf
    assert tapec.hessian(lambda x: x**2 * np.sqrt(2 * x))(0.0) == 0


def test_of_rows():
    """Factors are broadcast."""
    x, k = np.array([[0.0], [2.0]]), np.array([1.0, 3.0, 0.5])
    by_x, by_k = tapec.grad(lambda x, k: np.sum(x * np.sqrt(x * k)), argnums=(0, 1))(x, k)
    np.testing.assert_allclose(by_x, 1.5 * np.sum(np.sqrt(x * k), axis=1, keepdims=True))
    np.testing.assert_allclose(by_k, 0.5 * np.sqrt(8 / k))
    each = tapec.vmap(tapec.grad(lambda x: x * np.sqrt(2 * x)))(np.array([0.0, 2.0]))
    np.testing.assert_allclose(each, [0.0, 3.0])


def test_of_different_precision():
    x, k = np.array([0.0, 2.0], np.float32), np.array([0.5, 4.0])
    for way in FIRST.values():
        slope = way(lambda x: np.sum(x * np.sqrt(k * x) + np.arange(2) * x * np.sqrt(2 * x)))(x)
        np.testing.assert_allclose(slope, 1.5 * np.sqrt(k * x) + [0.0, 3.0], rtol=1e-6)


def test_values_between_are_sources_too():
    x = tapec.constant([0.5, 2.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        u = 2.0 * x
        r = np.sqrt(u)
        y = x * r
    for found, expected in zip(tape.gradient(y, [x, u, r]), ([1.5, 3.0], [0.25, 0.5], [0.5, 2.0]), strict=True):
        np.testing.assert_allclose(found.numpy(), expected)


@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x, k: np.sum(x * np.sqrt(k * x)), "1.5 * np.sqrt(k * x)"),
        (lambda x, k: np.sum(0.6 * x * np.sqrt(x)), "0.9 * np.sqrt(x)"),
        (lambda x, k: np.sum(x * np.abs(x) ** 0.852), "1.852 * np.abs(x) ** 0.852"),
    ],
)
def test_slopes_are_multiples_of_the_root(f, slope):
    x = np.linspace(0.1, 2, 2000)
    source = tapec.grad(f).source(x, x)
    assert has(source, slope)
    assert len(statements(source)) == 2  # and the return
