"""Answer `tape.gradient`: from the log, through its structure, to compiled code, and through that to gradients."""

from __future__ import annotations

from threading import RLock
from typing import Any

import numpy as np

from tapec.api.tape.python_gradient_cuts import cuts_known, run_in_stretches
from tapec.api.tape.run_gradient import answer
from tapec.log_gradients.first_sight import recent_structures
from tapec.log_gradients.gradient_program import Segment, Span, segment
from tapec.log_gradients.log_to_graph import Forward
from tapec.log_gradients.structure_cache import Structure, structure_of
from tapec.op_by_op.eager_gradient import run_one_by_one
from tapec.runtime.malloc_hint import keep_memory
from tapec.trace.classes import wrap
from tapec.trace.dead_values import can_be_donated, large_values
from tapec.trace.log import Log
from tapec.trace.recording_stack import current
from tapec.trace.tensor import Tensor

__all__ = ["Request", "by_source", "done", "name_of", "tape_gradient", "whole"]

_SCANNING = RLock()


class Request:
    """Describes what is asked of a recording: the slots of targets and sources, and the structure they make with it.

    A target that was not recorded has a gradient with respect to itself alone: `apart` has, with the gradient to start
    from, those that are a source too. `segments` are those that ran. If it `is_last`, nobody asks the recording for
    more. `read` has the slots of each Variable, by its identity. When it is done it holds no values any more.
    """

    __slots__ = ("apart", "get", "is_last", "log", "read", "seeds", "segments", "sources", "structure", "targets")

    def __init__(self, tape: Any, targets: list[Any], seeds: list[Tensor] | None, sources: list[Any]):
        log = self.log = tape.log
        self.is_last = not tape._persistent and current() is None
        if log.behind:
            _scan(log)
        get = self.get = log.index.get
        self.read = {k: tuple([get(id(t)) for t in tensors]) for k, tensors in tape.values_read.items()}
        self.seeds = seeds
        self.apart: Any = ()
        self.segments: list[Any] = []
        self.targets, self.sources = self.slots(tape, targets, sources)
        if log.behind:  # a view among them was out of date, and its reading is recorded
            _scan(log)
            self.targets, self.sources = self.slots(tape, targets, sources)
        if None in self.targets:
            self._set_apart(targets, sources)
        self.structure: Structure = structure_of(log, (self.targets, self.sources, seeds is None))

    def slots(self, tape: Any, targets: list[Any], sources: list[Any]) -> tuple[Any, Any]:
        """The slot of each target, and those of each source; None for what was not recorded, or was not watched."""
        read = self.read
        return (
            tuple([self._target(t, tape) for t in targets]),
            tuple([read.get(id(s)) or self._source(s, tape) for s in sources]),
        )

    def _target(self, x: Any, tape: Any) -> int | None:
        slot = self.get(id(x if type(x) is Tensor else x._tensor))
        return slot if slot in self._source(x, tape) else None

    def _source(self, x: Any, tape: Any) -> tuple[int | None, ...]:
        """Return the slots of a source: a Variable has one for each value that it was read with.

        An operand that nobody watches has a slot too, but no gradient.
        """
        if type(x) is not Tensor:
            return self.read.get(id(x), ())
        mark, token = x._mark, tape.token  # the mark may have been renewed when the tape was over
        return (self.get(id(x)) if mark is not None and (token in mark.tokens or not token.alive) else None,)

    def _set_apart(self, targets: list[Any], sources: list[Any]) -> None:
        """Leave the unrecorded targets to `apart`."""
        slots, seeds = self.targets, self.seeds
        given = [None] * len(slots) if seeds is None else seeds
        self.targets = tuple([slot for slot in slots if slot is not None])
        if seeds is not None:
            self.seeds = [seed for slot, seed in zip(slots, seeds) if slot is not None]
        self.apart = [
            (k, wrap(np.ones(t.shape, t.dtype)) if seed is None else seed)
            for slot, t, seed in zip(slots, targets, given)
            for k, s in enumerate(sources)
            if slot is None and s is t and t.dtype.kind in "fc"
        ]

    @property
    def wanted(self) -> tuple[int, ...]:
        """The slots of all sources, each once."""
        return tuple(dict.fromkeys([k for group in self.sources for k in group if k is not None]))

    def is_about(self, tape: Any, targets: list[Any], sources: list[Any]) -> bool:
        """Return whether these targets and sources would make the same request."""
        slots, groups = self.slots(tape, targets, sources)
        return tuple([k for k in slots if k is not None]) == self.targets and groups == self.sources


def _scan(log: Log) -> None:
    with _SCANNING:
        log.scan()


def tape_gradient(tape: Any, targets: list[Any], seeds: Any, sources: list[Any]) -> list[Any]:
    """Return the gradient for each source: a tensor, IndexedSlices, or None where no path leads."""
    request = Request(tape, targets, seeds, sources)
    found = _at_first_sight(request) if request.structure.compile_on_repeat else None
    if found is None:
        found = run_in_stretches(tape, request) if cuts_known(request) else _by_code(request)
    grads = by_source(request, found)
    for k, ct in request.apart:
        grads[k] = ct if grads[k] is None else grads[k] + ct
    return done(tape, request, grads)


def _at_first_sight(request: Request) -> dict[int, Any] | None:
    """Compute gradients op by op for a recording that is compiled only when it comes again; None for any other."""
    if request.structure.times > 1 or current() is not None or cuts_known(request):
        return None
    found = run_one_by_one(request.log, request.targets, request.wanted, request.seeds)
    recent_structures(request.log).failed_tries += found.too_new
    request.segments.extend(found.segments)
    return found.gradients


def _by_code(request: Request) -> dict[int, Any]:
    ran, found = answer(whole(request), request.log, request.is_last, request.seeds)
    request.segments.append(ran)
    return found


def done(tape: Any, request: Request, grads: list[Any]) -> list[Any]:
    """The tape remembers what ran, but no values."""
    request.log = request.seeds = None
    request.apart = ()
    tape.shown = request
    return grads


def whole(request: Request) -> Segment:
    """The compiled gradient of a program without cuts."""
    return request.structure.find(request.log, None, lambda forward: _whole(forward, request))


def _whole(forward: Forward, request: Request) -> Segment:
    given = (request.seeds is not None,) * len(request.targets)
    large = large_values(request.log)
    keep_memory(sum([value.placeholder.type.nbytes for value in large]))  # the next recording makes as many
    donated = [value for value in large if can_be_donated(request.log, value)] if request.is_last else ()
    made = segment(forward, Span(0, request.targets, given, request.wanted), name_of(forward, request), donated=donated)
    made.unread = tuple([value for value in large if value.slot not in made.needs])
    return made


def name_of(forward: Forward, request: Request) -> str:
    """Return a name for the code, `loss_grad`, after the user's name for the target."""
    name = forward.name_of(request.targets[0]) if len(request.targets) == 1 else None
    return f"{name}_grad" if name else "gradient"


def by_source(request: Request, found: dict[int, Any]) -> list[Any]:
    """Order the gradients found by slot by source, and add those of a source that has several slots."""
    get = found.get
    return [get(group[0]) if len(group) == 1 else _added(found, group) for group in request.sources]


def _added(found: dict[int, Any], group: tuple[int, ...]) -> Any:
    """The gradient of a source that was read at several values."""
    total = None
    for k in group:  # none was read, or some were read in vain
        part = found.get(k)
        if part is not None:
            total = part if total is None else total + part
    return total
