"""This package has SciPy's functions on tensors, where SciPy itself has no protocol: `from tapec.scipy import stats`.

The ufuncs of scipy.special need nothing of this: `scipy.special.erf(x)` works as it is. What a module here does not
have, it takes from SciPy's module of the same name.

Comes in: tensors and arrays.  Goes out: the same.  Needs SciPy; nothing of tapec imports it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tapec.extras import needs

with needs("scipy", "tapec.scipy"):
    import scipy as _scipy

__all__ = ["fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "spatial", "special", "stats"]

MODULES = ("fft", "integrate", "interpolate", "linalg", "ndimage", "signal", "spatial.distance", "special", "stats")


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"tapec.scipy.{name}")
    raise AttributeError(f"module 'tapec.scipy' has no attribute {name!r}")
