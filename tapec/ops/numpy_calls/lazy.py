"""Import the rarely used families of this package on first use; list the NumPy functions that each one defines."""

from types import ModuleType

from tapec.ops.core.lazy import family

__all__ = ["apply_along_axis"]


@family("apply_along_axis apply_over_axes")
def apply_along_axis() -> ModuleType:
    from tapec.ops.numpy_calls import apply_along_axis

    return apply_along_axis
