"""Places of equal elements are those that NumPy finds, by the kind of sort that was asked for."""

import numpy as np
import pytest

import tapec

TIES = (np.random.default_rng(0).random((3, 400)) > 0.5) * 1.0
KINDS = [{}, {"kind": None}, {"kind": "quicksort"}, {"kind": "heapsort"}, {"kind": "mergesort"}, {"kind": "stable"}]
KINDS += [{"stable": True}, {"stable": False}]


@pytest.mark.parametrize("how", KINDS, ids=str)
@pytest.mark.parametrize("dtype", [float, np.float32, int])
def test_argsort_of_equal_elements(how, dtype):
    x = TIES.astype(dtype)
    for order in (lambda x: np.argsort(x, **how), lambda x: np.argsort(x, 0, **how), lambda x: x[0].argsort(**how)):
        np.testing.assert_array_equal(tapec.compile(order)(x), order(x))


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_what_is_taken_in_that_order_has_its_gradient(how):
    keys, w = TIES[0], np.arange(400.0)
    f = lambda v: np.sum(v[np.argsort(keys, **how)] * w)
    want = np.empty(400)
    want[np.argsort(keys, **how)] = w
    np.testing.assert_array_equal(tapec.grad(f)(np.ones(400)), want)
    g = lambda keys, v: np.sum(v[np.argsort(keys, **how)] * w)
    np.testing.assert_array_equal(tapec.grad(g, argnums=1)(keys, np.ones(400)), want)


def test_vmap_sorts_each_example_as_numpy_does():
    found = tapec.vmap(np.argsort)(TIES)
    np.testing.assert_array_equal(found, np.stack([np.argsort(row) for row in TIES]))


def test_gradient_of_a_sort_with_ties_takes_the_stable_order():
    x, w = np.array([1.0, 1.0, 0.0]), np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(tapec.grad(lambda x: np.sum(np.sort(x) * w))(x), [2.0, 3.0, 1.0])
