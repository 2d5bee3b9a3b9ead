"""Give the loggers `tapec.trace`, `tapec.compile` and `tapec.cache` to who writes to them.

A program that has not imported `logging` cannot have asked for records: it is not imported for it.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["logger"]


def logger(name: str) -> Any:
    """Return the logger `tapec.<name>`, or None where nobody listens to what it says at the level INFO."""
    logging = sys.modules.get("logging")
    if logging is None or not hasattr(logging, "getLogger"):  # it may be just being imported
        return None
    found = logging.getLogger(f"tapec.{name}")
    return found if found.isEnabledFor(logging.INFO) else None
