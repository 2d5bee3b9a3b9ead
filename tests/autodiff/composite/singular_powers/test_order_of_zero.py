"""Roots of what is zero by rounding alone, or flat where it is zero, have no slope there."""

import numpy as np
import pytest
from scipy import special

import tapec
from tapec.autodiff.composite.singular_powers import order_of_zero
from tapec.autodiff.composite.singular_powers.order_of_zero import FAST, NEVER, UNKNOWN, order
from tapec.ir import ops, parse
from tests.autodiff.composite.singular_powers.test_power_of_power import FIRST
from tests.autodiff.composite.singular_powers.test_sums_of_squares import WAYS as SECOND
from tests.passes.support import text
from tests.properties import call_count, count_of

NORM = np.linalg.norm


def share(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


SATURATED = {  # where the first of three is far above the others
    "rest of a share": lambda z: np.sqrt(1 - share(z)),
    "of SciPy's softmax": lambda z: np.sqrt(1.0 - tapec.scipy.special.softmax(z)),
    "of elements": lambda z: np.sqrt(1 - (e := np.exp(z - z.max()))[:2] / np.sum(e)),
    "of one of two": lambda z: np.sqrt(1 - (e := np.exp(z - z.max()))[0] / (e[0] + e[1])),
    "of the largest": lambda z: np.cbrt(1 - np.max(share(z))),
    "of a product": lambda z: (1 - share(z) * special.expit(z)) ** 0.3,
    "of a square": lambda z: np.sqrt(1 - share(z) ** 2),
    "deviation": lambda z: np.sqrt(share(z) * (1 - share(z))),
    "of tanh": lambda z: np.sqrt(1 - np.tanh(z)),
    "of its square": lambda z: np.sqrt(1 - np.tanh(z) ** 2),
    "of its product": lambda z: np.sqrt(1 - np.tanh(z) * np.tanh(z)),
    "of np.square": lambda z: np.sqrt(1 - np.square(np.tanh(z))),
    "of its negative": lambda z: np.sqrt(1 - -np.tanh(-z)),
    "of erf": lambda z: np.sqrt(1 - special.erf(z)) + np.sqrt(special.erfc(z)),
    "of ndtr": lambda z: np.sqrt(1 - special.ndtr(z)) + np.sqrt(special.ndtr(-z)),
    "some shares": lambda z: np.sqrt(np.sum(share(z)[1:])),
    "two shares": lambda z: np.sqrt(share(z)[1] + share(z)[2]),
    "their mean": lambda z: np.mean(share(z)[1:]) ** 0.7,
    "exponentials": lambda z: np.sqrt(np.exp(-z) + np.exp(-2 * z)),
    "sigmoids": lambda z: np.sqrt(sigmoid(-z) + sigmoid(-3 * z)),
    "length of shares": lambda z: np.sqrt(np.sum(share(z)[1:] ** 2)),
    "product with one": lambda z: np.sqrt((share(z)[1] + share(z)[2]) * share(z)[1]),
    "softplus": lambda z: np.sqrt(np.logaddexp(0, -z)) + np.sqrt(np.log1p(np.exp(-z))),
    "power": lambda z: (1 - share(z)) ** 1.5,
}


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SATURATED)
@pytest.mark.filterwarnings("ignore:underflow")
def test_where_a_share_is_all(name, dtype, optimize):
    """The slope has the size of the value, which is that of rounding."""
    loss = lambda z: np.sum(np.ravel(SATURATED[name](z))[:1])
    tapec.cache_clear()  # numbers that change from one program to the next are no exponents that are known
    z = np.array([1500.0, 0.4, 0.8], dtype)
    with tapec.settings(optimize=optimize):
        for way in FIRST.values():
            slope = way(loss)(z)
            assert slope.dtype == dtype
            np.testing.assert_allclose(slope, np.zeros(3), atol=1e-15)
        for way in SECOND.values():
            np.testing.assert_allclose(way(loss)(z), np.zeros((3, 3)), atol=1e-15)


@pytest.mark.parametrize("name", SATURATED)
def test_elsewhere(name):
    tapec.cache_clear()
    tapec.check_grads(lambda z: np.sum(SATURATED[name](z)), (np.array([1.3, 0.4, 0.8]),), order=2)


