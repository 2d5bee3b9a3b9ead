"""NumPy's own function, where a plan may compute by it: the same as by the op, and nothing that may change is kept."""

import numpy as np
import pytest

import tapec
import tapec.ops  # fills the table of functions
from tapec.ops.array import FUNCTIONS
from tapec.trace import own
from tapec.trace.plans import answer

X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)

CALLS = {
    "fft": (np.fft.fft, (X,), {"n": 3, "norm": "ortho"}),
    "median": (np.median, (X,), {}),
    "quantile": (np.quantile, (X, [0.2, 0.7], 1), {"method": "hazen"}),
    "choose": (np.choose, (np.array([0, 1, 1, 0]), (X[0], 2.0)), {}),
    "tensordot": (np.tensordot, (np.ones((2, 3, 4)), X), {"axes": ([1, 2], [0, 1])}),
    "pad": (np.pad, (X, ((1, 0), (2, 1)), "edge"), {}),
    "interp": (np.interp, (X, X[0], X[1]), {"left": 0.5}),
}


def found(function, args, kwargs):
    ours = FUNCTIONS[function]
    return own.own_function(answer(ours, args, kwargs), ours, args, kwargs)


@pytest.mark.parametrize("name", CALLS)
def test_it_is_found_and_gives_the_same(name):
    function, args, kwargs = CALLS[name]
    arrays = [a for part in args for a in (part if type(part) is tuple else (part,)) if isinstance(a, np.ndarray)]
    constants = [np.float64(2.0)] if name == "choose" else []  # what the op takes, too
    made = found(function, args, kwargs)
    assert made is not None
    np.testing.assert_array_equal(made(*arrays, *constants), function(*args, **kwargs))


def test_arguments_of_any_kind_of_operand():
    assert found(np.median, (tapec.constant(X),), {}) is not None
    assert found(np.median, (tapec.Variable(X),), {}) is not None


def test_not_of_several_ops_or_results():
    assert found(np.outer, (X[0], X[0]), {}) is None
    assert found(np.split, (X, 3), {}) is None


def test_not_of_large_arrays():
    """Both are computed once, to compare them."""
    assert found(np.median, (np.zeros(5000),), {}) is None


@pytest.mark.parametrize("other", [np.mean, np.argmax, lambda x: np.median(x) + 1e-15, lambda x: 1 / 0])
def test_not_where_it_gives_something_else(other, monkeypatch):
    monkeypatch.setattr(own, "_functions", lambda: {FUNCTIONS[np.median]: other})
    assert found(np.median, (X,), {}) is None


def test_a_list_that_changes_later():
    fractions = [0.2, 0.7]
    made = found(np.quantile, (X, fractions), {})
    fractions[:] = [0.0, 0.0]
    np.testing.assert_array_equal(made(X), np.quantile(X, [0.2, 0.7]))
