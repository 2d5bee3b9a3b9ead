"""Functions of products with exponentials: the right derivatives, which are finite where these vanish or overflow."""

import numpy as np
import pytest
from scipy import special

import tapec
from tapec.autodiff.composite.log_of_product import SHARES, SUMS, logarithm_of
from tapec.ir import parse
from tests.ops.derivatives import by_tape
from tests.passes.support import text
from tests.properties import call_count, count_of

Q = np.array([0.2, 0.3, 0.5])


def share(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


VANISHING = {  # of what is far below zero
    "root": lambda z: np.sqrt(share(z)),
    "SciPy's softmax": lambda z: np.sqrt(tapec.scipy.special.softmax(z)),
    "power": lambda z: share(z) ** 0.5 + share(z) ** 0.3,
    "np.float_power": lambda z: np.float_power(share(z), 1.5),
    "powers": lambda z: share(z) ** Q,
    "cube root": lambda z: np.cbrt(share(z)),
    "Hellinger": lambda z: (np.sqrt(share(z)) - np.sqrt(Q)) ** 2,
    "Hellinger's distance": lambda z: np.linalg.norm(np.sqrt(share(z)) - np.sqrt(Q)),
    "Bhattacharyya": lambda z: np.log(np.sum(np.sqrt(share(z) * Q))),
    "of two": lambda z: np.sqrt(share(z) * share(z[::-1])),
    "Tsallis": lambda z: (1 - np.sum(share(z) ** 0.7)) / (0.7 - 1),
    "other uses": lambda z: np.sqrt(p := share(z)) * np.sin(z) + p * p,
    "laid out": lambda z: np.sqrt(share(np.stack([z, -z])).T[1:, :1]) * np.arange(3.0),
    "picked": lambda z: np.sqrt(share(z)[np.array([0, 1, 1])]) * Q,
    "exponential": lambda z: np.sqrt(np.exp(z)),
    "of base 2": lambda z: np.exp2(z) ** 0.3,
    "density": lambda z: np.sqrt(np.exp(-0.5 * z * z)),
    "root of a root": lambda z: np.sqrt(np.sqrt(share(z))),
    "square": lambda z: np.sqrt(np.square(share(z)) * Q),
    "sigmoid": lambda z: np.sqrt(sigmoid(z)),
    "its rest": lambda z: (1 - sigmoid(-z)) ** 0.3,
    "its logarithm": lambda z: np.log(sigmoid(z)) + special.xlogy(Q, special.expit(2 * z)),
    "logarithm of its rest": lambda z: np.log2(1 - sigmoid(-z)) - np.log1p(-special.expit(-z)),
    "cross-entropy": lambda z: Q * np.log(p := sigmoid(z)) + (1 - Q) * np.log(1 - p),
    "expit": lambda z: special.expit(z) ** 0.3,
    "deviation": lambda z: np.sqrt(special.expit(z) * (1 - special.expit(z))),
}
OVERFLOWING = {  # of what is far above zero
    "over": lambda z: z / np.exp(z),
    "over a power": lambda z: Q / np.exp(0.5 * z) ** 2,
    "reciprocal": lambda z: np.reciprocal(np.exp(z)),
    "power": lambda z: np.exp(z) ** -1 + np.exp(z) ** -0.5,
    "hyperbolic": lambda z: np.tanh(z) / np.cosh(z) + 1 / np.cosh(z) ** 2,
    "swish": lambda z: -z / (1 + np.exp(z)),
    "growth": lambda z: 3 / (np.exp(z) + 1) - Q,
    "Planck": lambda z: z**3 / (np.exp(z) - 1),
    "np.expm1": lambda z: z**3 / np.expm1(z),
    "Fermi": lambda z: z**0.5 / (np.exp(z - 3) + 1.0),
    "pairs": lambda z: Q[:, None] / (2 + np.exp(z)),
    "logistic growth": lambda z: Q / (1 + 2.5 * np.exp(z)),
    "Richards": lambda z: 3 / (1 + Q * np.exp(2 * z)) ** 1.5,
    "squares": lambda z: 1 / (1 + np.exp(z)) ** 2 + (1 + np.exp2(z)) ** -2,
    "two sums": lambda z: z / ((1 + np.exp(z)) * (2 + np.exp(-z))),
    "sums of exponentials": lambda z: np.reciprocal(z + np.exp(z) + Q * np.exp(-z)),
    "Gumbel": lambda z: np.exp(-np.exp(z)) + np.exp(z - np.exp(z)),
    "Gompertz": lambda z: 3 * np.exp2(-Q * np.exp2(2 * z)),
    "complementary log-log": lambda z: Q * np.expm1(-np.exp(z)),
    "hyperbolic tangent": lambda z: np.tanh(0.1 * np.exp(z)) - np.tanh(3 - np.exp(z)),
    "angle": lambda z: np.arctan(np.exp(z)[:, None] / Q),
    "error function": lambda z: special.erf(np.exp(z)) + special.erfc(2 * np.exp(z)),
    "probabilities": lambda z: special.ndtr(1 - np.exp(z)) + special.expit(-np.exp(z)),
    "powers": lambda z: z / (2 + np.exp(z) ** 2) + 1 / (1 + np.square(Q * np.exp(z) + 1)) + np.tanh(np.exp(z) ** 1.5),
    "exponentials of exponentials": lambda z: 1 / (1 + np.exp(np.exp(z))) + np.exp(-np.exp(1 + np.exp(z))),
    "one of two": lambda z: np.exp(-np.maximum(np.exp(z), z)) + 1 / (1 + np.logaddexp(np.exp(z), 0)),
    "Gompertz, from zero": lambda z: np.exp(-Q * np.expm1(z)) + 1 / (Q + np.expm1(z)) + np.tanh(np.expm1(2 * z)),
    "mish": lambda z: z * np.tanh(np.log1p(np.exp(z))) + np.tanh(np.log(1 + np.exp(z))),
}
WAYS = {
    "reverse": (tapec.grad, tapec.hessian),
    "forward": (tapec.jacfwd, lambda f: tapec.jacfwd(tapec.jacfwd(f))),
    "on a tape": (by_tape, lambda f: tapec.jacrev(tapec.grad(f))),
}
CASES = [(table, name) for table in (VANISHING, OVERFLOWING) for name in table]


@pytest.mark.parametrize("table, name", CASES)
def test_derivatives(table, name):
    f = lambda z: np.sum(table[name](z))
    z = np.array([0.4, 1.3, 0.8])
    tapec.check_grads(f, (z,), order=2)
    g = tapec.grad(f)(z.astype(np.float32))
    assert g.dtype == np.float32
    np.testing.assert_allclose(g, tapec.grad(f)(z), rtol=1e-4, atol=1e-5)


@pytest.mark.sampled(one_in=6, per="name")
@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("table, name", CASES)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:divide by zero", "ignore:underflow")
def test_far_out_derivatives_are_the_limits(table, name, way, optimize):
    sign = -1 if table is VANISHING else 1
    near, far = (np.array([0.4, sign * z, 0.8]) for z in (250.0, 2000.0))
    f = lambda z: np.sum(table[name](z))
    with tapec.settings(optimize=optimize):
        for derivative in WAYS[way]:
            np.testing.assert_allclose(derivative(f)(far), derivative(f)(near), rtol=1e-12, atol=1e-15)


def test_the_root_of_a_share_in_closed_form():
    z = np.array([0.0, -800.0, 1.0])
    p = share(z)
    r = np.sqrt(p)
    np.testing.assert_allclose(tapec.jacrev(lambda z: np.sqrt(share(z)))(z), 0.5 * r[:, None] * (np.eye(3) - p))
    np.testing.assert_allclose(tapec.jacfwd(lambda z: np.sqrt(share(z)))(z), 0.5 * r[:, None] * (np.eye(3) - p))


def test_the_slope_of_what_is_over_expm1_selects_nothing():
    z = np.linspace(0.1, 3, 1000)
    f = lambda z: np.sum(z / np.expm1(z))
    slope = tapec.compile(lambda z, t: tapec.jvp(f, (z,), (t,))[1])
    assert slope(z, z) == pytest.approx(tapec.grad(f)(z) @ z)
    assert not call_count(slope.source(z, z), "isinf", "where")


def test_values_with_other_uses_gather_cotangents_first():
    def steps(x, n):
        for _ in range(n):
            x = np.tanh(x) * x + np.exp(-x)
        return np.sum(x)

    x = np.array([0.4, 1.2])
    few, more = [len(tapec.grad(steps).ir(x, n, stage="gradient").nodes) for n in (2, 5)]
    assert more < 3 * few


FLAT = {
    "Gumbel": lambda x: np.exp(-np.exp(x)),
    "Richards": lambda x: 3 / (1 + 2.5 * np.exp(x)) ** 1.5,
    "angles": lambda x: np.tanh(0.1 + np.exp(x)) + np.arctan(3 * np.exp(x)),
}


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("dtype", "efdg")
@pytest.mark.filterwarnings("ignore:overflow", "ignore:underflow")
def test_in_each_precision(dtype, name):
    """An exponential that counts as a number does so where the rest is nothing beside it."""
    f = FLAT[name]
    end = float(np.log(np.finfo(dtype).max.astype("g")))
    x = np.array([0.5, 0.98 * end, end - 0.01, end + 1, 2 * end], dtype)
    for slope in (
        tapec.grad(lambda x: np.sum(f(x)))(x),
        np.diag(tapec.jacfwd(f)(x)),
        by_tape(lambda x: np.sum(f(x)))(x),
    ):
        assert slope.dtype == dtype
        assert abs(slope[0]) > 0.1
        np.testing.assert_allclose(slope[1:], 0, atol=np.finfo(dtype).eps)
    second = np.diag(tapec.hessian(lambda x: np.sum(f(x)))(x))
    np.testing.assert_allclose(second[1:], 0, atol=np.finfo(dtype).eps)


def test_logarithms_of_sums_that_are_nearly_infinite():
    """Their slope is that of the exponential, of which the other terms are no part."""
    x = np.array([650.0, 690.0, 708.0])
    f = lambda x: np.sum(-np.log(1e-9 / (1 + 0.25 * np.exp(x)) ** 1.0001))
    np.testing.assert_allclose(tapec.grad(f)(x), 1.0001, rtol=1e-12)


@pytest.mark.parametrize("f", [special.xlogy, special.rel_entr, lambda q, p: q * np.log2(p * Q) * np.log(2)])
def test_logarithms_of_shares_whose_reciprocal_is_infinite(f):
    z = np.array([0.0, -715.0, 1.0])
    sign = -1 if f is special.rel_entr else 1
    for way in (tapec.grad, tapec.jacfwd, by_tape):
        slope = way(lambda z: np.sum(f(Q, share(z))))(z)
        np.testing.assert_allclose(slope, sign * (Q - share(z)), rtol=1e-12)


def test_both_operands_may_move():
    f = lambda a, z: np.sum(special.xlogy(a, share(z)) + share(z) ** a + a / np.exp(z * a))
    a, z = np.array([0.4, 1.2, 2.0]), np.array([0.5, -0.3, 1.0])
    tapec.check_grads(f, (a, z), order=2)
    tapec.check_grads(lambda z: f(z, z), (a,), order=2)


def test_the_share_itself_has_the_infinite_slope():
    z = tapec.constant([0.0, -800.0, 1.0])
    with tapec.GradientTape() as tape:
        tape.watch(z)
        p = share(z)
        y = np.sum(np.sqrt(p))
    np.testing.assert_array_equal(tape.gradient(y, p).numpy()[1], np.inf)


WEIGHTED = {  # with the slope that it has where the weight is zero, from the exponential there
    "power": (lambda e, w: (e * w) ** 1.5, lambda e: 0 * e),
    "power of any exponent": (lambda e, w: (e * w) ** np.array([2.0, 1.0, 3.0]), lambda e: np.array([0, e[1], 0])),
    "weight laid out": (lambda e, w: (e * np.broadcast_to(w[:1] * w[:2, None], (2, 3))).T ** 1.5, lambda e: 0 * e),
    "root": (lambda e, w: np.sqrt(e * w / 3), lambda e: e * np.inf),
    "above and below": (lambda e, w: np.sqrt(w / (2 / (e * (w + 1))) / (1 + w)), lambda e: e * np.inf),
    "entropy": (lambda e, w: special.xlogy(w, e * w), lambda e: 0 * e),
}


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("way", [tapec.grad, tapec.jacfwd, by_tape])
def test_weights_of_zero_have_the_slope_of_the_product(name, way):
    f, at_zero = WEIGHTED[name]
    z = np.array([0.3, -0.5, 0.9])
    slope = way(lambda w: np.sum(f(np.exp(z + w), w)))(np.zeros(3))
    np.testing.assert_allclose(slope, at_zero(np.exp(z)), rtol=1e-12)


@pytest.mark.parametrize("name", WEIGHTED)
def test_other_weights_have_it_by_the_logarithm(name):
    f, _ = WEIGHTED[name]
    z, w = np.array([0.3, -0.5, 0.9]), np.array([0.4, 1.2, 2.0])
    tapec.check_grads(lambda z, w: np.sum(f(np.exp(z), w)), (z, w), order=2)


@pytest.mark.parametrize("way", [tapec.grad, tapec.jacfwd])
def test_weights_of_a_share_that_vanishes(way):
    z, w = np.array([-900.0, 0.3, 1.0]), np.array([0.4, 1.2, 2.0])
    slope = way(lambda w: np.sum(np.sqrt(share(z) * w)))(w)
    np.testing.assert_allclose(slope, 0.5 * np.sqrt(share(z) / w), rtol=1e-12)


@pytest.mark.parametrize("root", [lambda e: np.sqrt(1 / (1 + e)), lambda e: np.sqrt(1 - 1 / (1 + e)), np.sqrt])
def test_what_lies_between_has_a_cotangent_of_its_own(root):
    z = tapec.constant([0.5, -0.3])
    with tapec.GradientTape() as tape:
        tape.watch(z)
        e = np.exp(z)
        y = np.sum(root(e))
    of_e, of_z = tape.gradient(y, [e, z])
    np.testing.assert_allclose(of_e.numpy(), tapec.grad(lambda e: np.sum(root(e)))(e.numpy()), rtol=1e-14)
    np.testing.assert_allclose(of_z.numpy(), of_e.numpy() * e.numpy(), rtol=1e-14)


def test_slopes_of_logistic_growth():
    """With what is larger, or smaller, than the exponential."""
    x, t = np.linspace(-1, 1, 6).reshape(2, 3), np.array([0.1, -0.2, 800.0])
    f = lambda x, t: np.sum(x * x / (1 + np.exp(t)))
    with np.errstate(over="ignore"):
        rest = 1 / (1 + np.exp(t))
        np.testing.assert_allclose(tapec.grad(f, argnums=1)(x, t), -np.sum(x * x, axis=0) * rest * (1 - rest))
        np.testing.assert_allclose(tapec.grad(f)(x, t), 2 * x * rest)


def test_nothing_is_divided_by_the_root():
    z = np.linspace(-1, 1, 1000).reshape(100, 10)
    g = tapec.grad(lambda z: np.sum((np.sqrt(share(z)) - 0.3) ** 2))
    g(z)
    assert not count_of(g.source(z), "_ /= r") + count_of(g.source(z), "_ / r")


@pytest.mark.parametrize("rest", [lambda p: np.log(1 - p), lambda p: np.log1p(-p)])
def test_logarithms_of_probabilities_divide_by_none(rest):
    """Not even by those that are zero."""
    z, q = np.array([0.3, -800.0, 800.0, -2.0]), np.array([0.0, 1.0, 0.0, 0.7])
    f = lambda z: np.sum(q * np.log(sigmoid(z)) + (1 - q) * rest(sigmoid(z)))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for way in (tapec.grad, tapec.jacfwd, by_tape):
            np.testing.assert_allclose(way(f)(z), q - sigmoid(z), rtol=1e-12)


OTHERS = {  # no exponential among the factors, or what is none
    "no exponential": "multiply %x, %y",
    "sum": "exp %x; add %0, %y",
    "sum of all": "exp %x; sum %0 {axis=(0,), keepdims=False}",
    "sine": "exp %x; sin %0",
    "negative": "exp %x; negative %0",
    "power of any exponent": "exp %x; power %0, %y",
    "sigmoid, where none is asked for": "sigmoid %x",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_has_no_such_logarithm(name):
    graph = parse(text("%x: f64[3], %y: f64[3]", OTHERS[name]))
    assert logarithm_of(graph.outputs[0], graph.outputs[0]) is None


def test_logarithms_are_written_out():
    graph = parse(text("%x: f64[3], %y: f64[3]", "exp %x; multiply %0, 2.0; divide %1, %y; sqrt %2"))
    found = logarithm_of(graph.outputs[0], graph.outputs[0])
    assert found.direct is None
    assert set(found.log.inputs) == set(graph.inputs)
    assert {node.op.name for node in found.log.inner} == {"exp", "multiply", "divide", "sqrt"}
    [sigmoid] = parse(text("%x: f64[3]", "sigmoid %x")).outputs
    assert logarithm_of(sigmoid, sigmoid, (SHARES,)) is not None


def test_sums_with_exponentials_that_are_no_divisors():
    graph = parse(
        text("%x: f64[3], %y: f64[3]", "exp %x; multiply %0, 2.0; add 1, %1; divide %y, %2; square %2; return %3, %4")
    )
    below, square = graph.outputs
    assert logarithm_of(below, below, (SUMS,)) is None
    assert logarithm_of(square, square) is None
    found = logarithm_of(square, square, (SUMS,))
    assert set(found.log.inputs) == {graph.inputs[0], below.inputs[1]}
    assert {node.op.name for node in found.log.inner} == {"exp", "multiply", "add", "square"}
