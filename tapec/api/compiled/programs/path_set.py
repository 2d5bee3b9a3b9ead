"""Define `Program`: all known paths of one signature, from traces to one compiled decision tree.

Each trace gives a straight-line graph and the guards it relied on. A transform turns that graph into what is to be
computed; the results of all paths are copied into one graph, where what they share falls together, with a tree over it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from types import CodeType
from typing import Any, Self

import numpy as np

from tapec.api.compiled.fresh.reads import Reads
from tapec.api.compiled.programs.guarded_paths import Guard, TracedPath, Trie, same_guards
from tapec.autodiff.bodies.recomputation import inline_checkpoints
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.errors import warn_user
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import INPUT, Builder, Graph, Node, input_node, ops, type_of
from tapec.ir import tuning as ir_tuning
from tapec.ir.decision_tree import Tree
from tapec.ir.types import NUMBERS
from tapec.ops.core.define import as_data
from tapec.ops.elementwise.casting import CAST
from tapec.ops.layout.creation import FULL
from tapec.passes.engine.node_facts import is_nonnegative, uniform_value
from tapec.pytree import LEAF
from tapec.runtime.compile import CompiledGraph, Options
from tapec.trace.capture.captured_paths import LOST, CapturedPath, holds
from tapec.trace.capture.escaped_arrays import held_elsewhere
from tapec.trace.function.trace_function import Recorded
from tapec.trace.tensor import Tensor
from tapec.trace.written_numbers import name_written_numbers

__all__ = ["InputSource", "Program", "is_number_like"]


class InputSource(NamedTuple):
    """Says what an input of a program reads at each call: an argument, a captured path, a Variable, or an array
    kept."""

    kind: str
    key: Any
    node: Node


class Program:
    """Holds the paths known for one signature and one set of facts about captured state.

    `sources` lists what each input of the compiled function reads; `checks` are the captured facts that must still
    hold, `with_arguments` those about captured arrays that may be arguments as well; `compiled` is the decision tree. A
    program with a `base` is an addition: it has the paths that were found after its base was compiled, until both are
    compiled together.
    """

    is_retraced = False  # where it is, guards are no branches
    base: Program | None = None

    def __init__(self, transform: Callable[[Graph, Any], tuple[Graph, Any]], name: str, info: Any):
        self.transform = transform
        self.name = name
        self.names = [_identifier(label) for label in info.names]
        self.lists = tuple([(_identifier(info.names[k.start].rpartition("[")[0]), k) for k in info.lists])
        self.sources: dict[Any, InputSource] = {}
        for i, t in enumerate(info.types):
            self.sources[("argument", i)] = InputSource("argument", i, input_node(self.names[i], t))
        self.checks: dict[str, tuple[CapturedPath, Any]] = {}
        self.with_arguments: dict[tuple[str, int], tuple[CapturedPath, int, bool]] = {}
        self.silenced: set[str] = set()  # kinds of NumPy's floating point errors that the code ignores
        self.handed: set[str] = set()  # checks of arrays that code got which does not know tensors
        self.seen = Reads()  # by the runs of its paths
        self.words: set[str] = set()  # names of globals and attributes that the traced functions spell out
        self.asks_classes = False  # whether a run has asked for the class of a number that is an argument
        self.paths: list[TracedPath] = []
        self.at_hand: dict[Node, Any] = {}  # values that inputs have in the run that is being added
        self.compiled: CompiledGraph | None = None
        self.tree: Tree | None = None
        self.broken_fact = ""  # the captured fact that held no longer when last looked at
        self.arrays: dict[Any, list[np.ndarray]] = {}  # large ones that runs have made, by some of what is in them

    # -- adding a path ----------------------------------------------------------------------------------------------
    def copy(self) -> Self:
        """Return a copy to add a path to.

        Another thread that runs this program, or a call after an error, finds it unchanged.
        """
        other = copy(self)
        other.sources, other.checks = dict(self.sources), dict(self.checks)
        other.with_arguments = dict(self.with_arguments)
        other.silenced, other.words, other.handed = set(self.silenced), set(self.words), set(self.handed)
        other.seen = self.seen.copy()
        other.at_hand = {}
        other.arrays = {key: [*alike] for key, alike in self.arrays.items()}
        return other

    def new_addition(self) -> Self:
        """Return an addition to this program, for the paths that are found from now on."""
        other = self.copy()
        other.paths, other.base = [], self
        return other

    def joined(self) -> Self:
        """Return this addition and its base as one program, to be compiled."""
        assert self.base is not None
        other = self.copy()
        other.paths = [p for p in self.base.paths if not any([same_guards(p, q) for q in self.paths])] + self.paths
        other.base = None
        return other

    def add(self, recorded: Recorded, info: Any) -> TracedPath:
        """Turn a trace into a path, and compile all paths together."""
        path = self.path_of(recorded, info)
        path.counts(recorded.captures.stores.increments)
        self.checks.update(recorded.captures.facts.checks)
        self.with_arguments |= {(fact[0].source, fact[1]): fact for fact in recorded.captures.identities.with_arguments}
        self.seen.take(recorded.captures)
        self.handed |= recorded.captures.untraced.handed
        self.silenced |= recorded.trace.errors.silenced
        self.words |= recorded.captures.clones.words
        self.asks_classes |= recorded.captures.inputs.asked_for_classes
        self.paths = [p for p in self.paths if not same_guards(p, path)] + [path]
        try:
            self.compile()
        finally:
            self.at_hand = {}
        return path

    def path_of(self, recorded: Recorded, info: Any) -> TracedPath:
        log = recorded.trace.log
        log.scan()
        builder = Builder()
        guards: list[Guard] = []
        known: set[Any] = set()
        fixed = FixedNodes(builder)

        def guard(node: Node, kind: type, value: Any, origin: Any) -> None:
            if kind is int and node.type.dtype.kind not in "iub":
                node = builder.emit(CAST, (node,), (("dtype", np.dtype(np.int64)),), origin)
            if (node, kind) not in known and not _is_sure(node, value) and node not in fixed:
                known.add((node, kind))
                guards.append(Guard(node, kind, value, origin))
                if kind is int:
                    fixed.add(node)

        leaf = self.leaf_maker(recorded, builder)
        nodes = log.graph(builder, leaf, guard)
        results, statics = [], []
        for place, x in enumerate(recorded.results):
            slot = log.slot_of(x) if isinstance(x, Tensor) else None
            if slot is not None:
                results.append(nodes[slot])
                statics.append(LEAF)
            elif isinstance(x, Tensor) or is_number_like(x):
                results.append(self.result(builder, place, x, leaf))
                statics.append(LEAF)
            else:
                statics.append(x)
        inputs = [s.node for s in self.sources.values()]
        name_written_numbers(builder, inputs)
        forward = builder.graph(inputs, results, self.name)
        given = [(nodes[slot], log.held[slot]) for slot in log.leaves]
        whole = {n: v for n, v in given if n is not None and n.op is INPUT and n.dtype.kind in "iub"}
        info = info._replace(result=recorded.tree, statics=statics, guards=guards, integers=whole)
        target, template = self.transform(forward, info)
        return TracedPath(forward, guards, info, target, template)

    def leaf_maker(self, recorded: Recorded, builder: Builder) -> Callable[[int, Any], Node]:
        """Return the function that makes leaves of the log inputs (read at each call) or constants (made during the
        run)."""
        trace, captures = recorded.trace, recorded.captures
        position = {id(t): i for i, t in enumerate(recorded.arguments)}
        variables = {id(tensor): v for v, tensor in trace.variables.values()}
        held = held_elsewhere(trace.log, recorded.results)
        decided = set() if self.is_retraced else captures.inputs.early & captures.facts.checks.keys()

        def leaf(slot: int, x: Any) -> Node:
            if type(x) in NUMBERS:
                return builder.constant(x)
            if id(x) in position:
                i = position[id(x)]
                return self.source("argument", i, x._value, self.names[i])
            if id(x) in captures.inputs.arrays:
                path = captures.inputs.arrays[id(x)][0]
                if path.source in decided:
                    return builder.constant(x._value)
                return self.source("path", path.source, x._value, _identifier(path.label), path)
            if id(x) in variables:
                variable = variables[id(x)]
                return self.source("variable", id(variable), x._value, variable.name.split(":")[0], variable)
            if isinstance(x, Tensor):
                return self.constant_leaf(x, builder)
            if id(x) in captures.untraced.parts:
                path = captures.untraced.parts[id(x)][0]
                return self.source("path", path.source, x, _identifier(path.label), path)
            if id(x) in held and not trace.log.copied(x):
                return self.held_array(x, known=captures.untraced.compared)
            return self.made_here(builder, trace.log.held[slot])

        return leaf

    def result(self, builder: Builder, place: int, x: Any, leaf: Callable[[int, Any], Node]) -> Node:
        """A plain number or array that the run gave back, or a tensor that it did nothing with."""
        return leaf(-1, x) if isinstance(x, Tensor) else builder.constant(x)

    def constant_leaf(self, x: Tensor, builder: Builder) -> Node:
        """A tensor that came from outside on no path we know: an input when something watches it."""
        if x._mark is not None and any(t.alive for t in x._mark.tokens):
            return self.source("kept", id(x), x._value, "captured", x)
        return self.made_here(builder, x._value)

    def made_here(self, builder: Builder, x: Any) -> Node:
        """A value that the run made itself. Of an array that is one number everywhere that number is told.

        Zeros stay an array: loops start with them, and a first step that differs from the others is no part of a loop.
        Large arrays are told apart by who they are, and each run makes them anew: those that are equal are one.
        """
        if isinstance(x, np.ndarray) and x.size > 1 and x.dtype.char in "?bBhHiIlLqQefd" and x.dtype.isnative:
            first = x.flat[0]
            if first != 0 and np.isfinite(first) and (x == first).all():
                return builder.emit(FULL, (), (("shape", x.shape), ("value", first.item()), ("dtype", x.dtype)))
        if isinstance(x, np.ndarray) and x.nbytes > ir_tuning.COMPARED_CONSTANT_MAX_BYTES and x.dtype.kind in "biufc":
            alike = self.arrays.setdefault((x.shape, x.dtype.str, hash(x.tobytes())), [])
            known = next((a for a in alike if a.tobytes() == x.tobytes()), None)
            if known is None:
                alike.append(x)
            return builder.constant(x if known is None else known)
        return builder.constant(x)

    def held_array(self, x: np.ndarray, known: bool) -> Node:
        """An array that somebody else holds too: read by reference, since it may change in place.

        It is `known` when it comes from an object whose contents are compared at each call.
        """
        if ("kept", id(x)) not in self.sources and not known:
            warn_user(
                f"{self.name} uses an array of shape {x.shape} whose origin cannot be followed: changes in place are "
                f"seen, rebinding it is not. Fix: pass it as an argument, or read it from a global, a closure or an "
                f"attribute."
            )
        return self.source("kept", id(x), x, "captured", x)

    def source(self, kind: str, key: Any, value: Any, name: str, origin: Any = None) -> Node:
        known = self.sources.get((kind, key))
        if known is None:
            node = input_node(name, type_of(value))
            known = self.sources[(kind, key)] = InputSource(kind, key if origin is None else origin, node)
        self.at_hand[known.node] = value
        return known.node

    # -- compiling -----------------------------------------------------------------------------------------------
    def compile(self) -> None:
        graph = self.joined_paths() if self.branches else self.only_path()
        tree = self.tree if self.branches else None
        if any([n.op is ops.checkpoint for n in graph.nodes]):
            graph = inline_checkpoints(graph)
        options = Options(self.name, tree, tuple(sorted(self.silenced)), lists=self.lists)
        self.compiled = CompiledGraph(graph, options, self.paths[-1].forward, self.at_hand)

    def only_path(self) -> Graph:
        """The graph of a path without guards: its nodes as they are."""
        target = self.paths[0].target
        trie = Trie()
        trie.insert([], tuple(range(len(target.outputs))))
        self.tree = trie.tree()
        inputs = [s.node for s in self.sources.values()]
        return Graph(inputs, target.nodes, target.outputs, self.name)

    def joined_paths(self) -> Graph:
        """Return all paths in one graph, and set the decision tree over them."""
        graph, self.tree = self._joined(lambda path: path.target)
        return graph

    def recorded_paths(self) -> tuple[Graph, Tree]:
        """Return what was recorded of all paths in one graph, with the decision tree over it: for who looks at it."""
        return self._joined(lambda path: path.forward)

    def _joined(self, part: Callable[[TracedPath], Graph]) -> tuple[Graph, Tree]:
        builder = Builder()
        outputs: list[Node] = []
        trie = Trie()
        for number, path in enumerate(self.paths):
            conditions = copy_into(builder, path.conditions(), path.forward.inputs)
            steps = []
            for g, node in () if self.is_retraced else zip(path.tests, conditions):
                steps.append((len(outputs), (node, g.kind), g.value))
                outputs.append(node)
            made = copy_into(builder, part(path), part(path).inputs)
            leaf = list(range(len(outputs), len(outputs) + len(made)))
            outputs.extend(made)
            if len(self.paths) > 1:
                leaf.append(len(outputs))
                outputs.append(builder.constant(number))
            trie.insert(steps, tuple(leaf))
        return builder.graph([s.node for s in self.sources.values()], outputs, self.name), trie.tree()

    @property
    def graph(self) -> Graph | None:
        """The graph that code is generated from, with all known paths; None before anything is compiled."""
        return None if self.compiled is None else self.compiled.optimized

    @property
    def branches(self) -> bool:
        """Return whether the compiled function is a decision tree."""
        return len(self.paths) > 1 or bool(self.paths[0].tests and not self.is_retraced)

    @property
    def function(self) -> Callable[..., Any]:
        assert self.compiled is not None
        return self.compiled.code.function

    def follow(self, read: list[Any], captures: Any) -> list[Any]:
        """Called by a function that is traced: what is captured here is captured there, facts included."""
        captures.stores.refuse_changed(self.checks.values())
        captures.stores.refuse_changed([(s.key, x) for x, s in zip(read, self.sources.values()) if s.kind == "path"])
        for path, value in self.checks.values():
            captures.facts.add(path, value)
        captures.called.append(self.seen)
        captures.untraced.handed |= self.handed
        captures.trace.errors.ignored |= self.silenced
        return [captures.read(x, s.key) if s.kind == "path" else x for x, s in zip(read, self.sources.values())]

    def run(self, values: list[Any]) -> Any:
        """The outputs for these values of the inputs, None on an unknown path; errors tell the user's line."""
        assert self.compiled is not None
        code = self.compiled.code
        try:
            return code.function(*values)
        except Exception as error:
            code.annotate(error)
            raise

    def path_taken(self, outputs: tuple[Any, ...]) -> TracedPath:
        """Return the path that gave these outputs; the last of them tells when there are several."""
        return self.paths[0] if len(self.paths) == 1 else self.paths[int(outputs[-1])]

    # -- reading the inputs -----------------------------------------------------------------------------------------
    def read(self, arguments: list[Any]) -> list[Any] | None:
        """The objects to compute with, in the order of the inputs; None when a captured fact no longer holds."""
        for path, value in self.checks.values():
            try:
                now = path.get()
            except LOST:
                self.broken_fact = f"{path.label} is gone"
                return None
            if now is not value and not holds(now, value):
                changed = "is another" if isinstance(value, CodeType) else f"is {now!r}, was {value!r}"
                self.broken_fact = f"{path.label} {changed}"
                return None
        for path, k, same in self.with_arguments.values():
            if (path.get() is arguments[k]) is not same:  # the path has led to an array above
                self.broken_fact = f"{path.label} is {'no longer' if same else 'now'} the argument {self.names[k]}"
                return None
        out = []
        for s in self.sources.values():
            if s.kind == "argument":
                out.append(arguments[s.key])
            elif s.kind == "path":
                try:
                    x = s.key.get()
                except LOST:
                    self.broken_fact = f"{s.key.label} is gone"
                    return None
                if not _fits(x, s.node) or not self._knows_class(x, s.key):
                    self.broken_fact = f"{s.key.label} is no longer {s.node.type}"
                    return None
                out.append(x)
            elif s.kind == "variable":
                out.append(s.key._tapec_read())
            else:
                out.append(s.key)
        return out

    def _knows_class(self, x: Any, path: CapturedPath) -> bool:
        """Return whether a captured value is a plain array or number, or its class was looked at above."""
        return not isinstance(x, np.ndarray) or type(x) is np.ndarray or path.kind().source in self.checks


