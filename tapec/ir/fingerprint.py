"""A stable digest of a graph's meaning: the same for equal graphs in every process, whatever names they use."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from tapec.ir.graph import CONSTANT, Graph

__all__ = ["fingerprint"]


def fingerprint(graph: Graph) -> str:
    """Digest of types, operations, parameters, wiring and the bytes of constants."""
    digest = hashlib.sha256()
    number = {node: i for i, node in enumerate((*graph.inputs, *graph.nodes))}
    for node in graph.inputs:
        digest.update(f"input {node.type}\n".encode())
    for node in graph.nodes:
        if node.op is CONSTANT:
            digest.update(f"constant {node.type} {_value_bytes(node.value)!r}\n".encode())
        else:
            wires = ",".join(str(number[i]) for i in node.inputs)
            digest.update(f"{node.op.name} {wires} {_params(node.params)} {node.type}\n".encode())
    digest.update(("return " + ",".join(str(number[o]) for o in graph.outputs)).encode())
    return digest.hexdigest()


def _value_bytes(value: Any) -> Any:
    return value.tobytes() if isinstance(value, (np.ndarray, np.generic)) else repr(value)


def _params(params: Any) -> str:
    return ", ".join(f"{k}={v.fingerprint if isinstance(v, Graph) else repr(v)}" for k, v in params)
