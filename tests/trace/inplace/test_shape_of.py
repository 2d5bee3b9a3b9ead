"""`t.shape = 2, 3` on tensors is NumPy's, in place; what cannot be a view is NumPy's AttributeError."""

import warnings

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import differences

X = np.arange(6.0) / 3 + 0.1


@pytest.fixture(autouse=True)
def as_before():
    """NumPy 2.5 warns of such lines; their meaning is the same."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


def then_written(x):
    y = np.sin(x)
    y.shape = 2, 3
    y[0] *= 2
    return np.sum(y @ np.arange(3.0)) * y.shape[0]


def a_view(x):
    y = x * 2
    z = y[2:]
    z.shape = 2, 2
    z[0, 1] = 5 * x[0]
    return np.sum(y * y) + np.sum(z[1] * z[0])


def base_of_a_view_changes(x):
    y = x * 2
    z = y[2:]
    z.shape = 2, 2
    y[2] = x[0] ** 2
    return np.sum(z[0] * z[1])


def twice(x):
    y = x * 2
    y.shape = 2, -1
    y.shape = 3, 2
    return np.sum(y[1] * y[2] ** 2)


def filled(x):
    y = np.zeros(6)
    y[:] = x
    y.shape = (2, 3)
    y[1] += y[0]
    return np.sum(y**2)


def of_an_argument_s_part(x):
    y = x[1:5]
    y.shape = 2, 2
    return np.sum(y[0] ** 2)


def the_same(x):
    y = x * 2
    y.shape = 6
    return np.sum(y * y)


def impossible(x):
    y = np.outer(x, x).T[1:]
    try:
        y.shape = (30,)
    except AttributeError:
        return np.sum(y) * 3
    return np.sum(y)


def by_tape(f):
    t = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    return y.numpy(), tape.gradient(y, t).numpy()


ALL = [then_written, a_view, base_of_a_view_changes, twice, filled, of_an_argument_s_part, the_same, impossible]


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_values_and_gradients(f):
    found = [tapec.value_and_grad(f)(X)]
    if f is not filled:  # on a tape that needs a tensor from the start
        found.append(by_tape(f))
    for value, gradient in found:
        np.testing.assert_allclose(value, f(X.copy()), rtol=1e-12)
        np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-6, atol=1e-7)
    compiled = tapec.compile(f)
    for x in (X, X[::-1].copy(), X * 3):
        np.testing.assert_allclose(compiled(x), f(x.copy()), rtol=1e-12)


def test_errors_are_numpys():
    t = tapec.constant(np.arange(6.0).reshape(2, 3))
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y, turned, number = t * 2, (t * 2).T, t[0, 0] * 2
        with pytest.raises(ValueError, match="cannot reshape array of size 6"):
            y.shape = 4
        for x, shape in ((turned, 6), (number, (1, 1))):
            with pytest.raises(AttributeError, match=r"Incompatible shape for in-place .*\.reshape\(\)"):
                x.shape = shape
        assert y.shape == (2, 3) and turned.shape == (3, 2) and number.shape == ()
        row = y[0]
        with pytest.raises(tapec.UnsupportedError, match="views of y may be in use"):
            y.shape = 6
        assert row.shape == (3,)


def test_arrays_of_the_caller_keep_their_shape():
    def f(x):
        x.shape = 2, 3
        return np.sum(x[0])

    with pytest.raises(tapec.InPlaceError, match=r"test_shape_of\.py:\d+: .*would change x"):
        tapec.grad(f)(X)
    t = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        with pytest.raises(tapec.InPlaceError, match="a tape watches"):
            t.shape = 2, 3
    free = tapec.constant(X)
    free.shape = 2, 3
    assert free.shape == (2, 3)
