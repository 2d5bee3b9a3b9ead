"""tapec.scipy.fft against SciPy's: every type of cosine and sine transforms, every norm, and back again."""

import itertools

import numpy as np
import pytest
import scipy.fft

import tapec
import tapec.scipy.fft as fft
from tests.properties import has
from tests.scipy.against import compare

RNG = np.random.default_rng(7)
X = RNG.standard_normal((4, 5))
Z = X + 1j * RNG.standard_normal((4, 5))
NAMES = ("dct", "idct", "dst", "idst")
NORMS = (None, "backward", "ortho", "forward")


@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("name", NAMES)
def test_types_and_norms(name, type):
    def make(s):
        f, g = getattr(s, name), getattr(s, f"{name}n")
        return lambda x: [
            *[f(x, type, norm=norm, orthogonalize=o) for norm, o in itertools.product(NORMS, (None, True, False))],
            *[g(x, type, norm=norm, orthogonalize=o) for norm, o in itertools.product(NORMS, (None, True))],
        ]

    compare(make, X, fft, scipy.fft)


@pytest.mark.parametrize("name", NAMES)
def test_lengths_and_axes(name):
    def make(s):
        f, g = getattr(s, name), getattr(s, f"{name}n")
        return lambda x: [
            f(x, n=3, axis=0),
            f(x, 3, 8),
            f(x[0], 4, norm="ortho"),
            g(x, s=(3, 7)),
            g(x, 1, s=3),
            g(x, 2, (-1, 2)),
            g(x, 3, 6, axes=0, norm="forward"),
            g(x, axes=(1, 0), s=(2, 6)),
            g(x, 4, axes=[-1]),
        ]

    compare(make, X, fft, scipy.fft)


@pytest.mark.parametrize("orthogonalize", [None, True, False])
@pytest.mark.parametrize("name", NAMES)
def test_complex_numbers(name, orthogonalize):
    def make(s):
        f, g = getattr(s, name), getattr(s, f"{name}n")
        more = {"orthogonalize": orthogonalize}
        return lambda x: [f(x, 1, **more), f(x, **more), g(x, 3, norm="ortho", **more)]

    compare(make, Z, fft, scipy.fft)


FOURIER = {
    "fft": lambda s: lambda x: [s.fft(x), s.fft(x, 3, 0, "ortho", True, 2), s.fft(x, norm="forward")],
    "ifft": lambda s: lambda x: [s.ifft(x), s.ifft(x, n=7)],
    "rfft": lambda s: lambda x: [s.irfft(s.rfft(x)[:, :2] ** 2), s.rfft(x, 8), s.irfft(x, 5)],
    "hfft": lambda s: lambda x: [s.hfft(x), s.ihfft(x), s.hfft(x, 6, norm="ortho")],
    "fftn": lambda s: lambda x: [s.fftn(x), s.fftn(x, 3), s.fftn(x, (2, 6)), s.fftn(x, axes=0), s.ifftn(x, (3, -1))],
    "rfftn": lambda s: lambda x: [s.rfftn(x), s.irfftn(s.rfftn(x)[:, :2]), s.rfftn(x, [4], axes=(-2,))],
    "fft2": lambda s: lambda x: [s.fft2(x), s.ifft2(x, norm="ortho"), s.rfft2(x), s.irfft2(x, (4, 4))],
    "fftshift": lambda s: lambda x: [s.fftshift(x), s.ifftshift(x, axes=0), x * s.fftfreq(5)],
}


@pytest.mark.parametrize("name", FOURIER)
def test_fourier_transforms(name):
    compare(FOURIER[name], X, fft, scipy.fft)


@pytest.mark.parametrize("dtype", ["f2", "f4", "g", "i4", "?", "F"])
@pytest.mark.parametrize("name", ["dct", "idctn", "dstn", "fft", "hfft", "irfftn"])
def test_precisions(name, dtype):
    x = (10 * X).astype(dtype)
    wanted = getattr(scipy.fft, name)(x)
    for found in (getattr(fft, name)(x), tapec.compile(getattr(fft, name))(x)):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["dct", "dst"])
