"""scipy.signal on tensors."""

from __future__ import annotations

from typing import Any

from scipy import signal as _signal

from tapec.ops.kit import as_array
from tapec.ops.scipy_signal import convolve, correlate

__all__ = ["convolve", "correlate", "fftconvolve", "oaconvolve"]


def __getattr__(name: str) -> Any:
    return getattr(_signal, name)


def fftconvolve(in1: Any, in2: Any, mode: str = "full") -> Any:
    return convolve(_inexact(in1), _inexact(in2), mode, "fft")


def oaconvolve(in1: Any, in2: Any, mode: str = "full") -> Any:
    return fftconvolve(in1, in2, mode)


def _inexact(x: Any) -> Any:
    """Products of integers by transforms are floats, unlike those of `convolve`, which rounds them."""
    x = as_array(x)
    return x if x.dtype.kind in "fc" else x.astype(float)
