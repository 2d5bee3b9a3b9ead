"""Import the rarely used families of this package on first use; list the NumPy functions that each one defines."""

from types import ModuleType

from tapec.ops.core.lazy import family

__all__ = ["pad", "sliding_windows"]


@family("pad")
def pad() -> ModuleType:
    from tapec.ops.layout import pad

    return pad


@family("sliding_window_view")
def sliding_windows() -> ModuleType:
    from tapec.ops.layout import sliding_windows

    return sliding_windows
