"""Read and add elements of matrices by their places in one flat row.

    v = x[i, j]                         places = places_in((m, n), i, j)
    ...                                 v = elements_at(x, places, axes=2)
    np.add.at(d_x, (i, j), d_v)         np.add.at(d_x.reshape(m * n), places, d_v)

NumPy takes five times as long for an element that two arrays name as for one that one array does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.numpy.scatter_forms import has_repeats, is_scatter
from tapec.codegen.numpy.target_ops import ELEMENTS_AT, PLACES_IN
from tapec.codegen.schedule.inlining import readers_of
from tapec.ir import Graph, Node, OpSet, get_op, ops, replaced
from tapec.ir.cost import elements
from tapec.ir.static_index import Slot
from tapec.ir.types import Type

__all__ = ["flattened"]

SUMS = OpSet("add subtract")

Places = tuple[tuple[Node, ...], tuple[int, ...]]  # index arrays, and the axes that they are for


def flattened(graph: Graph) -> Graph:
    """Return the program that computes places once where several nodes use them; the same graph when there are none."""
    named = {n: places for n in graph.nodes if (places := places_of(n)) is not None}
    if not named:
        return graph
    sums = _sums(graph, named)
    often = Counter([places for n, places in named.items() if not is_scatter(n) or n in sums])
    named = {n: places for n, places in named.items() if often[places] > 1 and (not is_scatter(n) or n in sums)}
    if not named:
        return graph
    sums = _sums(graph, named)
    return replaced(graph, {n for n in named if not is_scatter(n)} | sums, _Flat(named))


def places_of(node: Node) -> Places | None:
    """Return the elements, or rows, that a node reads or adds to, if several index arrays name many of them."""
    if node.op is ops.getitem:
        shape = node.inputs[0].type.shape
    elif is_scatter(node) and has_repeats(node):
        shape = node.type.shape
    else:
        return None
    arrays = node.inputs[1:]
    if len(arrays) < 2 or elements(arrays[0]) < tuning.FLAT_PLACES_MIN_ELEMENTS:
        return None
    if node.param("index") != tuple(map(Slot, range(len(arrays)))):
        return None
    if any([a.type.dtype.kind not in "iu" or a.type.shape != arrays[0].type.shape for a in arrays]):
        return None
    return arrays, shape[: len(arrays)]


def _sums(graph: Graph, named: dict[Node, Places]) -> set[Node]:
    """Return the scatters that may be long rows, and sums of such. One added in place to anything else may not."""
    apart: set[Node] = set()
    readers = readers_of(graph.nodes)
    while True:
        found: set[Node] = set()
        for node in graph.nodes:
            if node.op is ops.add:
                flat = all([i in found and i.type == node.type for i in node.inputs])
            else:
                flat = node in named and is_scatter(node) and node not in apart
            if flat:
                found.add(node)
        added = [n for n in found if any([r.op in SUMS and r not in found for r in readers.get(n, ())])]
        if not added:
            return found
        apart.update(_leaves(added, found))


def _leaves(sums: Sequence[Node], found: set[Node]) -> set[Node]:
    """Return the scatters that these sums add up."""
    leaves, left = set(), list(sums)
    while left:
        node = left.pop()
        if is_scatter(node):
            leaves.add(node)
        else:
            left += [i for i in node.inputs if i in found]
    return leaves


class _Flat:
    """Makes the nodes that replace others; places are computed where they are first needed."""

    def __init__(self, named: dict[Node, Places]) -> None:
        self.named = named
        self.places: dict[Places, Node] = {}

    def __call__(self, old: Node, node: Node, nodes: list[Node]) -> Node:
        if old not in self.named:
            terms = tuple([i.inputs[0] for i in node.inputs])
            row = Node(node.op, terms, (), terms[0].type, node.origin, None, node.role)
        else:
            at, axes = self.at(old, node, nodes), self.named[old][1]
            operands, k = (node.inputs[0], at), len(axes)
            if not is_scatter(old):
                found = Node(ELEMENTS_AT, operands, (("axes", k),), node.type, node.origin, node.name, node.role)
                nodes.append(found)
                return found
            t = Type((math.prod(axes), *node.type.shape[k:]), node.type.dtype)
            params = (("shape", t.shape), ("index", (Slot(0),)))
            row = Node(node.op, operands, params, t, node.origin, None, node.role)
        shape = (("shape", node.type.shape),)
        nodes += [row, Node(get_op("reshape"), (row,), shape, node.type, node.origin, node.name, node.role)]
        return nodes[-1]

    def at(self, old: Node, node: Node, nodes: list[Node]) -> Node:
        """Return the node of the places that a node's index arrays name."""
        found = self.places.get(self.named[old])
        if found is None:
            arrays, shape = node.inputs[1:], (("shape", self.named[old][1]),)
            found = Node(PLACES_IN, arrays, shape, Type(arrays[0].type.shape, np.dtype(np.intp)), node.origin)
            self.places[self.named[old]] = found
            nodes.append(found)
        return found
