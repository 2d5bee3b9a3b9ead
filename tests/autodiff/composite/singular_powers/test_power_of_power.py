"""Powers of powers have the slopes of the one power that they are, at zero too."""

import numpy as np
import pytest

import tapec
from tapec.autodiff.composite.matchers import same
from tapec.autodiff.composite.singular_powers.power_of_power import monomial_of
from tapec.ir import Node, ops, parse
from tests.autodiff.composite.singular_powers.test_sums_of_squares import WAYS as SECOND
from tests.ops.derivatives import by_tape
from tests.properties import call_count

FIRST = {"reverse": tapec.grad, "forward": tapec.jacfwd, "on a tape": by_tape}
ALL, ABOVE = np.array([0.0, 0.7, -1.3]), np.array([0.0, 0.7, 1.3])
X, SQUARE, CUBE = (
    (lambda x: 1 + 0 * x, lambda x: 0 * x),
    (lambda x: 2 * x, lambda x: 2 + 0 * x),
    (lambda x: 3 * x * x, lambda x: 6 * x),
)
SIZE, SIZE_CUBED = (np.sign, lambda x: 0 * x), (lambda x: 3 * x * np.abs(x), lambda x: 6 * np.abs(x))


def of(n, factor=1.0):
    """The first and second derivative of a power of what is not negative."""
    return lambda x: factor * n * x ** (n - 1), lambda x: factor * n * (n - 1) * x ** (n - 2)


def times(k, derivatives):
    return tuple([lambda x, f=f: k * f(x) for f in derivatives])


