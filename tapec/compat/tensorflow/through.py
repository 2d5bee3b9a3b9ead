"""The short way of faces: straight through to the tensors behind them, where all is of one dtype.

What is not as simple as that goes the long way, which converts, or says what does not go together.
"""

from __future__ import annotations

from types import NoneType
from typing import Any

__all__ = ["behind", "is_static"]

_BOUNDS = frozenset({int, NoneType})
_PLAIN = frozenset({int, NoneType, type(...)})


def behind(inputs: tuple[Any, ...], faces: frozenset[type]) -> list[Any] | None:
    """What stands behind operands of one dtype, and numbers that take it; None where there are others."""
    dtype: Any = None
    found = []
    needs_float = False
    for x in inputs:
        kind = type(x)
        if kind in faces:
            inner = x._inner
            if dtype is None:
                dtype = inner.dtype
            elif inner.dtype != dtype:
                return None
            found.append(inner)
        elif kind is int or kind is float:
            needs_float = needs_float or kind is float
            found.append(x)
        else:
            return None
    return None if needs_float and dtype.kind not in "fc" else found


def is_static(index: Any) -> bool:
    """Is it an index of numbers and slices of numbers alone?"""
    for p in index if type(index) is tuple else (index,):
        if type(p) not in _PLAIN and not (
            type(p) is slice and _BOUNDS.issuperset(map(type, (p.start, p.stop, p.step)))
        ):
            return False
    return True
