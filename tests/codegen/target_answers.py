"""Ask targets how they write each op: as it is, made of others, or not at all; for the tests and docs/support.md."""

from __future__ import annotations

from functools import cache

import numpy as np

from tapec.codegen import compile_graph, list_inputs
from tapec.codegen.floats import packing
from tapec.codegen.numpy import target_ops
from tapec.codegen.target import target_of
from tapec.errors import UnsupportedError
from tapec.ir import OPS, Op
from tapec.ops.core.sample_domains import Case
from tests.ops.cases import SPECIAL, cases, graph_of
from tests.ops.test_conformance import TESTED

__all__ = ["LISTED", "answer", "in_array_api", "rows", "samples"]

# ops that only the passes of a target make do not come to others
OWN_OPS = [getattr(module, name) for module in (target_ops, packing, list_inputs) for name in module.__all__]
OWN = {op.name for op in OWN_OPS if isinstance(op, Op)}
LISTED = [name for name in TESTED if name not in OWN and OPS[name].kind != "float"]


def in_array_api(x: object) -> bool:
    """Return whether the array API has the dtype."""
    return np.asarray(x).dtype.char in "?bhilqBHILQfdFD"


def samples(op: Op) -> dict[str, Case]:
    """Return the cases of an op, as arrays."""
    found = {
        label: Case(tuple([x if isinstance(x, np.generic) else np.asarray(x) for x in case.inputs]), case.params)
        for label, case in cases(op).items()
    }
    return {label: case for label, case in found.items() if all(map(in_array_api, case.inputs))}


@cache
def answer(name: str, target: str) -> str:
    """Return `written`, `decomposed`, or `refused` with the reason; of several answers, each."""
    op, found = OPS[name], {}
    for case in samples(op).values():
        graph = graph_of(op, case)
        try:
            compile_graph(graph, "f", target=target)
        except UnsupportedError as error:
            found["refused: " + str(error).rpartition(": ")[2]] = None
        else:
            as_it_is = all([node.op is not op or target_of(target).refusal(node) is None for node in graph.nodes])
            found["written" if as_it_is else "decomposed"] = None
    return ", ".join(sorted(found, reverse=True))


def rows() -> list[tuple[str, str, str]]:
    """Return op, kind and answer of the portable target; the ufuncs of scipy.special are one row."""
    found = [(name, OPS[name].kind, answer(name, "portable")) for name in LISTED]
    [said] = {answer(name, "portable") for name in sorted(SPECIAL)[:3]}
    return [*found, ("scipy.special.*", "elementwise", said)]
