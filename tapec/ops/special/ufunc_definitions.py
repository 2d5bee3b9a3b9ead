"""Define the op of a ufunc of scipy.special when the first call on a stand-in meets it; SciPy is imported by then.

The rules stand in modules beside this one (`_FAMILIES`), which only turns them into ops.
"""

from __future__ import annotations

import sys
from threading import RLock
from typing import Any

import numpy as np

from tapec.extras import needs
from tapec.ir import OPS, Op
from tapec.ops.core.define import elementwise
from tapec.ops.core.stand_in import UFUNCS
from tapec.ops.special import bessel_family, distributions, elliptic, orthogonal_polynomials, ufunc_rules
from tapec.ops.special.rule_helpers import RULES

__all__ = ["define", "define_all", "face", "find", "takes_tensors"]

HOME = "scipy.special."
_DEFINING = RLock()
# importing these modules fills `RULES`
_FAMILIES = (ufunc_rules, orthogonal_polynomials, bessel_family, elliptic, distributions)

# public names of ufuncs; functions of `_FACES` hand tensors on, those of `_ASKING` look into their arguments first
_FACES = {"_zeta": "zeta", "_riemann_zeta": "zeta", "_lambertw": "lambertw"}
_ASKING = {f"_spherical_{kind}n": f"spherical_{kind}n" for kind in "jyik"}


def face(name: str) -> str:
    """Return the public name of a ufunc of scipy.special."""
    return _FACES.get(name) or _ASKING.get(name, name)


def takes_tensors(name: str) -> bool:
    """Return whether SciPy's function of this public name hands tensors on to the ufunc.

    For those that do not, `tapec.scipy.special` has functions that do.
    """
    return name not in _ASKING


def define(ufunc: np.ufunc) -> Op | None:
    """Define the op of a ufunc of scipy.special; None for any other, and for one without a rule."""
    special = sys.modules.get("scipy.special")
    name = ufunc.__name__
    if special is None or not _is_home(special, ufunc):
        return None
    rule = RULES.get(name)
    if rule is None:
        return None
    slots = ", ".join(f"{{{i}}}" for i in range(ufunc.nin))
    with _DEFINING:  # another thread may meet it at the same time
        known = UFUNCS.get(ufunc) or OPS.get(HOME + name)  # the latter after a fork in the middle of this
        op = known or elementwise(
            ufunc,
            name=HOME + name,
            source=f"{HOME}{face(name)}({slots})",
            sample=rule.sample,
            facts={"imports": "scipy.special"},
            **rule.derivative,
        )
        UFUNCS[ufunc] = op
        return op


def _is_home(special: Any, ufunc: np.ufunc) -> bool:
    name = ufunc.__name__
    return getattr(special, name, None) is ufunc or getattr(special._ufuncs, name, None) is ufunc


def find(name: str) -> Op | None:
    """Return the op of this name, for graphs that come from text or from a file; SciPy is imported for it."""
    with needs("scipy", name):
        from scipy import special

    key = name.removeprefix(HOME)
    ufunc = getattr(special, key, None)
    if not isinstance(ufunc, np.ufunc):
        ufunc = getattr(special._ufuncs, key, None)
    return None if ufunc is None else UFUNCS.get(ufunc) or define(ufunc)


def define_all() -> list[Op]:
    """Return all ops with a rule, for tests and the support table; an older SciPy has fewer."""
    found = [find(HOME + name) for name in RULES]
    return [op for op in found if op is not None]
