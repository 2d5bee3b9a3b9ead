"""Transforms of transforms whose results take other arguments than the function does."""

import numpy as np
import pytest

import tapec

X, V = np.arange(6.0).reshape(2, 3), np.array([1.0, -1.0, 2.0])


def quartic(x):
    return np.sum(x**4)


def scaled(x, k=2.0):
    return np.sum(x**4) * k


@pytest.mark.parametrize("f, more, scale", [(quartic, (), 1.0), (scaled, (3.0,), 3.0), (scaled, (), 2.0)])
def test_products_with_the_hessian(f, more, scale):
    product = tapec.hvp(f)
    wanted = 12 * X**2 * V * scale
    axes = (0, *[None] * len(more), None)
    np.testing.assert_allclose(tapec.vmap(product, in_axes=axes)(X, *more, V), wanted)
    for compiled in (tapec.compile(product), tapec.compile(tapec.compile(product))):
        for _ in range(3):
            np.testing.assert_allclose(compiled(X[1], *more, V), wanted[1])
    found = tapec.jacobian(product, argnums=len(more) + 1)(X[1], *more, V)
    np.testing.assert_allclose(found, np.diag(12 * X[1] ** 2 * scale))
    np.testing.assert_allclose(tapec.jacobian(product)(X[1], *more, V), np.diag(24 * X[1] * V * scale))
    slope = tapec.grad(lambda x: np.sum(product(x, *more, V)))(X[1])
    np.testing.assert_allclose(slope, 24 * X[1] * V * scale)


def test_products_of_gauss_and_newton():
    product = tapec.ggn_vp(np.sin, lambda y: np.sum(y**2))
    wanted = [product(x, V) for x in X]
    np.testing.assert_allclose(tapec.vmap(product, in_axes=(0, None))(X, V), wanted)
    np.testing.assert_allclose(tapec.compile(product)(X[1], V), wanted[1])


def test_modes_of_the_check_have_two_names():
    for modes in (("fwd",), ("rev", "fwd"), ("reverse", "fwd")):
        tapec.check_grads(quartic, (V,), modes=modes)
    with pytest.raises(tapec.GradientCheckError):
        tapec.check_grads(tapec.custom_gradient(lambda x: (np.sin(x), lambda ct: 2.0 * ct)), (V,), modes=("rev",))
    with pytest.raises(ValueError, match="not 'backward'"):
        tapec.check_grads(quartic, (V,), modes=("backward",))


@pytest.mark.parametrize("number", [np.float32(1.5), 1.5, np.full((4, 3), 1.5), np.full((1, 3), 1.5)])
def test_the_jacobian_of_a_product_with_a_repeated_number(number):
    x, w = tapec.Variable(np.ones((4, 3))), tapec.Variable(np.ones((4, 3)))
    mask = np.arange(12).reshape(4, 3) % 5 == 0
    with tapec.GradientTape() as tape:
        y = w - (x + np.sum(x[mask])) * number
    wanted = -1.5 * (np.eye(12).reshape(4, 3, 4, 3) + mask)
    np.testing.assert_allclose(np.asarray(tape.jacobian(y, x)), wanted)
