"""Ufuncs of scipy.special, each defined as an op when the first call on a stand-in meets it; SciPy is there by then.

The rules stand in `tapec.ops.special_rules`; this module only turns them into ops.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import Any

import numpy as np

from tapec.ir import Op
from tapec.ops.array import UFUNCS
from tapec.ops.define import elementwise

__all__ = ["define", "define_all", "face", "find"]

HOME = "scipy.special."
_DEFINING = Lock()

# ufuncs behind functions of other names
_FACES = {"_zeta": "zeta", "_riemann_zeta": "zeta", "_lambertw": "lambertw"}


def face(name: str) -> str:
    """What people call a ufunc of scipy.special."""
    return _FACES.get(name, name)


def define(ufunc: np.ufunc) -> Op | None:
    """Define the op of a ufunc of scipy.special; None for any other, and for one without a rule."""
    special = sys.modules.get("scipy.special")
    name = ufunc.__name__
    if special is None or not _is_home(special, ufunc):
        return None
    from tapec.ops.special_rules import RULES

    rule = RULES.get(name)
    if rule is None:
        return None
    slots = ", ".join(f"{{{i}}}" for i in range(ufunc.nin))
    with _DEFINING:  # another thread may meet it at the same time
        known = UFUNCS.get(ufunc)
        return known or elementwise(
            ufunc,
            name=HOME + name,
            source=f"{HOME}{face(name)}({slots})",
            sample=rule.sample,
            facts={"imports": "scipy.special", **rule.facts},
            **rule.derivative,
        )


def _is_home(special: Any, ufunc: np.ufunc) -> bool:
    name = ufunc.__name__
    return getattr(special, name, None) is ufunc or getattr(special._ufuncs, name, None) is ufunc


def find(name: str) -> Op | None:
    """The op of this name, for graphs that come from text or from a file: SciPy is imported for it."""
    from scipy import special

    key = name.removeprefix(HOME)
    ufunc = getattr(special, key, None)
    if not isinstance(ufunc, np.ufunc):
        ufunc = getattr(special._ufuncs, key, None)
    return None if ufunc is None else UFUNCS.get(ufunc) or define(ufunc)


def define_all() -> list[Op]:
    """Everything there is a rule for, for tests and the support table; an older SciPy has fewer."""
    from tapec.ops.special_rules import RULES

    found = [find(HOME + name) for name in RULES]
    return [op for op in found if op is not None]
