"""One array that is passed for two parameters: which arguments are one object belongs to the signature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapec

x, y = np.array([0.4, -0.8, 1.2]), np.array([1.0, 2.0, 3.0])


def noisy(x: Any, y: Any) -> Any:
    k = np.exp(-((x[:, None] - y) ** 2))
    return k + 0.5 * np.eye(len(x)) if x is y else k


def test_identity_that_is_asked_for_is_never_taken_from_another_call() -> None:
    f, g = tapec.compile(noisy), tapec.grad(lambda x, y: np.sum(noisy(x, y)))
    for _ in range(4):
        np.testing.assert_allclose(f(x, y), noisy(x, y))
        g(x, y)
    for _ in range(3):
        np.testing.assert_allclose(f(x, x), noisy(x, x))
        np.testing.assert_allclose(f(x, x.copy()), noisy(x, x.copy()))
        with pytest.raises(tapec.MismatchError, match="x is y"):
            g(x, x)
        g(x, x.copy())


@pytest.mark.parametrize("first", [0, 1])
def test_both_are_compiled_where_nothing_asks(first: int) -> None:
    g = tapec.grad(lambda x, y: np.sum(x**2 * y), argnums=(0, 1))
    calls = [(x, y), (x, x)]
    for k in (first, 1 - first) * 4:
        a, b = calls[k]
        d_a, d_b = g(a, b)
        np.testing.assert_allclose(d_a, 2 * a * b)
        np.testing.assert_allclose(d_b, a**2)
    assert g.cache_info().size == 2


@pytest.mark.parametrize("n", [3, 4, 5, 9])
def test_lists_with_one_array_several_times(n: int) -> None:
    g = tapec.grad(lambda parts: np.sum(sum([k * p**2 for k, p in enumerate(parts)])))
    arrays = [np.full(2, 1.0 + k) for k in range(n)]
    same = [*arrays[:-1], arrays[0]]
    for parts in (arrays, arrays, arrays, same, same, same, arrays, same, [x] * n, [x] * n, [x] * n):
        for k, d in enumerate(g(parts)):
            np.testing.assert_allclose(d, 2 * k * parts[k])


def test_static_and_numbers_are_as_before() -> None:
    f = tapec.compile(lambda a, b, c: a * b + c)
    one = 1.5
    for c in (x, y):
        np.testing.assert_allclose(f(one, one, c), 2.25 + c)
        np.testing.assert_allclose(f(2.5, one, c), 3.75 + c)
    assert f.cache_info().size == 1
