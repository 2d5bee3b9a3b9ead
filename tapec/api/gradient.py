"""From a tape's log, through its structure, to compiled code, and through that to gradients."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from tapec.api.cuts import cuts_of, run_in_stretches
from tapec.api.forward import Forward
from tapec.api.segment import Segment, Span, run, segment
from tapec.api.structures import Structure, structure_of
from tapec.trace.tensor import Tensor, wrap

__all__ = ["Request", "tape_gradient", "whole"]

_SCANNING = Lock()

class Request:
    """What is asked of a recording: the slots of targets and sources, and the structure they make with it.

    A target that was not recorded has a gradient with respect to itself alone: `apart` has, with the gradient to start
    from, those that are a source too. `segments` are those that ran.
    """

    __slots__ = ("apart", "ids", "log", "seeds", "segments", "sources", "structure", "targets")

    def __init__(self, tape: Any, targets: list[Any], seeds: list[Tensor] | None, sources: list[Any]):
        log = self.log = tape.log
        if log.behind:
            with _SCANNING:
                log.scan()
        get = log.index.get
        self.seeds = seeds
        self.apart: Any = ()
        self.segments: list[Segment] = []
        self.ids = tuple([id(t) for t in targets]), tuple([id(s) for s in sources])
        slots: list[Any] = [get(id(t)) for t in targets]
        if None in slots:
            slots = self._part(tape, targets, slots, sources)
        self.targets: tuple[int, ...] = tuple(slots)
        self.sources = tuple([_slots(get, tape.tensors_of(s)) for s in sources])
        self.structure: Structure = structure_of(log, (self.targets, self.sources, self.seeds is None))

    def _part(self, tape: Any, targets: list[Any], slots: list[Any], sources: list[Any]) -> list[int]:
        """Set unrecorded targets apart; gives the slots of the others. A Variable is where it was read last."""
        for n, t in enumerate(targets):
            if type(t) is not Tensor and any(x is t._tensor for x in tape.tensors_of(t)):
                slots[n] = self.log.index.get(id(t._tensor))
        seeds = self.seeds or [None] * len(targets)
        self.apart = [
            (k, _one(t) if seed is None else seed)
            for slot, t, seed in zip(slots, targets, seeds)
            for k, s in enumerate(sources)
            if slot is None and s is t and t.dtype.kind in "fc"
        ]
        if self.seeds is not None:
            self.seeds = [seed for slot, seed in zip(slots, self.seeds) if slot is not None]
        return [slot for slot in slots if slot is not None]


def _slots(get: Any, tensors: tuple[Tensor, ...]) -> tuple[int, ...]:
    if len(tensors) == 1:
        slot = get(id(tensors[0]))
        return () if slot is None else (slot,)
    return tuple([slot for t in tensors if (slot := get(id(t))) is not None])


def _one(target: Any) -> Tensor:
    return wrap(np.ones(target.shape, target.dtype))


def tape_gradient(tape: Any, targets: list[Any], seeds: Any, sources: list[Any]) -> list[Any]:
    """For each source its gradient: a tensor, IndexedSlices, or None where no path leads."""
    request = tape.shown = Request(tape, targets, seeds, sources)
    structure = request.structure
    if structure.cuts is None:
        structure.cuts = cuts_of(request.log)
    if structure.cuts:
        found = run_in_stretches(tape, request)
    else:
        code = whole(request)
        request.segments.append(code)
        found = run(code, request.log, request.seeds)
    grads = [found.get(group[0]) if len(group) == 1 else _added(found, group) for group in request.sources]
    for k, ct in request.apart:
        grads[k] = ct if grads[k] is None else grads[k] + ct
    request.seeds = None
    request.apart = ()
    return grads


def whole(request: Request) -> Segment:
    """The compiled gradient of a program without cuts."""
    return request.structure.find(request.log, None, lambda forward: _whole(forward, request))


def _whole(forward: Forward, request: Request) -> Segment:
    given = request.seeds is not None
    slots = tuple(dict.fromkeys([k for group in request.sources for k in group]))
    return segment(forward, Span(0, request.targets, (given,) * len(request.targets), slots), name_of(forward, request))


def name_of(forward: Forward, request: Request) -> str:
    """`loss_grad`, after the user's name for the target."""
    name = forward.name_of(request.targets[0]) if len(request.targets) == 1 else None
    return f"{name}_grad" if name else "gradient"


def _added(found: dict[int, Any], group: tuple[int, ...]) -> Any:
    """The gradient of a source that was read at several values."""
    total = None
    for k in group:
        part = found.get(k)
        if part is not None:
            total = part if total is None else total + part
    return total
