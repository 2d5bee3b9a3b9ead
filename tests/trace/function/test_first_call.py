"""The first call of a function runs it, to see what it does, and then the code made of that: both do as NumPy does."""

import numpy as np
import pytest

import tapec

X = np.linspace(0.5, 2.0, 6)
SPD = np.array([[2.0, 0.5], [0.5, 1.0]])


def both(f, *args):
    """The first call and the next give what NumPy gives."""
    compiled = tapec.compile(f)
    for _ in range(2):
        np.testing.assert_allclose(compiled(*args), f(*args), rtol=1e-14)


# -- looking ----------------------------------------------------------------------------------------------------------
def test_a_branch_sees_the_value():
    @tapec.grad
    def slope(x):
        y = x * x
        z = np.sin(y)
        return np.sum(y) if np.sum(y) > 3.0 else np.sum(z)

    np.testing.assert_allclose(slope(X), 2 * X)
    np.testing.assert_allclose(slope(X / 4), X / 2 * np.cos(X * X / 16))


def test_printing_sees_the_value():
    seen = []

    def f(x):
        y = x * 2.0
        seen.append(f"{y}")
        return np.sum(y)

    tapec.grad(f)(X)
    assert "1.6" in seen[0]


def test_picking_elements_at_wrong_places_is_an_error():
    def f(x, places):
        return np.sum((x * 2.0)[places] * x[np.array([0, 1, 2])])

    both(f, X, np.array([5, 0, -1]))
    with pytest.raises(IndexError, match="out of bounds"):
        tapec.compile(f)(X, np.array([6, 0, 1]))
    with pytest.raises(IndexError):
        tapec.compile(lambda x: x[50])(X)


@pytest.mark.thorough
def test_long_chains():
    def f(x):
        y = x
        for _ in range(5000):
            y = y * 1.0001
        return np.sum(y) if y[0] > 0 else np.sum(x)

    both(f, X)


# -- changes in place -------------------------------------------------------------------------------------------------
def test_writing_through_views():
    def f(x):
        y = x * 2.0
        rows = y.reshape(2, 3)
        rows[0] = 7.0
        rows.T[1] *= 3.0
        return y * x

    both(f, X)


@pytest.mark.parametrize("z", [X, X * (1.0 + 0.5j)])
def test_writing_through_the_parts_of_a_complex_array(z):
    def f(x):
        y = x * (2.0 + 1.0j)
        y.real[:2] = y.imag[2:4]
        imaginary = np.imag(y)[1:]
        imaginary *= 3.0
        return y * x

    both(f, z)


def test_a_copy_shares_nothing():
    def f(x):
        y = x * 2.0
        z = np.transpose(y.reshape(2, 3)).copy()
        z[0] = 1.0
        w = np.repeat(y, 2)
        w[:4] = 0.0
        return np.sum(y) + np.sum(z) * np.sum(w)

    both(f, X)


def test_values_from_before_a_change():
    def f(x):
        y = x * 2.0
        z = y + 1.0
        y[0] = 100.0
        y += x
        return z * y

    both(f, X)


def test_arguments_cannot_be_changed():
    with pytest.raises(tapec.TapecError, match="belongs to the caller"):
        tapec.compile(lambda x: np.multiply(x, 2.0, out=x))(X.copy())

    def through_a_view(x):
        x[1:3][0] = 1.0
        return np.sum(x)

    with pytest.raises(tapec.TapecError, match="belongs to the caller"):
        tapec.compile(through_a_view)(X.copy())


def test_plain_arrays_that_change():
    def f(x):
        weights = np.zeros(6)
        total = 0.0
        for i in range(3):
            weights[:] = 0.0
            weights[i] = 1.0
            total = total + np.sum(x * weights) ** 2
        return total

    both(f, X)


def test_who_keeps_a_tensor_has_its_value_as_it_was():
    kept = {}

    class Box:
        def keep(self, t):
            kept["t"] = t

    box = [Box().keep]

    def f(x, keep):
        keep(x * 2.0)
        return np.sum(x)

    x = X.copy()
    tapec.compile(f)(x, box[0])
    x[:] = 0.0
    np.testing.assert_array_equal(kept["t"], 2 * X)


# -- errors -----------------------------------------------------------------------------------------------------------
def test_what_fails_by_value_fails_where_it_stands():
    def f(x):
        a = x.reshape(2, 3) @ x.reshape(2, 3).T * 0.0 - np.eye(2)
        try:
            return np.sum(np.linalg.cholesky(a))
        except np.linalg.LinAlgError:
            return np.sum(x)

    both(f, X)


