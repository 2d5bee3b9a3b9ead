"""Polynomials, windows and element-by-element functions against NumPy, and their derivatives against differences."""

import numpy as np
import numpy.polynomial.polynomial as P
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import tapec
from tests.ops.derivatives import check
from tests.properties import calls, operations

rng = np.random.default_rng(8)
U = np.array([1.5, -2.0, 0.7, 3.0])
V = np.array([0.8, 1.2])
X = rng.standard_normal((2, 3))
T = np.linspace(-1.0, 2.0, 7)
Y = rng.standard_normal(7)

ONE = {
    "polyder": lambda p: [np.polyder(p), np.polyder(p, 2), np.polyder(p, 0), np.polyder(p, 5)],
    "polyint": lambda p: [np.polyint(p), np.polyint(p, 2, 3.0), np.polyint(p, 2, [1.0, 2.0]), np.polyint(p, 0)],
    "polyint of a constant": lambda p: np.polyint([1.0, 2.0], 1, p[0]),
    "roots": lambda p: np.sum(np.roots(p) ** 3),
    "roots at zero": lambda p: np.sum(np.abs(np.roots(np.concatenate([[0.0], p, [0.0, 0.0]]))) ** 2),
    "roots real": lambda p: np.roots(p[:2]),
    "poly": lambda p: np.poly(p),
    "poly of a matrix": lambda p: np.poly(p[:, None] * p + np.diag([1.0, 2.0, 3.0, 4.0])),
    "vander": lambda p: [np.vander(p), np.vander(p, 2), np.vander(p, 3, increasing=True), np.vander(p, 0)],
    "poly1d": lambda p: np.polyval(np.poly1d([1.0, 2.0]), p),
    "sliding": lambda p: sliding_window_view(p, 2) ** 2,
}
TWO = {
    "polyadd": lambda u, v: [np.polyadd(u, v), np.polyadd(v, u), np.polyadd(u, u)],
    "polysub": lambda u, v: [np.polysub(u, v), np.polysub(v, u * u)],
    "polymul": lambda u, v: np.polymul(u, v),
    "polymul trims": lambda u, v: np.polymul(np.concatenate([np.zeros(2), u]), v),
    "polydiv": lambda u, v: np.polydiv(u, v),
    "polydiv short": lambda u, v: np.polydiv(v, u),
}


@pytest.mark.parametrize("name", ONE)
def test_one(name):
    check(ONE[name], U)


@pytest.mark.parametrize("name", TWO)
def test_two(name):
    check(TWO[name], U, V)


@pytest.mark.parametrize("n", [0, 1, 2, 4])
@pytest.mark.parametrize("complex", [False, True])
def test_polyval(n, complex):
    p = U[:n] + (0.3j if complex else 0)
    check(np.polyval, p, X)
    check(np.polyval, p, X[0, 0])
    check(lambda x: np.polyval([3, 2, 1], x), X)


def test_polyfit():
    for deg in (0, 1, 3):
        check(lambda x, y, deg=deg: np.polyfit(x, y, deg), T, Y)
    check(lambda x, y: np.polyfit(x, y, 2), T, np.stack([Y, Y**2], axis=1))
    check(lambda x, y, w: np.polyfit(x, y, 2, w=w), T, Y, 1.0 + Y**2)
    check(lambda x, y, w: np.polyfit(x, y, 1, w=w), T, np.stack([Y, Y**2], axis=1), 1.0 + Y**2)
    check(lambda x, y: np.polyfit(x, y, 2, cov=True), T, Y)
    check(lambda x, y: np.polyfit(x, y, 2, cov="unscaled"), T, Y)
    check(lambda x, y: np.polyfit(x, y, 1, cov=True), T, np.stack([Y, Y**2], axis=1))
    check(lambda x, y: [(f := np.polyfit(x, y, 2, full=True))[0], f[1], f[3]], T, Y)


@pytest.mark.parametrize(
    "f, kind",
    [
        (lambda x: np.polyfit(x, x, -1), ValueError),
        (lambda x: np.polyfit(x, x[:2], 1), TypeError),
        (lambda x: np.polyfit(x[None], x, 1), TypeError),
        (lambda x: np.polyfit(x, x, 1, w=x[:2]), TypeError),
        (lambda x: np.polyfit(x[:2], x[:2], 1, cov=True), ValueError),
        (lambda x: np.polyder(x, -1), ValueError),
        (lambda x: np.polyint(x, -1), ValueError),
        (lambda x: np.polyint(x, 3, [1.0, 2.0]), ValueError),
        (lambda x: np.roots(x[None]), ValueError),
        (lambda x: np.poly(x[None]), ValueError),
        (lambda x: np.vander(x[None]), ValueError),
        (lambda x: sliding_window_view(x, 9), ValueError),
        (lambda x: sliding_window_view(x, -1), ValueError),
        (lambda x: sliding_window_view(x, (1, 1)), ValueError),
        (lambda x: sliding_window_view(x, (1, 1), axis=(0,)), ValueError),
        (lambda x: sliding_window_view(x, 1, axis=1), np.exceptions.AxisError),
    ],
)
def test_wrong_polynomials_are_numpys_errors(f, kind):
    with pytest.raises(kind):
        f(U)
    with pytest.raises(kind):
        f(tapec.constant(U))


