"""Hold the patterns and the known values of a walk through a graph, and make new patterns of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.autodiff import tuning
from tapec.errors import TapecError
from tapec.extras import needs
from tapec.ir import Node

__all__ = ["SparsityWalk"]


class SparsityWalk:
    """Holds the patterns of the values so far, and the values that are known."""

    def __init__(self, known: dict[Node, Any], width: int):
        with needs("scipy", "sparsity"):
            import scipy.sparse

        self.sparse = scipy.sparse
        self.width = width
        self.patterns: dict[Node, Any] = {}
        self.values = dict(known)
        self.dense: list[Node] = []

    # -- making patterns --------------------------------------------------------------------------------------------
    def matrix(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Any:
        """Return a pattern with ones at these places, which may be named several times."""
        m = self.sparse.csr_matrix((np.ones(len(rows), bool), (rows, columns)), shape=shape, dtype=bool)
        m.sum_duplicates()
        return m

    def columns(self, places: np.ndarray) -> Any:
        """Return a pattern with one entry a row."""
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
        """Return a pattern with the entries that any of the patterns has."""
        found = [p for p in parts if p is not None]
        if not found:
            return None
        total = found[0]
        for p in found[1:]:
            total = total + p
        return total

    def gathered(self, pattern: Any, rows: np.ndarray) -> Any:
        """Return a pattern whose row k is row rows[k] of the given one; an empty row where that is negative."""
        if pattern is None:
            return None
        if rows.size and rows.min() < 0:
            pattern = self.sparse.vstack([pattern, self.empty(1)], format="csr")  # -1 finds it
        return pattern[rows]

    def mixed(self, rows: np.ndarray, sources: np.ndarray, n: int, pattern: Any) -> Any:
        """Return a pattern whose row rows[k] has the entries of row sources[k] of the given one, for all k."""
        if pattern is None:
            return None
        self.check(len(rows))
        return self.matrix(rows, sources, (n, pattern.shape[0])) @ pattern

    def grouped(self, pattern: Any, groups: np.ndarray, results: np.ndarray) -> Any:
        """Return a pattern in which element k of the result depends on all elements of its group, results[k]."""
        if pattern is None:
            return None
        n = int(max(groups.max(initial=-1), results.max(initial=-1))) + 1
        united = self.mixed(groups, np.arange(len(groups)), n, pattern)
        sizes = np.diff(united.indptr)
        self.check(int(sizes[results].sum()))
        return united[results]

    def check(self, entries: int) -> None:
        if entries > tuning.PATTERN_MAX_ENTRIES:
            raise TapecError(
                f"the sparsity pattern has more than {tuning.PATTERN_MAX_ENTRIES} entries. Fix: a dense Jacobian, or "
                f"vector products (tapec.jvp, tapec.vjp, tapec.hvp)"
            )

    def conservative(self, node: Node) -> Any:
        """Take every element to depend on everything: no more is known of an operation without a rule."""
        self.dense.append(node)
        parts = [self.patterns[i] for i in node.inputs if self.patterns.get(i) is not None]
        stacked = self.sparse.vstack(parts, format="csr")
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        groups = np.zeros(stacked.shape[0], int)
        made = tuple([self.grouped(stacked, groups, np.zeros(math.prod(t.shape), int)) for t in types])
        return made if isinstance(node.type, tuple) else made[0]
