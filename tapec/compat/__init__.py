"""This package gives tapec's functions the names of other libraries.

Comes in: programs written for them.  Goes out: the same names.  Must not be imported here: cli, report.
"""

from importlib import import_module
from typing import Any

__all__ = ["tensorflow"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"tapec.compat.{name}")
    raise AttributeError(f"module 'tapec.compat' has no attribute {name!r}")
