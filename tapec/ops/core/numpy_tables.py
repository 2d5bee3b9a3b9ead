"""Map NumPy's functions, ufuncs and methods to their meaning on stand-ins. The families of ops fill these tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.ir import Op

__all__ = ["FUNCTIONS", "LIKE", "METHODS", "UFUNCS"]

UFUNCS: dict[Any, Op] = {}  # NumPy ufunc -> op
FUNCTIONS: dict[Any, Callable[..., Any]] = {}  # NumPy function -> our function of the same signature
METHODS: dict[str, Callable[..., Any]] = {}  # method name -> our function of (self, ...)
LIKE: dict[Any, Callable[..., Any]] = {}  # NumPy maker of arrays -> our function of (the `like=` stand-in, ...)