def is_number_like(x: Any) -> bool:
    if isinstance(x, np.generic):
        return x.dtype.kind in "fciub"
    return isinstance(x, np.ndarray) or type(x) in (float, complex)


def _fits(x: Any, node: Node) -> bool:
    """Return whether a captured value still has the type that was compiled for."""
    value = x._value if type(x) is Tensor else x
    if isinstance(value, np.ndarray):
        return type_of(as_data(value)) == node.type
    return (isinstance(value, np.generic) or type(value) in NUMBERS) and type_of(value) == node.type


def _identifier(label: str) -> str:
    """The last name in `self.net.w` or `cfg['w']`."""
    word = "".join(c if c.isalnum() or c == "_" else " " for c in label).split()
    return word[-1] if word and not word[-1].isdigit() else "_".join(word) or "captured"


class FixedNodes:
    """Knows which nodes have one value wherever the guards so far hold: those whose whole number a guard tells, what
    computes the same, and what is computed from such and from constants."""

    def __init__(self, builder: Builder):
        self._builder = builder
        self._nodes: set[Node] = set()
        self._told: set[Any] = set()
        self._seen = 0  # how many nodes of the builder are known

    def add(self, node: Node) -> None:
        self._nodes.add(node)
        self._told.add(_key(node))

    def __contains__(self, node: Node) -> bool:
        if self._nodes:
            for n in self._builder.nodes[self._seen :]:
                if n.op is not INPUT and (all([i in self._nodes for i in n.inputs]) or _key(n) in self._told):
                    self._nodes.add(n)
            self._seen = len(self._builder.nodes)
        return node in self._nodes


def _key(node: Node) -> Any:
    return node if node.bodies else (node.op, node.inputs, node.params)


def _is_sure(condition: Node, value: Any) -> bool:
    """Return whether a condition has this value at any call: squares and absolute values are not below zero."""
    if condition.op is not ops.less or value is not False:
        return False
    return uniform_value(condition.inputs[1]) == 0 and is_nonnegative(condition.inputs[0])
