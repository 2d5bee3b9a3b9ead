"""Import the rarely used families of this package on first use; list the NumPy functions that each one defines."""

from types import ModuleType

from tapec.ops.core.lazy import family

__all__ = ["sinc_i0_unwrap"]


@family("i0 sinc unwrap vander")
def sinc_i0_unwrap() -> ModuleType:
    from tapec.ops.elementwise import sinc_i0_unwrap

    return sinc_i0_unwrap
