"""tapec.scipy.signal's filters against SciPy's: their taps and states, edges and boundaries."""

import itertools

import numpy as np
import pytest
import scipy.signal

import tapec
import tapec.scipy.signal as signal
from tapec.errors import UnsupportedError
from tests.ops.derivatives import check
from tests.properties import call_count, calls
from tests.scipy.against import compare

RNG = np.random.default_rng(11)
X = RNG.standard_normal((3, 8))
Z = X + 1j * RNG.standard_normal((3, 8))
B, A = np.array([0.4, 0.3, -0.2]), np.array([2.0, 0.5, 0.3, -0.1])
C = RNG.standard_normal((2, 3))
STATE = RNG.standard_normal((3, 3))

CASES = {
    "lfilter": (lambda s: lambda x: [s.lfilter(B, A, x), s.lfilter(B, A, x, 0), s.lfilter([1.0], A, x[0])], X),
    "lfilter without feedback": (lambda s: lambda x: [s.lfilter(B, [2.0], x), s.lfilter(0.5, 2.0, x)], X),
    "lfilter b": (lambda s: lambda b: [s.lfilter(b[0, :3], A, X), s.lfilter(b[0], A[:2], X, axis=0)], X),
    "lfilter a": (lambda s: lambda a: [s.lfilter(B, a[0, :3] + A[:3], X), s.lfilter(B, 2 + a[0, :1], X)], 0.2 * X),
    "lfilter complex": (lambda s: lambda x: s.lfilter(B + 0.1j, A - 0.2j, x), Z),
    "lfilter state": (lambda s: lambda x: [*s.lfilter(B, A, x, zi=STATE), *s.lfilter(B, A, x.T, 0, STATE.T)], X),
    "lfilter one state": (lambda s: lambda z: s.lfilter(B, A, X, zi=z[:1, :3]), X),
    "lfilter few": (
        lambda s: lambda x: [*s.lfilter(B, A, x[:, :2], zi=STATE), *s.lfilter(B, [2.0], x, zi=x[:, :2])],
        X,
    ),
    "hilbert": (lambda s: lambda x: [s.hilbert(x), s.hilbert(x, 5), s.hilbert(x, 10, axis=0), s.hilbert(x[0, :7])], X),
    "detrend": (lambda s: lambda x: [s.detrend(x), s.detrend(x, 0), s.detrend(x, type="constant")], X),
    "detrend between": (
        lambda s: lambda x: [s.detrend(x, bp=3), s.detrend(x.T, axis=0, bp=[1, 5]), s.detrend(x[:, :1])],
        X,
    ),
    "detrend complex": (lambda s: lambda x: [s.detrend(x), s.detrend(x, 0, "c")], Z),
    "savgol": (lambda s: lambda x: [s.savgol_filter(x, w, 2) for w in (3, 4, 5, 8)], X),
    "savgol derivatives": (lambda s: lambda x: [s.savgol_filter(x, 5, 3, d, 0.5) for d in (1, 2, 3, 4)], X),
    "savgol axis": (lambda s: lambda x: [s.savgol_filter(x, 3, 1, axis=0, deriv=1), s.savgol_filter(x[0], 7, 4)], X),
    "savgol modes": (
        lambda s: (
            lambda x: [
                s.savgol_filter(x, w, 2, mode=m, cval=1.5)
                for w, m in itertools.product((4, 7, 9), ("mirror", "constant", "nearest", "wrap"))
            ]
        ),
        X,
    ),
    "convolve2d": (
        lambda s: (
            lambda x: [
                s.convolve2d(x, C, mode, boundary, 1.5)
                for mode, boundary in itertools.product(("full", "same", "valid"), ("fill", "wrap", "symm"))
            ]
        ),
        X,
    ),
    "correlate2d": (
        lambda s: (
            lambda x: [
                s.correlate2d(x, C, mode, boundary)
                for mode, boundary in itertools.product(("full", "same", "valid"), ("fill", "circular", "symmetric"))
            ]
        ),
        X,
    ),
    "wide kernels": (
        lambda s: (
            lambda v: (
                [s.convolve2d(C, v, m, "symm") for m in ("full", "same", "valid")]
                + [s.correlate2d(C, v, m, "wrap") for m in ("full", "same", "valid")]
            )
        ),
        X,
    ),
    "complex kernels": (
        lambda s: lambda v: [s.convolve2d(X, v[:2, :2]), s.correlate2d(X, v[:2, :3], "same", "wrap")],
        Z,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_against_scipy(name):
    compare(*CASES[name], signal, scipy.signal)


def test_all_of_a_filter_moves():
    check(lambda b, a, x: signal.lfilter(b, a + 1.0, x), B, 0.2 * A, X)
    check(lambda b, a, x, z: signal.lfilter(b, a + 1.0, x, zi=z), B, 0.2 * A, X, STATE)


@pytest.mark.parametrize("seed", range(4))
def test_filters_that_people_design(seed):
    rng = np.random.default_rng(seed)
    b, a = scipy.signal.butter(int(rng.integers(1, 5)), rng.uniform(0.1, 0.9))
    compare(lambda s: lambda x: s.lfilter(b, a, x), rng.standard_normal(50), signal, scipy.signal)


LONG = RNG.standard_normal((2, 30))
SOS = scipy.signal.butter(5, 0.3, output="sos")
PADS = [{}, {"padtype": None}, {"padlen": 0}, *[{"padtype": p, "padlen": 7} for p in ("odd", "even", "constant")]]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("pad", PADS, ids=str)
def test_filters_there_and_back(pad):
    designs = [scipy.signal.butter(3, 0.2), (B, [2.0, 0.3]), ([1.0, 0.5], A), ([2.0, 0.0], [1.0])]

    def make(s):
        def f(x):
            rows = [s.filtfilt(b, a, x, **pad) for b, a in designs]
            return [*rows, s.filtfilt(*designs[0], x.T, 0, **pad), s.sosfiltfilt(SOS, x, **pad)]

        return f

    compare(make, LONG, signal, scipy.signal)
    compare(lambda s: lambda x: s.sosfiltfilt(SOS, x[:, :1], 0, **{**pad, "padlen": 1}), LONG, signal, scipy.signal)


def test_sections():
    states = RNG.standard_normal((3, 2, 2))

    def make(s):
        def f(x):
            return [s.sosfilt(SOS, x), s.sosfilt(SOS, x.T, 0), *s.sosfilt(SOS, x, zi=states)]

        return f

    compare(make, LONG, signal, scipy.signal)
    compare(lambda s: lambda z: s.sosfilt(SOS, LONG[:, :6], zi=z), states, signal, scipy.signal)
    compare(lambda s: lambda x: s.sosfilt(SOS, x + 1j * x[::-1]), LONG, signal, scipy.signal)


def test_states_of_steps():
    def sections(c):
        return np.concatenate([c[:, :3], np.ones((3, 1)), c[:, 4:]], 1)

    compare(lambda s: lambda b: [s.lfilter_zi(b, A), s.lfilter_zi(b[:1], A)], B, signal, scipy.signal)
    compare(lambda s: lambda a: [s.lfilter_zi(B, a + 1), s.lfilter_zi([1.0], a + 1)], 0.2 * A, signal, scipy.signal)
    compare(lambda s: lambda c: s.sosfilt_zi(sections(c)), SOS, signal, scipy.signal)


def test_all_of_a_filter_there_and_back_moves():
    def sections(c):
        return np.concatenate([c[:, :3], np.ones((3, 1)), c[:, 4:]], 1)

    check(lambda b, a, x: signal.filtfilt(b, a + 1.0, x), B, 0.2 * A, LONG)
    check(lambda c, x: signal.sosfilt(sections(c), x), SOS, LONG)
    check(lambda c, x: signal.sosfiltfilt(sections(c), x, padlen=4), SOS, LONG[:, :9])
    rows = tapec.vmap(lambda x: signal.filtfilt(B, [2.0, 0.3], x))(LONG)
    np.testing.assert_allclose(rows, scipy.signal.filtfilt(B, [2.0, 0.3], LONG), rtol=1e-10)


def test_gustafssons_method_is_scipys():
    b, a = scipy.signal.butter(2, 0.3)
    wanted = scipy.signal.filtfilt(b, a, LONG, method="gust")
    np.testing.assert_allclose(signal.filtfilt(b, a, LONG, method="gust"), wanted)
    with pytest.raises(UnsupportedError, match=r"^test_signal.py:\d+: filtfilt of tensors has the method 'pad'"):
        tapec.grad(lambda x: np.sum(signal.filtfilt(b, a, x, method="gust")))(LONG)


SINGLE = {
    "lfilter": lambda s, x: s.lfilter(B.astype(x.dtype), A.astype(x.dtype), x, zi=STATE.astype(x.dtype)),
    "hilbert": lambda s, x: [s.hilbert(x)],
    "detrend": lambda s, x: [s.detrend(x), s.detrend(x, type="c")],
    "savgol": lambda s, x: [s.savgol_filter(x, 5, 2), s.savgol_filter(x, 5, 2, mode="wrap")],
    "convolve2d": lambda s, x: [s.convolve2d(x, C.astype(x.dtype), boundary="wrap")],
}


@pytest.mark.parametrize("name", SINGLE)
def test_single_precision(name):
    f, x = SINGLE[name], X.astype(np.float32)
    for found, wanted in zip(tapec.compile(lambda x: f(signal, x))(x), f(scipy.signal, x), strict=True):
        assert found.dtype == wanted.dtype and found.real.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert tapec.grad(lambda x: sum(np.sum(np.abs(y)) for y in f(signal, x)))(x).dtype == np.float32


@pytest.mark.parametrize("dtype", ["f2", "g", "i8", "?", "F"])
def test_other_precisions(dtype):
    x = (3 * X).astype(dtype)
    for f in (
        lambda s, x: s.detrend(x, type="constant"),
        lambda s, x: s.detrend(x),
        lambda s, x: s.convolve2d(x, C, fillvalue=1.5),
        lambda s, x: s.correlate2d(x, C.astype(int), fillvalue=1.5),
    ):
        found, wanted = tapec.compile(lambda x, f=f: f(signal, x))(x), f(scipy.signal, x)
        assert found.dtype == wanted.dtype
        tol = 1e-2 if dtype == "f2" else 1e-5
        np.testing.assert_allclose(found, wanted, tol, tol)


def test_batches_of_signals_and_of_filters():
    bs = np.stack([B, 2 * B[::-1]])
    found = tapec.vmap(lambda x: signal.lfilter(B, A, x))(X)
    np.testing.assert_allclose(found, scipy.signal.lfilter(B, A, X))
    found = tapec.vmap(lambda b: signal.lfilter(b, A, X))(bs)
    np.testing.assert_allclose(found, [scipy.signal.lfilter(b, A, X) for b in bs])


def test_a_gradient_is_a_filter():
    source = tapec.grad(lambda x: np.sum(signal.lfilter(B, A, x) ** 2)).source(X[0])
    assert call_count(source, "scipy.signal.lfilter") == 2 and not calls(source, "convolve")


def test_no_signals():
    for mode in ("mirror", "constant", "nearest", "wrap"):
        assert signal.savgol_filter(tapec.constant(X[:0]), 5, 2, mode=mode).shape == (0, 8)


BAD = {
    "no taps": (
        lambda s, x: s.lfilter(B, [], x),
        ValueError,
        r"a is a vector of one or more taps, got an array of shape \(0,\)",
    ),
    "taps of two axes": (
        lambda s, x: s.lfilter([B, B], A, x),
        ValueError,
        r"b is a vector of one or more taps, got an array of shape \(2, 3\)",
    ),
    "nothing over the result": (lambda s, x: s.lfilter(B, [0.0, 1.0], x), ValueError, "filter coefficient"),
    "axis": (lambda s, x: s.lfilter(B, A, x, 2), ValueError, "axis 2 is out of bounds"),
    "state": (
        lambda s, x: s.lfilter(B, A, x, zi=STATE[:, :2]),
        ValueError,
        r"the state zi has the shape \(.*\), got \(.*\)",
    ),
    "state of one axis": (
        lambda s, x: s.lfilter(B, A, x, zi=STATE[0]),
        ValueError,
        r"the state zi has the shape \(.*\), got \(.*,\)",
    ),
    "integers": (lambda s, x: s.lfilter([1, 2], [1, 1], x.astype(int)), NotImplementedError, "not supported"),
    "there and back": (lambda s, x: s.filtfilt(B, A, x), ValueError, "x must be longer than padlen, which is 12"),
    "ends": (lambda s, x: s.filtfilt(B, A, x, padtype="wrap"), ValueError, "padtype is None or one of 'odd', .*'wrap'"),
    "method": (lambda s, x: s.filtfilt(B, A, x, method="other"), ValueError, "method is 'pad' or 'gust', got 'other'"),
    "sections of five": (lambda s, x: s.sosfilt(SOS[:, :5], x), ValueError, "sections are rows of six coefficients"),
    "sections that are not normal": (lambda s, x: s.sosfilt(2 * SOS, x), ValueError, "sos.*must be 1|should be all"),
    "states": (lambda s, x: s.sosfilt(SOS, x, zi=STATE), ValueError, r"the states zi have the shape \(3, 3, 2\)"),
    "hilbert": (lambda s, x: s.hilbert(x + 1j), ValueError, "x must be real, got complex128"),
    "hilbert of none": (lambda s, x: s.hilbert(x, 0), ValueError, "N must be positive, got 0"),
    "trend": (lambda s, x: s.detrend(x, type="square"), ValueError, "type is 'linear' or 'constant', got 'square'"),
    "breakpoint": (lambda s, x: s.detrend(x, bp=9), ValueError, "breakpoints are numbers from 0 to .*, got 9"),
    "window": (lambda s, x: s.savgol_filter(x, 9, 2), ValueError, "a window of 9 is longer than .* Fix: another mode"),
    "order": (lambda s, x: s.savgol_filter(x, 3, 3), ValueError, "polyorder must be less"),
    "mode of savgol": (
        lambda s, x: s.savgol_filter(x, 3, 2, mode="reflect"),
        ValueError,
        "mode is one of 'mirror', .*, 'interp', got 'reflect'",
    ),
    "mode": (lambda s, x: s.convolve2d(x, C, "all"), ValueError, "mode flags"),
    "boundary": (
        lambda s, x: s.correlate2d(x, C, boundary="none"),
        ValueError,
        "boundary is one of 'fill', .*, got 'none'",
    ),
    "axes": (lambda s, x: s.convolve2d(x, B), ValueError, "convolve2d takes two matrices, got arrays of shapes"),
    "valid": (lambda s, x: s.convolve2d(x, X.T, "valid", "wrap"), ValueError, "'valid' mode"),
}


@pytest.mark.parametrize("name", BAD)
def test_arguments_that_scipy_refuses(name):
    call, error, message = BAD[name]
    with pytest.raises(error):
        call(scipy.signal, X)
    for x in (X, tapec.constant(X)):
        with pytest.raises(error, match=message):
            call(signal, x)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve", "oaconvolve", "convolve2d", "correlate2d"])
def test_convolutions_of_nothing_are_those_of_scipy(name, mode):
    ours, theirs = getattr(signal, name), getattr(scipy.signal, name)
    shapes = ((0, 2), (2, 2), (0, 0)) if name.endswith("2d") else ((0,), (3,), (0,))
    for first, second in itertools.product(shapes, shapes):
        for dtype in (np.float64, np.float32, np.int64):
            x, v = np.ones(first, dtype), np.ones(second, dtype)
            try:
                expected = theirs(x, v, mode)
            except ValueError:
                with pytest.raises(ValueError, match=".+"):
                    ours(x, v, mode)
                continue
            compiled = tapec.compile(lambda x, v: ours(x, v, mode))
            for found in (ours(x, v, mode), compiled(x, v), compiled(x, v)):
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, atol=1e-6)
            if dtype == np.float64:
                slopes = tapec.grad(lambda x, v: np.sum(ours(x, v, mode)), (0, 1))(x, v)
                assert [s.shape for s in slopes] == [first, second]
