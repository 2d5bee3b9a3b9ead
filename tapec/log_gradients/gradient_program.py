"""Compile a stretch of a recorded program: differentiate it, optimise it, and load its code (`Segment`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from tapec.autodiff.reverse import backward
from tapec.autodiff.rule_application import fit, input_cotangents, plain
from tapec.autodiff.symbolic.symbolic_zeros import filled
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CT, Builder, Graph, Node, Op, input_node, prune
from tapec.ir.dead_code import with_inputs_read
from tapec.ir.static_index import Slice, Slot
from tapec.ir.types import is_differentiable
from tapec.log_gradients.log_to_graph import Forward, Lifter
from tapec.log_gradients.rolled_gradient import rolled_gradient
from tapec.log_gradients.structure_cache import CACHE
from tapec.ops import Symbol
from tapec.ops.control.select_and_call import CALL
from tapec.ops.indexing.getitem_and_scatter import GETITEM
from tapec.ops.layout.copies import COPY
from tapec.runtime.compile import CompiledGraph, Options
from tapec.trace.classes import wrap
from tapec.trace.dead_values import Value, free
from tapec.trace.perform import record
from tapec.trace.recording_stack import Recorder, current, recordings
from tapec.trace.tensor import Tensor
from tapec.values.indexed_slices import IndexedSlices, concatenated

__all__ = ["Derivation", "Rows", "Segment", "Span", "gathers_rows", "piece", "run", "segment", "slices_at"]


class Span(NamedTuple):
    """Says what a segment does: carry cotangents of `targets` through a stretch of the program to `sources`. All are
    slots.

    `given` tells which targets have a cotangent to start from; the others start from one.
    """

    stretch: int
    targets: tuple[int, ...]
    given: tuple[bool, ...]
    sources: tuple[int, ...]


class Rows(NamedTuple):
    """Describes a cotangent that is given by rows: outputs of the function, and for each the slot of the indices it
    belongs to."""

    parts: tuple[tuple[int, int], ...]
    shape: tuple[int, ...]


class Segment:
    """Holds the compiled gradient of one stretch of a recording.

    `function` takes the values of the slots in `fetch`; `~k` in it is the k-th given cotangent, and a tuple has the
    slots whose values are the rows of one array. `gives` has, for each source that a path leads to, the number of an
    output, or `Rows`; `in_order` tells that these are all outputs, one after the other. `graph` is the same before any
    pass, and without loops (those that it gets if it `rolls`), and reads `reads`: an outer recording keeps it as one
    call. `needs` are the slots whose values it reads, `unread` the large values of the log that it does not read. It
    may write over the values that are `donated`, which nobody else needs; `without_donation` is the same code without
    that.
    """

    __slots__ = (
        "_without_donation",
        "compiled",
        "donated",
        "fetch",
        "forward",
        "function",
        "gives",
        "graph",
        "in_order",
        "needs",
        "reads",
        "reads_arrays",
        "rolls",
        "span",
        "unread",
    )

    def __init__(
        self,
        graph: Graph,
        origins: dict[Node, int],
        gives: dict[int, int | Rows],
        span: Span,
        forward: Forward,
        donated: Sequence[Value] = (),
        rolls: bool = True,
    ):
        self.span = span
        self.rolls = rolls
        self.gives = gives
        self.in_order = [*gives.values()] == [*range(len(graph.outputs))]
        self.graph, self.reads = _with_inputs(graph, origins, forward)
        ends = [forward.slots[k] for k in span.targets]
        self.forward = prune(Graph(forward.leaves, forward.stretches()[span.stretch], ends, "forward"))
        self.unread: tuple[Value, ...] = ()
        self._without_donation: Segment | None = None
        self._build(donated)

    def _build(self, donated: Sequence[Value]) -> None:
        graph, gives = self.graph, self.gives
        rows = [slot for k in gives.values() if type(k) is Rows for _, slot in k.parts]
        may_write = {v.slot: v for v in donated if v.slot not in rows}
        self.function: Callable[..., tuple[Any, ...]] = _nothing
        self.fetch: list[Any] = []
        self.compiled: CompiledGraph | None = None
        if graph.outputs:
            written = {node for node, k in zip(graph.inputs, self.reads) if k in may_write}
            rolled, reads = rolled_gradient(graph, self.reads, may_write) if self.rolls else (graph, self.reads)
            self.compiled = CompiledGraph(rolled, Options(graph.name, donated=written, all_inputs=False))
            self.fetch = [reads[k] for k in self.compiled.reads]
            self.function = self.compiled.code.function
        self.donated = tuple([may_write[k] for k in self.fetch if type(k) is int and k in may_write])
        self.reads_arrays = any([type(k) is tuple for k in self.fetch])
        self.needs = {*rows}
        for k in self.fetch:
            self.needs.update(k if type(k) is tuple else (k,))
        CACHE.misses += 1
        CACHE.compiled(loaded=self.compiled is not None and self.compiled.entry is not None)

    @property
    def without_donation(self) -> Segment:
        """The same stretch, compiled to write over nothing: for a log that goes on, or where somebody holds a value."""
        if not self.donated:
            return self
        if self._without_donation is None:
            with CACHE.lock:
                made = copy(self)
                made._build(())
                self._without_donation = made
        return self._without_donation

    @property
    def optimized(self) -> Graph:
        """The graph after the passes."""
        return self.graph if self.compiled is None else self.compiled.optimized

    @property
    def source(self) -> str:
        """The generated source; empty when there is nothing to run."""
        return "" if self.compiled is None else self.compiled.code.source


def _with_inputs(graph: Graph, origins: dict[Node, int], forward: Forward) -> tuple[Graph, list[int]]:
    """The graph with the inputs it uses, and where their values come from."""
    graph = with_inputs_read(Graph(origins, graph.nodes, graph.outputs, graph.name))
    reads = [origins[node] for node in graph.inputs]
    seeds = [node for node, k in zip(graph.inputs, reads) if k < 0]
    computed = [forward.slots[k] if k >= 0 else node for node, k in zip(graph.inputs, reads)]
    graph.past = Graph([*forward.leaves, *seeds], forward.nodes, computed, "forward")
    return graph, reads


def segment(forward: Forward, span: Span, name: str, donated: Sequence[Value] = ()) -> Segment:
    """Differentiate and compile a stretch, whose code may write over what is donated."""
    derived = Derivation(forward, span)
    return Segment(derived.graph(name), derived.origins, derived.gives, span, forward, donated)


def piece(forward: Forward, span: Span, name: str) -> Segment:
    """Differentiate and compile a single operation, of which each value that it reads is an argument of the code."""
    derived = Derivation(forward, span, rows=False)
    return Segment(derived.graph(name), derived.origins, derived.gives, span, forward, rolls=False)


def run(
    segment: Segment, log: Any, seeds: Sequence[Tensor] | None = None, donated: Sequence[Value] = ()
) -> dict[int, Any]:
    """Compute cotangents by slot. Whatever records now, records it as one call. Donated values leave the log."""
    rec = current()
    values = log.values
    if seeds is None and not segment.reads_arrays:
        given = [*map(values.__getitem__, segment.fetch)]
    else:
        given = [_fetched(k, values, seeds) for k in segment.fetch]
    for value in donated:
        free(log, value)
    out = [*map(wrap, segment.function(*given))]
    if rec is not None and segment.reads:
        inputs = tuple([_as_recorded(log, k, rec) if k >= 0 else seeds[~k] for k in segment.reads])  # type: ignore[index]
        record(rec, CALL, inputs, (("bodies", (segment.graph,)),), tuple(out))
    if segment.in_order:
        return dict(zip(segment.gives, out))
    places = values if rec is None else _RecordedPlaces(log, rec)
    return {slot: out[k] if isinstance(k, int) else _indexed(k, out, places) for slot, k in segment.gives.items()}


def _fetched(k: int | tuple[int, ...], values: Any, seeds: Sequence[Tensor] | None) -> Any:
    if isinstance(k, tuple):
        return np.array([*map(values.__getitem__, k)])
    return values[k] if k >= 0 else seeds[~k]._value  # type: ignore[index]


def _as_recorded(log: Any, slot: int, rec: Recorder) -> Any:
    """Return what other recordings know a slot by: its object, or the value of that before it changed in place."""
    x, value = log.objects[slot], log.values[slot]
    if type(x) is np.ndarray:
        return x if x is value or x.tobytes() == value.tobytes() else value
    if not isinstance(x, Tensor) or x._value is value:
        return x
    for tape in reversed(rec.tapes):
        before = tape.log.before(x, value)
        if before is not None:
            return before
    return wrap(value)


class _RecordedPlaces:
    """Finds where gathers read: as what other recordings know, of which a function that is traced takes other places
    at its next call."""

    def __init__(self, log: Any, rec: Recorder):
        self._log, self._rec = log, rec

    def __getitem__(self, slot: int) -> Any:
        return _as_recorded(self._log, slot, self._rec)


def _indexed(rows: Rows, out: list[Tensor], places: Any) -> IndexedSlices:
    """Return rows with the indices they belong to, counted from the front."""
    return concatenated([slices_at(out[k], places[slot], rows.shape) for k, slot in rows.parts])


def slices_at(rows: Tensor, places: Any, shape: tuple[int, ...]) -> IndexedSlices:
    """Return rows for the places where a gather read."""
    if isinstance(places, Tensor) and recordings(places):
        index = np.ravel(places).astype(np.int64)
        return IndexedSlices(rows, np.where(index < 0, index + shape[0], index), shape)
    index = np.array(places).ravel()
    if index.dtype.kind != "i":
        index = index.astype(np.int64)
    index[index < 0] += shape[0]
    return IndexedSlices(rows, wrap(index), shape)


def _nothing(*_: Any) -> tuple[Any, ...]:
    return ()


class Derivation:
    """Runs reverse mode once over a stretch. Without `rows`, sources of gathers get dense cotangents too."""

    def __init__(self, forward: Forward, span: Span, rows: bool = True):
        self.span = span
        self.builder = Builder()
        self.lift = Lifter(self.builder, forward.slots)
        self.seeds: dict[Node, int] = {}
        self.outputs: list[Node] = []
        self.gives: dict[int, int | Rows] = {}
        slots = forward.slots
        sources = {k: slots[k] for k in span.sources if is_differentiable(slots[k].type)}
        nodes = forward.stretches()[span.stretch]
        gathers = _gathers(nodes, list(sources.values())) if rows else {}
        apart = {g for found in gathers.values() for g, _ in found}
        ends = list(dict.fromkeys([*sources.values(), *apart]))
        found = backward(
            self.builder,
            [n for n in nodes if n not in apart] if apart else nodes,
            [slots[k] for k in span.targets],
            [self.seed(slots[k], forward.name_of(k), given) for k, given in zip(span.targets, span.given)],
            ends,
            self.lift,
        )
        cotangents = dict(zip(ends, found))
        for k, node in sources.items():
            self.give(k, node, cotangents[node], [(g, i, cotangents[g]) for g, i in gathers.get(node, ())])

    def seed(self, target: Node, name: str | None, given: bool) -> Symbol:
        """Return the cotangent that the way back from a target starts from."""
        if not given:
            return filled(self.builder, plain(target.type), 1.0)
        node = input_node(f"d_{name or 'y'}", plain(target.type))
        self.seeds[node] = ~len(self.seeds)
        return Symbol(node, self.builder)

    def give(self, slot: int, source: Node, ct: Any, gathered: list[tuple[Node, Node, Any]]) -> None:
        """Make the cotangent of a source an output: by rows when only gathers read it."""
        gathered = [(g, index, c) for g, index, c in gathered if c is not None]
        if ct is None and gathered and all(index in self.lift.slots for _, index, _ in gathered):
            parts = [(self.output(_rows(c, index, source)), self.lift.slots[index]) for _, index, c in gathered]
            self.gives[slot] = Rows(tuple(parts), source.type.shape)
            return
        self.builder.role = CT
        for gather, _, c in gathered:
            xs = [Symbol(self.lift(i), self.builder) for i in gather.inputs]
            part = fit(self.builder, input_cotangents(gather, c, None, xs)[0], source.type)
            ct = part if ct is None else ct + part
        self.builder.role = None
        if ct is not None:
            self.gives[slot] = self.output(ct)

    def output(self, ct: Any) -> int:
        self.outputs.append(ct.node)
        return len(self.outputs) - 1

    @property
    def origins(self) -> dict[Node, int]:
        """The slots that the values of inputs come from; `~k` is the k-th given cotangent."""
        return {**self.lift.inputs, **self.seeds}

    def graph(self, name: str) -> Graph:
        return prune(Graph((), self.builder.nodes, self.outputs, name))


# ---------------------------------------------------------------------------------------------------------------
# gathers
# ---------------------------------------------------------------------------------------------------------------
def _gathers(nodes: Sequence[Node], sources: list[Node]) -> dict[Node, list[tuple[Node, Node]]]:
    """Return, for each source that rows are gathered from, the gathers and their indices.

    A source that depends on another one is left out: its own cotangent has to flow on, in full.
    """
    found: dict[Node, list[tuple[Node, Node]]] = {}
    wanted = set(sources)
    for node in nodes:
        index = _gathered(node) if node.inputs else None
        if index is not None:
            source = node.inputs[0]
            while source.op is COPY and source not in wanted:  # a Variable's value, as `read_value` gives it
                source = source.inputs[0]
            if source in wanted:
                found.setdefault(source, []).append((node, index))
    if found and any(s.inputs for s in found):
        reached: set[Node] = set()
        for node in nodes:
            if any(i in wanted or i in reached for i in node.inputs):
                reached.add(node)
        found = {s: g for s, g in found.items() if s not in reached}
    return found


_WHOLE = Slice(None, None, None)


def _gathered(node: Node) -> Node | None:
    """The indices, if a node gathers rows along axis 0."""
    if not gathers_rows(node.op, node.params):
        return None
    rows = node.inputs[1]
    return rows if rows.type.ndim and rows.type.dtype.kind in "iu" else None


def gathers_rows(op: Op, params: Any) -> bool:
    """Return whether an op is `x[i]`, `x[i, :]` or `np.take(x, i, axis=0)`, whatever i is."""
    if op is not GETITEM:
        return False
    index = dict(params)["index"]
    return bool(index) and type(index[0]) is Slot and all([p == _WHOLE or p is Ellipsis for p in index[1:]])


def _rows(ct: Any, index: Node, source: Node) -> Any:
    """A gather's cotangent, one row for each index."""
    return np.reshape(ct, (index.type.size, *source.type.shape[1:]))
