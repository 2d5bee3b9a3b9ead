"""`Composites` is the entry to this package: a mode is handed it, and asks what of a program is taken as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from tapec.autodiff.composite.composite_rule import (
    OF_ROOTS,
    Shortcut,
    may_have_exponentials,
    may_have_roots,
    unless_infinite,
)
from tapec.autodiff.composite.find_composites import shortcut
from tapec.autodiff.composite.lazy import cancelling_shifts, shared_pairs
from tapec.ir import Node, ops
from tapec.locks import computed_once

if TYPE_CHECKING:
    from tapec.autodiff.composite.shared_products import Pairs

__all__ = ["Composites", "Shortcut", "unless_infinite"]


class Composites:
    """Finds the operations of a program that are differentiated as one: what ends in a node is its `Shortcut`.

    No shortcut skips one of the `sources`. Where cotangents go back (`backwards`), values with other uses gather
    theirs, and products may share factors. Without `nodes` it is about single operations, which may end anything.
    """

    def __init__(self, sources: Collection[Node], nodes: Sequence[Node] | None = None, backwards: bool = False):
        self.sources, self.nodes, self.backwards = sources, nodes, backwards
        self._exponentials = nodes is None or may_have_exponentials(nodes)
        self._roots = nodes is None or may_have_roots(nodes)
        self._pairs: Pairs | None = None

    @property
    def has_any(self) -> bool:
        """Return whether an operation may be the end of a shortcut."""
        return self._exponentials or self._roots or self._pairs is not None

    def shortcut(self, node: Node) -> Shortcut | None:
        """Return the shortcut that ends in a node, if there is one."""
        multiple = None if self._pairs is None else self._pairs.multiples.get(node)
        if multiple is not None or not (self._exponentials or self._roots):
            return multiple
        if node.op in OF_ROOTS and not self._roots:
            return None
        return shortcut(node, self.sources, self._is_shared if self.backwards else None, self._exponentials)

    def shifts(self, targets: Collection[Node]) -> Collection[Node]:
        """Return the maxima and minima of which it can be shown that nothing flows through them."""
        nodes = self.nodes or ()
        if not any([n.op in (ops.max, ops.min) for n in nodes]):
            return ()
        return cancelling_shifts(nodes, targets, self.sources)

    def pairs(self, active: set[Node]) -> Pairs | None:
        """Return the products of two factors that several products share, as three factors or as negatives."""
        nodes = self.nodes or ()
        products = [n for n in nodes if n.op is ops.multiply]
        if len(products) < 2 or not any([i.op in (ops.multiply, ops.negative) for n in products for i in n.inputs]):
            return None
        self._pairs = shared_pairs(nodes, active, self.sources, lambda node: self.shortcut(node) is not None)
        return self._pairs

    @computed_once
    def of_derivatives(self) -> bool:
        """Return whether the program is a derivative itself: values may be infinite where those of the user are not."""
        return any([n.role is not None for n in self.nodes or ()])

    @computed_once
    def _uses(self) -> Counter[Node]:
        return Counter(chain.from_iterable([n.inputs for n in self.nodes or () if n.role is None]))

    def _is_shared(self, node: Node) -> bool:
        """Return whether the user's program reads a node more than once."""
        return self._uses[node] > 1
