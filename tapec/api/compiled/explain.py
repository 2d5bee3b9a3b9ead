"""Explain a call: `f.explain(*args)` says what tapec knows about it, for a person and, as `to_dict`, for a program."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from types import CodeType
from typing import Any

from tapec.api import tuning
from tapec.api.compiled.programs.guarded_paths import Guard, TracedPath
from tapec.api.compiled.programs.path_set import Program
from tapec.api.compiled.signature_entry import State
from tapec.autodiff.unconnected import ancestors, dead_ends
from tapec.codegen.schedule.emitted_cost import Cost, cost_text
from tapec.ir import CONSTANT, OPS, Graph, Node, is_literal, ops
from tapec.ir.source_location import place_of
from tapec.ir.text.notebook_hooks import rich
from tapec.trace.capture.captured_paths import CapturedPath

__all__ = ["Explanation", "explanation"]


@dataclass
class Explanation:
    """Holds what tapec knows about a call, in parts; `str` puts them on a page.

    Attributes
    ----------
    name : str
        The name of the generated function.
    signature : list of str
        The inputs and their types, and the static arguments and their values.
    paths : list of dict
        For each compiled path whether this call takes it ("taken"), and the tests that choose it ("guards").
    captured : list of str
        The captured state that each call reads, and the facts about it that each call checks.
    literals : list of str
        The numbers and arrays that are written into the code.
    gradients : list of str
        For each argument that is differentiated whether its derivative flows, or else where its paths end.
    recorded_anew : str or None
        Why the function is recorded anew at each call, if it is.
    compiled_because : str
        Why it compiled last.
    unchecked : str or None
        Why the call was not compared with plain NumPy, if it was not.
    cost : dict
        Numbers of nodes, floating point operations, bytes moved, and bytes of memory at most.
    notes : list of str
        What else there is to know.

    Examples
    --------
    >>> import tapec
    >>> f = tapec.grad(lambda x, y: x * x)
    >>> f.explain(3.0, 4.0).signature
    ['x: float', 'y: float']

    See Also
    --------
    f.explain : makes it
    """

    name: str
    signature: list[str] = field(default_factory=list)
    paths: list[dict[str, Any]] = field(default_factory=list)
    captured: list[str] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    gradients: list[str] = field(default_factory=list)
    recorded_anew: str | None = None
    compiled_because: str = ""
    unchecked: str | None = None
    cost: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return all parts as a dict, for programs.

        Returns
        -------
        dict
            A value for each attribute, made of dicts, lists, strings and numbers.

        Examples
        --------
        >>> import tapec
        >>> tapec.grad(lambda x: x * x).explain(3.0).to_dict()["gradients"]
        ['x: flows']
        """
        return asdict(self)

    def __str__(self) -> str:
        lines = [self.name, *_block("arguments", self.signature)]
        branches = len(self.paths) > 1 or any(path["guards"] for path in self.paths)
        for k, path in enumerate(self.paths if branches else ()):
            mark = " (taken by this call)" if path["taken"] else ""
            lines.append(f"  path {k + 1} of {len(self.paths)}{mark}")
            lines += [f"    {g}" for g in counted(path["guards"])]
        lines += _block("captured, read anew at each call", self.captured)
        lines += _block("written into the code", self.literals)
        lines += _block("gradients", self.gradients)
        if self.recorded_anew:
            lines.append(f"  {State.RETRACED.value}, because {self.recorded_anew}")
        if self.compiled_because:
            lines.append(f"  last compiled because {self.compiled_because}")
        if self.unchecked:
            lines.append(f"  not compared with plain NumPy, because {self.unchecked}")
        lines += _block("cost", cost_lines(self.cost))
        lines += _block("notes", self.notes)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return rich("explanation_html", self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def counted(guards: list[str]) -> list[str]:
    """The rounds of a loop that were answered alike stand there once, with their number."""
    lines: list[str] = []
    start = 0
    while start < len(guards):
        length, times = longest_repeat(guards, start)
        lines += guards[start : start + length]
        if times > 1:
            lines[-1] += f"  ({times} times)" if length == 1 else f"  (these {length} lines {times} times)"
        start += length * times
    return lines


def longest_repeat(lines: list[str], start: int) -> tuple[int, int]:
    """Return how many lines from `start` on form a group that repeats, and how often: the pair that covers most
    lines."""
    best = 1, 1
    for length in range(1, tuning.REPEATED_MAX_LINES + 1):
        round_, times = lines[start : start + length], 1
        while lines[start + times * length : start + (times + 1) * length] == round_:
            times += 1
        if times > 1 and length * times > best[0] * best[1]:
            best = length, times
    return best


def cost_lines(cost: dict[str, Any]) -> list[str]:
    """Return the cost as the first line of the source has it, and how many nodes the passes of both pipelines left."""
    if not cost:
        return []
    nodes = f"{cost['nodes before optimisation']} nodes, {cost['nodes']} after optimisation"
    nodes += f", {cost['nodes written']} written"
    return [nodes, cost_text(Cost(cost["flops"], cost["moved"], cost["peak"]))] if "flops" in cost else [nodes]


def _block(title: str, items: list[str]) -> list[str]:
    return [f"  {title}", *[f"    {i}" for i in items]] if items else []


def where(node_origin: Any) -> str:
    """`model.py:7   np.sum(x) > 0`, as far as it is known."""
    if node_origin is None:
        return ""
    place = place_of(node_origin)
    return f"{place.short}   {place.text}".rstrip()


def guard_text(guard: Guard) -> str:
    kind = "" if guard.kind is bool else f"{guard.kind.__name__} "
    return f"{where(guard.origin)}  is {kind}{guard.value}"


def explanation(
    name: str,
    info: Any,
    program: Program | None,
    path: TracedPath | None,
    retrace_reason: str | None,
    why: str,
    wrt: Any,
    forwards: bool,
) -> Explanation:
    out = Explanation(name, recorded_anew=retrace_reason, compiled_because=why)
    out.signature = [f"{n}: {t}" for n, t in zip(info.names, info.types)]
    for label, leaf, position in zip(info.labels, info.leaves, info.position):
        if position is None and leaf is not None:
            out.signature.append(f"{label} = {_short(leaf)} (static)")
    if program is None or path is None:
        return out
    out.unchecked = path.unchecked
    out.paths = [{"taken": p is path, "guards": [guard_text(g) for g in p.guards]} for p in program.paths]
    for s in program.sources.values():
        if s.kind == "path":
            out.captured.append(f"{s.key.label}: {s.node.type}")
        elif s.kind == "variable":
            out.captured.append(f"{s.key.name}: {s.node.type} (Variable)")
        elif s.kind == "kept":
            what = f"an array of unknown origin: {s.node.type}"
            out.captured.append(f"{what} (changes in place are seen, rebinding is not)")
    out.captured += [f"{at.label}: a counter, {by:+d} at each call" for at, by in path.increments]
    facts = [(p, v) for p, v in program.checks.values() if not isinstance(v, CodeType) and not _is_usual(p, v)]
    out.captured += [f"{p.label} = {_short(v)} (checked)" for p, v in facts]
    out.literals = literals(path.forward)
    if wrt is not None:
        out.gradients = gradient_states(path.forward, wrt, info.names, forwards)
    if program.compiled is not None:
        graph, optimized = program.compiled.graph, program.compiled.optimized
        out.notes += loops(optimized)
        if program.compiled.entry is not None:
            out.notes.append(f"the code was loaded from the cache on disk, entry {program.compiled.entry[:12]}")
        out.cost = {"nodes before optimisation": len(graph.nodes), "nodes": len(optimized.nodes)}
        out.cost["nodes written"] = len(program.compiled.written.nodes)
        out.cost.update({k: v for k, v in program.compiled.code.cost._asdict().items() if v is not None})
    return out


def _short(value: Any) -> str:
    text = getattr(value, "__qualname__", getattr(value, "__name__", None)) or " ".join(repr(value).split())
    return text if len(text) < 60 else text[:57] + "..."


def loops(graph: Graph) -> list[str]:
    """Return the operations that run once for each example, because they have no batching rule."""
    return [
        f"{node.bodies[0].name} runs in a Python loop, once an example: it has no batching rule  {where(node.origin)}"
        for node in graph.nodes
        if node.op is ops.loop and not node.param("carried") and node.bodies[0].name in OPS
    ]


def literals(graph: Graph) -> list[str]:
    """Return numbers and arrays that the run produced by itself and that are part of the code now.

    Those of one expression stand together; of many arrays, as of a loop whose slices shrink, the first and the last.
    """
    readers = {i: node for node in reversed(graph.nodes) for i in node.inputs}  # the first one that reads a value
    found: dict[str, str] = {}
    for node in graph.nodes:
        if node.op is CONSTANT:
            shown = repr(node.value) if is_literal(node) or node.type.size == 1 else f"an array {node.type}"
        elif node.op is ops.full and node.origin is None:
            shown = f"an array {node.type} of {node.param('value')}"
        else:
            continue
        place = where(node.origin or (readers[node].origin if node in readers else None))
        if shown not in found:
            found[shown] = place
    lines: list[str] = []
    for place in dict.fromkeys(found.values()):
        alike = [shown for shown, where_ in found.items() if where_ == place]
        arrays = [shown for shown in alike if shown.startswith("an array ")]
        if len(arrays) > tuning.LISTED_ARRAYS_OF_ONE_LINE_MAX:
            alike = [shown for shown in alike if shown not in arrays]
            alike.append(f"{len(arrays)} arrays, {arrays[0][9:]} to {arrays[-1][9:]}")
        lines += [f"{shown}   {place}".rstrip() for shown in alike]
    return lines


def gradient_states(graph: Graph, wrt: list[int], names: list[str], forwards: bool = False) -> list[str]:
    """Say for each input how a derivative reaches it, or at which nodes its paths to the result end."""
    lines = []
    for k in wrt:
        source = graph.inputs[k]
        target = graph.outputs[0]
        dead = dead_ends(graph.nodes, source, [target])
        if source not in ancestors(graph.nodes, [target]):
            lines.append(f"{names[k]}: zero, since the result does not use it")
        elif dead:
            lines.append(f"{names[k]}: zero, since no derivative passes " + "; ".join(_dead_end(n) for n in dead[:3]))
        else:
            lines.append(f"{names[k]}: flows" + (", forwards beside the values" if forwards else ""))
    return lines


def _dead_end(node: Node) -> str:
    place = where(node.origin)
    return f"{node.op.name} at {place}" if place else node.op.name


def _is_usual(path: CapturedPath, value: Any) -> bool:
    """Return whether a fact says what holds of most arrays: that they lie in the order of C."""
    return value is True and "_memory_order" in path.names