def test_a_transform_there_and_back_is_nothing(name):
    there, back = getattr(fft, name), getattr(fft, f"i{name}")
    for type, norm in itertools.product((1, 2, 3, 4), NORMS):
        f = lambda x, type=type, norm=norm: back(there(x, type, norm=norm), type, norm=norm)
        np.testing.assert_allclose(tapec.jacfwd(f)(X[0]), np.eye(5), atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_batches(name):
    f = lambda x: getattr(fft, name)(x, 3, axis=0, norm="forward") ** 2
    x = RNG.standard_normal((3, 4, 2))
    np.testing.assert_allclose(tapec.vmap(f)(x), [f(m) for m in x])
    np.testing.assert_allclose(
        tapec.vmap(f, in_axes=-1, out_axes=-1)(x), np.stack([f(m) for m in np.moveaxis(x, -1, 0)], -1)
    )


SOURCES = {
    "scipy.fft.dct(x)": lambda x: fft.dct(x),
    "scipy.fft.idct(x, norm='ortho')": lambda x: fft.dct(x, 3, norm="ortho"),
    "scipy.fft.idst(x, 4, axis=0)": lambda x: fft.idst(x, 4, axis=0),
    "scipy.fft.dctn(x, orthogonalize=True)": lambda x: fft.dctn(x, orthogonalize=True),
    "scipy.fft.dstn(x, 1, axes=(1, 0), norm='ortho')": lambda x: fft.dstn(x, 1, axes=(1, 0), norm="ortho"),
}


@pytest.mark.parametrize("call", SOURCES)
def test_parameters_other_than_the_default_are_written(call):
    assert has(tapec.compile(SOURCES[call]).source(X), call)


def test_the_gradient_is_the_transposed_transform():
    source = tapec.grad(lambda x: np.sum(np.sin(fft.dct(x, norm="ortho")))).source(X)
    assert has(source, "scipy.fft.idct(_, norm='ortho')")


BAD = {
    "type": (lambda s, x: s.dct(x, 5), "there is a dct of type 1, 2, 3 and 4, got 5"),
    "norm": (lambda s, x: s.idst(x, norm="of"), """norm is "backward", "ortho" or "forward", got 'of'"""),
    "no norm": (lambda s, x: s.dst(x, norm=""), "got ''"),
    "length": (lambda s, x: s.dct(x, n=0), r"lengths are at least 1, got \[0\]"),
    "negative length": (lambda s, x: s.idct(x, n=-1), r"lengths are at least 1, got \[-1\]"),
    "lengths and axes": (lambda s, x: s.dctn(x, s=(1,), axes=(0, 1)), "1 lengths are given for 2 axes"),
    "too many lengths": (lambda s, x: s.idstn(x, s=(1, 2, 3)), "3 lengths are given, the array has 2 axes"),
    "axes twice": (lambda s, x: s.dctn(x, axes=(0, -2)), r"an axis is named twice in axes=\(0, -2\)"),
    "axes beyond": (lambda s, x: s.dctn(x, axes=2), "out of bounds"),
    "axes of fftn": (lambda s, x: s.fftn(x, axes=(0, 0)), r"an axis is named twice in axes=\(0, 0\)"),
    "norm of fft": (lambda s, x: s.fft(x, norm="x"), "norm"),
    "nothing": (lambda s, x: s.dct(x[:, :0]), r"lengths are at least 1, got \[0\]"),
}


@pytest.mark.parametrize("name", BAD)
def test_arguments_that_scipy_refuses(name):
    call, message = BAD[name]
    with pytest.raises(ValueError):
        call(scipy.fft, X)
    for x in (X, tapec.constant(X)):
        with pytest.raises(ValueError, match=message):
            call(fft, x)
    with pytest.raises(IndexError):
        fft.dct(tapec.constant(X), axis=2)
    with pytest.raises(TypeError):
        fft.rfft(tapec.constant(Z))
