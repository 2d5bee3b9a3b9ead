"""Sets of numbers are picked from the arrays that they are made of, and so are their gradients."""

import numpy as np
import pytest

import tapec
from tests.properties import call_count

X = np.array([0.3, 1.2, -0.7, 2.1, 0.45])
WEIGHTS = np.arange(1.0, 6.0)

SETS = {
    "unique": (lambda x: np.unique(x), [2, 0, 4, 1, 3]),
    "and more": (lambda x: np.unique(x, return_index=True, return_counts=True)[0], [2, 0, 4, 1, 3]),
    "by its name": (lambda x: np.unique_all(x).values, [2, 0, 4, 1, 3]),
    "union": (lambda x: np.union1d(x, np.array([5.0, 2.0]))[[0, 1, 2, 3, 5]], [2, 0, 4, 1, 3]),
    "common": (lambda x: np.intersect1d(x, X[[0, 2, 4]]), [2, 0, 4]),
    "common, of whole numbers": (lambda x: np.intersect1d([0, 1], np.append(x, x[0] + 0.7)), [0]),
    "difference": (lambda x: np.setdiff1d(x, X[:2]), [2, 4, 3]),
    "difference as it stands": (lambda x: np.setdiff1d(x, X[:2], assume_unique=True), [2, 3, 4]),
    "in one": (lambda x: np.setxor1d(x, X[:2]), [2, 4, 3]),
    "in one, as they stand": (lambda x: np.setxor1d(x, X[:2], assume_unique=True), [2, 4, 3]),
}


@pytest.mark.parametrize("name", SETS)
def test_gradients_flow_to_where_the_elements_come_from(name):
    f, places = SETS[name]
    wanted = np.zeros(5)
    wanted[places] = WEIGHTS[: len(places)]

    def weighted(x):
        y = f(x)
        return np.sum(y * WEIGHTS[: len(places)])

    np.testing.assert_array_equal(tapec.grad(weighted)(X), wanted)
    np.testing.assert_array_equal(tapec.compile(f)(X), f(X), strict=True)
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = weighted(x)
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), wanted)


def test_of_equal_numbers_the_first_has_the_gradient():
    gradient = tapec.grad(lambda x: np.sum(np.unique(x) * [1.0, 10.0]))
    np.testing.assert_array_equal(gradient(np.array([3.0, 1.0, 3.0, 1.0])), [10.0, 1.0, 0.0, 0.0])


def test_rows():
    f = lambda x: np.sum(np.unique(np.stack([x, x * 2, x]), axis=0)[1] * WEIGHTS)
    np.testing.assert_array_equal(tapec.grad(f)(np.abs(X)), 2 * WEIGHTS)


def test_sets_of_other_sizes_are_other_paths():
    f = tapec.grad(lambda x: np.sum(np.unique(x) ** 2))
    for x in ([1.0, 1.0, 2.0], [1.0, 3.0, 2.0], [4.0, 4.0, 4.0], [1.0, 1.0, 2.0]):
        first = np.unique(x, return_index=True)[1]
        wanted = np.zeros(3)
        wanted[first] = 2 * np.array(x)[first]
        np.testing.assert_array_equal(f(np.array(x)), wanted)


@pytest.mark.parametrize("dtype", [float, int])
@pytest.mark.parametrize("axis", [0, 1])
def test_rows_and_columns_of_other_numbers_are_other_paths(axis, dtype):
    f = lambda x: np.unique(x, return_inverse=True, axis=axis)
    compiled = tapec.compile(f)
    for rows in ([[1, 1, 2], [1, 1, 2]], [[1, 2, 3], [4, 5, 6]], [[1, 1, 1], [1, 1, 1]], [[1, 1, 2], [1, 1, 2]]):
        x = np.array(rows, dtype)
        for found, wanted in zip(compiled(x), f(x), strict=True):
            np.testing.assert_array_equal(found, wanted, strict=True)


def test_lengths_are_asked_once():
    f = tapec.grad(lambda x: np.sum(np.unique(x) ** 2))
    f(X)
    assert call_count(f.source(), "len") == 1


def test_of_whole_numbers_there_are_no_gradients():
    x = tapec.constant(np.array([3, 1, 3]))
    with tapec.GradientTape() as tape:
        tape.watch(x)
        found = [np.unique(x), np.union1d(x, x), np.intersect1d(x, x), np.setdiff1d(x, [1]), np.setxor1d(x, [1])]
    for y, wanted in zip(found, ([1, 3], [1, 3], [1, 3], [3], [3])):
        np.testing.assert_array_equal(y, wanted)
        assert y.dtype == np.int64
    assert tape.gradient(found[0], x) is None


def test_nothing_in_common():
    f = lambda x: np.sum(np.intersect1d(x, X + 10)) + np.sum(np.setxor1d(x[:0], X[:0]))
    assert tapec.compile(f)(X) == 0
    np.testing.assert_array_equal(tapec.grad(f)(X), np.zeros(5))