POWERS = {  # of lengths, each with a second derivative of zero at zero
    "product of a vector": lambda x: (x @ x) ** 1.5,
    "sum of squares": lambda x: np.sum(x**2) ** 1.5,
    "fractional": lambda x: np.sum(x * x) ** 1.25,
    "cube of a root": lambda x: np.sqrt(x @ x) ** 3,
    "cube of a power": lambda x: (np.sum(x**2) ** 0.5) ** 3,
    "times its power": lambda x: (x @ x) * (x @ x) ** 0.5,
    "times its root": lambda x: (x @ x) * np.sqrt(x @ x),
    "hypot": lambda x: np.hypot(np.hypot(x[0], x[1]), x[2]) ** 3,
    "written out": lambda x: (x[0] ** 2 + x[1] ** 2 + x[2] * x[2]) ** 1.5,
    "norm": lambda x: NORM(x) ** 3,
    "norm, 2.5": lambda x: NORM(x) ** 2.5,
    "of complex numbers": lambda x: NORM(x * (0.6 + 0.8j)) ** 3,
    "size of a complex number": lambda x: np.sum(np.abs(x * (0.6 + 0.8j)) ** 3),
    "squares of sizes": lambda x: np.sum(np.abs(x * (0.6 + 0.8j)) ** 2) ** 1.5,
    "absolute": lambda x: np.sum(np.abs(x) ** 3) + np.sum(np.abs(x) ** 2.5),
    "variance": lambda x: np.var(x) ** 1.5,
    "deviation": lambda x: np.std(x) ** 3,
    "root of a power": lambda x: np.sqrt(np.sum(x**6)),
    "root of powers": lambda x: np.sum(np.sqrt(x**6 + x**8)),
    "root of a fourth power": lambda x: np.cbrt(np.sum(x**8)),
    "rows": lambda x: np.sum(np.sum(x[:, None] ** 2, axis=1) ** 1.5),
}


@pytest.mark.sampled(one_in=4, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", POWERS)
def test_powers_of_lengths_at_zero(name, dtype, optimize):
    tapec.cache_clear()
    x = np.zeros(3, dtype)
    with tapec.settings(optimize=optimize):
        for way in FIRST.values():
            np.testing.assert_array_equal(way(POWERS[name])(x), np.zeros(3))
        for way in SECOND.values():
            np.testing.assert_array_equal(way(POWERS[name])(x), np.zeros((3, 3)))


@pytest.mark.parametrize("name", POWERS)
def test_powers_of_lengths_elsewhere(name):
    tapec.cache_clear()
    tapec.check_grads(POWERS[name], (np.array([0.5, -0.7, 0.4]),), order=2)


FLAT = {  # at zero, to the first order
    "root of fourth powers": lambda x: np.sqrt(np.sum(x**4)),
    "of different powers": lambda x: np.sum(np.sqrt(x**4 + x**6)),
    "power of squares": lambda x: (x @ x) ** 0.75,
    "cube root of fourth powers": lambda x: np.cbrt(np.sum(x**4)),
    "rectified": lambda x: np.sqrt(np.sum(np.maximum(x, 0) ** 3)),
    "weighted by an exponential": lambda x: np.sum(np.sqrt(np.exp(x) * x**4)),
}


@pytest.mark.parametrize("name", FLAT)
def test_flat_at_zero(name):
    tapec.cache_clear()
    for way in FIRST.values():
        np.testing.assert_array_equal(way(FLAT[name])(np.zeros(3)), np.zeros(3))
    tapec.check_grads(FLAT[name], (np.array([0.5, 0.7, 0.4]),), order=2)


STEEP = {
    "root": np.sqrt,
    "rest of an exponential": lambda x: np.sqrt(1 - np.exp(-x)),
    "rest of two shares": lambda x: np.sqrt(1 - (special.expit(x) + special.expit(x))),
    "rest of a part": lambda x: np.sqrt(1 - 1 / (np.abs(x) + 1)),
    "rest of a part of a sum": lambda x: np.sqrt(1 - 2 / np.sum(np.stack([np.abs(x), np.full_like(x, 2)]), axis=0)),
    "rest of a quotient": lambda x: np.sqrt(1 - np.exp(-x) / np.exp(x)),
    "a number less": lambda x: np.sqrt(0.5 - special.expit(-x)),
    "of the sum of cubes": lambda x: np.cbrt(x**3 + 3 * x),
}


@pytest.mark.parametrize("name", STEEP)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_infinite_slopes_stay(name):
    for way in FIRST.values():
        assert not np.isfinite(way(lambda x: np.sum(STEEP[name](x)))(np.zeros(1))).any()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sqrt(np.sum(x**2)),
        lambda x: np.sum(np.sqrt(x * x + 1)),
        lambda x: np.sum(np.sqrt(1 + x**4)),
        lambda x: np.sum(np.sqrt(np.exp(x) + 1e-8)),
        lambda x: np.sum(np.sqrt(np.maximum(x**4, 1e-8))),
        lambda x: np.sum(np.sqrt(share(x))),
        lambda x: (x @ x) ** 1.5,
        lambda x: np.sqrt(np.mean((x - 1) ** 2)),
    ],
)
def test_no_test_for_zero_where_none_is_needed(f):
    x = np.linspace(0.5, 2, 1000)
    source = tapec.grad(f).source(x)
    assert not count_of(source, "_ == 0") + count_of(source, "_ == 0.0") + call_count(source, "equal")


