"""Import the target when it is first asked for."""

from __future__ import annotations

from tapec.codegen.target import Target

__all__ = ["portable"]


def portable() -> Target:
    from tapec.codegen.portable.lowering import PORTABLE

    return PORTABLE
