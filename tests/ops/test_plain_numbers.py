"""Numbers that say what is computed, and are no operands, when they are captured, or arguments."""

import numpy as np
import pytest

import tapec

A = np.array([[0.5, -1.0, 2.5, 4.0], [3.0, 0.25, -0.5, 1.5]])
WITH_GAPS = np.where(A > 2, np.nan, np.where(A < 0, -np.inf, A))
SETTING = {
    "norm": lambda a, p: np.linalg.norm(a, p, axis=1),
    "vector_norm": lambda a, p: np.linalg.vector_norm(a, ord=p),
    "std": lambda a, p: np.std(a, axis=1, ddof=p),
    "var": lambda a, p: a.var(ddof=p),
    "nan_to_num": lambda a, p: np.nan_to_num(a * WITH_GAPS, nan=p, posinf=p, neginf=-p),
    "unwrap": lambda a, p: np.unwrap(a, period=p),
    "discont": lambda a, p: np.unwrap(a, discont=p),
}
FRACTION, WHOLE = 2.5, 3


@pytest.mark.parametrize("name", SETTING)
def test_a_captured_fraction(name):
    f = SETTING[name]
    np.testing.assert_allclose(tapec.compile(lambda a: f(a, FRACTION))(A), f(A, FRACTION), rtol=1e-14)
    tapec.check_grads(lambda a: f(a, FRACTION), (A,), order=1)


@pytest.mark.parametrize("kind", [int, np.int64])
@pytest.mark.parametrize("name", SETTING)
def test_a_whole_number_as_an_argument(name, kind):
    f, number = SETTING[name], kind(WHOLE)
    compiled = tapec.compile(f)
    np.testing.assert_allclose(compiled(A, number), f(A, number), rtol=1e-14)
    np.testing.assert_allclose(compiled(A, kind(2)), f(A, kind(2)), rtol=1e-14)


@pytest.mark.parametrize("name", ["std", "var", "nan_to_num", "unwrap", "discont"])
def test_a_fraction_as_an_argument_is_refused(name):
    with pytest.raises(tapec.DetachError, match=r"test_plain_numbers\.py:\d+: a number that says.*static_argnames"):
        tapec.compile(SETTING[name])(A, FRACTION)
    compiled = tapec.compile(SETTING[name], static_argnums=(1,))
    np.testing.assert_allclose(compiled(A, FRACTION), SETTING[name](A, FRACTION), rtol=1e-14)


@pytest.mark.parametrize("order", [2.5, 1.0, 2.0, np.inf, -np.inf, 0.5, -2.0])
def test_the_order_of_a_norm_may_be_an_argument(order):
    norm = SETTING["norm"]
    np.testing.assert_allclose(tapec.compile(norm)(A, order), norm(A, order), rtol=1e-14)
    found = tapec.grad(lambda a, p: np.sum(norm(a, p)))(A, order)
    np.testing.assert_allclose(found, tapec.grad(lambda a: np.sum(np.linalg.norm(a, order, axis=1)))(A), rtol=1e-14)
    np.testing.assert_array_equal(tapec.grad(lambda a, p: np.linalg.norm(a, p))(np.zeros(3), 2.5), np.zeros(3))


@pytest.mark.parametrize("a", [np.zeros((2, 0)), [[np.inf, np.inf], [1.0, 2.0]], [[0.0, 0.0], [1.0, 0.0]]])
@pytest.mark.parametrize("order", [-1.5, 1.5])
def test_norms_of_nothing_and_of_infinities_of_an_order_that_is_an_argument(a, order):
    norm = SETTING["norm"]
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(tapec.compile(norm)(np.array(a), order), norm(np.array(a), order))


@pytest.mark.parametrize("number", [np.int64(3), np.uint8(3), np.bool_(True)])
def test_an_array_scalar_that_numpy_asks_for(number):
    for f in (lambda a, n: np.asarray(n) * a, lambda a, n: np.full(4, n) * a, lambda a, n: a * len(f"{n}")):
        np.testing.assert_array_equal(tapec.compile(f)(A, number), f(A, number))


WHOLE_CALLS = {  # of Python's numbers alone
    "isfinite": (lambda z: np.isfinite(z), 1 + 2j),
    "isinf": (lambda z: np.isinf(z), complex(0, np.inf)),
    "select": (lambda x: np.select([False, True], [x, 2 * x], 3.0), 1.5),
    "choose": (lambda x, i: np.choose(i, [x, 2 * x]), 1.5, 1),
    "resize": (lambda x, n: np.resize(np.ones(3) * x, n), 1.5, 5),
    "cumulative_sum": (lambda x: np.cumulative_sum(x, include_initial=True), 1.5),
    "argpartition": (lambda x: np.argpartition(x, 0), 1.5),
}