POWERS = {  # with the derivatives of the one power
    "root of a square": (lambda x: np.sqrt(x**2), ALL, SIZE),
    "root of a fourth power": (lambda x: np.sqrt(x**4), ALL, SQUARE),
    "of a product": (lambda x: np.sqrt(x * x * x * x), ALL, SQUARE),
    "of squares": (lambda x: np.sqrt(np.square(np.square(x))), ALL, SQUARE),
    "of a multiple": (lambda x: np.sqrt(4 * x**4 / 9.0), ALL, times(2 / 3, SQUARE)),
    "of a sixth power": (lambda x: np.sqrt(x**6), ALL, SIZE_CUBED),
    "of a cube": (lambda x: np.sqrt(x**3), ABOVE, of(1.5)),
    "power of a square": (lambda x: (x * x) ** 1.5, ALL, SIZE_CUBED),
    "np.power": (lambda x: np.power(np.power(x, 2), 1.5), ALL, SIZE_CUBED),
    "np.float_power": (lambda x: np.float_power(x.astype(float) ** 2, 1.5).astype(x.dtype), ALL, SIZE_CUBED),
    "large power of a square": (
        lambda x: (x**2) ** 1.75,
        ALL,
        (lambda x: 3.5 * np.sign(x) * np.abs(x) ** 2.5, lambda x: 3.5 * 2.5 * np.abs(x) ** 1.5),
    ),
    "cube of a cube root": (lambda x: np.cbrt(x) ** 3, ALL, X),
    "product of cube roots": (lambda x: np.cbrt(x) * np.cbrt(x) * np.cbrt(x), ALL, X),
    "higher power of a cube root": (lambda x: np.cbrt(x) ** 9, ALL, CUBE),
    "even power of a cube root": (lambda x: np.cbrt(x) ** 6, ALL, SQUARE),
    "cube root of a cube": (lambda x: np.cbrt(x**3), ALL, X),
    "of its negative": (lambda x: -np.cbrt(-(x**3)), ALL, X),
    "cube root of a power": (lambda x: np.cbrt(x**6), ALL, SQUARE),
    "power of a root": (lambda x: np.sqrt(x) ** 4, ABOVE, SQUARE),
    "odd power of a root": (lambda x: np.sqrt(x) ** 3, ABOVE, of(1.5)),
    "power of a half": (lambda x: (x**0.5) ** 6, ABOVE, CUBE),
    "square of a power": (lambda x: (x**1.5) ** 2, ABOVE, CUBE),
    "np.square of a power": (lambda x: np.square(x**1.5), ABOVE, CUBE),
    "power of a root of a root": (lambda x: np.sqrt(np.sqrt(x)) ** 4, ABOVE, X),
    "root of a size": (lambda x: np.sqrt(np.abs(x)) ** 4, ALL, SQUARE),
    "root of a size, odd": (lambda x: np.sqrt(np.fabs(x)) ** 6, ALL, SIZE_CUBED),
    "times its root": (lambda x: x * np.sqrt(x), ABOVE, of(1.5)),
    "squared, times its root": (lambda x: x * x * np.sqrt(x), ABOVE, of(2.5)),
    "times a root of its square": (
        lambda x: x * np.sqrt(x * x),
        ALL,
        (lambda x: 2 * np.abs(x), lambda x: 2 * np.sign(x)),
    ),
    "cubed, times a root of its square": (
        lambda x: x**3 * np.sqrt(x * x),
        ALL,
        (lambda x: 4 * np.abs(x) ** 3, lambda x: 12 * x * np.abs(x)),
    ),
    "times an even power of a cube root": (
        lambda x: x * np.cbrt(x) ** 4,
        ALL,
        (lambda x: 7 / 3 * np.abs(x) ** (4 / 3), lambda x: 28 / 9 * np.cbrt(x)),
    ),
    "square of a product": (lambda x: (x * np.sqrt(x)) ** 2, ABOVE, CUBE),
    "square of a product of roots": (lambda x: np.square(np.sqrt(x) * np.cbrt(x) ** 3), ABOVE, CUBE),
    "times a power of a root": (lambda x: np.cbrt(x) ** 6 * x, ALL, CUBE),
    "times a multiple of its root": (lambda x: 0.5 * np.sqrt(x) * x, ABOVE, of(1.5, 0.5)),
    "times a part of its root": (lambda x: x * (np.sqrt(x) / 4), ABOVE, of(1.5, 0.25)),
    "times the size of a root": (lambda x: np.abs(np.sqrt(x)) * x, ABOVE, of(1.5)),
    "times minus its root": (lambda x: x * -np.sqrt(x), ABOVE, of(1.5, -1.0)),
    "roots of multiples": (lambda x: np.sqrt(2 * x) * np.sqrt(3 * x), ABOVE, times(6**0.5, X)),
    "root, times that of a multiple": (lambda x: np.sqrt(x) * np.sqrt(3 * x), ABOVE, times(3**0.5, X)),
    "root of a multiple, times a root": (lambda x: np.sqrt(x / 0.25) * np.sqrt(x), ABOVE, times(2, X)),
    "roots of negatives": (lambda x: np.sqrt(-x) * np.sqrt(-2 * x), -ABOVE, times(-(2**0.5), X)),
    "times the root of a multiple": (lambda x: 3 * x * np.sqrt(2 * x), ABOVE, of(1.5, 3 * 2**0.5)),
    "cube roots of multiples": (lambda x: np.cbrt(2 * x) ** 2 * np.cbrt(x), ALL, times(4 ** (1 / 3), X)),
    "multiple": (lambda x: (-2 * np.sqrt(x)) ** 4, ABOVE, times(16, SQUARE)),
}


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", POWERS)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_slopes_at_zero_and_elsewhere(name, dtype, optimize):
    f, x, (first, second) = POWERS[name]
    x, rtol = x.astype(dtype), 1e-5 if dtype is np.float32 else 1e-12
    tapec.cache_clear()  # numbers that change from one program to the next are no exponents that are known
    loss = lambda x: np.sum(f(x))
    with np.errstate(divide="ignore"):
        first, second = first(x), np.diag(second(x))
    with tapec.settings(optimize=optimize):
        for way in FIRST.values():
            slope = way(loss)(x)
            assert slope.dtype == dtype
            np.testing.assert_allclose(slope, first, rtol=rtol)
        np.testing.assert_allclose(np.diag(tapec.jacrev(f)(x)), first, rtol=rtol)
        for way in SECOND.values():
            np.testing.assert_allclose(way(loss)(x), second, rtol=rtol)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_infinite_slopes_stay():
    zero = np.zeros(1)
    assert tapec.grad(lambda x: np.sum(np.sqrt(np.sqrt(x))))(zero)[0] == np.inf
    assert not np.isfinite(tapec.grad(lambda x: np.sum(np.cbrt(np.cbrt(x)) ** 2))(zero)[0])
    assert tapec.hessian(lambda x: np.sum(np.sqrt(x) ** 3))(zero)[0, 0] == np.inf


