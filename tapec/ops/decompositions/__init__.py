"""Say how ops are made of others, in NumPy on stand-ins, as derivatives are: for targets that do not write them."""

from tapec.ops.decompositions.table import are_places, decomposition

__all__ = ["are_places", "decomposition"]
