"""Compute gradients operation by operation, for programs whose structure is new each time.

To compile a tree, or the steps that a solver happens to choose, takes longer than to run it, and the code would not be
asked for again. But their operations are alike. So for each operation a function is generated and cached that carries
cotangents from its results to its operands, and the way back calls one after the other. Where a structure comes a
second time it is compiled as a whole.

What rules for several operations together are needed for, such as a `where` beside a logarithm of zero, shows in
numbers that are not finite: then this way was not the right one. It is not taken where such rules find a slope at a
kink, as that of `maximum(x, 0) + log1p(exp(-abs(x)))`, nor where operations are as new as the structure is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tapec.autodiff.composite.composite_rule import EXPONENTIALS, POWERS, ROOTS
from tapec.config import code_settings, in_force
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, Op, OpSet
from tapec.ir.types import NUMBERS, is_differentiable
from tapec.log_gradients.gradient_program import Segment, Span, gathers_rows, piece, slices_at
from tapec.log_gradients.log_to_graph import Forward
from tapec.log_gradients.structure_cache import CACHE, PIECES
from tapec.op_by_op import tuning
from tapec.ops.layout.copies import COPY
from tapec.runtime.gc_pause import resting_collector
from tapec.trace.classes import wrap
from tapec.trace.log import Log, NotHeld
from tapec.trace.tensor import Tensor
from tapec.values.indexed_slices import concatenated

__all__ = ["Found", "run_one_by_one"]

_ndarray = np.ndarray
_KINKS = OpSet("absolute clip fabs fmax fmin maximum minimum where")
_SMOOTH = EXPONENTIALS | ROOTS


class Piece(NamedTuple):
    """Holds the code of the way back through one operation.

    Of the values of operands and results, and the cotangents of these, the segment's function takes those in `picks`;
    `gives` tells which operand the cotangents are for.
    """

    segment: Segment
    picks: tuple[int, ...]
    gives: tuple[int, ...]
    used: bool = False  # pieces are dropped from the cache by their age alone


class Step(NamedTuple):
    """Holds a record, the slots of its operands and results, and which operands cotangents are wanted for."""

    entry: tuple[Any, ...]
    places: list[int]
    results: range
    wanted: tuple[bool, ...]


class Found(NamedTuple):
    """Holds the gradients by slot, and what ran for them; None where another way is to be taken.

    That may be because the operations were `too_new`.
    """

    gradients: dict[int, Any] | None
    segments: tuple[Segment, ...] = ()
    too_new: bool = False


def run_one_by_one(
    log: Log, targets: tuple[int, ...], sources: tuple[int, ...], seeds: list[Tensor] | None = None, rows: bool = True
) -> Found:
    """Compute gradients from the slots of targets to those of sources. Gradients may come by `rows`."""
    if sum(map(_bytes, log.held)) > tuning.COMPILED_MIN_BYTES * len(log.records):
        return Found(None)
    steps = None if _has_kinks(log) else _steps(log, sources)
    if steps is None:
        return Found(None)
    way = _Way(log, steps, _starts(log, targets, seeds), frozenset(sources), rows)
    with np.errstate(all="ignore"):
        if not way.go():
            return Found(None, too_new=True)
    return Found(way.result(), tuple(way.ran)) if way.is_finite() else Found(None)


def _has_kinks(log: Any) -> bool:
    """Return whether a log has kinks, beside operations that may be smooth together with them."""
    used = {entry[0] for entry in log.records}
    if used.isdisjoint(_KINKS):
        return False
    smooth = used & _SMOOTH - _KINKS
    return bool(smooth) or any([_is_root(e) for e in log.records if e[0] in POWERS])


def _is_root(entry: Any) -> bool:
    exponent = entry[1][1]
    return type(exponent) not in NUMBERS or type(exponent) is complex or exponent % 1 != 0


def _bytes(value: Any) -> int:
    return value.nbytes if type(value) is _ndarray else value.type.nbytes if type(value) is NotHeld else 0


class _Way:
    """The way back through all steps. `cotangents` are those of slots, `rows` those of gathers, by their sources."""

    def __init__(self, log: Log, steps: list[Step], starts: dict[int, Any], wanted: frozenset[int], rows: bool):
        self.log = log
        self.values = log.values
        self.wanted = wanted
        self.steps = steps
        self.cotangents = starts
        self.gathers = _gathers(steps, wanted, self.values) if rows else {}
        self.rows: dict[int, list[tuple[Any, Any]]] = {}  # cotangents, and the places of rows
        self.ran: dict[Segment, None] = {}
        self.may_make = tuning.NEW_PIECES_MAX + len(steps) // tuning.STEPS_FOR_EACH_NEW_PIECE  # pieces
        self.settings = code_settings(in_force())

    def go(self) -> bool:
        """Go all the way back; return whether that was done. It is not where too many pieces had to be made."""
        cotangents, delayed = self.cotangents, []
        for number in range(len(self.steps) - 1, -1, -1):
            step = self.steps[number]
            source = self.gathers.get(number)
            if source is not None:
                delayed.append((step, source))
                continue
            for slot, ct in self.back(step):
                cotangents[slot] = cotangents[slot] + ct if slot in cotangents else ct
            if self.may_make < 0:
                return False
            for slot in step.results:
                if slot not in self.wanted:
                    cotangents.pop(slot, None)
        for step, source in reversed(delayed):
            if source in cotangents:  # others read it, too
                for _, ct in self.back(step):
                    cotangents[source] = cotangents[source] + ct
            elif step.results[0] in cotangents:
                rows = self.rows.setdefault(source, [])
                rows.append((cotangents[step.results[0]], self.values[step.places[1]]))
        return True

    def back(self, step: Step) -> Iterable[tuple[int, Any]]:
        """The slots to which something flows through one operation, with cotangents."""
        places, results = step.places, step.results
        cts = [self.cotangents.get(k) for k in results]
        given = tuple([ct is not None for ct in cts])
        if True not in given:
            return ()
        slots = [*places, *results]
        values = [self.values[k] for k in slots]
        key = _key(step, values, given, self.settings)
        piece: Piece | None = PIECES.get(key)
        if piece is None:
            self.may_make -= 1
            piece = _new_piece(key, step, given)
        self.ran[piece.segment] = None
        values += cts if all(given) else [ct for ct in cts if ct is not None]
        found = piece.segment.function(*[values[n] for n in piece.picks])
        return zip([places[k] for k in piece.gives], found)

    def is_finite(self) -> bool:
        found = [self.cotangents[k] for k in self.wanted if k in self.cotangents]
        return all([np.isfinite(ct).all() for ct in (*found, *[ct for part in self.rows.values() for ct, _ in part])])

    def result(self) -> dict[int, Any]:
        found: dict[int, Any] = {k: wrap(self.cotangents[k]) for k in self.wanted if k in self.cotangents}
        for source, parts in self.rows.items():
            shape = self.values[source].shape
            sparse = [slices_at(wrap(ct.reshape(at.size, *shape[1:])), at, shape) for ct, at in parts]
            found[source] = concatenated(sparse)
        return found


def _starts(log: Log, targets: tuple[int, ...], seeds: list[Tensor] | None) -> dict[int, Any]:
    """The cotangents at the targets."""
    found: dict[int, Any] = {}
    for n, slot in enumerate(targets):
        t = log.type_of(slot)
        if is_differentiable(t):
            ct = np.ones(t.shape, t.dtype)[()] if seeds is None else seeds[n]._value
            found[slot] = found[slot] + ct if slot in found else ct
    return found


def _steps(log: Any, sources: tuple[int, ...]) -> list[Step] | None:
    """The records through which something flows to the sources; None where it depends on several what flows."""
    active = set(sources)
    values = log.values
    found = []
    for entry, places, slot in log.steps():
        op = entry[0]
        if _has_vectors(op, entry[2]):
            return None
        if op.gradient == "none" or active.isdisjoint(places):
            continue
        results = range(slot, slot + (len(entry[3]) if type(entry[3]) is tuple else 1))
        flowing = [k for k in results if _moves(values[k])]
        if "constant" in op.facts:
            flowing = [k for k in flowing if k - slot not in op.facts["constant"]]
        if flowing:
            found.append(Step(entry, places, results, tuple([k in active for k in places])))
            active.update(flowing)
    return found


def _has_vectors(op: Op, params: Any) -> bool:
    """Return whether an op is about eigenvalues or singular values, whose gradients need vectors that other ops
    compute."""
    if "spectrum" in op.facts or "values_of" in op.facts:
        return True
    graphs = [value for _, value in params if type(value) is Graph]
    return any([_has_vectors(node.op, node.params) for graph in graphs for node in graph.nodes])


def _moves(value: Any) -> bool:
    """Return whether a value's type has a derivative, as `is_differentiable` has it."""
    return type(value) in (float, complex) if type(value) in NUMBERS else value.dtype.kind in "fc"


