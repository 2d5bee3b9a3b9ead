"""Cut recordings at functions with a Python gradient of their own, and run these between the compiled stretches.

The reverse pass goes through the stretches from last to first. Cotangents wait at the slots they belong to; a stretch
takes those of the values made in it, and gives those of the values from before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.autodiff.rule_application import dependents
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import ITEM, Node
from tapec.ir.types import is_differentiable, type_of
from tapec.log_gradients.gradient_program import Segment, Span, run, segment
from tapec.log_gradients.log_to_graph import Forward
from tapec.ops.control.custom_gradients import CUSTOM
from tapec.trace.classes import wrap

__all__ = ["Cut", "cuts_known", "run_in_stretches", "segments_ahead"]


class Cut(NamedTuple):
    """Describes one call of a Python gradient: its place among the records, and the slots of its arguments and results.

    An argument that is a number has None for its slot.
    """

    record: int
    arguments: tuple[int | None, ...]
    results: tuple[int, ...]


class Cuts(NamedTuple):
    """Holds all cuts of a program, in order. `same` maps slots to the first slot of the same value, where that is
    another one."""

    calls: tuple[Cut, ...]
    same: dict[int, int]


def cuts_known(request: Any) -> bool:
    """Return whether the program is cut. The cuts are found at the first question."""
    structure = request.structure
    if structure.cuts is None:
        structure.cuts = cuts_of(request.log)
    return bool(structure.cuts)


def cuts_of(log: Any) -> Cuts | tuple[()]:
    """Return the cuts of a recorded program; nothing when it is whole."""
    records = [k for k, entry in enumerate(log.records) if entry[0] is CUSTOM]
    if not records:
        return ()
    forward = Forward(log, {})
    slot_of = _slot_of(forward)
    items: dict[Node, list[int]] = {}
    for k, node in enumerate(forward.slots):
        if node.op is ITEM and node.inputs[0].op is CUSTOM:
            items.setdefault(node.inputs[0], []).append(k)
    calls = [node for node in forward.nodes if node.op is CUSTOM]
    cuts = [
        Cut(record, tuple([slot_of.get(i) for i in call.inputs[: call.param("args")]]), tuple(items[call]))
        for record, call in zip(records, calls)
    ]
    return Cuts(tuple(cuts), {k: slot_of[node] for k, node in enumerate(forward.slots) if slot_of.get(node, k) != k})


def _slot_of(forward: Forward) -> dict[Node, int]:
    found: dict[Node, int] = {}
    for k, node in enumerate(forward.slots):
        found.setdefault(node, k)
    return found


def run_in_stretches(tape: Any, request: Any) -> dict[int, Any]:
    """The gradients by slot: of the sources, and perhaps of others."""
    calls, same = request.structure.cuts
    pending = _starts(request)
    done: dict[int, Any] = {}
    sources = {same.get(k, k) for k in request.wanted}
    for j in reversed(range(len(calls) + 1)):
        if pending:
            _stretch(request, j, pending)
        if j:
            cut = calls[j - 1]
            cotangents = [pending.pop(k, None) for k in cut.results]
            done.update((k, ct) for k, ct in zip(cut.results, cotangents) if ct is not None and k in sources)
            if any(ct is not None for ct in cotangents):
                _call(tape, request, cut, cotangents, pending)
    found = {**pending, **done}
    return found | {k: found[first] for k, first in same.items() if first in found}


def _starts(request: Any) -> dict[int, Any]:
    """The cotangents at the targets."""
    same = request.structure.cuts.same
    pending: dict[int, Any] = {}
    for n, k in enumerate(request.targets):
        t = type_of(request.log.values[k])
        if is_differentiable(t):
            seed = wrap(np.ones(t.shape, t.dtype)) if request.seeds is None else request.seeds[n]
            _add(pending, same.get(k, k), seed)
    return pending


def _add(pending: dict[int, Any], slot: int, ct: Any) -> None:
    pending[slot] = pending[slot] + ct if slot in pending else ct


def _stretch(request: Any, j: int, pending: dict[int, Any]) -> None:
    """Carry what is pending in one stretch to what lies before it."""
    log = request.log
    what = (j, tuple(sorted(pending)))
    code: Segment = request.structure.find(log, what, lambda forward: _segment(forward, request, j, what[1]))
    request.segments.append(code)
    seeds = [pending.pop(k)._tapec_read() for k in code.span.targets]
    for slot, ct in run(code, log, seeds).items():
        _add(pending, slot, ct)


def _segment(forward: Forward, request: Any, j: int, pending: tuple[int, ...]) -> Segment:
    nodes = forward.stretches()
    slot_of = _slot_of(forward)
    here = set(nodes[j])
    same = request.structure.cuts.same
    wanted = {same.get(k, k) for k in request.wanted}
    active = dependents(forward.nodes, [forward.slots[k] for k in wanted])
    before = {i for node in nodes[j] for i in node.inputs if i in active and i not in here}
    targets = tuple([k for k in pending if forward.slots[k] in here])
    inside = [k for k in sorted(wanted) if forward.slots[k] in here]
    sources = (*sorted(slot_of[i] for i in before), *inside)
    return segment(forward, Span(j, targets, (True,) * len(targets), sources), f"stretch{j}")


def _rule(log: Any, cut: Cut) -> Any:
    return log.rules[id(log.records[cut.record][3])]


def _call(tape: Any, request: Any, cut: Cut, cotangents: list[Any], pending: dict[int, Any]) -> None:
    """Run the gradient function of one call."""
    rule = _rule(request.log, cut)
    request.segments.append(str(rule))
    tape._busy = True
    try:
        found = rule.cotangents([None if c is None else c._tapec_read() for c in cotangents])
    finally:
        tape._busy = False
    for slot, ct in zip(cut.arguments, found):
        if ct is not None and slot is not None:
            _add(pending, slot, ct)


def segments_ahead(request: Any) -> list[Any]:
    """Return the segments that `run_in_stretches` would run if every gradient function gave a gradient for each
    argument."""
    calls, same = request.structure.cuts
    pending = {same.get(k, k) for k in request.targets}
    found: list[Any] = []
    for j in reversed(range(len(calls) + 1)):
        what = (j, tuple(sorted(pending)))
        code: Segment = request.structure.find(request.log, what, lambda forward: _segment(forward, request, *what))  # noqa: B023
        found.append(code)
        pending = (pending - set(code.span.targets)) | set(code.gives)
        if j and pending & set(calls[j - 1].results):
            found.append(str(_rule(request.log, calls[j - 1])))
            pending = (pending - set(calls[j - 1].results)) | {k for k in calls[j - 1].arguments if k is not None}
    return found
