"""Ops that need SciPy, by the beginning of their names: their modules are imported when one is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tapec.ir import Op
from tapec.ir.op import FAMILIES, OPS

__all__: list[str] = []


def _family(*modules: str) -> Any:
    def find(name: str) -> Op | None:
        for module in modules:
            import_module(module)
        return OPS.get(name)

    return find


def _special(name: str) -> Op | None:
    from tapec.ops.special import find

    return find(name)


FAMILIES["scipy.special."] = _special
FAMILIES["scipy.sparse."] = _family("tapec.ops.scipy_sparse")
FAMILIES["scipy.fft."] = _family("tapec.ops.scipy_fft")
FAMILIES["scipy.linalg."] = _family("tapec.ops.scipy_linalg", "tapec.ops.scipy_lu")
FAMILIES["scipy.signal."] = _family("tapec.ops.scipy_signal", "tapec.ops.scipy_filter")
