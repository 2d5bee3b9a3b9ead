"""What is left out of a result leaves gradients of every order finite, and right, whatever its slope is."""

import numpy as np
import pytest

import tapec
from tests.ops.selections import HIGH, LOW, MATRICES, VECTORS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of the infinities that are left out
INNER = {"sqrt": np.sqrt, "reciprocal": lambda x: 1 / x, "log": lambda x: 2 * np.log(3 * x) + x}
STEP = 1e-5
X = np.array([0.0, 0.5, 1.7, 2.6, 3.1])
XX = np.array([[1.1, 0.0, 0.8], [2.3, 0.6, 1.9], [0.0, 2.9, 3.3]])
NAMES = {
    "np": np,
    "nan": np.nan,
    "inf": np.inf,
    "w": np.array([0.3, 1.2, 0.7, 0.9, 2.1]),
    "m": X != 0,
    "n": np.array([False, False, True, True, False]),
    "K": XX != 0,
}


def overwritten(v, i, value):
    y = np.copy(v)
    y[i] = value
    return y


def program(code, inner):
    """A loss that weighs all elements of the result differently."""
    names = {**NAMES, "overwritten": overwritten}
    body = compile(code, code, "eval")

    def loss(x):
        y = inner(x)
        result = eval(body, {**names, "x": x, "v": y, "M": y})
        return np.sum(result * np.sin(0.37 * np.arange(1, np.size(result) + 1).reshape(np.shape(result))))

    return loss


def differences(f, x):
    """One-sided, of second order: on the other side there may be nothing."""
    rows = []
    for place in np.ndindex(x.shape):
        one, two = x.copy(), x.copy()
        one[place] += STEP
        two[place] += 2 * STEP
        rows.append((-3 * f(x) + 4 * f(one) - f(two)) / (2 * STEP))
    return np.reshape(rows, (*x.shape, *np.shape(rows[0])))


def assert_close(found, wanted, tolerance):
    assert np.isfinite(wanted).all()  # else the program is no example
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * max(1.0, np.abs(wanted).max()))


def check(code, inner, x):
    loss = program(code, inner)
    gradient = tapec.grad(loss)
    wanted = differences(loss, x)
    assert_close(gradient(x), wanted, 1e-5)
    assert_close(tapec.jacfwd(loss)(x), wanted, 1e-5)
    wanted = differences(gradient, x)
    for second in (tapec.jacrev(gradient), tapec.hessian(loss), tapec.jacrev(tapec.jacfwd(loss))):
        assert_close(second(x), wanted, 2e-4)


@pytest.mark.sampled(one_in=5, per="code")
@pytest.mark.parametrize("name", INNER)
@pytest.mark.parametrize("code", VECTORS)
def test_elements_of_a_vector(code, name):
    check(code, INNER[name], X)


@pytest.mark.sampled(one_in=4, per="code")
@pytest.mark.parametrize("name", INNER)
@pytest.mark.parametrize("code", MATRICES)
def test_elements_of_a_matrix(code, name):
    check(code, INNER[name], XX)


@pytest.mark.parametrize("code", LOW)
def test_what_is_least_is_not_chosen(code):
    check(code, np.sqrt, X)


@pytest.mark.parametrize("code", HIGH)
def test_what_is_greatest_is_not_chosen(code):
    check(code, INNER["reciprocal"], X)


def test_without_optimising():
    with tapec.settings(optimize=False):
        for code in VECTORS[5:12]:
            check(code, np.sqrt, X)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_other_dtypes(dtype):
    loss = lambda x: np.sum(np.real(np.where(NAMES["m"], np.cumsum(np.sqrt(x)[::-1])[::-1], 0)))
    found = tapec.grad(loss)(X.astype(dtype))
    assert found.dtype == dtype and found[0] == 0 and np.isfinite(found).all()
    np.testing.assert_allclose(found[1:], np.arange(1, 5) * 0.5 / np.sqrt(X[1:]), rtol=1e-6)


def test_data_with_holes_where_a_mask_says_so():
    """A sum of two selections of data: what neither selects may be missing."""
    data = np.array([np.nan, 1.0, 2.0, 3.0, np.inf])
    m, n = NAMES["m"] & (np.arange(5) < 4), NAMES["n"]
    loss = lambda w: np.sum(np.where(m, w * data, 0) + np.where(n, w * data, 0) * 2)
    np.testing.assert_array_equal(tapec.grad(loss)(np.ones(5)), [0, 1, 6, 9, 0])


def test_rows_of_data_that_a_mask_leaves_out():
    data = np.ones((5, 3))
    data[0] = np.nan
    loss = lambda w: np.sum(np.where(NAMES["m"][:, None], data @ w, 0))
    np.testing.assert_array_equal(tapec.grad(loss)(np.ones((3, 2))), np.full((3, 2), 4.0))


@pytest.mark.parametrize("code", ["np.where(m, np.abs(v), 0)", "np.where(m, np.abs(v), 0) + np.where(n, v, 0)"])
@pytest.mark.parametrize("inner", [np.sqrt, lambda x: x**-0.5, lambda x: np.arctan2(np.sqrt(x), x)])
def test_what_has_no_second_derivative_stays_out(code, inner):
    """The zeros that the slope of abs has for a derivative meet an infinite one."""
    check(code, inner, X)
    with tapec.settings(optimize=False):
        check(code, inner, X)
