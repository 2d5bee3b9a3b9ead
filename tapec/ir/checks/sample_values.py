"""Draw values of a type, inside the domain of most functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir.graph import Graph
from tapec.ir.types import Type

__all__ = ["WEAK", "sample_value", "sample_values"]

WEAK = {"float": 0.5, "int": 1, "complex": 0.5 + 0.5j, "bool": True}  # a Python number of each kind


def sample_value(t: Type, rng: np.random.Generator) -> Any:
    """A value of a type, inside the domain of most functions: floats lie between 0.1 and 0.9, integers are 0 or 1."""
    if t.weak:
        return WEAK[{"f": "float", "i": "int", "c": "complex"}[t.dtype.kind]]
    if t.dtype.kind not in "fc":
        return np.asarray(rng.integers(0, 2, t.shape)).astype(t.dtype)[()]
    value = np.asarray(rng.uniform(0.1, 0.9, t.shape))
    if t.dtype.kind == "c":
        value = value + 1j * rng.uniform(0.1, 0.9, t.shape)
    return value.astype(t.dtype)[()]


def sample_values(graph: Graph, seed: int = 0) -> list[Any]:
    """Return values for a graph's inputs, of their types."""
    rng = np.random.default_rng(seed)
    return [sample_value(i.type, rng) for i in graph.inputs]
