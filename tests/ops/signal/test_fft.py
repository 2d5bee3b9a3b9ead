"""np.fft against NumPy, and its derivatives against differences."""

import numpy as np
import pytest

import tapec
from tests.ops.derivatives import assert_same, check

rng = np.random.default_rng(7)
X = rng.standard_normal((3, 4, 5))
Z = X + 1j * rng.standard_normal((3, 4, 5))
NORMS = [None, "backward", "ortho", "forward"]
ONE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
TWO = ["fft2", "ifft2", "rfft2", "irfft2"]
MANY = ["fftn", "ifftn", "rfftn", "irfftn"]


def inputs(name):
    """Real and complex input, as far as the function takes them."""
    return [X] if name in ("rfft", "ihfft", "rfft2", "rfftn") else [X, Z]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name, norm):
    f = getattr(np.fft, name)
    for x in inputs(name):
        check(lambda x: f(x, norm=norm), x[0, 0])
        check(lambda x: f(x, axis=0, norm=norm), x[0])
        for n in (1, 2, 3, 6, 7):
            check(lambda x, n=n: f(x, n, axis=1, norm=norm), x[0])


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", TWO)
def test_two_axes(name, norm):
    f = getattr(np.fft, name)
    for x in inputs(name):
        check(lambda x: f(x, norm=norm), x)
        check(lambda x: f(x, (6, 3), norm=norm), x)
        check(lambda x: f(x, axes=(1, 0), norm=norm), x)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", MANY)
def test_many_axes(name, norm):
    f = getattr(np.fft, name)
    for x in inputs(name):
        check(lambda x: f(x, norm=norm), x)
        check(lambda x: f(x, axes=(0, 2), norm=norm), x)
        check(lambda x: f(x, s=(2, 7), axes=(2, 0), norm=norm), x)
        check(lambda x: f(x, s=(4, -1), axes=(0, 1), norm=norm), x)
        check(lambda x: f(x, axes=(-1,), norm=norm), x)


@pytest.mark.parametrize("name", MANY)
def test_an_axis_that_comes_twice(name):
    f = getattr(np.fft, name)
    for x in inputs(name):
        check(lambda x: f(x, axes=(1, 0, 1)), x)
        check(lambda x: f(x, s=(3, 4), axes=(2, 2)), x)


def test_shifts():
    check(lambda x: [np.fft.fftshift(x), np.fft.ifftshift(x)], X)
    check(lambda x: [np.fft.fftshift(x, 1), np.fft.ifftshift(x, axes=(0, -1))], X)


def test_frequencies_of_a_spacing():
    check(lambda d: np.fft.fftfreq(5, d) + np.sum(np.fft.rfftfreq(6, d)), np.float64(0.3))


@pytest.mark.parametrize("name", ONE)
def test_single_precision(name):
    f = getattr(np.fft, name)
    assert_same(f(tapec.constant(X.astype(np.float32))), f(X.astype(np.float32)))
    assert_same(f(tapec.constant(np.arange(4))), f(np.arange(4)))


def test_a_real_input_has_a_real_gradient():
    t = tapec.constant(X)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        power = np.sum(np.abs(np.fft.fft(t)) ** 2)
    np.testing.assert_allclose(tape.gradient(power, t).numpy(), 2 * 5 * X)  # Parseval


@pytest.mark.parametrize(
    "f, kind",
    [
        (lambda x: np.fft.fft(x, 0), ValueError),
        (lambda x: np.fft.fft(x, axis=3), IndexError),
        (lambda x: np.fft.fft(x, norm="sideways"), ValueError),
        (lambda x: np.fft.fftn(x, s=(2,), axes=(0, 1)), ValueError),
        (lambda x: np.fft.rfft(x * 1j), TypeError),
        (lambda x: np.fft.rfftn(x, axes=()), IndexError),
        (lambda x: np.fft.fftshift(x, 3), IndexError),
    ],
)
def test_wrong_transforms_are_errors_of_the_kind_that_numpy_raises(f, kind):
    with pytest.raises(kind):
        f(X)
    with pytest.raises(kind):
        f(tapec.constant(X))
