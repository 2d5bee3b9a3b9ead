"""A number of Python's among the arguments: NumPy takes it for an array, or it takes the dtype of what it meets."""

import numpy as np
import pytest

import tapec

ARRAYS = [np.array([100, 90, 3], np.uint8), np.array([100, 90, 3], np.int32), np.array([0.5, 2.0, 3.0], np.float32)]
DECIDES = {
    "dot": lambda x, k: np.dot(x, k),
    "inner": lambda x, k: np.inner(k, x),
    "outer": lambda x, k: np.outer(x, k),
    "kron": lambda x, k: np.kron(x, k),
    "einsum": lambda x, k: np.einsum("i,->i", x, k),
    "tensordot": lambda x, k: np.tensordot(x, k, 0),
    "ufunc.outer": lambda x, k: np.multiply.outer(x, k),
    "squeeze": lambda x, k: np.squeeze(k) * x,
    "sum": lambda x, k: np.sum(k) * x,
    "ravel": lambda x, k: np.ravel(k) * x,
    "append": lambda x, k: np.append(x, k),
}
GIVES_WAY = {
    "times": lambda x, k: x * k,
    "maximum": lambda x, k: np.maximum(x, k),
    "where": lambda x, k: np.where(x > 5, x, k),
    "clip": lambda x, k: np.clip(x, k, None),
    "select": lambda x, k: np.select([x > 5], [x], k),
    "insert": lambda x, k: np.insert(x, 0, k),
    "pad": lambda x, k: np.pad(x, 1, constant_values=k),
}


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: x.dtype.name)
@pytest.mark.parametrize("f", [*DECIDES.values(), *GIVES_WAY.values()], ids=[*DECIDES, *GIVES_WAY])
def test_dtypes_are_numpys(f, x):
    compiled = tapec.compile(f)
    for k in (2, 7):
        np.testing.assert_array_equal(compiled(x, k), f(x, k), strict=True)


def put(x, k):
    y = x.copy()
    np.put(y, [0], k)
    return y


def putmask(x, k):
    y = x.copy()
    np.putmask(y, x > 1, k)
    return y


TOO_LARGE = {
    "full": lambda x, k: x + np.full(2, k, np.int8),
    "array": lambda x, k: x * np.array([k, 1], np.int8),
    "asarray": lambda x, k: x + np.asarray(k, np.int8),
    "full_like": lambda x, k: np.full_like(x, k),
    "pad": lambda x, k: np.pad(x, 1, constant_values=k),
    "insert": lambda x, k: np.insert(x, 0, k),
    "put": put,
    "putmask": putmask,
}


@pytest.mark.parametrize("f", TOO_LARGE.values(), ids=TOO_LARGE)
def test_a_whole_number_that_does_not_fit_is_refused_as_numpy_does(f):
    compiled, x = tapec.compile(f), np.array([1, 2], np.int8)
    for k in (100, 3):
        np.testing.assert_array_equal(compiled(x, k), f(x, k), strict=True)
    for k in (200, -300):
        try:
            f(x, k)
        except OverflowError:
            with pytest.raises(OverflowError, match="out of bounds for int8"):
                compiled(x, k)
        else:
            assert np.lib.NumpyVersion(np.__version__) < "2.1.0"  # whose np.full lets it wrap around


LATER = {
    "power of truth values": lambda x, m, k: np.sum(np.power(m, 2) * k * 3),
    "square of truth values": lambda x, m, k: np.sum((m**2) * 2),
    "truth values times -1": lambda x, m, k: (m * -1, m * -1.0, m / -1, np.sum((x > 1) * -1 * x)),
    "minus a negative": lambda x, m, k: (x - (-k), x + (-k), x - (-k[0])),
    "plus times -1": lambda x, m, k: x + k.astype(np.int8) * -1,
    "einsum of three dtypes": lambda x, m, k: np.einsum("i,i,i->", k, k, x),
    "einsum with a sum of its own": lambda x, m, k: np.einsum("i,j->j", k, x),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, where a negative overflows
@pytest.mark.parametrize("f", LATER.values(), ids=LATER)
def test_short_whole_numbers_wrap_around_where_numpys_do(f):
    """The first call, which is compared with NumPy, has numbers so small that nothing shows."""
    compiled = tapec.compile(f)
    x, m = np.array([0.5, 1.5, 2.5]), np.array([True, False, True])
    for k in (np.array([0, 0, 0], np.uint8), np.array([200, 128, 1], np.uint8)):
        found, want = compiled(x, m, k), f(x, m, k)
        for a, b in zip(found, want, strict=True) if isinstance(want, tuple) else [(found, want)]:
            np.testing.assert_allclose(a, b, rtol=1e-12, strict=True)