ORDERS = {  # of what comes of x, y and a matrix a
    "multiply %x, %x": 2,
    "multiply %x, %y": UNKNOWN,
    "power %x, 4; power %y, 3.5; add %0, %1": 3.5,
    "power %x, 3": UNKNOWN,
    "power %x, -2": UNKNOWN,
    "power %x, %y": UNKNOWN,
    "cbrt %x; power %0, 6; cbrt %1": 2 / 3,
    "square %x; square %y; multiply %0, %1": 2,
    "square %x; multiply %0, -1.0": UNKNOWN,
    "square %x; add %0, 0.5": NEVER,
    "square %x; add %0, 0.0": 2,
    "square %x; maximum %0, 1": NEVER,
    "square %x; minimum %0, 1": 2,
    "maximum %x, 0": 1,
    "matmul %x, %x": 2,
    "matmul %x, %y": UNKNOWN,
    "norm %x {ord=2.0, axis=(0,), keepdims=False}; square %0": 2,
    "exp %x; square %y; add %0, %1": 2,
    "exp %x; square %0; divide %y, %1": UNKNOWN,
    "exp %x; square %y; divide %1, %0": 2,
    "exp %x; sum %0 {axis=(0,), keepdims=True}; divide %0, %1; subtract 1, %2": FAST,
    "exp %x; exp %y; add %0, %1; divide %0, %2; subtract 1, %3": FAST,
    "exp %x; exp %y; divide %0, %1; subtract 1, %2": UNKNOWN,
    "exp %x; getitem %0 {index=(1:,)}; sum %1 {axis=(0,), keepdims=False}; getitem %0 {index=(0,)};"
    "divide %3, %2; subtract 1, %4": UNKNOWN,
    "square %x; square %y; add %0, %1; divide %0, %2; subtract 1, %3": 2,
    "absolute %x; exp %y; add %0, %1; divide %1, %2; subtract 1, %3": 1,
    "vecdot %x, %x": 2,
    "tanh %x; multiply %0, 2; subtract 1, %1": UNKNOWN,
    "tanh %x; multiply %0, %y; subtract 1, %1": UNKNOWN,
    "tanh %x; subtract 2, %0": UNKNOWN,
}


@pytest.mark.parametrize("program", ORDERS)
def test_orders(program):
    graph = parse(text("%x: f64[3], %y: f64[3]", program))
    assert order(graph.outputs[0]) == pytest.approx(ORDERS[program])


def test_long_programs_are_followed_a_part_of_the_way():
    def f(x):
        for _ in range(300):
            x = x * x * np.abs(x)
        return np.sqrt(x)

    assert tapec.grad(f)(1.0) == pytest.approx(0.5 * 3.0**300)


def test_a_value_that_many_share_is_looked_at_once(monkeypatch):
    """Each state of a chain that is written out is made of all of those before."""
    asked = []
    monkeypatch.setitem(order_of_zero._ORDERS, ops.absolute, lambda node, orders: asked.append(node) or 1.0)

    def states(x):
        p = [np.abs(x * k) for k in range(1, 9)]
        moves = [np.abs(x - k) for k in range(1, 9)]
        for _ in range(3):
            p = [sum([p[j] * moves[(i + j) % 8] for j in range(8)]) for i in range(8)]
        return np.sum(np.sqrt(p[0]))

    tapec.grad(states)(np.ones(3))
    assert 0 < len(asked) < 50
