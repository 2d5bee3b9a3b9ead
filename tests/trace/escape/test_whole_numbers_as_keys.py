"""Whole numbers that are arguments are keys of dicts and members of sets in functions, each value a path of its own."""

import functools
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import tapec

TABLE = {2: 1.5, 3: 2.5, True: 0.5}
PAIRS = {(0, 2): 1.5, (0, 3): 7.5, (0, True): 2.0}
FILLED = defaultdict(lambda: 4.0, {2: 1.0})
X = np.array([0.5, 1.5])


@functools.lru_cache
def table(n):
    return np.arange(1.0, n + 1)


def filled_again(x, n):
    parts = {k: x * k for k in range(4)}
    parts[n] = parts[n] * 2
    return np.sum(parts[2]) + np.sum(parts[3])


def set_and_read(x, n):
    d = OrderedDict()
    d[n] = x * 3.0
    return np.sum(d[2 if n == 2 else 3 if n == 3 else 1])


KEYS = {
    "captured dict": lambda x, n: TABLE[n] * np.sum(x),
    "pairs": lambda x, n: PAIRS[0, n] * np.sum(x),
    "own dict": lambda x, n: {2: 1.5, 3: 2.5, 1: 4.0}[n] * np.sum(x),
    "floats as keys": lambda x, n: {2.0: 1.5, 3.0: 2.5, 1.0: 4.0}[n] * np.sum(x),
    "get": lambda x, n: TABLE.get(n, 9.0) * np.sum(x) + TABLE.get(n + 1, 9.0),
    "in": lambda x, n: np.sum(x) * (TABLE[n] if n in TABLE and n + 5 not in TABLE else 1.0),
    "default": lambda x, n: FILLED[n] * np.sum(x),
    "counter": lambda x, n: Counter([2, 2, 3, n])[n] * np.sum(x),
    "set": lambda x, n: sum(sorted({n, 1, n + 1})) * np.sum(x) * (2.0 if n in {2, 5} else 7.0),
    "computed": lambda x, n: {True: 2.0, False: 3.0}[n > 2] * np.sum(x),
    "argmax": lambda x, n: {0: 2.0, 1: 3.0}[np.argmax(x)] * np.sum(x),
    "cached helper": lambda x, n: np.sum(table(n)) * np.sum(x),
    "filled again": filled_again,
    "set and read": set_and_read,
    "keys are numbers": lambda x, n: np.sum(x) * next(iter({n: 1})) * isinstance(next(iter({n: 1})), int),
}


@pytest.mark.parametrize("f", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("kind", [int, np.int64, np.uint8])
def test_each_number_is_a_path(f, kind):
    value_and_grad = tapec.value_and_grad(f)
    for n in (2, 3, 2, 1, 3):
        value, gradient = value_and_grad(X, kind(n))
        assert value == f(X, kind(n))
        step = 1e-6
        numeric = [(f(X + step * e, kind(n)) - f(X - step * e, kind(n))) / (2 * step) for e in np.eye(2)]
        np.testing.assert_allclose(gradient, numeric, rtol=1e-7)


def test_flags_are_keys():
    g = tapec.grad(lambda x, flag: {True: 2.0, False: 3.0}[flag] * x)
    assert [g(1.0, flag) for flag in (True, False, True)] == [2.0, 3.0, 2.0]


def test_dicts_that_are_returned_have_plain_keys():
    f = tapec.compile(lambda x, n: {n: np.sum(x), (n, "twice"): x * n, "inner": [{n + 1: x}]})
    for n in (2, 3, 2):
        found = f(X, n)
        assert list(found) == [n, (n, "twice"), "inner"] and list(found["inner"][0]) == [n + 1]
        assert type(next(iter(found))) is int and type(list(found)[1][0]) is int
        np.testing.assert_array_equal(found[n, "twice"], X * n)


def test_keys_of_arguments_of_inner_transforms_are_plain():
    def f(x, n):
        return np.sum(tapec.grad(lambda p: np.sum(p[n] ** 2))({n: x, "other": x})[n])

    g = tapec.compile(f)
    assert [g(X, n) for n in (2, 3, 2)] == [4.0] * 3


def test_what_is_stored_in_captured_dicts_has_plain_keys():
    kept = {}

    def f(x, n):
        kept[n] = np.sum(x)
        return x

    tapec.compile(f)(X, 2)
    assert [(type(k), v) for k, v in kept.items()] == [(int, 2.0)]


def test_numbers_of_a_batch_are_no_keys():
    with pytest.raises(tapec.UnsupportedError, match="differs from example to example"):
        tapec.vmap(lambda x, n: TABLE[n] * x)(X, np.array([2, 3]))


def test_a_missing_key_is_an_error_of_python():
    with pytest.raises(KeyError):
        tapec.grad(lambda x, n: TABLE[n] * x)(1.0, 7)
