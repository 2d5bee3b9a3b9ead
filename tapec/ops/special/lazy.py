"""Import the definitions of scipy.special's ufuncs when one is first needed."""

from __future__ import annotations

import sys

import numpy as np

from tapec.ir import Op
from tapec.ir.op import FAMILIES

__all__ = ["special_op"]


def special_op(ufunc: np.ufunc) -> Op | None:
    """Define the op of a ufunc of scipy.special; None for any other, and for one without a rule."""
    if "scipy.special" not in sys.modules:
        return None
    from tapec.ops.special.ufunc_definitions import define

    return define(ufunc)


def _find(name: str) -> Op | None:
    from tapec.ops.special.ufunc_definitions import find

    return find(name)


FAMILIES["scipy.special."] = _find
