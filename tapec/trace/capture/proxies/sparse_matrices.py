"""Define stand-ins for captured matrices of scipy.sparse.

Products with tensors read the arrays of a matrix as inputs. Whatever else is asked of it, SciPy answers past the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.ops import ArrayLike

__all__ = ["sparse_stand_in"]

_NO_ELEMENTS = frozenset({"_shape", "maxprint"})  # attributes that say nothing of the elements; the shape is a fact
_ARRAYS = ("data", "indices", "indptr")


def sparse_stand_in(matrix: Any, note: Callable[[], None], is_behind: Callable[[Any, Any], None]) -> Any:
    """Return an instance of a subclass that shares the matrix's arrays.

    It calls `note` where anything else than a product with a tensor reads them. `is_behind` hears of transposes, with
    their stand-ins.
    """
    kind: Any = type(matrix)

    class StandIn(kind):
        _tapec_matrix = property(lambda self: matrix)
        __class__ = property(lambda self: kind)
        T = property(lambda self: self.transpose())

        def __getattribute__(self, name: str) -> Any:
            if name in matrix.__dict__ and name not in _NO_ELEMENTS:
                note()
            return object.__getattribute__(self, name)

        def transpose(self, *args: Any, **kwargs: Any) -> Any:
            found = matrix.transpose(*args, **kwargs)
            if not any(args) and not kwargs.get("copy"):
                found.__dict__.update({name: getattr(matrix, name) for name in _ARRAYS})  # and no views of them
            made = sparse_stand_in(found, note, is_behind)
            is_behind(found, made)
            return made

        def __reduce_ex__(self, protocol: Any) -> Any:  # of which copies are made, too
            note()
            return matrix.__reduce_ex__(protocol)

        def __matmul__(self, other: Any) -> Any:
            return NotImplemented if isinstance(other, ArrayLike) else super().__matmul__(other)

        def __rmatmul__(self, other: Any) -> Any:
            return NotImplemented if isinstance(other, ArrayLike) else super().__rmatmul__(other)

        def __mul__(self, other: Any) -> Any:
            return NotImplemented if isinstance(other, ArrayLike) else super().__mul__(other)

        def __rmul__(self, other: Any) -> Any:
            return NotImplemented if isinstance(other, ArrayLike) else super().__rmul__(other)

        def dot(self, other: Any) -> Any:
            return other.__rmatmul__(self) if isinstance(other, ArrayLike) else super().dot(other)

    StandIn.__name__, StandIn.__qualname__ = kind.__name__, kind.__qualname__
    found = object.__new__(StandIn)
    object.__setattr__(found, "__dict__", matrix.__dict__)
    return found
