"""What generated code costs: floating point operations, bytes read and written, memory in use at most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tapec.codegen.plan import is_view
from tapec.ir import CONSTANT, Graph, Node
from tapec.ir.flops import flops

__all__ = ["Cost", "bytes_of", "copied", "cost_text", "flops_of", "workspace"]


class Cost(NamedTuple):
    """`moved` counts what each line reads and writes, and for a loop over blocks what goes in and out; `peak` is the
    most memory in use at one time, results included, arguments not."""

    flops: int
    moved: int
    peak: int


def bytes_of(values: Iterable[Node]) -> int:
    """The bytes of values; Python numbers weigh nothing."""
    return sum([_nbytes(v.type) for v in values])


def _nbytes(t: Any) -> int:
    if isinstance(t, tuple):
        return sum(map(_nbytes, t))
    return 0 if t.weak else t.nbytes


def flops_of(graph: Graph) -> int:
    return sum([flops(n) for n in graph.nodes if n.op is not CONSTANT])


def workspace(node: Node) -> int:
    """The bytes that an operation needs on the way, beside its result."""
    name, t = node.op.name, node.type
    if name in _TRANSFORMS:  # along one axis after the other; and real numbers become complex
        return t.nbytes * (len(node.param("axes")) > 1 or (name == "fftn" and node.inputs[0].type.dtype.kind == "f"))
    if name in _ON_A_COPY:
        return bytes_of(node.inputs[:1])
    return t.nbytes if name == "cofactors" else t.nbytes // 2 if name == "inv_lower" else 0


def copied(view: Node) -> int:
    """The bytes of a view that is none, as NumPy's `reshape` copies what lies in another order."""
    source = view
    while is_view(source) and source.op.name != "transpose" and view.op.name == "reshape":
        source = source.inputs[0]
    return bytes_of((view,)) if source.op.name == "transpose" and source is not view else 0


_TRANSFORMS = frozenset({"fftn", "ifftn", "rfftn", "irfftn"})
_ON_A_COPY = frozenset({"var", "std", "median", "quantile", "qr"})


def cost_text(cost: Cost) -> str:
    """`1.2 Mflop, 48 MB moved, at most 16 MB of memory`."""
    flop, moved, peak = _scaled(cost.flops, "flop"), _scaled(cost.moved, "B"), _scaled(cost.peak, "B")
    return f"{flop}, {moved} moved, at most {peak} of memory"


def _scaled(count: float, unit: str) -> str:
    for prefix in ("", "k", "M", "G", "T"):
        if count < 999.5 or prefix == "T":
            break
        count /= 1000
    text = f"{count:.0f}" if count >= 9.95 or not prefix else f"{count:.1f}"
    return f"{text} {prefix}{unit}"
