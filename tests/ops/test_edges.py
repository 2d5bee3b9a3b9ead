"""Gradients at the edges: finite where mathematics allows, TensorFlow's conventions at ties."""

import warnings

import numpy as np
import pytest

import tapec


def grads(f, *xs, order=1):
    """Gradients of the sum of f by all arguments; of order 2, by the first, of the sum of the first gradient."""
    tensors = [tapec.constant(x) for x in xs]
    with tapec.GradientTape() as outer:
        outer.watch(tensors)
        with tapec.GradientTape() as tape:
            tape.watch(tensors)
            y = np.sum(f(*tensors))
        first = tape.gradient(y, tensors)
        total = None if order == 1 or first[0] is None else np.sum(first[0])
    found = first if order == 1 else outer.gradient(total, tensors)
    return [None if g is None else np.asarray(g.numpy()).tolist() for g in found]


def quiet(f, *xs, order=1):
    """The same, and generated code has to say nothing either."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return grads(f, *xs, order=order)


ZERO = np.zeros(2)

FINITE = {  # function, arguments, first gradients
    "0 ** 0": (lambda x, n: x**n, (ZERO, ZERO), [[0, 0], [0, 0]]),
    "0 ** 2": (lambda x, n: x**n, (ZERO, np.full(2, 2.0)), [[0, 0], [0, 0]]),
    "negative base": (lambda x, n: x**n, (np.array([-2.0, -1.0]), np.array([2.0, 3.0])), [[-4, 3], [0, 0]]),
    "x ** 0 at 0": (lambda x: x**0, (ZERO,), [[0, 0]]),
    "x ** 1 at 0": (lambda x: x**1, (ZERO,), [[1, 1]]),
    "x ** 2 at 0": (lambda x: x**2, (ZERO,), [[0, 0]]),
    "0 ** n": (lambda n: 0.0**n, (np.array([2.0, 3.0]),), [[0, 0]]),
    "float_power": (lambda x: np.float_power(x, 2), (ZERO,), [[0, 0]]),
    "hypot": (np.hypot, (ZERO, ZERO), [[0, 0], [0, 0]]),
    "abs": (np.abs, (np.array([0.0, -2.0]),), [[0, -1]]),
    "abs complex": (np.abs, (np.array([0j, 3 + 4j]),), [[0, 0.6 + 0.8j]]),
    "sinc": (np.sinc, (ZERO,), [[0, 0]]),
    "norm": (np.linalg.norm, (ZERO,), [[0, 0]]),
    "std": (np.std, (np.ones(3),), [[0, 0, 0]]),
    "std where": (lambda x: np.std(x, where=[True, True, False]), (np.ones(3),), [[0, 0, 0]]),
    "nanstd": (np.nanstd, (np.array([1.0, 1.0, np.nan]),), [[0, 0, 0]]),
    "logaddexp": (np.logaddexp, (np.array([-np.inf]), np.array([-np.inf])), [[0], [0]]),
    "logaddexp one": (np.logaddexp, (np.array([-np.inf]), np.array([1.0])), [[0], [1]]),
    "logaddexp2": (np.logaddexp2, (np.array([-np.inf]), np.array([-np.inf])), [[0], [0]]),
    "nan_to_num": (np.nan_to_num, (np.array([np.nan, np.inf, 1.0]),), [[0, 0, 1]]),
    "prod one zero": (np.prod, (np.array([2.0, 0.0, 4.0]),), [[0, 8, 0]]),
    "prod two zeros": (np.prod, (np.array([0.0, 0.0, 4.0]),), [[0, 0, 0]]),
    "cumprod zero": (np.cumprod, (np.array([2.0, 0.0, 4.0]),), [[1, 10, 0]]),
    "cumprod two zeros": (np.cumprod, (np.array([0.0, 0.0, 4.0]),), [[1, 0, 0]]),
    # ties
    "maximum": (np.maximum, (np.array([1.0, 2.0]), np.array([1.0, 3.0])), [[1, 0], [0, 1]]),
    "minimum": (np.minimum, (np.array([1.0, 2.0]), np.array([1.0, 3.0])), [[1, 1], [0, 0]]),
    "relu": (lambda x: np.maximum(0, x), (np.array([0.0, 2.0]),), [[0, 1]]),
    "fmax nan": (np.fmax, (np.array([np.nan, 1.0]), np.array([1.0, np.nan])), [[0, 1], [1, 0]]),
    "max": (np.max, (np.array([3.0, 1.0, 3.0]),), [[0.5, 0, 0.5]]),
    "min": (np.min, (np.array([[1.0, 1.0], [1.0, 2.0]]),), [[[1 / 3, 1 / 3], [1 / 3, 0]]]),
    "clip": (lambda x: np.clip(x, 0.0, 1.0), (np.array([0.0, 1.0, -1.0, 2.0]),), [[1, 1, 0, 0]]),
    "clip low": (lambda x: np.clip(x, 0.0, None), (np.array([0.0, -1.0]),), [[1, 0]]),
    "sort": (lambda x: np.sort(x) * np.array([1.0, 2.0, 3.0]), (np.array([1.0, 1.0, 0.0]),), [[2, 3, 1]]),
    # conventions
    "sign": (np.sign, (np.array([0.0, -2.0]),), [[0, 0]]),
    "%": (lambda x, y: x % y, (np.array([7.5, -1.0]), np.array([2.0, 2.0])), [[1, 1], [-3, 1]]),
    "fmod": (np.fmod, (np.array([-7.5]), np.array([2.0])), [[1], [3]]),
    "z * z": (lambda z: z * z, (np.array([1 + 2j]),), [[2 - 4j]]),
    "real": (np.real, (np.array([1 + 2j]),), [[1]]),
    "imag": (np.imag, (np.array([1 + 2j]),), [[1j]]),
    "angle": (np.angle, (np.array([1 + 2j]),), [[-0.4 + 0.2j]]),
    "heaviside": (np.heaviside, (np.array([0.0, 1.0]), np.array([0.5, 0.5])), [[0, 0], [1, 0]]),
    # under a mask
    "where sqrt": (lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1)), 0), (np.array([0.0, 4.0]),), [[0, 0.25]]),
}
WITHOUT = {
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "round": lambda x: np.round(x, 1),
    "fix": np.fix,
    "//": lambda x: x // 2,
    "divmod": lambda x: np.divmod(x, 2.0)[0],
    "modf": lambda x: np.modf(x)[1],
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
    "comparison": lambda x: (x > 1) * 1.0,
    "isfinite": lambda x: np.isfinite(x) + 0.0,
    "argmax": lambda x: np.argmax(x) + 0.0,
    "argsort": lambda x: np.argsort(x) + 0.0,
    "imag of real": np.imag,
    "spacing": np.spacing,
    "count_nonzero": lambda x: np.count_nonzero(x) * 1.0,
    "searchsorted": lambda x: np.searchsorted(x, 1.5) * 1.0,
}


@pytest.mark.parametrize("name", FINITE)
def test_first_order(name):
    f, xs, expected = FINITE[name]
    for found, wanted in zip(grads(f, *xs), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("name", [n for n in FINITE if n not in ("0 ** 0", "z * z")])
def test_second_order_is_finite(name):
    f, xs, _ = FINITE[name]
    for found in grads(f, *xs, order=2):
        assert found is None or np.isfinite(found).all()


@pytest.mark.parametrize("name", WITHOUT)
def test_no_gradient(name):
    assert grads(WITHOUT[name], np.array([1.2, 2.7])) == [None]


def test_second_derivatives():
    zero, two = np.zeros(1), np.array([2.0])
    assert grads(lambda x: x**2, zero, order=2) == [[2.0]]
    assert grads(lambda x: x**3, two, order=2) == [[12.0]]
    assert grads(np.abs, two, order=2) == [[0.0]]
    assert grads(lambda x: np.maximum(x, 0), two, order=2) in ([None], [[0.0]])
    assert grads(lambda x: 3 * x, two, order=2) == [None]
    np.testing.assert_allclose(grads(np.sinc, zero, order=2), [[-np.pi**2 / 3]])
    assert grads(np.hypot, zero, zero, order=2) == [[0.0], [0.0]]
    assert grads(lambda x: np.prod(x), np.array([0.0, 0.0, 4.0]), order=2) == [[4.0, 4.0, 0.0]]
    assert grads(np.cumprod, np.array([0.0, 3.0]), order=2) == [[1.0, 1.0]]


def test_literal_exponents_read_as_one_would_write_them():
    x = tapec.constant([1.0, 2.0])
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, z = x**2, x**3
    assert "2" in tape.source(y, x) and "**" not in tape.source(y, x).replace("x**2", "")
    assert "log" not in tape.source(z, x)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128])
def test_dtypes_stay(dtype):
    x = np.array([0.5, 1.5], dtype)
    for f in (np.exp, np.sqrt, lambda x: x**2, lambda x: x * 2.0 + 1, np.mean, np.cumprod, np.prod, np.square, np.std):
        t = tapec.constant(x)
        with tapec.GradientTape() as tape:
            tape.watch(t)
            y = f(t)
        assert y.dtype == f(x).dtype and tape.gradient(y, t).dtype == dtype


# -- bad input: NumPy's own errors ------------------------------------------------------------------------------------
X = np.ones((2, 3))
BAD = {
    "axis": (lambda x: np.sum(x, axis=5), np.exceptions.AxisError),
    "axis of max": (lambda x: x.max(axis=-3), np.exceptions.AxisError),
    "axes twice": (lambda x: np.mean(x, axis=(0, 0)), ValueError),
    "cumsum": (lambda x: np.cumsum(x, axis=2), np.exceptions.AxisError),
    "sort": (lambda x: np.sort(x, axis=2), np.exceptions.AxisError),
    "broadcast": (lambda x: x + np.ones(2), ValueError),
    "empty max": (lambda x: np.max(x[:0]), ValueError),
    "partition": (lambda x: np.partition(x, 7), ValueError),
    "quantile": (lambda x: np.quantile(x, 1.5), ValueError),
    "percentile": (lambda x: np.percentile(x, 101), ValueError),
    "where needs initial": (lambda x: np.max(x, where=x > 0), ValueError),
    "diff": (lambda x: np.diff(x, -1), ValueError),
    "gradient": (lambda x: np.gradient(x[:1]), ValueError),
    "convolve": (lambda x: np.convolve(x[0], x[0][:0]), ValueError),
    "cross": (lambda x: np.cross(x[:, :1], x), ValueError),
    "select": (lambda x: np.select([x > 0], []), ValueError),
    "piecewise": (lambda x: np.piecewise(x, [x > 0], [1, 2, 3]), ValueError),
    "interp": (lambda x: np.interp(x, [1.0, 2.0], [1.0]), ValueError),
    "average": (lambda x: np.average(x, weights=np.ones(2)), TypeError),
    "bincount": (lambda x: np.bincount(x[0]), TypeError),
    "bitwise": (lambda x: x & 1, TypeError),
    "quantile of complex": (lambda x: np.quantile(x * 1j, 0.5), TypeError),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    f, error = BAD[name]
    with pytest.raises(error):
        f(X)  # NumPy's
    x = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(error):
            f(x)
        y = np.sum(x)
    assert (tape.gradient(y, x).numpy() == 1).all()  # nothing is left behind
