"""Say how to install a package that tapec can do without, where it is needed and is not there.

Comes in: nothing.  Goes out: `needs`, `install_hint`, `is_missing`.  Must not be imported here: anything of tapec.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["EXTRAS", "install_hint", "is_missing", "needs"]

EXTRAS = {"scipy": "SciPy", "graphviz": "Graphviz's Python package", "optree": "optree"}  # by the name of the extra


def install_hint(extra: str) -> str:
    return f"pip install tapec[{extra}]"


def is_missing(extra: str) -> bool:
    """Return whether the package that an extra brings is not installed; it is not imported for that."""
    from importlib.util import find_spec  # not at the import of tapec

    return sys.modules[extra] is None if extra in sys.modules else find_spec(extra) is None


class needs:
    """In the block of `with needs("scipy", "tapec.scipy"):`, an import of a package that is not there says what to do.

    The error stays a ModuleNotFoundError with the name of the package.
    """

    __slots__ = ("extra", "what")

    def __init__(self, extra: str, what: str):
        self.extra, self.what = extra, what

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == self.extra:
            told = f"{self.what} needs {EXTRAS[self.extra]}, which is not installed: {install_hint(self.extra)}"
            raise ModuleNotFoundError(told, name=self.extra) from None
