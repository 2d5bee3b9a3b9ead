"""Import the rarely used families of this package on first use; list the NumPy functions that each one defines."""

from types import ModuleType

from tapec.ops.core.lazy import family

__all__ = ["convolve", "differences", "fft"]


@family("convolve correlate cross kron")
def convolve() -> ModuleType:
    from tapec.ops.signal import convolve

    return convolve


@family("diff ediff1d gradient trapezoid trapz")
def differences() -> ModuleType:
    from tapec.ops.signal import differences

    return differences


@family("fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn")
def fft() -> ModuleType:
    from tapec.ops.signal import fft

    return fft
