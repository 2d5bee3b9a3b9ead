"""Write lines at the head of generated code, below the one that tells its cost.

    # add_at and rows_at are helpers, which f.export writes out

The line for which shapes the code holds is worked out in `shapes_held.py`.
"""

from __future__ import annotations

from typing import Any

from tapec.codegen.runtime_helpers import helper_text

__all__ = ["helpers_line", "with_head_line"]


def with_head_line(source: str, line: str) -> str:
    """Put a line, unless it is empty, below the first one."""
    first, _, rest = source.partition("\n")
    return f"{first}\n{line}\n{rest}" if line else source


def helpers_line(code: Any) -> str:
    """Return the line that names the functions that the code calls besides NumPy's; empty where there are none."""
    *others, last = sorted(code.helpers) or [""]
    if not last:
        return ""
    named = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    try:
        helper_text(code.helpers)
    except ValueError:
        return f"# {named} called, but {'have' if others else 'has'} no source"
    return f"# {named} {'helpers' if others else 'a helper'}, which f.export writes out"
