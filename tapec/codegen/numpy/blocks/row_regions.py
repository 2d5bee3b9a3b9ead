"""Find regions of a program that can be computed row by row, and so in blocks that fit the cache.

A value is row-wise when its first axis is the one that blocks run over and each row of it needs only the same rows of
its operands: elementwise operations, reductions along other axes, products with a vector or a matrix, views that leave
the first axis alone. Loops run one after the other: what needs a sum over all rows comes after the loop that
makes it. Where paths part, each has its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from operator import itemgetter

from tapec.codegen import tuning
from tapec.codegen.branches.decision_tree_code import places_of
from tapec.codegen.numpy.blocks.block_products import factor_rows, products_apart
from tapec.codegen.numpy.blocks.large_arrays import are_worth_a_loop, is_large, reads_huge
from tapec.codegen.numpy.scatter_forms import fused_operand, is_scatter
from tapec.codegen.numpy.target_ops import OVER_ROWS, SUM_OF_PRODUCTS
from tapec.codegen.schedule.inlining import count_uses, is_view, readers_of
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, Node, ops
from tapec.ir.cost import bytes_of, elements
from tapec.ir.decision_tree import Tree
from tapec.ir.static_index import Slice, Slot
from tapec.ops.indexing.getitem_and_scatter import counts_up

__all__ = ["Region", "find_regions", "reads_by_rows", "row_inputs"]

WHOLE = Slice(None, None, None)

Position = tuple[int, int]  # of a loop: how many loops run before it, and the number of its stretch of code


class Region(NamedTuple):
    """A region is the nodes of one loop, in order; those in `sums` are sums over all rows, which the loop adds up."""

    nodes: tuple[Node, ...]
    sums: tuple[Node, ...]


def _places(graph: Graph, tree: Tree | None) -> dict[Node, int]:
    """Return the stretch of code in which each value is computed."""
    if tree is None:
        return dict.fromkeys(graph.nodes, 0)
    return places_of(graph, tree)


def find_regions(
    graph: Graph, tree: Tree | None, but: Container[int] = ()
) -> tuple[int, list[Region], dict[Node, int]]:
    """Return the number of rows, the loops in order, and for every other node how many loops run before it.

    It is the number of rows that most bytes of large arrays have, those in `but` left out, which were looked at before;
    0 when there is no other. A loop computes what belongs to one stretch of code.
    """
    large = [n for n in graph.nodes if is_large(n)]
    matrices = [n.inputs[0] for n in graph.nodes if reads_huge(n)]
    weight: dict[int, int] = {}
    for n in (*large, *matrices) if are_worth_a_loop(large, graph.nodes) or matrices else ():
        if n.type.shape[0] not in but:
            weight[n.type.shape[0]] = weight.get(n.type.shape[0], 0) + bytes_of(n)
    if not weight:
        return 0, [], {}
    rows = max(weight, key=lambda k: weight[k])
    uses = count_uses(graph.nodes, graph.outputs)
    left_out = _sums_of_products(large, uses)
    left_out |= products_apart(graph, lambda n, x: n not in left_out and reads_by_rows(n, x))
    scattered = {n: k for n in graph.nodes if (k := fused_operand(n, uses)) is not None}
    readers = readers_of(graph.nodes)
    place = _places(graph, tree)
    while True:
        level, inside, latest = _levels(graph, rows, scattered, left_out, place)
        groups: dict[Position, list[Node]] = {}
        for node in graph.nodes:
            if node in inside:
                groups.setdefault((level[node], place[node]), []).append(node)
        poor = [
            g for g in groups.values() if not are_worth_a_loop(g, graph.nodes) and not _reads_twice(g, rows, readers)
        ]
        out = [n for g in poor for n in _pinned(g, level, latest)]
        if not poor:
            out = [n for g in groups.values() for n in _views_for_later(g, rows, readers)]
        if not out:
            return rows, *_regions(graph, rows, groups, level, place)
        left_out.update(out)


def _sums_of_products(nodes: Sequence[Node], uses: Mapping[Node, int]) -> set[Node]:
    """Return the nodes that add up many products that nobody else reads.

    Each product had better be added when it is made, as by the steps of a recurrent network, than lie there until a
    loop adds all.
    """
    count: dict[Node, int] = {}
    for node in nodes:
        parts = [i for i in node.inputs if uses[i] == 1 and i.type == node.type]
        if node.op is ops.add and len(parts) == 2 and all([i in count or i.op.kind == "product" for i in parts]):
            count[node] = sum([count.get(i, 1) for i in parts])
    found: set[Node] = set()
    for node in reversed(count):
        if node in found or count[node] >= tuning.SUMMED_PRODUCTS_MIN:
            found.update([node, *[i for i in node.inputs if i in count]])
    return found


def _pinned(group: list[Node], level: dict[Node, int], latest: dict[Node, int]) -> list[Node]:
    """Return the nodes of a group that cannot wait for a later loop; the whole group, if each could."""
    return [n for n in group if latest[n] == level[n]] or group


def _views_for_later(group: list[Node], rows: int, readers: dict[Node, list[Node]]) -> list[Node]:
    """Return views that are read only after the loop, where they copy nothing.

    Views of one value must together be as large as it, so that keeping it takes no more memory than keeping them.
    """
    inside = set(group)
    views: dict[Node, list[Node]] = {}
    for node in group:
        if is_view(node) and not any([r in inside or is_sum_over_rows(r, rows) for r in readers.get(node, ())]):
            views.setdefault(node.inputs[0], []).append(node)
    return [v for x, found in views.items() if sum([elements(v) for v in found]) >= elements(x) for v in found]


def _reads_twice(group: list[Node], rows: int, readers: dict[Node, list[Node]]) -> bool:
    """Return whether a group reads a huge matrix twice: in a product, and in a sum over rows of what comes of that."""
    inside = set(group)
    for node in group:
        if reads_huge(node):
            products = [r for r in readers[node.inputs[0]] if r.op.kind == "product" and is_sum_over_rows(r, rows)]
            if any([not inside.isdisjoint(r.inputs) for r in products]):
                return True
    return False


def _levels(
    graph: Graph, rows: int, scattered: dict[Node, int], left_out: set[Node], place: Mapping[Node, int]
) -> tuple[dict[Node, int], set[Node], dict[Node, int]]:
    """Return how many loops run before each value, which values are in loops, and how many may run before those.

    For a value in a loop, the first number counts the loops before its own. `scattered` tells which operand of a sum is
    a scatter that can be added in place.
    """
    level: dict[Node, int] = dict.fromkeys(graph.inputs, 0)
    aligned: dict[Node, set[int]] = {}
    added = {n.inputs[k] for n, k in scattered.items() if not is_scatter(n.inputs[1 - k])}
    for node in graph.nodes:
        by_rows = None if node in left_out else row_inputs(node, rows)
        if by_rows is not None:
            own = [i for i in node.inputs if i in aligned and place[i] == place[node]]
            by_rows = {k for k in by_rows if node.inputs[k] in own} if _belongs(node, own, scattered, added) else None
        level[node] = max(
            [level[i] + (i in aligned and (by_rows is None or k not in by_rows)) for k, i in enumerate(node.inputs)],
            default=0,
        )
        if by_rows is not None:
            aligned[node] = by_rows
    return level, set(aligned), _sink(graph, rows, level, aligned)


def _belongs(node: Node, inside: Container[Node], scattered: dict[Node, int], added: set[Node]) -> bool:
    """Return whether something is gained when a row-wise value is computed in a loop."""
    if is_scatter(node):
        return node in added
    if is_view(node):
        return node.inputs[0] in inside  # outside of loops a view of a whole array costs nothing
    k = scattered.get(node)
    return k is None or node.inputs[k] in inside  # else the scatter is added in place after the loop


def _sink(graph: Graph, rows: int, level: dict[Node, int], aligned: dict[Node, set[int]]) -> dict[Node, int]:
    """Move values that only a later loop reads into that loop, if their operands are there by then anyway.

    `1 - h * h` goes to the loop that multiplies by it, since `h` is needed after that. Returns the latest loop in which
    each value could be.
    """
    latest: dict[Node, int] = {}
    for node in reversed(graph.nodes):
        by_rows = aligned.get(node)
        own = latest.setdefault(node, level[node]) if by_rows is not None else level[node]
        for k, i in enumerate(node.inputs):
            if i in aligned:
                until = own if by_rows is not None and k in by_rows else level[node] - 1
                latest[i] = min(latest.get(i, until), until)
    # the last loop for which each value is in memory in any case
    there = dict.fromkeys(graph.outputs, len(graph.nodes))
    for node in reversed(graph.nodes):
        if node not in aligned or latest[node] == level[node]:
            until = max(level[node], there.get(node, 0)) if is_view(node) else level[node]
            if is_sum_over_rows(node, rows):
                until -= 1  # the sum is added up in the loop before
            for i in node.inputs:
                there[i] = max(there.get(i, 0), until)
    for node in graph.nodes:
        if node in aligned:
            made = [i for i in node.inputs if i in aligned]
            free = all(level[i] == latest[node] or there.get(i, -1) >= latest[node] for i in made)
            level[node] = latest[node] if free else max(level[node], *[level[i] for i in made])
    return latest


def _regions(
    graph: Graph,
    rows: int,
    groups: dict[Position, list[Node]],
    level: dict[Node, int],
    place: Mapping[Node, int],
) -> tuple[list[Region], dict[Node, int]]:
    """Return the loops in order, with the sums that each adds up, and how many loops run before every other node."""
    inside = {n: key for key, group in groups.items() for n in group}
    joined = _joining(graph, rows, groups, level, place)
    sums: dict[Position, list[Node]] = {}
    for node in graph.nodes:
        if node not in inside and is_sum_over_rows(node, rows):
            key = level[node] - 1, place[node]
            own = any(i in inside and inside[i][1] == key[1] for i in node.inputs)
            if own and all(level[i] < level[node] for i in node.inputs):  # else an operand is made after the loop
                sums.setdefault(key, []).append(node)
            elif node in joined:
                sums.setdefault(joined[node], []).append(node)
    order = sorted(groups)
    number = {n: k for k, n in enumerate(graph.nodes)}
    regions = []
    for key in order:
        adding = tuple(sums.get(key, ()))
        regions.append(Region(tuple(sorted((*groups[key], *adding), key=number.__getitem__)), adding))
    taken = {n for r in regions for n in r.nodes}
    levels = [k for k, _ in order]
    before = {n: bisect_left(levels, level[n]) for n in graph.nodes if n not in taken}
    return regions, before


def _joining(
    graph: Graph, rows: int, groups: dict[Position, list[Node]], level: dict[Node, int], place: Mapping[Node, int]
) -> dict[Node, Position]:
    """Return sums over all rows of values that a loop reads anyway, each with the loop that may add it up.

    What is made of the sums comes after the loop: where paths part, that may be too late.
    """
    found: dict[Node, Position] = {}
    if len(set(place.values())) > 1:
        return found
    inside = {n for group in groups.values() for n in group}
    late: dict[Node, int] = {}  # the loop before which each value is needed at the latest
    for node in reversed(graph.nodes):
        until = level[node] if node in inside else late.get(node, len(graph.nodes))
        if node not in inside and is_sum_over_rows(node, rows) and not inside.isdisjoint(node.inputs):
            until = level[node] - 1  # added up in a loop itself
        for i in node.inputs:
            late[i] = min(late.get(i, until), until)
    reading: dict[Node, list[Position]] = {}  # the loops that read a value by rows
    for key in sorted(groups):
        for i in {n.inputs[k]: None for n in groups[key] for k in row_inputs(n, rows) or ()}:
            reading.setdefault(i, []).append(key)
    for node in graph.nodes:
        if node not in inside and inside.isdisjoint(node.inputs) and is_sum_over_rows(node, rows):
            loops = reading.get(node.inputs[0], [])
            at = bisect_left(loops, level[node], key=itemgetter(0))
            for key in loops[at : at + 1]:
                if key[0] < late.get(node, len(graph.nodes)) and all([key in reading.get(i, ()) for i in node.inputs]):
                    found[node] = key
                    level[node] = key[0] + 1
    for node in graph.nodes if found else ():
        if node not in inside:
            level[node] = max([level[node], *[level[i] for i in node.inputs if i not in inside]])
    return found


# ---------------------------------------------------------------------------------------------------------------
# what is row-wise
# ---------------------------------------------------------------------------------------------------------------
def row_inputs(node: Node, rows: int) -> set[int] | None:
    """Return the inputs of a row-wise node that are read row by row; None when the node is not row-wise."""
    t = node.type
    if isinstance(t, tuple) or not t.shape or t.shape[0] != rows or not node.inputs:
        return None
    if node.op.kind == "elementwise":
        if node.op.multi or node.params:
            return None
        return {k for k, i in enumerate(node.inputs) if i.type.ndim == t.ndim and i.type.shape[0] == rows} or None
    if not has_rows(node.inputs[0], rows):
        return None
    if node.op is ops.matmul:
        return factor_rows(node, rows)
    if node.op.kind == "reduction":
        return set(range(len(node.inputs))) if _axes(node) and 0 not in _axes(node) else None
    if picks_by_row(node, rows):
        return {0, 2}
    if node.op is ops.getitem:
        index = node.param("index")
        return {0} if len(node.inputs) == 1 and index and index[0] == WHOLE else None
    if node.op is ops.roll:
        return None if 0 in node.param("axis") else {0}
    if node.op is ops.transpose:
        return {0} if node.param("axes")[0] == 0 else None
    return {0} if node.op in (ops.reshape, ops.cast) else None


def picks_by_row(node: Node, rows: int) -> bool:
    """Return whether a node is `x[np.arange(n), labels]`, one element of each row, or the scatter to such places."""
    if node.op not in (ops.getitem, ops.scatter) or len(node.inputs) != 3:
        return False
    numbers, labels = node.inputs[1:]
    if node.param("index") != (Slot(0), Slot(1)) or labels.type.shape != (rows,):
        return False
    return counts_up(numbers, rows)


def has_rows(node: Node, rows: int) -> bool:
    return not isinstance(node.type, tuple) and bool(node.type.shape) and node.type.shape[0] == rows


def _axes(node: Node) -> tuple[int, ...]:
    params = dict(node.params)
    return params["axis"] if set(params) == {"axis", "keepdims"} else ()


def is_sum_over_rows(node: Node, rows: int) -> bool:
    """Return whether a node adds up rows: a sum or mean along the first axis, or a product of a vector with them.

    The sum may run along other axes too; an `OVER_ROWS` node is the product of a transposed matrix with rows.
    """
    if not all(has_rows(i, rows) for i in node.inputs):
        return False
    if node.op is OVER_ROWS:
        return True
    if node.op in (ops.sum, ops.mean, SUM_OF_PRODUCTS):
        return 0 in _axes(node) and _is_sum_of_sums(node)
    vector = node.op is ops.matmul and node.inputs[0].type.ndim == 1 and node.inputs[1].type.ndim < 3
    return vector and _is_sum_of_sums(node)


def _is_sum_of_sums(node: Node) -> bool:
    """Return whether sums of blocks add up to what NumPy gives, in its dtype.

    It adds up half precision, and a mean of integers, in another dtype. Integers that wrap around do so without a
    warning within arrays alone, so numbers of them stay whole; those that count truths have no such sum.
    """
    kind = node.inputs[0].type.dtype.kind
    if node.type.dtype.kind in "fc":
        return kind in "fc" and node.type.dtype.char != "e"
    return bool(node.type.shape) or (node.op is ops.sum and kind == "b")


def reads_by_rows(node: Node, value: Node) -> bool:
    """Return whether a loop over the rows of a value has a node that reads the value by rows, or adds up its rows."""
    rows = value.type.shape[0]
    if is_sum_over_rows(node, rows):
        return True
    own = row_inputs(node, rows)
    return own is not None and all([k in own for k, i in enumerate(node.inputs) if i is value])
