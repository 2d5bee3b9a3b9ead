"""scipy.signal on tensors."""

from __future__ import annotations

from typing import Any

from scipy import signal as _signal

from tapec.ops.scipy_signal import convolve, correlate

__all__ = ["convolve", "correlate", "fftconvolve", "oaconvolve"]


def __getattr__(name: str) -> Any:
    return getattr(_signal, name)


def fftconvolve(in1: Any, in2: Any, mode: str = "full") -> Any:
    return convolve(in1, in2, mode, "fft")


def oaconvolve(in1: Any, in2: Any, mode: str = "full") -> Any:
    return convolve(in1, in2, mode, "fft")