def _gathers(steps: list[Step], sources: frozenset[int], values: list[Any]) -> dict[int, int]:
    """The numbers of those that gather rows from a source, as a segment finds them, and that source."""
    made = {step.results[0]: step for step in steps}
    found = {}
    for number, (entry, places, _, _) in enumerate(steps):
        if gathers_rows(entry[0], entry[2]) and _are_places(values[places[1]]):
            source = places[0]
            while source not in sources and source in made and made[source].entry[0] is COPY:
                source = made[source].places[0]
            if source in sources and source not in made:
                found[number] = source
    return found


def _are_places(value: Any) -> bool:
    return type(value) is _ndarray and value.ndim > 0 and value.dtype.kind in "iu"


# -- pieces -----------------------------------------------------------------------------------------------------------
def _key(step: Step, values: list[Any], given: tuple[bool, ...], settings: Any) -> tuple[Any, ...]:
    """Return the key of a piece: operands and results have these values, some results have a cotangent.

    Numbers are left out, but for those of powers.
    """
    entry, places, _, wanted = step
    op = entry[0]
    key = [op, entry[2], wanted, given, settings, entry[6] is None]
    for v in values if op.kind == "dynamic" else values[: len(places)]:
        kind = type(v)
        if kind is _ndarray:
            key.append(v.shape)
            key.append(v.dtype)
        elif kind in NUMBERS:
            key.append((kind, v) if op in POWERS else kind)
        else:
            key.append(v.dtype)
    if len(places) > 1:
        key += map(places.index, places)  # which of them are the same
    return tuple(key)


def _new_piece(key: tuple[Any, ...], step: Step, given: tuple[bool, ...]) -> Piece:
    with CACHE.lock, resting_collector():
        return PIECES.make(key, lambda: _made(step, given))


def _made(step: Step, given: tuple[bool, ...]) -> Piece:
    """The gradient of a recording of this operation alone."""
    log = Log()
    log.records.append(step.entry)
    log.scan()
    [(entry, places, slot)] = log.steps()
    written = dict(log.scalars) if entry[0] in POWERS else {}
    targets = tuple([slot + k for k, has_one in enumerate(given) if has_one])
    sources = tuple(dict.fromkeys([k for k, want in zip(places, step.wanted) if want]))
    span = Span(0, targets, (True,) * len(targets), sources)
    made = piece(Forward(log, written), span, f"back_through_{entry[0].name.rpartition('.')[2]}")
    at = {k: places.index(k) for k in places} | {slot + k: len(places) + k for k in range(len(given))}
    count = len(places) + len(given)
    gives = sorted([(output, at[k]) for k, output in made.gives.items()])
    return Piece(made, tuple([at[k] if k >= 0 else count + ~k for k in made.fetch]), tuple([k for _, k in gives]))
