"""The short way of faces: straight through to the tensors behind them, where all is of one dtype.

What is not as simple as that goes the long way, which converts, or says what does not go together.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import Any

import numpy as np

__all__ = ["OF_TENSORS", "are_static", "behind", "behind_arguments", "is_static"]

_INTS = frozenset({int})
_BOUNDS = frozenset({int, NoneType})
_STATIC = frozenset({int, NoneType, bool, str})
_PLAIN = frozenset({int, NoneType, type(...)})


# functions that put nothing of their own beside the tensors that they are given: the first of these, and where they end
OF_TENSORS: dict[Any, tuple[int, int]] = dict.fromkeys(
    (
        *(np.sum, np.prod, np.mean, np.max, np.min, np.any, np.all, np.std, np.var, np.argmax, np.argmin),
        *(np.reshape, np.ravel, np.transpose, np.expand_dims, np.squeeze, np.broadcast_to, np.tile, np.flip, np.roll),
        *(np.concatenate, np.stack, np.split, np.take, np.sort, np.cumsum, np.cumprod, np.round, np.real, np.imag),
        *(np.trace, np.linalg.inv, np.linalg.det, np.linalg.cholesky, np.linalg.norm),
    ),
    (0, 1),
)
OF_TENSORS |= dict.fromkeys((np.dot, np.tensordot, np.linalg.solve), (0, 2)) | {np.where: (1, 3), np.einsum: (1, 64)}


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
    return None if dtype is None or (needs_float and dtype.kind not in "fc") else found


def behind_arguments(function: Any, args: tuple[Any, ...], kind: Any) -> list[Any] | None:
    """What stands behind tensors of one dtype, or rows of those, and what says how; None where there are others."""
    found: list[Any] = []
    dtypes = set()
    first, last = OF_TENSORS[function]
    for k, a in enumerate(args):
        computed = first <= k < last
        if type(a) is kind:
            found.append(a._inner)
            if computed:
                dtypes.add(a._inner.dtype)
        elif (type(a) is list or type(a) is tuple) and a and {kind}.issuperset(map(type, a)):
            found.append([x._inner for x in a])
            dtypes.update([x.dtype for x in found[-1]])
        elif not computed and are_static((a,)):
            found.append(a)
        else:
            return None
    return found if len(dtypes) == 1 else None


def are_static(given: Iterable[Any]) -> bool:
    """Are these numbers, names and axes that say how something is done?"""
    for a in given:
        if type(a) not in _STATIC and not (type(a) is tuple and _INTS.issuperset(map(type, a))):
            return False
    return True


def is_static(index: Any) -> bool:
    """Is it an index of numbers and slices of numbers alone?"""
    for p in index if type(index) is tuple else (index,):
        if type(p) not in _PLAIN and not (
            type(p) is slice and _BOUNDS.issuperset(map(type, (p.start, p.stop, p.step)))
        ):
            return False
    return True
