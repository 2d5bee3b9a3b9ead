"""Import the rarely used families of this package on first use; list the NumPy functions that each one defines."""

from types import ModuleType

from tapec.ops.core.lazy import family

__all__ = ["sets"]


@family("""
    in1d intersect1d isin packbits ravel_multi_index setdiff1d setxor1d trim_zeros union1d unique unique_all
    unique_counts unique_inverse unique_values unpackbits unravel_index""")
def sets() -> ModuleType:
    from tapec.ops.indexing import sets

    return sets
