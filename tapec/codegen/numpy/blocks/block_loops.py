"""Turn regions of rows into nodes of the op `region`: the body is on all rows, the plan is to go block by block.

The plan, a `Body`, has a graph of its own on one block of rows, from which the lines of the loop are written.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.numpy.blocks.block_products import (
    factors_of,
    in_factors,
    rows_at_once,
    with_sums,
    without_sums,
)
from tapec.codegen.numpy.blocks.block_sums import Placing, Placings
from tapec.codegen.numpy.blocks.row_regions import (
    Region,
    find_regions,
    has_rows,
    picks_by_row,
    reads_by_rows,
    row_inputs,
)
from tapec.codegen.numpy.scatter_forms import is_scatter
from tapec.codegen.numpy.target_ops import OVER_ROWS, ROWS
from tapec.codegen.schedule.inlining import count_uses, is_view, readers_of
from tapec.codegen.schedule.order import early_ends
from tapec.config import settings
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import ITEM, Graph, Node, constant, get_op, input_node, is_literal, ops
from tapec.ir.cost import bytes_of
from tapec.ir.decision_tree import Tree
from tapec.ir.sizes import size_name
from tapec.ir.types import Type
from tapec.ops.control.cond import REGION

__all__ = ["Body", "with_block_loops"]


class Body(NamedTuple):
    """The body of a loop over rows.

    `graph` computes one block: its outputs are first the values to be kept (`kept` of them), then the sums over the
    block's rows (`sums` of them), then what is added to parts of arrays. `sliced` tells which inputs are read by rows.
    `placings` has the sums of such parts, in the order of the outputs; their bases come after the body's inputs.
    """

    graph: Graph
    sliced: tuple[bool, ...]
    kept: int
    sums: int
    rows: int
    block: int
    placings: tuple[Placing, ...] = ()


def with_block_loops(graph: Graph, tree: Tree | None = None) -> Graph:
    """Return the program with its regions as loops; the same graph when there are none.

    First those over the rows of the largest arrays, then those over other numbers of rows, where there is one path.
    """
    known: set[int] = set()
    made = with_sums(graph, reads_by_rows)
    while tree is None or not known:
        rows, made = _over_most_rows(made, tree, known)
        if not rows:
            break
        known.add(rows)
    return without_sums(made) if known else graph


def _over_most_rows(graph: Graph, tree: Tree | None, known: set[int]) -> tuple[int, Graph]:
    """Return the number of rows of the largest arrays, and the program with loops over these rows.

    Numbers of rows in `known` have been looked at before.
    """
    needed = count_uses(graph.nodes, graph.outputs)
    lean = Graph(graph.inputs, [n for n in graph.nodes if n in needed], graph.outputs, graph.name)
    rows, regions, before = find_regions(lean, tree, known)
    if not regions:
        return rows, graph
    graph = lean
    readers = readers_of(graph.nodes)
    new: dict[Node, Node] = {i: i for i in graph.inputs}
    nodes: list[Node] = []
    waiting: list[list[Node]] = [[] for _ in range(len(regions) + 1)]
    placed = [
        [] if tree is not None else _placed(graph, rows, regions, k, before, readers, needed)
        for k in range(len(regions))
    ]
    replaced = {n for found in placed for placing in found for n in placing.nodes()}
    for node in graph.nodes:
        if node in before and node not in replaced:
            waiting[before[node]].append(node)
    for k, group in enumerate(waiting):
        for node in group:
            new[node] = _moved(node, new)
            nodes.append(new[node])
        if k < len(regions):
            nodes.extend(_loop(regions[k], rows, readers, graph.outputs, new, placed[k]))
    return rows, Graph(graph.inputs, nodes, [new[o] for o in graph.outputs], graph.name)


def _most_rows(region: Region, rows: int, inside: set[Node], kept: set[Node]) -> int:
    """Return how many rows a block may have."""
    in_use, own = _bytes_per_row(region, rows, inside, kept)
    in_use = max(1, in_use)
    widest = max(1, *[bytes_of(n) // rows for n in inside])
    products = list(filter(factors_of, region.nodes))
    times = tuning.BLOCK_TIMES_IN_THREADS if settings.threads > 1 else 1
    enough = times * tuning.BLOCK_VALUE_MIN_BYTES // widest
    if products:
        most = _most_of_products(products, rows, inside, in_use)
    else:
        roomy = times * tuning.BLOCK_ROOMY_MAX_BYTES // in_use
        most = min(times * tuning.BLOCK_MAX_BYTES // in_use, max(roomy, enough))
    if own - sum(bytes_of(n) // rows for n in kept) >= widest:
        most = min(most, max(rows // tuning.BLOCKS_MIN, enough))
    if times > 1:
        most = min(most, max(rows // (2 * settings.threads), tuning.BLOCK_VALUE_MIN_BYTES // widest))
    return max(1, most)


def _most_of_products(products: list[Node], rows: int, inside: set[Node], in_use: int) -> int:
    """Return how many rows a block may have whose rows are multiplied.

    There are more where BLAS copies the factors, because it does so for each block.
    """
    at_once = [rows_at_once(n) for n in products]
    huge = tuning.HUGE_MIN_BYTES
    read = {i for n in products for i in n.inputs if i not in inside and has_rows(i, rows) and bytes_of(i) >= huge}
    most = (tuning.BLOCK_MAX_BYTES if all(at_once) else tuning.PRODUCT_BLOCK_MAX_BYTES) // in_use
    return min([most, *filter(None, at_once), *[tuning.HUGE_BLOCK_MAX_BYTES * rows // bytes_of(i) for i in read]])


def _bytes_per_row(region: Region, rows: int, inside: set[Node], kept: set[Node]) -> tuple[int, int]:
    """Return the most bytes for each row that are in use at one time; and those of values that are computed here."""
    last: dict[Node, int] = {}
    for k, node in enumerate(region.nodes):
        for i in node.inputs:
            last[i] = k

    def weight(n: Node) -> int:
        if n in region.sums or is_view(n) or is_scatter(n) or not has_rows(n, rows):
            return 0
        return bytes_of(n) // rows

    alive: dict[Node, int] = {}
    most = own = 0
    for k, node in enumerate(region.nodes):
        alive.update((i, weight(i)) for i in node.inputs if i not in alive)
        dying = [i for i in node.inputs if last[i] == k and i not in kept]
        in_place = node.op.kind == "elementwise" and any(i in inside and i.type == node.type for i in dying)
        new = 0 if in_place else weight(node)
        most = max(most, sum(alive.values()) + new)
        own = max(own, sum([w for n, w in alive.items() if n in inside]) + new)
        for i in dying:
            alive[i] = 0
        alive[node] = weight(node)
    return most, own


def _block(rows: int, most: int, multiplied: bool) -> int:
    """Choose the number of rows of a block: at most `most`, or a few more where many blocks are to be of one size.

    Blocks of one size are preferred if that is possible without making them small; products take longer with small
    ones.
    """
    few = 0 if multiplied or most * tuning.BLOCKS_MIN > rows else most // 8
    even = _even_block(rows, most * 3 // 4 if multiplied else most // 2, most + few)
    if even is not None:
        return even
    return -(-rows // -(-rows // most)) if multiplied else 1 << (most.bit_length() - 1)


@lru_cache(maxsize=256)
def _even_block(rows: int, least: int, most: int) -> int | None:
    """Return the largest block above `least` that divides the rows, if possible one that fills lines of the cache.

    It fills them, however many elements a row has, if it is a multiple of eight.
    """
    even = [block for block in range(most, least, -1) if rows % block == 0]
    return next((block for block in even if block % 8 == 0), even[0]) if even else None


def _moved(node: Node, new: dict[Node, Node]) -> Node:
    inputs = tuple([new[i] for i in node.inputs])
    if inputs == node.inputs:
        return node
    return node.with_inputs(inputs)


def _placed(
    graph: Graph,
    rows: int,
    regions: list[Region],
    k: int,
    before: dict[Node, int],
    readers: dict[Node, list[Node]],
    uses: dict[Node, int],
) -> list[Placing]:
    """Return what loop `k` adds to parts of arrays.

    With threads that is nothing: they would add to the same rows at the same time.
    """
    if settings.threads > 1:
        return []
    region = regions[k]
    earlier = {n for r in regions[:k] for n in r.nodes}
    there = {*graph.inputs, *earlier, *[n for n, loops in before.items() if loops <= k]}
    inside = set(region.nodes).difference(region.sums)
    return Placings(graph, inside, rows, there, uses, readers).found()


def _loop(
    region: Region,
    rows: int,
    readers: dict[Node, list[Node]],
    outputs: tuple[Node, ...],
    new: dict[Node, Node],
    placed: list[Placing],
) -> list[Node]:
    """Return the nodes of the outer program for one region: the loop, its results, and means made of sums.

    Where one block would do, these are the nodes of the region themselves.
    """
    region = region._replace(nodes=tuple(early_ends(region.nodes)))
    inside = {n for n in region.nodes if n not in region.sums}
    adding = {*region.nodes, *[place.scatter for placing in placed for place in placing.places]}
    kept = [n for n in region.nodes if n in inside and (n in outputs or not adding.issuperset(readers.get(n, ())))]
    block = _block(rows, _most_rows(region, rows, inside, set(kept)), any(map(factors_of, region.nodes)))
    if block >= rows:  # one block holds all rows
        all_nodes = [*region.nodes, *[n for placing in placed for n in placing.nodes()]]
        for n in all_nodes:
            new[n] = _moved(n, new)
        return [new[n] for n in all_nodes]
    body = _BodyMaker(rows, block, inside)
    for node in region.nodes:
        body.add(node)
    values = [place.value for placing in placed for place in placing.places]
    made = Graph(body.inputs, body.nodes, [body.known[n] for n in (*kept, *region.sums, *values)])
    results = [*kept, *region.sums, *[placing.total for placing in placed]]
    types = tuple(n.type for n in results)
    inner = Body(made, tuple(body.sliced), len(kept), len(region.sums), rows, block, tuple(placed))
    bases = [placing.base for placing in placed if placing.base is not None]
    outer = (*body.outer, *bases)
    whole = _whole_body(region, placed, outer, results)
    loop = Node(REGION, tuple([new[e] for e in outer]), (("plan", inner),), types, bodies=(whole,))
    nodes = [loop]
    for k, n in enumerate(results):
        item = Node(ITEM, (loop,), (("index", k),), n.type, n.origin, n.name, n.role)
        nodes.append(item)
        if n.op is ops.mean and n in region.sums:
            x = n.inputs[0]
            count = constant(x.type.size // max(n.type.size, 1), size_name(x, n.param("axis")))
            item = Node(get_op("divide"), (item, count), (), n.type, n.origin, n.name, n.role)
            nodes += [count, item]
        new[n] = item
    return nodes


def _whole_body(region: Region, placed: list[Placing], outer: tuple[Node, ...], results: list[Node]) -> Graph:
    """Return the region as a graph on all rows, from these values to these results; a mean is the sum of one."""
    known: dict[Node, Node] = {}
    inputs: list[Node] = []
    for n in outer:
        inputs.append(input_node(n.name, n.type, n.origin))
        known.setdefault(n, inputs[-1])
    nodes: list[Node] = []

    def copied(node: Node) -> Node:
        """Copy a node, and what is no operand of it: numbers, ranges and uniform arrays."""
        found = known.get(node)
        if found is None:
            found = node.with_inputs(tuple(map(copied, node.inputs))) if node.inputs else node
            if node.op is ops.mean and node in region.sums:
                found = Node(get_op("sum"), found.inputs, node.params, node.type, node.origin, node.name, node.role)
            known[node] = found
            nodes.append(found)
        return found

    for n in (*region.nodes, *[n for placing in placed for n in placing.nodes()]):
        copied(n)
    return Graph(inputs, nodes, [known[n] for n in results], "rows")


def _is_spread(node: Node) -> bool:
    """Return whether a number does for a uniform operand, because another operand has the result's shape and dtype.

    Numbers alone make float64, and none has the digits of a long double. A scatter does not count as another operand:
    it is added to this very array.
    """
    dtype = node.type.dtype
    if dtype.char in "gG":
        return False
    if is_scatter(node):
        return True
    arrays = [i for i in node.inputs if i.op is not ops.full and not is_scatter(i)]
    others = [i.type for i in arrays if i.type.shape == node.type.shape]
    return node.op.kind == "elementwise" and any([t.dtype == dtype or dtype.char == "d" for t in others])


class _BodyMaker:
    """Collects the graph of one block; `outer` are the values of the program that the inputs stand for."""

    def __init__(self, rows: int, block: int, inside: set[Node]):
        self.rows = rows
        self.block = block
        self.inside = inside
        self.known: dict[Any, Node] = {}
        self.nodes: list[Node] = []
        self.inputs: list[Node] = []
        self.sliced: list[bool] = []
        self.outer: list[Node] = []

    def add(self, node: Node) -> None:
        """Add the node on one block."""
        rowwise = row_inputs(node, self.rows) if node in self.inside else set(range(len(node.inputs)))
        assert rowwise is not None
        inputs = tuple([self._input(i, k in rowwise, node) for k, i in enumerate(node.inputs)])
        if node in self.inside and picks_by_row(node, self.rows):
            inputs = (inputs[0], self._row_numbers(inputs[2]), inputs[2])
        op, params, t = node.op, node.params, node.type
        if node in self.inside:
            t = Type((self.block, *t.shape[1:]), t.dtype)
            if op is ops.reshape:
                params = (("shape", (-1, *t.shape[1:])),)
        elif op is ops.mean:
            op = get_op("sum")
        made = Node(op, inputs, params, t, node.origin, node.name, node.role, node.bodies)
        made.of = node.of
        if op is OVER_ROWS:
            made = in_factors(node, made, self.nodes)
        else:
            self.nodes.append(made)
        self.known[node] = made

    def _row_numbers(self, labels: Node) -> Node:
        """Return the numbers of the block's rows, of which the last block has fewer."""
        known = self.known.get((ROWS, labels))
        if known is None:
            known = self.known[ROWS, labels] = Node(ROWS, (labels,), (), Type((self.block,), np.dtype(np.intp)))
            self.nodes.insert(self.nodes.index(labels) + 1 if labels in self.nodes else 0, known)
        return known

    def _input(self, node: Node, by_rows: bool, reader: Node) -> Node:
        if node in self.inside:
            return self.known[node]
        if picks_by_row(reader, self.rows) and node is reader.inputs[1] and node is not reader.inputs[2]:
            return node  # replaced by the numbers of the block's rows
        if is_literal(node):
            if node not in self.known:
                self.known[node] = node
                self.nodes.insert(0, node)
            return node
        if node.op is ops.full and node.type.dtype == reader.type.dtype and _is_spread(reader):
            return self._number(node)
        known = self.known.get((node, by_rows))
        if known is None:
            t = Type((self.block, *node.type.shape[1:]), node.type.dtype) if by_rows else node.type
            known = self.known[node, by_rows] = input_node(node.name or "", t, node.origin)
            self.inputs.append(known)
            self.sliced.append(by_rows)
            self.outer.append(node)
        return known

    def _number(self, node: Node) -> Node:
        """Return a uniform array as a number, where it is broadcast anyway."""
        known = self.known.get(node)
        if known is None:
            known = self.known[node] = constant(node.type.dtype.type(node.param("value")).item(), node.name)
            self.nodes.insert(0, known)
        return known
