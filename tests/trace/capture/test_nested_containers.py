"""What a transform inside a traced function finds in captured containers past their stand-ins is a fact or refused."""

import numpy as np
import pytest

import tapec

X, V = np.array([0.3, 0.7, 1.1]), np.array([1.0, 2.0, 3.0])
KEPT = {"ddof": 0}
NUMBERS = {"a": 0.0}
SEQUENCE = (0, 1, 2, 0, 1, 2, 1, 0, 2)


def expected(ddof):
    return np.array([-1.0, 0.0, 1.0]) * 2 / (3 - ddof)


def fresh(ddof):
    kws = {"ddof": ddof}
    f = lambda x: np.var(x, **kws)
    return tapec.grad(lambda x: tapec.grad(f)(x) @ V)(X)


whole = tapec.grad(lambda x: tapec.grad(lambda x: np.var(x, **KEPT))(x) @ V)
real = tapec.grad(lambda x: tapec.grad(lambda x: np.var(x, ddof=int(dict(**NUMBERS)["a"])))(x) @ V)
text = tapec.grad(lambda x: tapec.grad(lambda x: np.var(x, ddof=int("{a:.0f}".format(**NUMBERS))))(x) @ V)
array = tapec.grad(lambda x: tapec.grad(lambda x: np.var(x, ddof=[0, 1, 2][np.asarray(dict(**KEPT)["ddof"])]))(x) @ V)


@pytest.mark.parametrize("f", [whole, real, text, array])
def test_numbers_that_decide(f):
    for ddof in SEQUENCE:
        KEPT["ddof"] = ddof
        NUMBERS["a"] = float(ddof)
        np.testing.assert_allclose(f(X), expected(ddof))


def test_functions_made_anew():
    for ddof in SEQUENCE:
        np.testing.assert_allclose(fresh(ddof), expected(ddof))


def loss_of(take):
    def loss(w):
        held = {"w": w}
        return np.sum(tapec.grad(lambda x: np.sum(x**2) * take(dict(**held)["w"]))(X))

    return loss


@pytest.mark.parametrize("take", [float, lambda t: t.item(), lambda t: t.numpy()])
def test_a_number_with_a_gradient_is_refused(take):
    with pytest.raises(tapec.DetachError):
        tapec.grad(loss_of(take))(2.0)


@pytest.mark.parametrize("take", [lambda t: t, lambda t: np.asarray(t, float)])
def test_a_tensor_with_a_gradient_keeps_it(take):
    np.testing.assert_allclose(tapec.grad(loss_of(take))(2.0), 2 * np.sum(X))
