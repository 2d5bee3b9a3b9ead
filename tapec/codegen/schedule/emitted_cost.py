"""Count the cost of generated code: floating point operations, bytes moved, peak memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.numpy.idioms import HELPED
from tapec.codegen.numpy.scatter_forms import has_repeats, index_arrays, is_scatter, is_write
from tapec.codegen.numpy.what_pays import EXTREMES, extreme_of_short_rows
from tapec.codegen.schedule.inlining import Plan, is_view
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Graph, Node, OpSet, ops
from tapec.ir import cost as sizes
from tapec.ir.flops import flops
from tapec.ir.static_index import Slice
from tapec.ir.types import Type
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE

__all__ = ["Cost", "MemoryUse", "bytes_of", "copied", "cost_text", "flops_of"]


class Cost(NamedTuple):
    """The cost of a generated function: operations, bytes moved, and peak memory.

    `moved` counts what each line reads and writes, and for a loop over blocks what goes in and out; `peak` is the most
    memory in use at one time, results included, arguments not.
    """

    flops: int
    moved: int
    peak: int


def bytes_of(values: Iterable[Node]) -> int:
    """Add up the bytes of values; Python numbers weigh nothing."""
    return sum([_nbytes(v.type) for v in values])


def _nbytes(t: Any) -> int:
    if isinstance(t, tuple):
        return sum(map(_nbytes, t))
    return 0 if t.weak else sizes.bytes_of(t)


def flops_of(graph: Graph) -> int:
    return sum([flops(n) for n in graph.nodes if n.op is not CONSTANT])


def workspace(node: Node) -> int:
    """Return the bytes that an operation needs on the way, beside its result."""
    op, t = node.op, node.type
    if op in _TRANSFORMS:  # one axis after the other takes an array between; so do reals made complex
        between = len(node.param("axes")) > 1 or (op is ops.fftn and node.inputs[0].type.dtype.kind == "f")
        return sizes.bytes_of(t) * between
    if op in _ON_A_COPY:
        return bytes_of(node.inputs[:1])
    if op is ops.cofactors:
        return sizes.bytes_of(t)
    return sizes.bytes_of(t) // 2 if op is ops.inv_lower else 0


def copied(view: Node) -> int:
    """Return the bytes of a copy made in place of a view, as by `reshape` of elements that do not lie in order."""
    source = view.inputs[0]
    if view.op is not ops.reshape or _without_ones(view.type) == _without_ones(source.type):
        return 0
    while is_view(source) and _lies_in_order(source):
        source = source.inputs[0]
    return bytes_of((view,)) if is_view(source) else 0


def _without_ones(t: Type) -> list[int]:
    return [n for n in t.shape if n != 1]


def _lies_in_order(view: Node) -> bool:
    """Return whether the elements of a view follow one another as those of its source do; whole rows do."""
    if view.op is not ops.getitem:
        return view.op in (ops.reshape, ops.real, ops.imag)
    index = view.param("index")
    rows = all([type(p) is int or (type(p) is Slice and p.step in (None, 1)) for p in index[:1]])
    return rows and set(index[1:]) <= {FULL_SLICE}


_TRANSFORMS = OpSet("fftn ifftn rfftn irfftn")
_ON_A_COPY = OpSet("var std median quantile qr")


class MemoryUse:
    """The bytes in use (`alive`), at most in use (`peak`), and read and written (`moved`) by the lines of a block.

    `on_a_line` is the most that one line makes, its result included, `beside` what the line at work takes and gives
    back, `largest` the largest array made here, `left_over` what is dead under names that stay.
    """

    def __init__(self, plan: Plan):
        self.plan = plan
        self.alive = self.peak = self.moved = 0
        self.on_a_line = self.beside = self.largest = 0
        self.left_over: dict[str, int] = {}

    def need(self, size: int) -> None:
        """Count bytes that are in use for a moment."""
        self.peak = max(self.peak, self.alive + size)

    def allocate(self, t: Type) -> None:
        """Count new memory."""
        self.alive += sizes.bytes_of(t)
        self.need(0)

    def make_room(self, node: Node) -> None:
        """Count the memory of a value while it is computed, when all that it is computed from is still there."""
        if not is_view(node):
            self.need(bytes_of((node,)) + self.beside)

    def least_deleted(self) -> int:
        """Return the bytes from which on a dead array is worth a `del`, beside what is in use."""
        return max(tuning.DELETED_MIN_BYTES, self.alive // tuning.DELETED_MAX_RATIO)

    def is_mostly_dead(self, more: int) -> bool:
        """Return whether most of what names hold is dead, with so many bytes more."""
        dead = sum(self.left_over.values()) + more
        return dead >= max(tuning.DELETED_TOGETHER_MIN_BYTES, self.alive - dead)

    def made(self, node: Node) -> None:
        """Count a value that has been made in new memory; of a view, only what is copied for it."""
        if is_view(node):
            self.alive += copied(node)
            self.need(0)
        else:
            self.allocate(node.type)
            self.largest = max(self.largest, sizes.bytes_of(node))

    # -- lines ------------------------------------------------------------------------------------------------------
    def line(self, node: Node) -> None:
        """Count what a line reads and writes, and what it takes on the way to its value."""
        self.moved += self.traffic(node)
        before, self.beside = self.on_the_way(node)
        self.on_a_line = max(self.on_a_line, before, self.beside + (0 if is_view(node) else bytes_of((node,))))
        self.need(max(before, self.beside))

    def results(self, nodes: Sequence[Node]) -> None:
        """Count a return that computes these values."""
        self.moved += sum(map(self.traffic, nodes))
        self.need(max([max(self.on_the_way(n)) for n in nodes], default=0))

    def traffic(self, node: Node) -> int:
        """Count the bytes that a line reads and writes; of an array that it changes, only the places where it does."""
        if is_view(node):
            return 2 * copied(node)
        part = node.inputs[self.plan.fused[node]] if node in self.plan.fused else node
        if part is node and not is_write(node):
            return bytes_of((node,)) + self.bytes_read(node, node.inputs)
        values = part.inputs[is_write(part) :]
        return bytes_of(values[:1]) * (1 if is_write(part) else 2) + self.bytes_read(part, values)

    def bytes_read(self, node: Node, inputs: Sequence[Node]) -> int:
        """Count the bytes that are read of these operands; of one that is viewed, or picked from, only the parts."""
        found = 0
        for i in inputs:
            whole = i
            while whole in self.plan.nested and is_view(whole):
                whole = whole.inputs[0]
            if whole in self.plan.nested:
                found += self.bytes_read(whole, whole.inputs)
            elif node.op is ops.getitem and i is node.inputs[0]:
                found += min(bytes_of((i,)), bytes_of((whole,)), bytes_of((node,)))
            else:
                found += bytes_of((i,)) if whole is i else min(bytes_of((i,)), bytes_of((whole,)))
        return found

    def on_the_way(self, node: Node) -> tuple[int, int]:
        """Return the most bytes in use until all operands inside a line are computed, and then beside the result."""
        plan = self.plan
        changed = node.inputs if node in plan.fused else node.inputs[: is_write(node)]  # these are changed in place
        held = most = 0
        for i in node.inputs:
            if i in plan.nested:
                own = 0 if i in changed or is_scatter(i) or is_write(i) else copied(i) if is_view(i) else bytes_of((i,))
                before, beside = self.on_the_way(i)
                most = max(most, held + before, held + beside + own)
                held += own
        part = node.inputs[plan.fused[node]] if node in plan.fused else None
        if part is not None and is_scatter(part) and index_arrays(part) and not has_repeats(part):
            held += bytes_of(part.inputs[:1])  # `g[i] += a` makes an array of `g[i]` first
        mask = node.inputs[0].type.size if node.op is ops.where and plan.templates.get(node) in HELPED else 0
        columns = bytes_of(node.inputs) if EXTREMES in plan.forms and extreme_of_short_rows(node) else 0
        return most, held + mask + columns + workspace(node)

    # -- inner blocks -----------------------------------------------------------------------------------------------
    def count(self, inner: MemoryUse, before: int) -> None:
        """Add the cost of another block, which starts with `before` bytes in use."""
        self.peak = max(self.peak, before + inner.peak)
        self.moved += inner.moved

    def count_turns(self, inner: MemoryUse, workspace: int = 0, kept: int = 0) -> None:
        """Add the cost of the turns of a loop, which has `workspace` bytes and keeps `kept` bytes in each turn.

        While an array is made, that of the turn before is still there under its name.
        """
        if inner.left_over:  # all that turn has left, of which one at a time gives way
            self.count(inner, self.alive)
            self.need(inner.alive + inner.on_a_line)
            return
        left = min(inner.largest, inner.alive - workspace - kept)
        self.count(inner, self.alive + max(0, left))


def cost_text(cost: Cost) -> str:
    """Write a cost as `1.2 Mflop, 48 MB moved, at most 16 MB of memory`."""
    flop, moved, peak = _scaled(cost.flops, "flop"), _scaled(cost.moved, "B"), _scaled(cost.peak, "B")
    return f"{flop}, {moved} moved, at most {peak} of memory"


def _scaled(count: float, unit: str) -> str:
    for prefix in ("", "k", "M", "G", "T"):
        if count < 999.5 or prefix == "T":
            break
        count /= 1000
    text = f"{count:.0f}" if count >= 9.95 or not prefix else f"{count:.1f}"
    return f"{text} {prefix}{unit}"
