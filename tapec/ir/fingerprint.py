"""A stable digest of a graph's meaning: the same for equal graphs in every process, whatever names they use.

Python numbers count where they are used, so where they stand among the nodes makes no difference.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from tapec.ir.graph import CONSTANT, Graph, Node, is_literal

__all__ = ["fingerprint"]


def fingerprint(graph: Graph) -> str:
    """Digest of types, operations, parameters, roles, wiring and the bytes of constants."""
    wires: dict[Node, str] = {}
    lines = []
    for node in graph.inputs:
        wires[node] = f"%{len(wires)}"
        lines.append(f"input {node.type!r}")
    count = len(wires)
    for node in graph.nodes:
        if is_literal(node):
            wires[node] = repr(node.value)
            continue
        wires[node] = f"%{count}"
        count += 1
        given = ",".join([wires[i] for i in node.inputs])
        static = _constant(node.value) if node.op is CONSTANT else _params(node.params)
        lines.append(f"{node.op.name} {given} {static} {node.type!r} {node.role or ''}")
    lines.append("return " + ",".join([wires[o] for o in graph.outputs]))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _constant(value: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()


def _params(params: Any) -> str:
    return ", ".join([f"{k}={v.fingerprint if isinstance(v, Graph) else repr(v)}" for k, v in params]) if params else ""
