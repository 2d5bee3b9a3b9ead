"""Which elements of the results depend on which elements of the inputs: the pattern of a Jacobian, from its graph.

For each value the walk keeps a boolean CSR matrix with a row for each of its elements and a column for each element of
the inputs in question; None where there is no dependence. The rules of operations only gather and unite rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.autodiff.bodies.recomputation import inline_checkpoints
from tapec.errors import TapecError
from tapec.ir import CONSTANT, ITEM, Graph, Node
from tapec.ir.types import is_differentiable

__all__ = ["Walk", "jacobian_pattern"]

_LARGEST = 50_000_000  # entries of one value's pattern
_KNOWN = 1_000_000  # elements of a value that is computed beforehand


def jacobian_pattern(
    graph: Graph, wrt: Sequence[int], known: dict[Node, Any] | None = None
) -> tuple[list[Any], list[Node]]:
    """For each output its pattern, with the columns of all inputs `wrt` side by side; and what made rows dense.

    `known` has values of inputs that the pattern may rely on: index arrays, masks.
    """
    graph = inline_checkpoints(graph)
    walk = Walk(known or {}, sum(graph.inputs[k].type.size for k in wrt))
    start = 0
    for k in wrt:
        node = graph.inputs[k]
        walk.patterns[node] = walk.columns(np.arange(start, start + node.type.size))
        start += node.type.size
    for node in graph.nodes:
        walk.step(node)
    return [walk.whole(o) for o in graph.outputs], walk.dense


class Walk:
    """The patterns of the values so far, and the values that are known."""

    def __init__(self, known: dict[Node, Any], width: int):
        import scipy.sparse

        self.sparse = scipy.sparse
        self.width = width
        self.patterns: dict[Node, Any] = {}
        self.values = dict(known)
        self.dense: list[Node] = []

    def step(self, node: Node) -> None:
        from tapec.autodiff.sparse.sparsity_rules import rule_of

        if node.op is CONSTANT:
            self.values[node] = node.value
        elif node.op is ITEM:
            for table in (self.patterns, self.values):
                whole = table.get(node.inputs[0])
                if whole is not None:
                    table[node] = whole[node.param("index")]
        elif any(self.patterns.get(i) is not None for i in node.inputs):
            if node.op.gradient == "yes":
                self.patterns[node] = self._checked(node, rule_of(node)(self, node))
        elif all(i in self.values for i in node.inputs):
            types = node.type if isinstance(node.type, tuple) else (node.type,)
            if sum(t.size for t in types) <= _KNOWN:
                self.values[node] = node.op.run(*[self.values[i] for i in node.inputs], **dict(node.params))

    def _checked(self, node: Node, found: Any) -> Any:
        """No pattern for what has no derivative, and none beyond all measure."""
        if isinstance(node.type, tuple):
            return tuple([p if is_differentiable(t) else None for p, t in zip(found, node.type, strict=True)])
        return found if is_differentiable(node.type) else None

    # -- making patterns --------------------------------------------------------------------------------------------
    def matrix(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Any:
        """Ones at these places, which may be named several times."""
        m = self.sparse.csr_matrix((np.ones(len(rows), bool), (rows, columns)), shape=shape, dtype=bool)
        m.sum_duplicates()
        return m

    def columns(self, places: np.ndarray) -> Any:
        """One entry a row."""
        n = len(places)
        return self.sparse.csr_matrix((np.ones(n, bool), places, np.arange(n + 1)), shape=(n, self.width))

    def empty(self, n: int) -> Any:
        return self.sparse.csr_matrix((n, self.width), dtype=bool)

    def whole(self, node: Node) -> Any:
        """The pattern of a value, without entries where it has none."""
        found = self.patterns.get(node)
        if found is None:
            return self.empty(node.type.size)
        found.sort_indices()
        return found

    def union(self, parts: Sequence[Any]) -> Any:
        """Entries that any of the patterns has."""
        found = [p for p in parts if p is not None]
        if not found:
            return None
        total = found[0]
        for p in found[1:]:
            total = total + p
        return total

    def gathered(self, pattern: Any, rows: np.ndarray) -> Any:
        """Row k of the result is row rows[k] of the pattern; none where that is negative."""
        if pattern is None:
            return None
        if rows.size and rows.min() < 0:
            pattern = self.sparse.vstack([pattern, self.empty(1)], format="csr")  # -1 finds it
        return pattern[rows]

    def mixed(self, rows: np.ndarray, sources: np.ndarray, n: int, pattern: Any) -> Any:
        """Row rows[k] of the result has the entries of row sources[k] of the pattern, for all k."""
        if pattern is None:
            return None
        self.check(len(rows))
        return self.matrix(rows, sources, (n, pattern.shape[0])) @ pattern

    def grouped(self, pattern: Any, groups: np.ndarray, results: np.ndarray) -> Any:
        """Element k of the result depends on all elements of its group, results[k]."""
        if pattern is None:
            return None
        n = int(max(groups.max(initial=-1), results.max(initial=-1))) + 1
        united = self.mixed(groups, np.arange(len(groups)), n, pattern)
        sizes = np.diff(united.indptr)
        self.check(int(sizes[results].sum()))
        return united[results]

    def check(self, entries: int) -> None:
        if entries > _LARGEST:
            raise TapecError(
                f"the sparsity pattern has more than {_LARGEST} entries. Fix: a dense Jacobian, or vector products "
                f"(tapec.jvp, tapec.vjp, tapec.hvp)"
            )

    def conservative(self, node: Node) -> Any:
        """All that is known of an operation without a rule: each element may depend on everything."""
        self.dense.append(node)
        parts = [self.patterns[i] for i in node.inputs if self.patterns.get(i) is not None]
        stacked = self.sparse.vstack(parts, format="csr")
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        groups = np.zeros(stacked.shape[0], int)
        made = tuple([self.grouped(stacked, groups, np.zeros(math.prod(t.shape), int)) for t in types])
        return made if isinstance(node.type, tuple) else made[0]
