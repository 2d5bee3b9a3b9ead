"""Import the rarely used families of this package on first use; list the NumPy functions that each one defines."""

from types import ModuleType

from tapec.ops.core.lazy import family

__all__ = ["coefficients", "two_variables"]


@family("poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots")
def coefficients() -> ModuleType:
    from tapec.ops.polynomial import coefficients

    return coefficients


@family("polygrid2d polyval2d")
def two_variables() -> ModuleType:
    from tapec.ops.polynomial import two_variables

    return two_variables
