"""scipy.signal on tensors."""

from __future__ import annotations

from typing import Any

from scipy import signal as _signal

from tapec.ops.kit import inexact
from tapec.ops.scipy_signal import convolve, correlate

__all__ = ["convolve", "correlate", "fftconvolve", "oaconvolve"]


def __getattr__(name: str) -> Any:
    return getattr(_signal, name)


def fftconvolve(in1: Any, in2: Any, mode: str = "full") -> Any:
    """Products of integers by transforms are floats, unlike those of `convolve`, which rounds them."""
    return convolve(inexact(in1), inexact(in2), mode, "fft")


def oaconvolve(in1: Any, in2: Any, mode: str = "full") -> Any:
    return fftconvolve(in1, in2, mode)
