"""Shown code has the default numbers of the user's function, where it may be called with fewer arguments."""

import ast

import numpy as np
import pytest

import tapec


def fit(x, y, scale, power=2, eps=1e-9):
    return np.sum((x - y) ** power / scale + eps)


def bounded(x, most=np.inf, least=-1.5):
    return np.sum(np.minimum(np.maximum(x, least), most))


def first(x=0.5, y=None, flag=True, k=-3):
    return x * k if flag else y


def loaded(source):
    """Run shown code, and return the function that it defines."""
    space = {"np": np}
    exec(source, space)
    return space[ast.parse(source).body[-1].name]


X, Y = np.linspace(0.0, 1.0, 5), np.linspace(1.0, 2.0, 5)


def test_code_is_called_with_the_arguments_that_the_function_needs():
    f = tapec.value_and_grad(fit)
    code = loaded(f.source(X, Y, 0.5, 2.0, 1e-9))
    value, slope = code(X, Y, 0.5, 2.0)
    np.testing.assert_allclose(value, fit(X, Y, 0.5), rtol=1e-14)
    np.testing.assert_allclose(slope, 2 * (X - Y) / 0.5, rtol=1e-14)


def test_whole_numbers_are_given_as_they_are():
    f = tapec.grad(first)
    assert loaded(f.source(0.5)).__defaults__ == (0.5, -3)
    np.testing.assert_allclose(loaded(f.source(0.5))(2.0)[0], -3.0)


@pytest.mark.parametrize("args", [(X,), (X, 0.5), (X, 0.5, 0.0)])
def test_infinities_have_no_text(args):
    code = loaded(tapec.grad(bounded).source(*args))
    assert code.__defaults__ in (None, (-1.5,))
    np.testing.assert_array_equal(code(X, *[0.5, -1.5][: code.__code__.co_argcount - 1])[0].shape, X.shape)


def test_code_for_an_array_has_no_number_in_its_place():
    """The mean has as many elements as the array has: with a number it would be another one."""

    def weighted(x, w=1.0):
        return np.mean(x * w)

    f = tapec.grad(weighted)
    assert loaded(f.source(2.0, np.ones(3))).__defaults__ is None
    assert loaded(f.source(2.0)).__defaults__ == (1.0,)
    assert loaded(f.source(2.0, 3)).__defaults__ is None  # code for whole numbers


def test_functions_of_numpy_have_no_signature_to_take_them_from():
    assert loaded(tapec.grad(np.sin).source(0.5)).__defaults__ is None