def test_what_does_not_fit_fails_where_it_stands():
    def f(x):
        try:
            return np.sum(x * 2.0 + np.ones(4))
        except ValueError:
            return np.sum(x)

    both(f, X)


def test_errors_that_numpy_was_told_to_raise():
    def f(x):
        try:
            with np.errstate(divide="raise"):
                return np.sum(1.0 / (x - x))
        except FloatingPointError:
            return np.sum(x)

    both(f, X)


@pytest.mark.parametrize("first", [SPD, -SPD])
def test_the_function_catches_what_fails_at_any_call(first):
    def f(a):
        try:
            factor = np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return 7.0 * np.sum(a)
        return np.sum(factor)

    compiled = tapec.compile(f)
    for a in (first, -first, first):
        assert compiled(a) == f(a)
    with tapec.testing.assert_compiles(compiled, at_most=0):
        for a in (first, -first):
            assert compiled(a) == f(a)


def test_the_function_catches_what_fails_before_a_branch():
    def f(a):
        try:
            factor = np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return 7.0 * np.sum(a)
        return np.sum(factor) if np.sum(factor) > 0 else np.sum(a)

    compiled = tapec.compile(f)
    for a in (-SPD, SPD, -SPD):
        assert compiled(a) == f(a)


def test_who_catches_errors_elsewhere_has_those_that_are_raised_there():
    def f(a):
        factor = np.linalg.cholesky(a)
        try:
            return np.sum(a) if factor[0, 0] > 0 else np.sum(factor)
        except ValueError:
            return -1.0

    np.testing.assert_allclose(tapec.compile(f)(SPD), f(SPD))
    compiled = tapec.compile(f)
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            compiled(-SPD)
        [note] = caught.value.__notes__
        assert f"test_first_call.py:{f.__code__.co_firstlineno + 1}" in note


def test_what_fails_and_is_not_caught_tells_its_line_and_leaves_nothing_behind():
    def f(a):
        return np.sum(np.linalg.solve(a, a @ a))

    gradient = tapec.grad(f)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match="Singular") as caught:
            gradient(np.zeros((2, 2)))
        [note] = caught.value.__notes__
        assert f"test_first_call.py:{f.__code__.co_firstlineno + 1}" in note
        assert caught.value.__context__ is None
    np.testing.assert_allclose(gradient(SPD), np.ones((2, 2)), atol=1e-14)


# -- with others ------------------------------------------------------------------------------------------------------
def test_functions_and_tapes_inside():
    inner = tapec.grad(lambda v: np.sum(v**3))

    def f(x):
        y = x * 2.0
        with tapec.GradientTape() as tape:
            tape.watch(y)
            z = np.sum(np.sin(y))
        return np.sum(inner(y) * x) + np.sum(tape.gradient(z, y))

    expected = np.sum(3 * (2 * X) ** 2 * X) + np.sum(np.cos(2 * X))
    assert tapec.compile(f)(X) == pytest.approx(expected)
    np.testing.assert_allclose(tapec.grad(f)(X), 36 * X**2 - 2 * np.sin(2 * X))


def test_draws_are_new_at_each_call():
    rng = np.random.default_rng(1)

    @tapec.compile
    def f(x):
        return x * rng.normal(size=6)

    first, second = f(X), f(X)
    again = np.random.default_rng(1)
    np.testing.assert_allclose([first, second], [X * again.normal(size=6), X * again.normal(size=6)])


def test_results_that_are_arguments_and_several():
    def f(x):
        y = x + 1.0
        return {"x": x, "y": y, "twice": (y, y[1:])}

    found = tapec.compile(f)(X)
    assert found["x"] is not X
    np.testing.assert_array_equal(found["twice"][1], X[1:] + 1.0)


def test_a_likelihood_of_a_gaussian_process():
    def f(x):
        squares = np.sum(x * x, axis=1)
        kernel = np.exp(2.0 * x @ x.T - squares[:, None] - squares) + np.eye(200)
        factor = np.linalg.cholesky(kernel)
        return np.sum(np.log(np.diag(factor))) + np.sum(np.linalg.solve(factor, x) ** 2)

    x = np.random.default_rng(0).normal(size=(200, 3))
    value, gradient = tapec.value_and_grad(f)(x)
    assert value == pytest.approx(f(x))
    v = np.random.default_rng(1).normal(size=(200, 3))
    step = 1e-6
    slope = (f(x + step * v) - f(x - step * v)) / (2 * step)
    assert np.sum(gradient * v) == pytest.approx(slope, rel=1e-6)
