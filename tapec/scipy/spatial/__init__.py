"""This package has scipy.spatial on tensors: `from tapec.scipy.spatial import distance`; the rest is SciPy's.

Comes in: tensors and arrays.  Goes out: the same.  Needs SciPy; nothing of tapec imports it.
"""

from __future__ import annotations

from typing import Any

from scipy import spatial as _spatial

from tapec.scipy.spatial import distance

__all__ = ["distance"]


def __getattr__(name: str) -> Any:
    return getattr(_spatial, name)