@pytest.mark.parametrize("name", [n for n in WHOLE_CALLS if hasattr(np, n)])
def test_calls_of_python_numbers_alone(name):
    f, *args = WHOLE_CALLS[name]
    found, wanted = tapec.compile(f)(*args), np.asarray(f(*args))
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype


SHAPE, ORDER, PLACES = np.array([2, 4]), np.array([1, 0]), np.array([0, 2])
BY_ARRAYS = {
    "reshape": lambda a: np.reshape(a, SHAPE),
    "reshape method": lambda a: a.reshape(SHAPE),
    "transpose": lambda a: np.transpose(a, ORDER),
    "transpose method": lambda a: a.transpose(ORDER),
    "moveaxis": lambda a: np.moveaxis(a, ORDER, [0, 1]),
    "tile": lambda a: np.tile(a, SHAPE),
    "broadcast_to": lambda a: np.broadcast_to(a[0, 0], SHAPE),
    "partition": lambda a: np.partition(a, PLACES),
    "tensordot": lambda a: np.tensordot(a, a, axes=(ORDER[:1], ORDER[:1])),
    "sum": lambda a: np.sum(a * a, axis=tuple(ORDER)),
    "median": lambda a: np.median(a, axis=tuple(ORDER)),
    "zeros_like": lambda a: np.zeros_like(a, shape=SHAPE) + a,
    "full_like": lambda a: np.full_like(a, 2.0, shape=SHAPE) * a,
}


@pytest.mark.parametrize("name", BY_ARRAYS)
def test_shapes_and_axes_in_arrays(name):
    f = BY_ARRAYS[name]
    compiled = tapec.compile(f)
    for _ in range(2):
        np.testing.assert_allclose(compiled(A), f(A), rtol=1e-14)
    assert compiled.cache_info().misses == 1  # what the arrays hold are guards
    t = tapec.constant(A)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    np.testing.assert_allclose(y.numpy(), f(A), rtol=1e-14)
    np.testing.assert_allclose(tape.gradient(y, t).numpy(), tapec.grad(lambda a: np.sum(f(a)))(A), rtol=1e-14)


def test_a_captured_shape_may_change():
    shape = np.array([2, 4])
    f = tapec.compile(lambda a: np.reshape(a, shape))
    assert f(A).shape == (2, 4)
    shape[:] = [8, 1]
    assert f(A).shape == (8, 1)


@pytest.mark.parametrize("x", [2.0, np.ones(2, np.float32), np.ones(2)])
@pytest.mark.parametrize("part", [lambda z: z.real, lambda z: (2 * z).imag, np.real, np.imag, np.angle, abs])
def test_parts_of_pythons_complex_numbers(part, x):
    found, expected = tapec.compile(lambda x, z: x * part(z))(x, 1 + 2j), x * part(1 + 2j)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    slope = tapec.grad(lambda z: np.sum(x * part(z)))
    np.testing.assert_allclose(slope(1 + 2j), slope(np.complex128(1 + 2j)), rtol=1e-6)


@pytest.mark.parametrize("f", [lambda x, p: x**p, lambda x, p: p**x, lambda x, p: np.copysign(p, x) * x])
def test_slopes_beside_a_captured_number_stay_float32(f):
    p, x = FRACTION, A[1:, 0].astype(np.float32)
    found = tapec.grad(lambda x: np.sum(f(x, p)))
    np.testing.assert_allclose(found(x), tapec.grad(lambda x: np.sum(f(x, p)))(x.astype(float)), rtol=1e-6)
    assert "f64" not in str(found.ir(x))
    assert "f64" not in str(tapec.grad(lambda x: np.sum(np.copysign(x, 2.0) * f(x, 2.0))).ir(x))


@pytest.mark.parametrize("f", [np.arctan2, np.float_power, np.hypot, lambda x, c: np.power(c, x), np.divide])
def test_slopes_of_float64_have_its_digits_beside_float32(f):
    c = np.array([0.3, 0.7, 1.1], np.float32)
    x, wide = np.array([0.2, 0.9, 1.7]), c.astype(float)
    weights = np.array([1.0, -2.0, 0.5])
    for derivative in (
        lambda c: tapec.grad(lambda x: weights @ f(x, c))(x),
        lambda c: tapec.jvp(lambda x: f(x, c), (x,), (weights,))[1],
        lambda c: tapec.hessian(lambda x: weights @ f(x, c))(x),
    ):
        np.testing.assert_allclose(derivative(c), derivative(wide), rtol=1e-13)
