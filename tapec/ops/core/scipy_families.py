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
    from tapec.ops.special.ufunc_definitions import find

    return find(name)


FAMILIES["scipy.special."] = _special
FAMILIES["scipy.sparse."] = _family("tapec.ops.scipy.sparse_products")
FAMILIES["scipy.fft."] = _family("tapec.ops.scipy.cosine_transforms")
FAMILIES["scipy.linalg."] = _family("tapec.ops.scipy.matrix_functions", "tapec.ops.scipy.lu")
FAMILIES["scipy.signal."] = _family("tapec.ops.scipy.convolve_nd", "tapec.ops.scipy.recursive_filter")
