"""Count the cost of generated code: floating point operations, bytes moved, peak memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tapec.codegen.schedule.inlining import is_view
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CONSTANT, Graph, Node, OpSet, ops
from tapec.ir import cost as sizes
from tapec.ir.flops import flops
from tapec.ir.static_index import Slice
from tapec.ir.types import Type
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE

__all__ = ["Cost", "bytes_of", "copied", "cost_text", "flops_of", "workspace"]


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
