"""Wrong calls of the transforms: each error says what is wrong, and where."""

import numpy as np
import pytest

import tapec

X = np.array([1.0, 2.0, 3.0])
rng = np.random.default_rng(0)
halved = tapec.custom_jvp(lambda x: (x, x))
halved.defjvp(lambda primals, tangents: ((primals[0], primals[0]), tangents[0]))


def gradient_from(seed):
    v = tapec.Variable(X)
    with tapec.GradientTape() as tape:
        y = v * 2
    return tape.gradient(y, v, output_gradients=seed)


CALLS = {
    "jvp: 1 primals, but 2 tangents": lambda: tapec.jvp(np.sin, (X,), (X, X)),
    "hvp takes a function, not int": lambda: tapec.hvp(3),
    "ggn_vp: the loss is f64[3]; it must be one real number": lambda: tapec.ggn_vp(lambda w: w * X, np.sin)(X, X),
    "the function must return a pair (result, aux)": lambda: tapec.jacobian(np.sin, has_aux=True)(X),
    "modes are 'reverse' and 'forward', not 'backward'": lambda: tapec.check_grads(np.sin, (X,), modes=("backward",)),
    "vmap: the function draws random numbers": lambda: tapec.vmap(lambda x: x * rng.normal())(np.ones((2, 3))),
    "custom_jvp takes a function, not int": lambda: tapec.custom_jvp(3),
    "a jvp rule returns a tangent with the structure of the result": lambda: tapec.grad(lambda x: halved(x)[0])(2.0),
    "stage must be 'forward', 'gradient', 'optimized' or 'target', not 'lean'": lambda: tapec.grad(np.sum).ir(
        X, stage="lean"
    ),
    "an output gradient of dtype complex128 for a target of dtype float64": lambda: gradient_from(X + 1j),
    "an output gradient of shape (2,) for a target of shape (3,)": lambda: gradient_from(X[:2]),
}


@pytest.mark.parametrize("message", CALLS)
def test_the_message(message):
    with pytest.raises((TypeError, ValueError)) as caught:
        CALLS[message]()
    assert message in str(caught.value)


def test_what_objects_show():
    assert repr(tapec.hvp(np.sum)) == "<tapec hvp of sum>"
    assert repr(tapec.jacobian(np.sin, sparse=True)) == "<sparse <tapec jacobian of sin>>"


def test_a_pullback_with_something_beside():
    drawn = np.random.default_rng(1)
    for f in (lambda x: (x * x, {"first": x[0]}), lambda x: (x * x * (1 + 0 * drawn.normal()), {"first": x[0]})):
        value, pullback, aux = tapec.vjp(f, X, has_aux=True)
        np.testing.assert_array_equal(value, X * X)
        np.testing.assert_array_equal(pullback(np.ones(3, np.float32)), 2 * X)
        assert aux == {"first": 1.0}


def test_seeds_may_be_variables():
    np.testing.assert_array_equal(gradient_from(tapec.Variable(X)).numpy(), 2 * X)


def test_batches_of_none():
    for f in (np.cumsum, lambda x: np.unwrap(np.sort(x)), np.modf):
        found = tapec.vmap(f)(np.ones((0, 3)))
        assert all(np.shape(y) == (0, 3) for y in (found if isinstance(found, tuple) else (found,)))
