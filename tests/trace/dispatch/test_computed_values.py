"""Values of tensors are those of NumPy's functions, to the last bit and laid out alike; also when a call returns."""

import warnings

import numpy as np
import pytest

import tapec

pytestmark = pytest.mark.usefixtures("no_plans")

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4, 5))
DATA = {
    "plain": X,
    "ties": np.round(X),
    "nan": np.where(X > 1.0, np.nan, X),
    "infinities": np.where(np.abs(X) > 0.8, np.copysign(np.inf, X), X),
    "largest": X * 1e308,
    "one in a row": X[:, :, :1],
    "single": X.astype(np.float32),
    "whole": np.arange(60).reshape(3, 4, 5) % 7,
    "transposed": X.T,
    "in Fortran's order": np.asfortranarray(X),
    "every other": X[:, ::2, ::-1],
}


def same(f, x, bits=lambda a: a.tobytes()):
    """Called four times, of which the last two follow a plan."""
    with warnings.catch_warnings(record=True) as theirs:
        warnings.simplefilter("always")
        want = f(x)
    before = x.tobytes()
    for _ in range(4):
        with warnings.catch_warnings(record=True) as ours:
            warnings.simplefilter("always")
            got = f(tapec.constant(x))
        assert len(ours) == len(theirs)
        several = type(want) is tuple
        for one, other in zip(got if several else [got], want if several else [want], strict=True):
            value = one.numpy()
            assert type(value) is type(other) and value.dtype == other.dtype and value.shape == other.shape
            assert bits(value) == bits(other) and _steps(value) == _steps(other)
        assert x.tobytes() == before


def _steps(a):
    """How it lies in memory: axes of length one do not say."""
    return [step for step, n in zip(a.strides, a.shape) if n > 1]


@pytest.mark.sampled(one_in=9, per="name")
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2)])
@pytest.mark.parametrize("q", [0, 0.0, 0.2, 0.5, 0.9, 1.0, [0.0, 0.3, 0.75, 1.0], (0.1,), []])
def test_quantiles(name, axis, q):
    x = DATA[name]
    same(lambda x: np.quantile(x, q, axis=axis), x)
    if axis is None:
        same(lambda x: np.quantile(x, q), x[0, 0])


@pytest.mark.parametrize("p", [30, 12.5, 100, [20, 80], (0, 50, 100)])
def test_percentiles(p):
    same(lambda x: np.percentile(x, p, axis=1), X)
    same(lambda x: np.percentile(x, p, axis=-1, keepdims=True), X)
    same(lambda x: np.percentile(x, p, method="higher"), X)


SETS = {
    "unique": np.unique,
    "unique and more": lambda x: np.unique(x, return_index=True, return_counts=True),
    "unique and no more": lambda x: np.unique(x, return_index=0, return_counts=False),
    "unique rows": lambda x: np.unique(x, axis=0),
    "unique that tells nan apart": lambda x: np.unique(x, equal_nan=False),
    "common": lambda x: np.intersect1d(x, x[1:] * 2),
    "common, with places": lambda x: np.intersect1d(x, x[1:] * 2, return_indices=True),
    "all": lambda x: np.union1d(x, x * 2),
    "others": lambda x: np.setdiff1d(x, x[:1]),
    "either": lambda x: np.setxor1d(x, x * 2),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("data", ["ties", "nan", "whole", "transposed"])
def test_sets(name, data):
    for row in (DATA[data][:, 0], DATA[data][0, 0]):
        same(SETS[name], row, bits=_of_zeros_alike)


def _of_zeros_alike(a):
    """Where 0.0 and -0.0 are in a set, which of them stands for both depends on the machine: its sort is not stable."""
    return (a + 0).tobytes()


FILLED = {
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "a number": lambda x: np.full_like(x, 2.5),
    "a negative zero": lambda x: np.full_like(x, -0.0, dtype=float),
    "single": lambda x: np.full_like(x, 0.1, dtype=np.float32),
    "complex": lambda x: np.full_like(x, 1.0, dtype=complex),
    "truth": lambda x: np.ones_like(x, dtype=bool),
    "another shape": lambda x: np.full_like(x, 3, shape=(2, 2)),
    "nothing": lambda x: np.full_like(x, 3, shape=(0, 2)),
    "one": lambda x: np.full_like(x, 3, shape=()),
    "many": lambda x: np.full_like(x, 0.5, shape=(100, 100)),
}


@pytest.mark.parametrize("name", FILLED)
def test_filled_results_are_arrays_of_their_own(name):
    x = X[0]
    want = FILLED[name](x)
    for _ in range(4):
        with tapec.GradientTape() as tape:
            t = tapec.constant(x)
            tape.watch(t)
            y = FILLED[name](t)
            value = y.numpy()
            assert value.dtype == want.dtype and value.tobytes() == want.tobytes()
            if y.ndim:
                y[...] = 7
                assert np.all(y.numpy() == np.asarray(7, y.dtype))
