"""A bare graph is input nodes, all other nodes in an order that can run, and output nodes.

A fingerprint tells what it means: it is the same for equal graphs in every process, whatever names they use. Python
numbers count where they are used, so where they stand among the nodes makes no difference. `Graph` adds text and what
the passes keep with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tapec.ir.lazy import sha256_hex
from tapec.ir.node import CONSTANT, Node, is_literal

__all__ = ["BareGraph", "all_nodes"]


class BareGraph:
    """Holds a pure program as data. Programs of one meaning are equal."""

    __slots__ = ("__weakref__", "_fingerprint", "inputs", "name", "nodes", "outputs")

    def __init__(self, inputs: Iterable[Node], nodes: Sequence[Node], outputs: Iterable[Node], name: str = "graph"):
        self.inputs = tuple(inputs)
        self.nodes = tuple(nodes)
        self.outputs = tuple(outputs)
        self.name = name
        self._fingerprint: str | None = None

    @property
    def fingerprint(self) -> str:
        """A stable digest of meaning: same for equal programs, in every process."""
        if self._fingerprint is None:
            self._fingerprint = fingerprint(self)
        return self._fingerprint

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BareGraph):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def all_nodes(nodes: Iterable[Node], without: Callable[[Node], bool] | None = None) -> list[Node]:
    """Return nodes and those of their bodies, each once; not those of bodies that a node is `without`."""
    found: dict[Node, None] = {}
    left = [nodes]
    while left:
        for node in left.pop():
            if node not in found:
                found[node] = None
                if node.bodies and not (without is not None and without(node)):
                    left += [body.nodes for body in node.bodies]
    return list(found)


def fingerprint(program: BareGraph) -> str:
    """Return a digest of types, operations, parameters, roles, wiring and the bytes of constants."""
    wires: dict[Node, str] = {}
    lines = []
    for node in program.inputs:
        wires[node] = f"%{len(wires)}"
        lines.append(f"input {node.type!r}")
    count = len(wires)
    for node in program.nodes:
        if is_literal(node):
            wires[node] = repr(node.value)
            continue
        wires[node] = f"%{count}"
        count += 1
        given = ",".join([wires[i] for i in node.inputs])
        static = _constant(node.value) if node.op is CONSTANT else _params(node.given)
        lines.append(f"{node.op.name} {given} {static} {node.type!r} {node.role or ''}")
    lines.append("return " + ",".join([wires[o] for o in program.outputs]))
    return sha256_hex("\n".join(lines).encode())


def _constant(value: Any) -> str:
    return sha256_hex(np.ascontiguousarray(value).tobytes())


def _params(params: Any) -> str:
    return ", ".join([f"{k}={_bodies(v) if k == 'bodies' else repr(v)}" for k, v in params])


def _bodies(bodies: tuple[BareGraph, ...]) -> str:
    return " ".join([body.fingerprint for body in bodies])
