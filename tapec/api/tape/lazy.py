"""This gate imports, when first used, what few tapes need: Jacobians, and the source and graphs of a gradient."""

from __future__ import annotations

from types import ModuleType

__all__ = ["tape_inspection", "tape_jacobian"]


def tape_jacobian() -> ModuleType:
    from tapec.api.tape import tape_jacobian as module

    return module


def tape_inspection() -> ModuleType:
    from tapec.api.tape import tape_inspection as module

    return module