WINDOWS = {
    "all": lambda x: sliding_window_view(x, (2, 3, 1)),
    "axis": lambda x: sliding_window_view(x, 3, axis=1),
    "axes": lambda x: sliding_window_view(x, (2, 2), axis=(2, 0)),
    "twice": lambda x: sliding_window_view(x, (2, 3), axis=(1, 1)),
    "long": lambda x: sliding_window_view(x, 10, axis=1) ** 2,
    "mean": lambda x: np.mean(sliding_window_view(x, 4, axis=-2), axis=-1) ** 2,
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name):
    check(WINDOWS[name], rng.standard_normal((3, 12, 2)))


def test_numpy_polynomial_passes_through():
    check(lambda x: P.polyval(x, U), X)
    check(lambda x, c: P.polyval2d(x[0], x[1], c), X, np.arange(6.0).reshape(2, 3))
    if hasattr(P.polygrid2d, "_implementation"):  # older NumPy does not ask tensors
        check(lambda x, c: P.polygrid2d(x[0], x[1], c), X, np.arange(6.0).reshape(2, 3))
    check(lambda x: np.polynomial.chebyshev.chebval(x, U), X)
    check(lambda x, c: P.polyval(x, P.polyadd(P.polymul(P.polyder(c), c), P.polyint(c))), X, U)
    check(lambda x, c: (np.polynomial.Polynomial(c).deriv() * np.polynomial.Polynomial(c))(x), X[0, 0], U)
    check(lambda x: np.polynomial.Polynomial(U)(x), X)
    check(lambda x: np.polynomial.hermite.hermval(x, U), X)


def test_poly1d_of_coefficients_that_are_recorded():
    check(lambda x, c: np.poly1d(c)(x), X, U)
    check(lambda x, c: (np.poly1d(c).deriv() * np.poly1d([1.0, 2.0]) + np.poly1d(c).integ(k=2.0) ** 2)(x), X, U)
    check(lambda c: np.poly1d([1.0, 2.0])(np.poly1d(c))(0.3) * np.poly1d(c)[1], U)
    check(lambda c: np.poly1d(c).coeffs ** 2, U)


def test_functions_of_slices_and_elements():
    check(lambda x: np.apply_along_axis(lambda v: np.cumsum(v) * v[0], 1, x), X)
    check(lambda x: np.apply_along_axis(np.sum, 0, x), X)
    check(lambda x: np.apply_over_axes(np.sum, x, [0, 1]), X)
    check(lambda x: np.vectorize(lambda a, b: a * b + 1.0)(x, 2.0), X)
    check(lambda x: sum([v * v * (i[0] + i[1]) for i, v in np.ndenumerate(x)]), X)
    check(lambda x: sum([a * b for a, b in np.broadcast(x, x[:, :1])]), X)


def test_strides_are_refused():
    t = tapec.constant(np.arange(4, dtype=np.float32))
    with tapec.GradientTape() as tape:
        tape.watch(t)
        with pytest.raises(tapec.errors.UnsupportedError, match="test_coefficients.*sliding_window_view"):
            np.lib.stride_tricks.as_strided(t, (2, 2), (4, 4))


@pytest.mark.parametrize(
    "x", [U, np.array([2, 0, -3]), U.astype("f4"), np.array([1.0 + 2.0j, 2.0]), np.array([True, False])]
)
@pytest.mark.parametrize("increasing", [False, True])
def test_columns_of_powers_are_numpys_bit_by_bit(x, increasing):
    for n in (None, 0, 1, 2, 6):
        found = tapec.compile(lambda x, n=n: np.vander(x, n, increasing=increasing))(x)
        wanted = np.vander(x, n, increasing=increasing)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_powers_in_gradients_are_products():
    """NumPy's powers of negative numbers take a hundred times as long."""
    x, y = np.linspace(-2.0, 2.0, 400), np.ones(400)
    for f in (
        lambda c, x, y: np.mean((np.polyval(c, x) - y) ** 2),
        lambda c, x, y: np.mean((np.vander(x, 6) @ c - y) ** 2),
        lambda c, x, y: np.mean((sum(c[k] * x**k for k in range(6)) - y) ** 2),
    ):
        gradient = tapec.grad(f, argnums=(0, 1))
        c = np.arange(6.0)
        found = gradient(c, x, y)
        source = gradient.source(c, x, y)
        assert not calls(source, "power") and not operations(source, "**")
        for k, slope in enumerate(found):
            step = 1e-6 * np.cos(np.arange(slope.size))
            moved = [(c + s * step, x) if k == 0 else (c, x + s * step) for s in (1, -1)]
            assert slope @ step == pytest.approx((f(*moved[0], y) - f(*moved[1], y)) / 2, rel=1e-6)
