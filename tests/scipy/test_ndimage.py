"""tapec.scipy.ndimage's filters against SciPy's: every mode at the edges, windows of any size, and sigma."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.ndimage

import tapec
import tapec.scipy.ndimage as ndimage
from tapec.errors import UnsupportedError
from tests.ops.derivatives import check
from tests.scipy.against import compare

RNG = np.random.default_rng(12)
X = RNG.standard_normal((5, 6))
CUBE = RNG.standard_normal((3, 4, 3))
W, K = np.array([0.5, -0.2, 0.9, 0.4]), RNG.standard_normal((3, 2))
MODES = ("reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-constant", "grid-wrap")


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode):
    def make(s):
        return lambda x: [
            s.correlate1d(x, W, mode=mode, cval=1.5),
            s.convolve1d(x, W, 0, mode=mode, cval=1.5),
            s.correlate1d(x, np.arange(15.0), mode=mode),
            s.correlate(x, K, mode=mode, cval=-1.0),
            s.convolve(x, K, mode=mode, cval=-1.0),
            s.gaussian_filter(x, 0.7, mode=mode, cval=2.0),
            s.gaussian_filter1d(x, 2.5, mode=mode),
            s.uniform_filter1d(x, 4, 0, mode=mode),
            s.uniform_filter(x, mode=mode),
        ]

    compare(make, X, ndimage, scipy.ndimage)


CASES = {
    "origins": (
        lambda s: (
            lambda x: [
                *[s.correlate1d(x, W, origin=o) for o in (-2, -1, 1)],
                *[s.convolve1d(x, W[:3], 0, origin=o) for o in (-1, 1)],
                s.correlate(x, K, origin=(1, -1)),
                s.convolve(x, K, origin=-1),
                s.uniform_filter1d(x, 3, origin=1),
                s.uniform_filter(x, (2, 3), origin=(-1, 0)),
            ]
        ),
        X,
    ),
    "weights": (lambda s: lambda w: [s.correlate1d(X, w[0]), s.convolve(X, w[:3], mode="wrap")], X),
    "cube": (
        lambda s: lambda x: [s.gaussian_filter(x, (0.5, 0, 1.0)), s.convolve(x, CUBE[:2]), s.correlate1d(x, W, 1)],
        CUBE,
    ),
    "one axis": (
        lambda s: lambda x: [s.gaussian_filter(x[0], 1.0), s.correlate(x[0], W), s.uniform_filter(x[0], 5)],
        X,
    ),
    "derivatives of Gaussians": (lambda s: lambda x: [s.gaussian_filter1d(x, 1.2, order=k) for k in range(5)], X),
    "Gaussians": (
        lambda s: (
            lambda x: [
                s.gaussian_filter(x, [0.8, 1.5], order=(1, 0), mode=["wrap", "nearest"]),
                s.gaussian_filter(x, 1.0, truncate=2.0),
                s.gaussian_filter(x, 1.0, radius=3),
                s.gaussian_filter(x, 1.0, axes=0),
                s.gaussian_filter(x, 0.0),
                s.gaussian_filter1d(x, 0.3, 0),
            ]
        ),
        X,
    ),
    "sigma": (
        lambda s: lambda c: [s.gaussian_filter1d(X, c, order=k, radius=4) for k in (0, 1, 2)],
        np.array(1.1),
    ),
    "complex": (
        lambda s: lambda z: [s.gaussian_filter(z, 0.8), s.correlate1d(z, W), s.convolve(z, K), s.convolve1d(z, W)],
        X + 1j * X[::-1],
    ),
    "complex weights": (
        lambda s: lambda w: [f(X + 1j, w, mode="wrap") for f in (s.correlate1d, s.convolve1d)],
        W + 1j * W[::-1],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_against_scipy(name):
    compare(*CASES[name], ndimage, scipy.ndimage)


def test_sigma_whose_reach_follows_from_it():
    f = lambda c: ndimage.gaussian_filter(X, c)
    check(f, np.array(0.9))
    compiled = tapec.compile(f)
    for c in (0.9, 2.0, 0.0):
        np.testing.assert_allclose(compiled(c), scipy.ndimage.gaussian_filter(X, c), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "F"])
def test_precisions(dtype):
    x = (20 * np.abs(X)).astype(dtype)

    def filters(s, x):
        return [
            s.uniform_filter1d(x, 4),
            s.correlate(x, np.ones((2, 3))),
            s.gaussian_filter(x, 1.0),
            s.convolve1d(x, W),
            s.correlate1d(x, W + 1j),
            s.convolve(x, K - 1j),
        ]

    for found, wanted in zip(tapec.compile(lambda x: filters(ndimage, x))(x), filters(scipy.ndimage, x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    if dtype == "f4":
        slope = tapec.grad(lambda x: sum(np.sum(np.abs(y) ** 2) for y in filters(ndimage, x)))
        assert slope(x).dtype == np.float32
        np.testing.assert_allclose(slope(x), slope(x.astype(float)), rtol=1e-4)


EMPTY = {
    "correlate1d": lambda s, x: s.correlate1d(x, W),
    "complex weights": lambda s, x: s.convolve1d(x, W + 1j, 0, mode="constant"),
    "uniform_filter1d": lambda s, x: s.uniform_filter1d(x, 3, 0, mode="wrap"),
    "gaussian_filter": lambda s, x: s.gaussian_filter(x, 1.0),
    "uniform_filter": lambda s, x: s.uniform_filter(x, mode="constant"),
    "convolve": lambda s, x: s.convolve(x, K),
}


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "F"])
@pytest.mark.parametrize("shape", [(0, 6), (3, 0), (0, 0)])
@pytest.mark.parametrize("name", EMPTY)
def test_empty_images(name, shape, dtype):
    f, x = EMPTY[name], np.zeros(shape, dtype)
    wanted = f(scipy.ndimage, x)
    for found in (f(ndimage, x), f(ndimage, tapec.constant(x)), tapec.compile(lambda x: f(ndimage, x))(x)):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    if dtype == "f8":
        assert tapec.grad(lambda x: np.sum(np.real(f(ndimage, x))))(x).shape == shape


def test_weights_that_meet_nothing():
    slope = tapec.grad(lambda w: np.sum(ndimage.correlate1d(np.zeros((0, 6)), w)))
    np.testing.assert_array_equal(slope(W), np.zeros(4))


INSIDE = RNG.uniform(0.1, 3.9, (2, 7))
INSIDE[1] += 0.02  # no point is a pixel
AROUND = np.concatenate([INSIDE, INSIDE - 7.33, INSIDE + 6.21], axis=1)


@pytest.mark.sampled(one_in=2, per="mode")
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", MODES)
def test_points_between_pixels(mode, order):
    more = {"order": order, "mode": mode, "cval": 1.5}
    compare(lambda s: lambda x: s.map_coordinates(x, AROUND, **more), X, ndimage, scipy.ndimage)
    if order:
        compare(lambda s: lambda p: s.map_coordinates(X, p, **more), AROUND, ndimage, scipy.ndimage)
    line, points = RNG.standard_normal(1), np.array([[-1.3, 0.0, 0.4, 2.2]])
    compare(lambda s: lambda x: s.map_coordinates(x, points, **more), line, ndimage, scipy.ndimage)
    compare(lambda s: lambda x: s.map_coordinates(x + 1j, AROUND[:, :, None], **more), X, ndimage, scipy.ndimage)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", MODES)
def test_points_at_pixels(mode, order):
    line = RNG.standard_normal(4)
    points = np.arange(-9.0, 13.0)[None]
    found = ndimage.map_coordinates(line, points, order=order, mode=mode)
    np.testing.assert_allclose(found, scipy.ndimage.map_coordinates(line, points, order=order, mode=mode), atol=1e-12)


def test_points_move_in_compiled_code():
    line = np.arange(6.0) ** 2
    f = tapec.value_and_grad(lambda p: np.sum(ndimage.map_coordinates(line, p[None], order=1)))
    g = tapec.compile(lambda p: ndimage.map_coordinates(line, p[None], order=0))
    for p in (np.array([0.5, 2.2]), np.array([4.1, 1.7])):
        value, slope = f(p)
        np.testing.assert_allclose(value, scipy.ndimage.map_coordinates(line, p[None], order=1).sum())
        np.testing.assert_allclose(slope, 2 * np.floor(p) + 1)
        np.testing.assert_array_equal(g(p), scipy.ndimage.map_coordinates(line, p[None], order=0))
    assert f.cache_info().misses == g.cache_info().misses == 1


def test_slopes_at_pixels_are_those_to_the_next():
    line = np.array([1.0, 2.0, 4.0, 8.0])
    slope = tapec.grad(lambda p: np.sum(ndimage.map_coordinates(line, p[None], order=1)))
    np.testing.assert_array_equal(slope(np.arange(4.0)), [1, 2, 4, 4])
    np.testing.assert_array_equal(slope(np.array([-0.5, 3.5])), [0, 0])


@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "F"])
def test_precisions_between_pixels(dtype):
    x = (20 * np.abs(X)).astype(dtype)
    for points in (AROUND, AROUND.astype(np.float32), AROUND.astype(int)):
        found = ndimage.map_coordinates(tapec.constant(x), points, order=1, mode="nearest").numpy()
        wanted = scipy.ndimage.map_coordinates(x, points, order=1, mode="nearest")
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_splines_are_scipys():
    np.testing.assert_array_equal(ndimage.map_coordinates(X, AROUND), scipy.ndimage.map_coordinates(X, AROUND))
    with pytest.raises(UnsupportedError, match=r"test_ndimage.py:\d+: map_coordinates .* Fix: order=1"):
        ndimage.map_coordinates(tapec.constant(X), AROUND)


def test_batches():
    f = lambda x: ndimage.gaussian_filter(x, 0.8, mode="nearest")
    np.testing.assert_allclose(
        tapec.vmap(f)(CUBE), [scipy.ndimage.gaussian_filter(x, 0.8, mode="nearest") for x in CUBE]
    )


BAD = {
    "mode": (
        lambda s, x: s.correlate1d(x, W, mode="around"),
        RuntimeError,
        "mode is one of 'constant', .*, got 'around'",
    ),
    "mode of an axis": (
        lambda s, x: s.gaussian_filter(x, 1.0, mode=["wrap", "around"]),
        RuntimeError,
        "mode is one of 'constant', .*, got 'around'",
    ),
    "origin": (
        lambda s, x: s.correlate1d(x, W, origin=2),
        ValueError,
        "the origin of a window of 4 is a number from -2 to 1, got 2",
    ),
    "origin of a mean": (lambda s, x: s.uniform_filter1d(x, 3, origin=2), ValueError, "from -1 to 1, got 2"),
    "no weights": (
        lambda s, x: s.correlate1d(x, []),
        RuntimeError,
        r"weights are a vector of one or more, got an array of shape \(0,\)",
    ),
    "axes of weights": (lambda s, x: s.convolve(x, W), RuntimeError, "weights have 1 axes, the input has 2"),
    "size": (lambda s, x: s.uniform_filter1d(x, 0), RuntimeError, "size is at least 1, got 0"),
    "sigmas": (
        lambda s, x: s.gaussian_filter(x, (1.0, 2.0, 3.0)),
        RuntimeError,
        "3 numbers or modes are given for 2 axes",
    ),
    "sigma below zero": (
        lambda s, x: s.gaussian_filter1d(x, -1.0),
        ValueError,
        "radius is an integer from 0 up, got -",
    ),
    "radius": (
        lambda s, x: s.gaussian_filter1d(x, 1.0, radius=-1),
        ValueError,
        "radius is an integer from 0 up, got -1",
    ),
    "order": (lambda s, x: s.gaussian_filter1d(x, 1.0, order=-1), ValueError, "order is an integer from 0 up, got -1"),
    "axis": (lambda s, x: s.correlate1d(x, W, 2), ValueError, "axis 2 is out of bounds"),
    "axes twice": (
        lambda s, x: s.gaussian_filter(x, 1.0, axes=(0, -2)),
        ValueError,
        r"an axis is named twice in axes=\(0, -2\)",
    ),
    "half an axis": (lambda s, x: s.uniform_filter(x, axes=(0.5,)), TypeError, "as an integer"),
    "mode of nothing": (
        lambda s, x: s.correlate1d(x[:0], W, mode="around"),
        RuntimeError,
        "mode is one of 'constant', .*, got 'around'",
    ),
    "points": (
        lambda s, x: s.map_coordinates(x, AROUND[:1], order=1),
        RuntimeError,
        "1 coordinates are given for 2 axes",
    ),
    "a point": (
        lambda s, x: s.map_coordinates(x, AROUND[:, 0], order=1),
        RuntimeError,
        r"points of shape \(2,\) in an array of shape",
    ),
    "complex points": (
        lambda s, x: s.map_coordinates(x, AROUND + 1j, order=1),
        TypeError,
        "coordinates are real, got complex128",
    ),
    "mode of points": (
        lambda s, x: s.map_coordinates(x, AROUND, order=1, mode="around"),
        RuntimeError,
        "mode is one of 'constant', .*, got 'around'",
    ),
    "precision": (
        lambda s, x: s.gaussian_filter(x.astype(np.longdouble), 1.0),
        RuntimeError,
        "filters take no (longdouble|float128)",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_arguments_that_scipy_refuses(name):
    call, error, message = BAD[name]
    with pytest.raises(error):
        call(scipy.ndimage, X)
    for x in (X, tapec.constant(X)):
        with pytest.raises(error, match=message):
            call(ndimage, x)


def test_outputs():
    with pytest.raises(UnsupportedError, match=r"test_ndimage.py:\d+: filters of tensors take no output="):
        ndimage.gaussian_filter(tapec.constant(X), 1.0, output=np.empty_like(X))


def test_what_a_filter_needs_is_imported_before_a_recording():
    """scipy.signal brings generators of random numbers, which would pass for draws of the user's."""
    code = """if True:
        import numpy as np
        import tapec
        from tapec.scipy import ndimage

        f = tapec.compile(lambda x: ndimage.gaussian_filter(x, 1.0))
        f(np.eye(4)), f(np.eye(4))
        assert f.cache_info().misses == 1
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
