"""Sums, products and means in a dtype that is asked for: what NumPy has, small integers and truth values included."""

import numpy as np
import pytest

import tapec

X = np.array([[120.5, 3.0, 0.0], [40.0, 90.0, 7.25]])
TOTALS = {
    "sum": np.sum,
    "prod": np.prod,
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "nansum": np.nansum,
    "mean": np.mean,
    "trace": np.trace,
    "reduce": np.add.reduce,
    "accumulate": np.multiply.accumulate,
    "from two": lambda x, dtype: np.sum(x, axis=0, dtype=dtype, initial=2),
}
DTYPES = [bool, np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: np.dtype(t).name)
@pytest.mark.parametrize("name", TOTALS)
def test_the_dtype_is_that_which_was_asked_for(name, dtype):
    expected = TOTALS[name](X, dtype=dtype)
    found = TOTALS[name](tapec.constant(X), dtype=dtype)
    assert found.dtype == expected.dtype == dtype
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6 if dtype == np.float32 else 1e-15)


def test_gradients_flow_through_floats_alone():
    x = tapec.constant(X)
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(x)
        narrow, whole = np.sum(x, dtype=np.float32), np.sum(x, dtype=np.int8)
    np.testing.assert_array_equal(tape.gradient(narrow, x).numpy(), np.ones((2, 3)))
    assert tape.gradient(whole, x) is None


@pytest.mark.parametrize("function", [np.std, np.var, np.nanstd])
def test_a_spread_in_whole_numbers_is_refused(function):
    with pytest.raises(tapec.UnsupportedError, match="dtype=int8 rounds at each step"):
        function(tapec.constant(X), dtype=np.int8)


def test_a_spread_in_complex_numbers_is_one():
    found = np.std(tapec.constant(X), dtype=complex)
    assert found.dtype == complex
    np.testing.assert_allclose(found.numpy(), np.std(X), rtol=1e-14)


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0), (0, 0, 0), (1, 1, 1)])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2)])
def test_products_of_no_elements_have_gradients(shape, axis):
    x = np.full(shape, 2.0)
    wanted = np.zeros(shape) if not x.size else np.ones(shape)
    np.testing.assert_array_equal(tapec.grad(lambda x: np.sum(np.prod(x, axis=axis)))(x), wanted)
