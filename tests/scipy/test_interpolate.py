"""tapec.scipy.interpolate against SciPy's: by values, knots and places, at all ends, along any axis."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.interpolate
from numpy.testing import assert_allclose

import tapec
import tapec.scipy.interpolate as interpolate
from tapec.errors import UnsupportedError
from tapec.scipy.integrate import solve_ivp
from tests.ops.derivatives import check
from tests.properties import call_count, statements
from tests.scipy.against import compare

pytestmark = pytest.mark.sampled(one_in=4)
RNG = np.random.default_rng(21)
X = np.array([0.0, 0.4, 1.1, 1.7, 2.9, 3.3, 4.2])
Y = np.array([0.1, 0.9, 1.4, 0.3, -0.6, 0.2, 1.3])
MANY = 10 * Y[:, None] * np.array([[[1.0, -0.4, 0.7]], [[2.0, 0.5, -1.2]]])
CLOSED = np.array([0.3, -1.0, 0.8, 1.4, -0.2, 0.9])
T = np.array([-0.7, 0.2, 0.9, 1.3, 2.4, 3.1, 3.9, 4.9])  # between knots, and outside
INSIDE = T[1:-1]
AT_KNOTS = np.concatenate([X, [np.nan, 10.0, -10.0]])

COMPLEX_ENDS = ((1, 0.3 - 1j), (2, 1j))
ENDS = ["not-a-knot", "clamped", "natural", ("natural", "not-a-knot"), ("clamped", (2, 0.7)), ((1, -0.4), "natural")]


def closed(y):
    return np.concatenate([y, y[:1]])


# -- splines ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("ends", ENDS, ids=str)
def test_cubic_splines(ends, n):
    def make(s):
        def f(y):
            spline = s.CubicSpline(X[:n], y[:n], bc_type=ends)
            return [spline(T), spline(T, 1), spline(T, 2), spline(T, 3), spline(T, 4), spline.c]

        return f

    compare(make, Y, interpolate, scipy.interpolate)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
def test_periodic_splines(n):
    def make(s):
        def f(y):
            spline = s.CubicSpline(X[:n], closed(y[: n - 1]), bc_type="periodic")
            more = spline.antiderivative()(INSIDE[:1]), spline.integrate(-3.1, 9.4), spline.integrate(3.0, 0.2)
            return [spline(T), spline(T, 2), spline(np.array([-30.0, 55.5])), *more, spline.c]

        return f

    compare(make, CLOSED, interpolate, scipy.interpolate)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_splines_along_any_axis(axis):
    y = np.moveaxis(MANY, 1, axis)
    ends = [(1, RNG.standard_normal((2, 3))), (2, RNG.standard_normal((2, 3)))]

    def make(s):
        def f(y):
            spline, steep = s.CubicSpline(X, y, axis), s.CubicSpline(X, y, axis, ends)
            values = [spline(T), steep(T.reshape(2, 4), 1), spline(0.3), spline(np.array([0.3]))]
            return [*values, spline.integrate(0.3, 2.2), spline.derivative()(T), spline.antiderivative(2)(T)]

        return f

    compare(make, y, interpolate, scipy.interpolate)


KINDS = {
    "pchip": lambda s, x, y, **more: s.PchipInterpolator(x, y, **more),
    "akima": lambda s, x, y, **more: s.Akima1DInterpolator(x, y, **more),
    "makima": lambda s, x, y, **more: s.Akima1DInterpolator(x, y, method="makima", **more),
    "hermite": lambda s, x, y, **more: s.CubicHermiteSpline(x, y, 0.3 * y * y, **more),
    "cubic": lambda s, x, y, **more: s.CubicSpline(x, y, **more),
}


@pytest.mark.parametrize("n", [2, 3, 4, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_rules_for_slopes(kind, n):
    def make(s):
        def f(y):
            spline = KINDS[kind](s, X[:n], 10 * y[:n] + y[:n] ** 2)
            places = np.array([t for t in T if X[0] < t < X[n - 1]])
            return [spline(places), spline(places, 1), spline.c]

        return f

    compare(make, Y, interpolate, scipy.interpolate)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_knots_and_places(kind):
    compare(lambda s: lambda x: KINDS[kind](s, x, Y)(INSIDE), X, interpolate, scipy.interpolate)
    compare(lambda s: lambda t: KINDS[kind](s, X, Y)(t), INSIDE, interpolate, scipy.interpolate)
    check(lambda x, y, t: KINDS[kind](interpolate, x, y)(t), X, Y, INSIDE)


@pytest.mark.parametrize("ends", [*ENDS, "periodic"], ids=str)
def test_derivatives_by_knots_whatever_the_ends(ends):
    def make(s):
        return lambda x: [s.CubicSpline(x, closed(CLOSED), bc_type=ends)(INSIDE), s.CubicSpline(x, x * 0 + 1)(T)]

    compare(make, X, interpolate, scipy.interpolate)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rules_along_any_axis(kind, axis):
    y = np.moveaxis(MANY, 1, axis)

    def make(s):
        return lambda y: KINDS[kind](s, X, y + 0.01 * y * y, axis=axis)(INSIDE)

    compare(make, y, interpolate, scipy.interpolate)


def test_slopes_at_ends_are_differentiable():
    def make(s):
        return lambda v: s.CubicSpline(X, Y, bc_type=((1, v[0]), (2, v[1])))(T)

    compare(make, Y[:2], interpolate, scipy.interpolate)


def test_complex_values():
    z = Y + 1j * Y[::-1]
    compare(lambda s: lambda y: s.CubicSpline(X, y)(T), z, interpolate, scipy.interpolate)
    compare(lambda s: lambda y: s.CubicSpline(X, y, bc_type=COMPLEX_ENDS)(T), Y, interpolate, scipy.interpolate)
    compare(lambda s: lambda y: s.CubicHermiteSpline(X, Y, y)(T), z, interpolate, scipy.interpolate)
    compare(lambda s: lambda y: s.interp1d(X, y)(INSIDE), z, interpolate, scipy.interpolate)


FLAT = {  # where slopes are of no sign, or turn
    "level": [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
    "steps": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0],
    "peaks": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0],
    "steep": [0.0, 9.0, 9.1, 9.0, 3.0, 2.9, -7.0],
    "mostly level": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    "whole numbers": [0, 1, 4, 9, 16, 25, 36],
    "tiny": [0.0, 1e-200, 3e-200, 3.5e-200, 8e-200, 9e-200, 9.5e-200],
}


@pytest.mark.parametrize("data", FLAT)
@pytest.mark.parametrize("kind", KINDS)
def test_level_and_turning_points(kind, data):
    y = np.array(FLAT[data])
    found, wanted = [KINDS[kind](s, X, y)(AT_KNOTS) for s in (interpolate, scipy.interpolate)]
    assert_allclose(found, wanted, rtol=1e-12, atol=1e-13 * np.abs(y).max())
    taped = KINDS[kind](interpolate, X, tapec.constant(y))(AT_KNOTS).numpy()
    assert_allclose(taped, wanted, rtol=1e-12, atol=1e-13 * np.abs(y).max())
    slopes = tapec.grad(lambda y: np.sum(KINDS[kind](interpolate, X, y)(INSIDE)))(y.astype(float))
    assert np.isfinite(slopes).all()


@pytest.mark.parametrize("extrapolate", [None, True, False, "periodic"])
@pytest.mark.parametrize("kind", KINDS)
def test_outside(kind, extrapolate):
    places = np.concatenate([T, AT_KNOTS, [-0.0, 4.2 * 3]])
    for own in (None, extrapolate):
        found, wanted = [
            KINDS[kind](s, X, Y, extrapolate=own)(places, extrapolate=extrapolate)
            for s in (interpolate, scipy.interpolate)
        ]
        assert_allclose(found, wanted, rtol=1e-11)
        curve = KINDS[kind](interpolate, X, Y, extrapolate=own)
        slopes = tapec.grad(lambda t, f=curve: np.nansum(f(t, extrapolate=extrapolate)))(T)
        assert_allclose(slopes, np.nan_to_num(curve(T, 1, extrapolate)), rtol=1e-11)


def test_no_derivative_where_there_are_no_values():
    def outside(y):
        return np.nansum(interpolate.CubicSpline(X, y, extrapolate=False)(T))

    inside = tapec.grad(lambda y: np.sum(interpolate.CubicSpline(X, y)(INSIDE)))(Y)
    assert_allclose(tapec.grad(outside)(Y), inside, rtol=1e-12)


def test_at_a_knot_the_next_polynomial_counts():
    lines = interpolate.PPoly(np.array([[1.0, 2.0, 5.0], [0.0, 1.0, 3.0]]), np.arange(4.0))
    assert tapec.grad(lambda t: np.sum(lines(t)))(np.arange(4.0)).tolist() == [1.0, 2.0, 5.0, 5.0]
    assert lines(np.arange(4.0), 1).tolist() == [1.0, 2.0, 5.0, 5.0]


REFUSED = {
    "falls": lambda s: s.CubicSpline([0.0, 2.0, 1.0], [1.0, 2.0, 3.0]),
    "stays": lambda s: s.PchipInterpolator([0.0, 1.0, 1.0], [1.0, 2.0, 3.0]),
    "one point": lambda s: s.CubicSpline([0.0], [1.0]),
    "lengths": lambda s: s.CubicSpline([0.0, 1.0, 2.0], [1.0, 2.0]),
    "lengths along an axis": lambda s: s.Akima1DInterpolator(X, MANY),
    "x of two axes": lambda s: s.CubicSpline([[0.0, 1.0]], [1.0, 2.0]),
    "complex x": lambda s: s.CubicSpline([0.0, 1.0 + 1j], [1.0, 2.0]),
    "endless": lambda s: s.CubicSpline([0.0, np.inf], [1.0, 2.0]),
    "nan": lambda s: s.CubicSpline([0.0, 1.0], [1.0, np.nan]),
    "complex pchip": lambda s: s.PchipInterpolator([0.0, 1.0], [1.0, 1j]),
    "complex akima": lambda s: s.Akima1DInterpolator([0.0, 1.0], [1.0, 1j]),
    "open": lambda s: s.CubicSpline(X, Y, bc_type="periodic"),
    "one periodic end": lambda s: s.CubicSpline(X, Y, bc_type=("periodic", "natural")),
    "three ends": lambda s: s.CubicSpline(X, Y, bc_type=("natural",) * 3),
    "unknown end": lambda s: s.CubicSpline(X, Y, bc_type="free"),
    "no pair": lambda s: s.CubicSpline(X, Y, bc_type=(1, "natural")),
    "third derivative": lambda s: s.CubicSpline(X, Y, bc_type=((3, 0.0), "natural")),
    "shape of an end": lambda s: s.CubicSpline(X, Y, bc_type=((1, [0.0]), "natural")),
    "shape of slopes": lambda s: s.CubicHermiteSpline(X, Y, Y[:-1]),
    "negative order": lambda s: s.CubicSpline(X, Y)(0.3, -1),
    "c of one axis": lambda s: s.PPoly(Y, X),
    "c of other lengths": lambda s: s.PPoly(Y[None], X),
    "c of nothing": lambda s: s.PPoly(np.zeros((0, 6)), X),
    "axis of c": lambda s: s.PPoly(Y[None, 1:], X, axis=1),
    "knots here and there": lambda s: s.PPoly(Y[None, 1:], X[[0, 2, 1, 3, 4, 5, 6]]),
    "one knot": lambda s: s.PPoly(np.zeros((2, 0)), [1.0]),
    "falling knots": lambda s: s.BSpline([0.0, 2.0, 1.0, 3.0], [1.0, 2.0], 1),
    "few knots": lambda s: s.BSpline([0.0, 1.0, 2.0], [1.0], 1),
    "few coefficients": lambda s: s.BSpline([0.0, 1.0, 2.0, 3.0], [1.0], 1),
    "knots of one place": lambda s: s.BSpline([1.0, 1.0, 1.0, 1.0], [1.0, 2.0], 1),
    "few points": lambda s: s.make_interp_spline(X[:3], Y[:3]),
    "other numbers of points": lambda s: s.make_interp_spline(X[:5], Y[:6]),
    "points here and there": lambda s: s.make_interp_spline(X[[0, 2, 1, 3, 4]], Y[:5]),
    "points twice": lambda s: s.make_interp_spline(X[[0, 1, 1, 3, 4]], Y[:5]),
    "few knots for points": lambda s: s.make_interp_spline(X, Y, t=X),
    "points of a polynomial twice": lambda s: s.BarycentricInterpolator([0.0, 1.0, 0.0], Y[:3]),
    "points of another polynomial": lambda s: s.BarycentricInterpolator(X, Y[:3]),
    "table of other lengths": lambda s: s.interp1d(X, Y[:-1]),
    "table of x with two axes": lambda s: s.interp1d(X[None], Y[None]),
    "short table": lambda s: s.interp1d(X[:3], Y[:3], "cubic"),
    "place below": lambda s: s.interp1d(X, Y)(-1.0),
    "place above": lambda s: s.interp1d(X, Y)([1.0, 9.0]),
    "both": lambda s: s.interp1d(X, Y, bounds_error=True, fill_value="extrapolate"),
    "shape of fill": lambda s: s.interp1d(X, MANY, axis=1, fill_value=np.zeros(2)),
    "fill of one value": lambda s: s.interp1d(X, Y, fill_value=np.zeros(2)),
    "grid that turns": lambda s: s.RegularGridInterpolator(([0.0, 2.0, 1.0],), Y[:3]),
    "grid of other lengths": lambda s: s.RegularGridInterpolator(([0.0, 2.0],), Y[:3]),
    "grid of more axes": lambda s: s.RegularGridInterpolator((X, X), Y),
    "place outside a grid": lambda s: s.RegularGridInterpolator((X,), Y)([9.0]),
    "nan in a grid": lambda s: s.RegularGridInterpolator((X,), Y)([np.nan]),
    "places of other length": lambda s: s.RegularGridInterpolator((X,), Y)(np.zeros((4, 2))),
    "complex fill": lambda s: s.RegularGridInterpolator((X,), Y, fill_value=1j),
    "unknown method": lambda s: s.RegularGridInterpolator((X,), Y, "best"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_scipy_refuses(what):
    for s in (scipy.interpolate, interpolate):
        with pytest.raises(ValueError) as caught:
            REFUSED[what](s)
    if what != "unknown method":
        assert str(caught.value).startswith("test_interpolate.py:")


@pytest.mark.parametrize("bad", [[0.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, np.inf]])
def test_recorded_knots_that_come_to_be_no_knots(bad):
    slope = tapec.grad(lambda x: np.sum(interpolate.CubicSpline(x, Y)(INSIDE)))
    slope(X)
    with pytest.raises(ValueError, match="x must be finite and increase strictly"):
        slope(np.array(bad))


def test_other_methods_are_unknown():
    for s in (scipy.interpolate, interpolate):
        with pytest.raises(NotImplementedError):
            s.Akima1DInterpolator(X, Y, method="other")


# -- piecewise polynomials --------------------------------------------------------------------------------------------
C = RNG.standard_normal((3, 6, 2))


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("falls", [False, True])
def test_piecewise_polynomials(order, falls):
    c = RNG.standard_normal((order, 6))
    x = X[::-1].copy() if falls else X

    def make(s):
        def f(c):
            p = s.PPoly(c, x)
            rows = [p(AT_KNOTS[:-3]), p(T), *[p(T, nu) for nu in range(1, 4)], p(T, extrapolate=False)[1:-1], p.c]
            rows += [p.derivative()(T), p.derivative(2).c, p.derivative(-1)(T), p.derivative(0)(T)]
            rows += [p.antiderivative().c, p.antiderivative(3)(T), p.antiderivative(-1)(T)]
            rows += [p.integrate(0.3, 3.7), p.integrate(3.7, -0.4), p.integrate(1.1, 1.2)]
            rows += [] if falls else [p.integrate(-5.0, 7.3, "periodic")]  # SciPy's bounds are not in order then
            return [*rows, p.derivative().antiderivative(2)(T)]

        return f

    compare(make, c, interpolate, scipy.interpolate)


@pytest.mark.parametrize("axis", [0, 1])
def test_polynomials_along_an_axis(axis):
    c = np.moveaxis(C, (0, 1), (axis, axis + 1))
    compare(lambda s: lambda c: s.PPoly(c, X, axis=axis)(T.reshape(4, 2)), c, interpolate, scipy.interpolate)


def test_bounds_of_integrals_are_differentiable():
    p = interpolate.CubicSpline(X, Y)
    for extrapolate in (True, "periodic"):
        value, by = tapec.value_and_grad(lambda b, e=extrapolate: p.integrate(b[0], b[1], e))(np.array([0.3, 5.0]))
        assert_allclose(value, scipy.interpolate.CubicSpline(X, Y).integrate(0.3, 5.0, extrapolate), rtol=1e-12)
        ends = p(np.array([0.3, 5.0]), extrapolate=extrapolate)
        assert_allclose(by, [-ends[0], ends[1]], rtol=1e-12)
    assert np.isnan(p.integrate(0.3, 5.0, False)) and p.integrate(2.0, 2.0) == 0


@pytest.mark.parametrize("extrapolate", [None, False, "periodic"])
def test_what_is_kept_of_extrapolation(extrapolate):
    ours, theirs = [s.CubicSpline(X, Y, extrapolate=extrapolate) for s in (interpolate, scipy.interpolate)]
    for f, g in ((ours, theirs), (ours.derivative(), theirs.derivative())):
        assert f.extrapolate == g.extrapolate and f.axis == g.axis
    assert ours.antiderivative().extrapolate == theirs.antiderivative().extrapolate
    assert_allclose(ours.x, theirs.x)
    assert_allclose(ours.c, theirs.c, rtol=1e-12)


def test_roots_are_scipys():
    ours, theirs = interpolate.CubicSpline(X, Y), scipy.interpolate.CubicSpline(X, Y)
    assert_allclose(ours.roots(), theirs.roots(), rtol=1e-9)
    assert_allclose(ours.solve(0.5, extrapolate=False), theirs.solve(0.5, extrapolate=False), rtol=1e-9)
    with pytest.raises(UnsupportedError, match=r"^test_interpolate.py:\d+: .*Fix: tapec.custom_root"):
        tapec.grad(lambda y: interpolate.CubicSpline(X, y).roots()[0])(Y)


def test_a_spline_keeps_what_it_was_made_of():
    y = Y.copy()
    spline, before = interpolate.CubicSpline(X, y), scipy.interpolate.CubicSpline(X, Y)(T)
    y[:] = 0
    assert_allclose(spline(T), before)

    def late(y):
        y = y * 1
        spline = interpolate.CubicSpline(X, y)
        y[3] = 100.0
        return spline(T)

    assert_allclose(tapec.compile(late)(Y), before)


def test_pchip_interpolate():
    def make(s):
        return lambda y: [s.pchip_interpolate(X, y, T), s.pchip_interpolate(X, y, T, 1), *all_of(s, y)]

    def all_of(s, y):
        return s.pchip_interpolate(X, y, T, [0, 2])

    compare(make, Y, interpolate, scipy.interpolate)


# -- splines of a basis -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5])
def test_splines_through_points(k):
    def make(s):
        def f(y):
            spline = s.make_interp_spline(X, y, k)
            rows = [spline(T), spline(T, extrapolate=False)[1:-1], spline(0.3), spline.c, spline.t]
            rows += [spline(T, nu) for nu in range(1, k + 1)]
            return rows + [spline.derivative(nu)(INSIDE) for nu in range(1, k + 1)]

        return f

    compare(make, Y, interpolate, scipy.interpolate)
    for extrapolate in (True, False, "periodic"):
        found, wanted = [
            s.make_interp_spline(X, Y, k)(AT_KNOTS, extrapolate=extrapolate) for s in (interpolate, scipy.interpolate)
        ]
        assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_splines_through_points_along_any_axis(k, axis):
    y = np.moveaxis(MANY, 1, axis)

    def make(s):
        def f(y):
            spline = s.make_interp_spline(X, y, k, axis=axis)
            again = s.BSpline(spline.t, np.moveaxis(spline.c, 0, axis), k, axis=axis)
            return [*[spline(t) for t in (T.reshape(4, 2), 0.3)], spline.c, again(T, 1), again.c]

        return f

    compare(make, y, interpolate, scipy.interpolate)


@pytest.mark.parametrize("k", [2, 3])
def test_derivatives_of_splines_by_points_and_places(k):
    compare(lambda s: lambda x: s.make_interp_spline(x, Y, k)(INSIDE + 0.03), X, interpolate, scipy.interpolate)
    compare(lambda s: lambda t: s.make_interp_spline(X, Y, k)(t), INSIDE + 0.03, interpolate, scipy.interpolate)


KNOTS = np.array([0.0, 0.0, 0.0, 0.5, 1.1, 1.1, 2.0, 3.1, 3.1, 3.9, 4.2])


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_splines_of_given_coefficients(k):
    n = len(KNOTS) - k - 1
    c = np.linspace(-1.0, 2.0, n) ** 3

    def make(s):
        def f(c):
            spline = s.BSpline(KNOTS, c, k)
            return [spline(T), spline(np.array([0.2, 1.0, 1.5]), 1), s.BSpline(KNOTS, c, k, "periodic")(T)]

        return f

    compare(make, c, interpolate, scipy.interpolate)
    compare(lambda s: lambda z: s.BSpline(KNOTS, z, k)(INSIDE), c + 1j * c[::-1], interpolate, scipy.interpolate)
    spline = interpolate.BSpline(KNOTS, c, k)
    assert_allclose(tapec.grad(lambda x: np.sum(spline(x)))(INSIDE), spline(INSIDE, 1), atol=1e-12)


def test_splines_of_other_knots_and_ends():
    t = np.concatenate([np.zeros(4), [0.9, 2.0, 3.2], np.full(4, 4.2)])
    compare(lambda s: lambda y: s.make_interp_spline(X, y, 3, t)(T), Y, interpolate, scipy.interpolate)
    found, wanted = [s.make_interp_spline(X, Y, bc_type="natural")(T) for s in (interpolate, scipy.interpolate)]
    assert_allclose(found, wanted, rtol=1e-12)
    with pytest.raises(UnsupportedError, match=r"^test_interpolate.py:\d+: .* takes no bc_type"):
        tapec.grad(lambda y: np.sum(interpolate.make_interp_spline(X, y, bc_type="natural")(T)))(Y)


# -- the polynomial through all points ------------------------------------------------------------------------------
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_polynomials_through_all_points(axis):
    def make(s):
        def f(y):
            p = s.BarycentricInterpolator(X, y, axis)
            rows = [p(INSIDE.reshape(2, 3)), p(X), p(0.3), p.derivative(INSIDE), p.derivative(X[2:5], 3)]
            rows += [p.derivative(INSIDE, 7), s.barycentric_interpolate(X, y, INSIDE, axis, der=1)]
            return [*rows, s.barycentric_interpolate(X, y, INSIDE, der=[0, 2], axis=axis)]

        return f

    compare(make, 0.1 * np.moveaxis(MANY, 1, axis), interpolate, scipy.interpolate)


def test_polynomials_by_points_and_places():
    compare(lambda s: lambda x: s.BarycentricInterpolator(x, Y)(INSIDE), X, interpolate, scipy.interpolate)
    compare(lambda s: lambda t: s.BarycentricInterpolator(X, Y)(t), INSIDE, interpolate, scipy.interpolate)
    compare(lambda s: lambda y: s.barycentric_interpolate(X, y, T), Y + 1j * Y[::-1], interpolate, scipy.interpolate)
    compare(lambda s: lambda y: s.barycentric_interpolate(X[:1], y, T), Y[:1], interpolate, scipy.interpolate)
    p = interpolate.BarycentricInterpolator(X, Y)
    assert_allclose(tapec.grad(lambda t: np.sum(p(t)))(X), p.derivative(X), rtol=1e-9)  # at the points, too
    assert_allclose(tapec.hvp(lambda t: np.sum(p(t)))(X, np.ones(7)), p.derivative(X, 2), rtol=1e-9)


def test_polynomials_of_high_degree():
    x = np.cos(np.pi * np.arange(60) / 59)
    places = np.linspace(-1, 1, 40)
    assert_allclose(interpolate.barycentric_interpolate(x, np.exp(x), places), np.exp(places), rtol=1e-12)


# -- tables -----------------------------------------------------------------------------------------------------------
TABLES = ["linear", "slinear", "nearest", "nearest-up", "previous", "next", "zero", "quadratic", "cubic", 0, 1, 3, 4]


@pytest.mark.parametrize("kind", TABLES)
def test_tables(kind):
    def make(s):
        def f(y):
            rows = [s.interp1d(X, y, kind, fill_value=fill, bounds_error=False)(T) for fill in (7.0, (-1, 2.5))]
            shuffled = s.interp1d(X[::-1], y[::-1], kind)(INSIDE)
            inside = s.interp1d(X, y, kind)
            return [*rows, shuffled, inside(INSIDE.reshape(2, 3)), inside(0.3), inside(X)]

        return f

    compare(make, Y, interpolate, scipy.interpolate)


@pytest.mark.parametrize("kind", TABLES)
def test_tables_that_go_on(kind):
    found, wanted = [
        s.interp1d(X, Y, kind, fill_value="extrapolate")(AT_KNOTS) for s in (interpolate, scipy.interpolate)
    ]
    assert_allclose(found, wanted, rtol=1e-10)
    if kind not in ("previous", "next"):
        compare(
            lambda s: lambda y: s.interp1d(X, y, kind, fill_value="extrapolate")(T), Y, interpolate, scipy.interpolate
        )


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_tables_along_any_axis(kind, axis):
    y = np.moveaxis(MANY, 1, axis)
    fill = RNG.standard_normal(3), np.float64(1.0)

    def make(s):
        def f(y):
            table = s.interp1d(X, y, kind, axis, bounds_error=False, fill_value=fill)
            return [table(T.reshape(4, 2)), table(-1.0), table(0.7)]

        return f

    compare(make, y, interpolate, scipy.interpolate)


@pytest.mark.parametrize("kind", ["linear", "cubic"])
def test_derivatives_of_tables_by_points_and_places(kind):
    compare(lambda s: lambda x: s.interp1d(x, Y, kind)(INSIDE), X, interpolate, scipy.interpolate)
    compare(lambda s: lambda t: s.interp1d(X, Y, kind)(t), INSIDE, interpolate, scipy.interpolate)
    compare(lambda s: lambda t: s.interp1d(X, MANY, kind, axis=1)(t), INSIDE, interpolate, scipy.interpolate)


@pytest.mark.parametrize("kind", ["linear", "nearest", "previous", "cubic"])
@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_dtypes_of_tables(kind, dtype):
    y = (10 * Y).astype(dtype)
    for t in (INSIDE, INSIDE.astype("f4"), np.array([1, 2])):
        found, wanted = [s.interp1d(X, y, kind)(t) for s in (interpolate, scipy.interpolate)]
        assert_allclose(found, wanted, rtol=1e-6)
        assert found.dtype == wanted.dtype


def test_fills_are_differentiable():
    def table(y, v):
        return interpolate.interp1d(X, y, bounds_error=False, fill_value=(v[0], v[1]))(T)

    check(table, Y, np.array([0.3, 2.0]))
    assert tapec.grad(lambda v: np.sum(table(Y, v)))(np.zeros(2)).tolist() == [1.0, 1.0]


def test_tables_of_other_kinds():
    for s in (interpolate, scipy.interpolate):
        with pytest.raises(NotImplementedError, match="kind|unsupported"):
            s.interp1d(X, Y, "best")


@pytest.mark.parametrize("kind", TABLES)
def test_tables_with_nan(kind):
    y = np.where(X == 1.1, np.nan, Y)
    found, wanted = [s.interp1d(X, y, kind)(X) for s in (interpolate, scipy.interpolate)]
    assert_allclose(found, wanted, rtol=1e-12)


# -- grids ------------------------------------------------------------------------------------------------------------
GRID = (X[:4], np.array([3.0, 2.2, 0.1]), np.array([-1.0, 0.5]))
VALUES = RNG.standard_normal((4, 3, 2))
PLACES = np.stack([RNG.uniform(-0.3, 2.0, 9), RNG.uniform(0.0, 3.2, 9), RNG.uniform(-1.3, 0.8, 9)], 1)


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [None, np.nan, 2.5])
def test_grids(method, fill):
    def make(s):
        def f(v):
            table = s.RegularGridInterpolator(GRID, v, method, bounds_error=False, fill_value=fill)
            flat = s.RegularGridInterpolator(GRID[:2], v, method, bounds_error=False, fill_value=fill)
            line = s.RegularGridInterpolator(GRID[:1], v, method, bounds_error=False, fill_value=fill)
            rows = [table(PLACES), table(PLACES.reshape(3, 3, 3)), flat(PLACES[:, :2]), line(PLACES[:, :1])]
            rows += [table(tuple(PLACES.T)), table((PLACES[:3, :1], PLACES[:, 1], 0.1)), line(PLACES[:, 0])]
            rows += [table([0.3, 1.0, 0.0]), flat(np.array([0.2, 0.3])), line((PLACES[:, 0],))]
            return [np.where(np.isnan(r), 0.0, r) for r in rows] if fill is not None else rows

        return f

    compare(make, VALUES, interpolate, scipy.interpolate)


def test_points_of_a_grid_and_nan():
    corners = np.stack(np.meshgrid(*GRID, indexing="ij"), -1)
    strange = np.array([[np.nan, 1.0, 0.0], [0.3, 1.0, np.nan], [9.0, 1.0, 0.0]])
    for method in ("linear", "nearest"):
        for fill in (None, 7.0):
            tables = [
                s.RegularGridInterpolator(GRID, VALUES, method, False, fill) for s in (interpolate, scipy.interpolate)
            ]
            assert_allclose(tables[0](corners), VALUES, rtol=1e-12)
            assert_allclose(tables[0](strange), tables[1](strange), rtol=1e-12)


def test_derivatives_of_grids():
    inside = np.clip(PLACES, [0.15, 0.3, -0.8], [1.5, 2.8, 0.3])
    compare(lambda s: lambda p: s.interpn(GRID, VALUES, p), inside, interpolate, scipy.interpolate)
    compare(lambda s: lambda x: s.interpn((x, *GRID[1:]), VALUES, inside), GRID[0], interpolate, scipy.interpolate)
    compare(lambda s: lambda x: s.interpn((GRID[0], x), VALUES, inside[:, :2]), GRID[1], interpolate, scipy.interpolate)
    check(lambda v, p: interpolate.interpn(GRID, v, p), VALUES, inside)
    check(lambda v: interpolate.interpn(GRID, v + 1j * v * v, inside), VALUES)


def test_grids_of_one_point():
    for s in (interpolate, scipy.interpolate):
        table = s.RegularGridInterpolator(([1.0], X), Y[None], bounds_error=False, fill_value=None)
        assert_allclose(table([[1.0, 0.2], [5.0, 0.2]]), np.interp([0.2, 0.2], X, Y))


def test_other_methods_for_grids_are_scipys():
    points, values = (X, X[:5]), RNG.standard_normal((7, 5))
    for method in ("cubic", "pchip", "slinear"):
        found, wanted = [
            s.RegularGridInterpolator(points, values, method)([[0.3, 0.9]]) for s in (interpolate, scipy.interpolate)
        ]
        assert_allclose(found, wanted)
        assert_allclose(interpolate.RegularGridInterpolator(points, values)([[0.3, 0.9]], method), wanted)
        with pytest.raises(UnsupportedError, match="the method of tensors is 'linear' or 'nearest', got"):
            tapec.grad(lambda v, m=method: interpolate.interpn(points, v, [[0.3, 0.9]], m)[0])(values)
    found, wanted = [s.interpn(points, values, [[0.3, 0.9]], "splinef2d") for s in (interpolate, scipy.interpolate)]
    assert_allclose(found, wanted)


# -- recordings -------------------------------------------------------------------------------------------------------
def total(y):
    return np.sum(interpolate.CubicSpline(X, y)(INSIDE) ** 2)


def test_every_transform():
    g = tapec.grad(total)(Y)
    y = tapec.Variable(Y)
    with tapec.GradientTape() as tape:
        loss = total(y)
    assert_allclose(tape.gradient(loss, y), g, rtol=1e-12)
    assert_allclose(tapec.jacfwd(total)(Y), g, rtol=1e-12)
    assert_allclose(tapec.hvp(total)(Y, Y), g, rtol=1e-9)  # it is quadratic
    rows = np.stack([Y, 2 * Y])
    assert_allclose(tapec.vmap(tapec.grad(total))(rows), [g, 2 * g], rtol=1e-12)
    places = np.stack([INSIDE, INSIDE + 0.01])
    found = tapec.vmap(lambda t: interpolate.PchipInterpolator(X, Y)(t))(places)
    assert_allclose(found, scipy.interpolate.PchipInterpolator(X, Y)(places), rtol=1e-12)
    knots = np.stack([X, X + 0.02])
    found = tapec.vmap(lambda x: interpolate.Akima1DInterpolator(x, Y, extrapolate=True)(INSIDE))(knots)
    wanted = [scipy.interpolate.Akima1DInterpolator(x, Y, extrapolate=True)(INSIDE) for x in knots]
    assert_allclose(found, wanted, rtol=1e-12)
    assert_allclose(tapec.vmap(interpolate.interp1d(X, Y))(places), scipy.interpolate.interp1d(X, Y)(places))
    table = interpolate.RegularGridInterpolator(GRID, VALUES, bounds_error=False)
    found = tapec.vmap(table)(PLACES.reshape(3, 3, 3))
    wanted = scipy.interpolate.RegularGridInterpolator(GRID, VALUES, bounds_error=False)(PLACES).reshape(3, 3)
    assert_allclose(found, wanted)


CLOSED_OVER = {
    "CubicSpline": lambda y: interpolate.CubicSpline(X, y),
    "interp1d": lambda y: interpolate.interp1d(X, y),
    "interp1d cubic": lambda y: interpolate.interp1d(X, y, "cubic"),
    "BSpline": lambda y: interpolate.make_interp_spline(X, y),
    "BarycentricInterpolator": lambda y: interpolate.BarycentricInterpolator(X, y),
    "RegularGridInterpolator": lambda y: interpolate.RegularGridInterpolator((X,), y),
}


@pytest.mark.parametrize("name", CLOSED_OVER)
def test_what_a_function_closes_over_is_read_anew(name):
    """A curve of other values needs no other code."""
    curve = CLOSED_OVER[name](Y)
    f = tapec.value_and_grad(lambda t: np.sum(curve(t)))
    before = f(INSIDE)
    curve = CLOSED_OVER[name](2 * Y)
    value, slopes = f(INSIDE)
    assert_allclose(value, 2 * before[0])
    assert_allclose(slopes, 2 * before[1])
    assert f.cache_info().compilations == 1


def test_a_curve_of_tensors_may_be_closed_over():
    def fit(y):
        curve = interpolate.CubicSpline(X, y)
        return np.sum(tapec.vmap(lambda t: curve(t) ** 2)(INSIDE))

    assert_allclose(tapec.grad(fit)(Y), tapec.grad(total)(Y), rtol=1e-12)


def test_a_curve_may_be_an_argument():
    f = tapec.value_and_grad(lambda t, curve: np.sum(curve(t)))
    for scale in (1.0, 2.0):
        value, slopes = f(INSIDE, interpolate.CubicSpline(X, scale * Y))
        assert_allclose(value, scale * scipy.interpolate.CubicSpline(X, Y)(INSIDE).sum())
        assert_allclose(slopes, scale * scipy.interpolate.CubicSpline(X, Y)(INSIDE, 1))


def test_a_table_may_drive_a_differential_equation():
    """Of dz/dt = force(t) from 0 the end is the integral of the force."""

    def end(y):
        force = interpolate.interp1d(X, y, bounds_error=False, fill_value=0.0)
        return solve_ivp(lambda t, z: force(t) + 0 * z, (0.4, 2.9), [0.0], t_eval=[2.9], rtol=1e-9, max_step=0.1).y[
            0, 0
        ]

    value, weights = tapec.value_and_grad(end)(Y)
    assert_allclose(value, np.trapezoid(Y[1:5], X[1:5]), rtol=1e-4)
    assert_allclose(weights, [0.0, 0.35, 0.65, 0.9, 0.6, 0.0, 0.0], atol=1e-4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["CubicSpline", "interp1d", "make_interp_spline", "clamped", "periodic", "grid"])
def test_curves_in_the_right_hand_side_of_an_equation(name):
    """Whether a place is within, and knots increase, cannot be asked there."""
    curves = {
        "clamped": lambda y: interpolate.CubicSpline(X, y, bc_type="clamped"),
        "periodic": lambda y: interpolate.CubicSpline(X, closed(y[:-1]), bc_type="periodic"),
        "grid": lambda y: lambda t: interpolate.RegularGridInterpolator((X,), y)([t])[0],
    }
    make = curves.get(name, lambda y: getattr(interpolate, name)(X, y))

    def end(y, t_eval):
        options = {"t_eval": t_eval, "args": (y,), "rtol": 1e-8, "max_step": 0.1}
        return solve_ivp(lambda t, z, y: make(y)(t) + 0 * z, (0.4, 2.9), [0.0], **options)

    by_time = tapec.jacobian(lambda t: end(Y, t).y[0])(np.array([0.9, 2.0]))
    assert_allclose(np.diag(by_time), [make(Y)(0.9), make(Y)(2.0)], rtol=1e-6)
    weights = tapec.grad(lambda y: end(y, [2.9]).y[0, 0])(Y)
    step = np.cos(np.arange(7.0))  # of what is linear in the points
    up, down = [end(Y + s, [2.9]).y[0, 0] for s in (step, -step)]
    assert_allclose(weights @ step, (up - down) / 2, atol=1e-4)


def test_scipys_own_are_named_by_their_class():
    curve = scipy.interpolate.CubicSpline(X, Y)
    calls = [
        (lambda t: np.sum(curve(t)), "CubicSpline"),
        (lambda t: curve.integrate(t[0], t[1]), "CubicSpline"),
        (lambda t: np.sum(scipy.interpolate.PchipInterpolator(t, Y[1:])(0.3)), "PchipInterpolator"),
        (lambda t: scipy.interpolate.interpn((X,), Y, t), "interpn"),
        (lambda t: np.sum(scipy.interpolate.RegularGridInterpolator((X,), Y)(t)), "RegularGridInterpolator"),
    ]
    for f, name in calls:
        with pytest.raises(UnsupportedError, match=rf"Fix: tapec.scipy.interpolate.{name} takes tensors"):
            tapec.grad(f)(INSIDE)


def test_the_code_is_short():
    t = np.linspace(0.0, 4.0, 50)
    curve = interpolate.CubicSpline(X, Y)
    source = tapec.grad(lambda t: np.sum(curve(t))).source(t)
    assert len(statements(source)) <= 7 and call_count(source, "np.searchsorted") == 1


def test_it_may_be_first_in_a_recording():
    code = "import numpy as np, tapec; print(tapec.grad(lambda y: "
    code += "tapec.scipy.interpolate.CubicSpline([0.0, 1.0], y).integrate(0, 1))(np.ones(2)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[0.5 0.5]\n", done.stderr
