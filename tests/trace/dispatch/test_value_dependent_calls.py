"""Functions that look at plain integers and truth values: they are called each time, whatever came before."""

import numpy as np
import pytest

import tapec

pytestmark = pytest.mark.usefixtures("no_plans")

X = np.cos(np.arange(12.0)).reshape(3, 4)
FLAGS = np.array([True, False, True])
MASK = X > 0.0
PLACES = np.array([2, 0, 2])

CALLS = {  # of a tensor of three rows and an array of three that decides
    "compress": (lambda x, a: np.compress(a, x, axis=0), FLAGS),
    "compress as a method": (lambda x, a: x.compress(a, 0), FLAGS),
    "extract": (lambda x, a: np.extract(a, x[:, 0]), FLAGS),
    "bincount": (lambda x, a: np.bincount(a, weights=x[:, 1]), PLACES),
    "bincount in order": (lambda x, a: np.bincount(a, x[:, 1], 5), PLACES),
    "repeat": (lambda x, a: np.repeat(x, a, axis=0), PLACES),
    "delete": (lambda x, a: np.delete(x, a, axis=0), PLACES),
    "insert": (lambda x, a: np.insert(x, a, 1.5, axis=0), PLACES),
    "roll": (lambda x, a: np.roll(x, a[:2], axis=(0, 1)), PLACES),
    "split": (lambda x, a: np.split(x, a[1:] % 2 + 1)[0], PLACES),
    "axis": (lambda x, a: np.sum(x, a[1] % 2), PLACES),
    "reduceat": (lambda x, a: np.add.reduceat(x, a, axis=0), PLACES),
}


def recorded(f, a, x=X):
    """The result, the gradient of its sum of squares, and the structure, where the array changes after it was used."""
    t, a = tapec.constant(x), a.copy()
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = f(t, a)
        a[:] = 1
        loss = np.sum(y * y)
    return y.numpy(), tape.gradient(loss, t).numpy(), tape.log.key


@pytest.mark.parametrize("name", CALLS)
def test_repeated_calls_record_the_same(name):
    f, a = CALLS[name]
    first = recorded(f, a)
    np.testing.assert_allclose(first[0], f(X, a), rtol=1e-14)
    d, h = np.sin(X), 1e-6
    slope = (np.sum(f(X + h * d, a) ** 2) - np.sum(f(X - h * d, a) ** 2)) / (2 * h)
    assert np.sum(first[1] * d) == pytest.approx(slope, rel=1e-7)
    for _ in range(4):
        again = recorded(f, a)
        np.testing.assert_array_equal(again[0], first[0])
        np.testing.assert_array_equal(again[1], first[1])
        assert again[2] == first[2]


@pytest.mark.parametrize("name", CALLS)
def test_values_of_an_array_that_changes(name):
    """Also the same array, changed in place."""
    f, start = CALLS[name]
    a = start.copy()
    rng = np.random.default_rng(0)
    for _ in range(96):
        a[:] = rng.integers(0, 2 if a.dtype == bool else 3, 3)
        for _ in range(2):
            np.testing.assert_allclose(f(tapec.constant(X), a).numpy(), f(X, a), rtol=1e-14)


@pytest.mark.parametrize("name", ["compress", "bincount", "repeat", "delete"])
def test_tensors_and_other_dtypes_that_decide(name):
    f, a = CALLS[name]
    for _ in range(3):
        for given in (a, tapec.constant(a), tapec.constant(2 - a if a.dtype != bool else ~a), a.astype(np.int8)):
            plain = np.asarray(given)
            np.testing.assert_allclose(f(tapec.constant(X), given).numpy(), f(X, plain), rtol=1e-14)


def test_arrays_that_equal_numbers_hold_but_not_their_types():
    x = tapec.constant(X)
    for _ in range(3):
        assert np.compress(np.array([1, 0, 2]), x, axis=0).shape == (2, 4)
        assert np.compress(np.array([1, 0, 2]) > 0, x, axis=0).shape == (2, 4)
        assert np.compress(np.array([1, 0, 0]), x, axis=0).shape == (1, 4)


COUNTS = np.array([1, 0, 2])