OTHERS = {  # of several numbers, or with no slope to win
    "different": lambda x, y: x * np.sqrt(y),
    "of opposite signs": lambda x, y: np.cbrt(x) * np.cbrt(-2 * x) + np.cbrt(2 * y) * np.cbrt(-y) ** 2,
    "sums": lambda x, y: np.sqrt(x * x + y),
    "of a negative": lambda x, y: np.sqrt(-(y**2) * -1.5),
    "exponent": lambda x, y: (x * x) ** y,
    "reciprocal": lambda x, y: (x**-1) ** 1.5 + np.sqrt(x) ** -2,
    "parts": lambda x, y: np.sqrt(np.modf(x)[0]) * np.modf(x)[0] + y,
    "root times": lambda x, y: y * np.sqrt(2 * y) + np.sqrt(x) * (3 * x),
}


@pytest.mark.parametrize("name", OTHERS)
def test_derivatives_of_others(name):
    f = lambda x, y: np.sum(OTHERS[name](x, y) * [1.0, 2.0])
    tapec.check_grads(f, (np.array([0.4, 1.3]), np.array([0.6, 0.9])), order=2)


def test_large_multiples():
    """Whose powers are infinite."""
    assert tapec.grad(lambda x: (1e210 * x**2) ** 1.5)(1e-100) == pytest.approx(3e115)


def test_slopes_are_made_of_roots_that_are_there():
    x = np.linspace(0.1, 2, 1000)
    for f in (
        lambda x: np.sum(np.sqrt(x) ** 3),
        lambda x: np.sum(np.cbrt(x) ** 4),
        lambda x: np.sum(x * x * np.sqrt(x)),
        lambda x: np.sum(np.sqrt(1 + x * x) ** 7),
        lambda x: (x @ x) * np.sqrt(np.sum(x * x)),
    ):
        source = tapec.value_and_grad(f).source(x)
        assert call_count(source, "np.sqrt", "np.cbrt") == 1 and not call_count(source, "power", "sign")


def test_what_was_computed_twice_has_a_cotangent_of_its_own():
    x = tapec.constant([0.5, 2.0])
    with tapec.GradientTape() as tape:
        tape.watch(x)
        u, v = x + 1.0, x + 1.0
        y = u * np.sqrt(v)
    by_u, by_v = tape.gradient(y, [u, v])
    np.testing.assert_allclose(by_u.numpy(), np.sqrt([1.5, 3.0]))
    np.testing.assert_allclose(by_v.numpy(), 0.5 * np.sqrt([1.5, 3.0]))


def test_two_calls_are_two_values():
    """What a call gives may be drawn at random; other values that were recorded twice are one."""
    [x] = parse("graph(%x: f64[3]) {\n  return %x\n}").inputs
    for op, is_one in ((ops.sin, True), (ops.call, False)):
        first, second = [Node(op, (x,), (), x.type) for _ in range(2)]
        assert same(first, second) == is_one and same(first, first)


def test_numbers_alone_are_no_powers():
    graph = parse("graph(%x: f64[]) {\n  %0: float = negative 2.0\n  %1: f64[] = multiply %0, %x\n  return %1\n}")
    assert monomial_of(graph.outputs[0]) is None
