"""Checkpoints, custom gradients and rules in every transform: as if they were not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapec
from tests.properties import has_loop

RNG = np.random.default_rng(0)
X, W = RNG.standard_normal((5, 3)), RNG.standard_normal((3, 3))


def twice(x: Any, w: Any) -> Any:
    return np.tanh(np.tanh(x @ w) @ w)


@tapec.checkpoint
def kept_less(x: Any, w: Any) -> Any:
    return np.tanh(np.tanh(x @ w) @ w)


@tapec.custom_gradient
def custom(x: Any, w: Any) -> Any:
    h = np.tanh(x @ w)
    y = np.tanh(h @ w)

    def gradient(dy: Any) -> Any:
        d_h = (dy * (1 - y * y)) @ w.T
        d_x = (d_h * (1 - h * h)) @ w.T
        if len(x.shape) == 1:
            return d_x, np.outer(h, dy * (1 - y * y)) + np.outer(x, d_h * (1 - h * h))
        return d_x, h.T @ (dy * (1 - y * y)) + x.T @ (d_h * (1 - h * h))

    return y, gradient


def loss(f: Any) -> Any:
    return lambda x, w: np.sum(f(x, w) ** 2)


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


TRANSFORMS = {
    "grad": lambda f: tapec.grad(loss(f), argnums=(0, 1))(X, W),
    "hessian": lambda f: tapec.hessian(loss(f))(X[0], W),
    "forward over reverse": lambda f: tapec.jacfwd(tapec.grad(loss(f)))(X[0], W),
    "reverse over reverse": lambda f: tapec.jacrev(tapec.grad(loss(f)))(X[0], W),
    "jvp": lambda f: tapec.jvp(f, (X, W), (X[::-1].copy(), W.T.copy())),
    "jacobian": lambda f: tapec.jacobian(f)(X, W),
    "jacfwd": lambda f: tapec.jacfwd(f)(X[0], W),
    "vmap": lambda f: tapec.vmap(f, in_axes=(0, None))(X, W),
    "vmap of grad": lambda f: tapec.vmap(tapec.grad(loss(f), argnums=(0, 1)), in_axes=(0, None))(X, W),
    "grad of vmap": lambda f: tapec.grad(
        lambda x, w: np.sum(tapec.vmap(f, in_axes=(0, None))(x, w) ** 2), argnums=(0, 1)
    )(X, W),
}


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("f", [kept_less, custom], ids=["checkpoint", "custom_gradient"])
def test_as_if_it_were_written_out(f: Any, name: str) -> None:
    same(TRANSFORMS[name](f), TRANSFORMS[name](twice))


def test_nothing_is_looped() -> None:
    for f in (kept_less, custom):
        batched = tapec.vmap(tapec.grad(loss(f), argnums=(0, 1)), in_axes=(0, None))
        assert not has_loop(batched.source(X, W))
