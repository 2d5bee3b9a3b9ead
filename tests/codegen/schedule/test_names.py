"""A name means one thing: memory that is used again has the name of what it holds then."""

import numpy as np
import pytest

import tapec
from tests.properties import assigned, block_loops, has, uses_out, where

pytestmark = pytest.mark.usefixtures("middle_sized_is_large")
rng = np.random.default_rng(3)


def test_memory_that_is_used_again_gets_the_name_of_the_new_value():
    def likelihood(K):
        L = np.linalg.cholesky(K)
        return np.sum(np.log(np.diag(L)))

    a = rng.normal(size=(40, 40))
    source = tapec.value_and_grad(likelihood).source(a @ a.T + 40.0 * np.eye(40))
    assert not uses_out(source, into="L") or has(source, "d_K = np.matmul(_, _, out=L)")
    assert "d_K" in assigned(source)


def test_what_is_scaled_in_place_is_scaled_by_the_operator():
    """Also in an array that has two names, such as the block of a result."""

    def loss(x, y):
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return np.sum(e / np.sum(e, axis=1, keepdims=True) * y)

    x, y = rng.normal(size=(2, 1000, 500))
    source = tapec.grad(loss, argnums=(0, 1)).source(x, y)
    assert block_loops(source)
    assert not where(source, "np.multiply(x, _, out=x)") and not has(source, "np.multiply(_, 2.0, out=_)")


def test_an_array_that_is_added_up_in_a_loop_has_the_name_of_the_gradient():
    def fit(u, v, data):
        return np.sum((u @ v.T - data) ** 2) + 0.1 * np.sum(v * v)

    u, v, data = rng.normal(size=(1000, 20)), rng.normal(size=(800, 20)), rng.normal(size=(1000, 800))
    source = tapec.grad(fit, argnums=(0, 1)).source(u, v, data)
    (loop,) = block_loops(source)
    assert has(loop, "d_v += _.T @ _") and has(source, "d_v *= 2")