def test_a_traced_function_reads_the_array_at_each_call():
    def f(x):
        return np.sum(np.repeat(x, COUNTS, axis=0) ** 2)

    gradient = tapec.grad(f)
    try:
        for counts in ([1, 0, 2], [1, 0, 2], [1, 0, 2], [0, 3, 1], [1, 0, 2]):
            COUNTS[:] = counts
            np.testing.assert_allclose(gradient(X), 2.0 * X * np.array(counts)[:, None], rtol=1e-14)
            with tapec.GradientTape() as tape:
                t = tapec.constant(X)
                tape.watch(t)
                y = f(t)
            np.testing.assert_allclose(tape.gradient(y, t), 2.0 * X * np.array(counts)[:, None], rtol=1e-14)
    finally:
        COUNTS[:] = [1, 0, 2]


def test_nested_tapes():
    for _ in range(4):
        x = tapec.constant(X)
        with tapec.GradientTape() as outer:
            outer.watch(x)
            with tapec.GradientTape() as inner:
                inner.watch(x)
                y = np.sum(np.compress(FLAGS, x, axis=0) ** 3)
            g = inner.gradient(y, x)
        np.testing.assert_allclose(g.numpy(), 3 * X**2 * FLAGS[:, None], rtol=1e-14)
        np.testing.assert_allclose(outer.gradient(g, x).numpy(), 6 * X * FLAGS[:, None], rtol=1e-14)


def test_errors_come_each_time():
    x = tapec.constant(X)
    for _ in range(4):
        with pytest.raises(ValueError, match="1-d"):
            np.compress(MASK, x, axis=0)
        with pytest.raises(IndexError):
            np.compress(np.array([True, True, True, True]), x, axis=0)
        with pytest.raises(ValueError):
            np.bincount(np.array([0, -1, 1]), x[:, 0])


def test_large_arrays_are_looked_at_each_time():
    many = np.arange(5000) % 3
    x = tapec.constant(np.arange(5000.0))
    for shift in (0, 0, 0, 1, 1):
        a = (many + shift) % 3
        np.testing.assert_allclose(np.bincount(a, x).numpy(), np.bincount(a, x.numpy()))


# -- results whose length depends on values of tensors -----------------------------------------------------------------
LENGTHS = {
    "unique": lambda x: np.unique(x),
    "and counts": lambda x: np.unique(x, return_counts=True),
    "flatnonzero": lambda x: np.flatnonzero(x > 0),
    "union": lambda x: np.union1d(x, np.array([0.5])),
    "difference": lambda x: np.setdiff1d(x, np.array([1.0])),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_the_length_is_that_of_each_call(name):
    f = LENGTHS[name]
    keys = set()
    for values in (*[[1.0, 1.0, 2.0]] * 3, [1.0, 1.0, 1.0], [-1.0, 2.0, 3.0], [1.0, 1.0, 2.0]):
        x = tapec.constant(values)
        with tapec.GradientTape() as tape:
            tape.watch(x)
            found = f(x)
        want = f(np.array(values))
        pairs = zip(found, want, strict=True) if isinstance(want, tuple) else [(found, want)]
        for got, part in pairs:
            np.testing.assert_array_equal(got.numpy(), part)
            assert got.dtype == part.dtype
        keys.add((str(tape.log.key), str(np.shape(want) if not isinstance(want, tuple) else want[0].shape)))
    assert len({key for key, _ in keys}) == len({shape for _, shape in keys})


def test_what_is_done_with_such_results_depends_on_them():
    """No plan is made, or it holds for every length."""
    for values in (*[[0.0, 1.0, 0.0, 2.0]] * 3, [1.0] * 4, [0.0] * 4):
        x, plain = tapec.constant(values), np.array(values)
        np.testing.assert_array_equal(np.argwhere(x).numpy(), np.argwhere(plain))
        np.testing.assert_array_equal(np.trim_zeros(x).numpy(), np.trim_zeros(plain))
        np.testing.assert_array_equal(np.compress(x > 0, x).numpy(), np.compress(plain > 0, plain))
        np.testing.assert_array_equal(np.bincount(x.astype(int)).numpy(), np.bincount(plain.astype(int)))
