"""From a tape's log to a cached gradient function, and through it to gradients."""

from __future__ import annotations

from typing import Any

from tapec.api.variable import Variable
from tapec.autodiff.reverse import backward, filled
from tapec.codegen import compile_graph
from tapec.ir import CONSTANT, Builder, Graph, Node, input_node
from tapec.ir.types import Type, type_of
from tapec.ops.control import CALL
from tapec.passes.pipeline import optimize
from tapec.runtime.cache import Cache
from tapec.trace.recorder import CURRENT
from tapec.trace.tensor import record, wrap

__all__ = ["CACHE", "TapeGradient", "tape_gradient"]

CACHE = Cache()


class Structure:
    """All compiled gradients of one recorded structure, by the numbers written into them.

    `moving` are the slots of Python numbers that were seen to change: inputs from then on.
    """

    __slots__ = ("compiled", "first", "moving")

    def __init__(self, scalars: tuple[Any, ...]):
        self.first = scalars
        self.moving: frozenset[int] = frozenset()
        self.compiled: dict[Any, TapeGradient] = {}


class TapeGradient:
    """A compiled gradient of a recorded structure: which slots it reads, and which sources have no path."""

    __slots__ = ("code", "connected", "fetch", "function", "graph")

    def __init__(self, graph: Graph, fetch: list[int], connected: list[bool]):
        self.graph = graph
        self.fetch = fetch
        self.connected = connected
        self.code = compile_graph(graph, graph.name)
        self.function = self.code.function


def tape_gradient(tape: Any, targets: list[Any], sources: list[Any], seeds: Any, zero: bool) -> list[Any]:
    log = tape.log
    log.scan()
    index = log.index
    targets = [t._tensor if type(t) is Variable else t for t in targets]
    tslots = tuple([index.get(id(t)) for t in targets])
    sslots = []
    for s in sources:
        if type(s) is Variable:
            known = tape._variables.get(id(s))
            sslots.append(tuple([index.get(id(t)) for t in known[1]]) if known else ())
        else:
            sslots.append((index.get(id(s)),))
    key = (tuple(log.key), tslots, tuple(sslots))
    structure = CACHE.get(key)
    if structure is None:
        structure = CACHE.make(key, lambda: Structure(tuple(log.scalars)))
    entry = lookup(structure, log, tslots, sslots, targets)
    values = log.values
    results = entry.function(*[values[k] for k in entry.fetch])
    out = [wrap(r) for r in results]
    rec = CURRENT.get()
    if rec is not None and out:
        record(rec, CALL, tuple([log.objects[k] for k in entry.fetch]), (("graph", entry.graph),), tuple(out))
    it = iter(out)
    return [next(it) if c else None for c in entry.connected]


def lookup(structure: Structure, log: Any, tslots: Any, sslots: Any, targets: Any) -> TapeGradient:
    """The compiled gradient for the numbers of this recording."""
    scalars = tuple(log.scalars)
    if structure.moving:
        scalars = tuple([p for p in scalars if p[0] not in structure.moving])
    found = structure.compiled.get(scalars)
    if found is None:
        if structure.compiled:
            moved = {a[0] for a, b in zip(log.scalars, structure.first, strict=True) if a[1] != b[1]}
            structure.moving = structure.moving | moved
            scalars = tuple([p for p in scalars if p[0] not in structure.moving])
            found = structure.compiled.get(scalars)
        if found is None:
            found = build(log, dict(scalars), tslots, sslots)
            structure.compiled[scalars] = found
    return found


def build(log: Any, literals: dict[int, Any], tslots: Any, sslots: Any) -> TapeGradient:
    """Differentiate, optimise and compile. Forward values are read from the recording, never computed again."""
    forward = Builder()

    def leaf(slot: int, x: Any) -> Node:
        if slot in literals:
            return forward.constant(literals[slot])
        return input_node(f"a{slot}", type_of(log.values[slot]))

    nodes = log.graph(forward, leaf)
    builder = Builder()
    lift = Lifter(builder, nodes)
    targets = [nodes[k] for k in tslots if k is not None]
    sources = [nodes[k] for group in sslots for k in group if k is not None]
    seeds = [filled(builder, Type(t.shape, t.dtype), 1.0) for t in targets]
    cts = backward(builder, forward.nodes, targets, seeds, sources, lift)
    by_slot = dict(zip([k for group in sslots for k in group if k is not None], cts, strict=True))
    outputs, connected = [], []
    for group in sslots:
        parts = [by_slot[k] for k in group if k is not None and by_slot[k] is not None]
        total = None
        for p in parts:
            total = p if total is None else total + p
        connected.append(total is not None)
        if total is not None:
            outputs.append(total.node)
    graph = optimize(builder.graph(lift.inputs, outputs, "gradient"))
    used = {i for n in graph.nodes for i in n.inputs} | set(graph.outputs)
    kept = [i for i in graph.inputs if i in used]
    graph = Graph(kept, graph.nodes, graph.outputs, "gradient")
    CACHE.compiled()
    return TapeGradient(graph, [lift.inputs[i] for i in kept], connected)


class Lifter:
    """Gives the node that stands for a forward value in the gradient graph.

    A recorded value is an input. A value inside a call that was recorded as a whole is computed again.
    `inputs` are the inputs made so far, each with its slot.
    """

    def __init__(self, builder: Builder, nodes: list[Node]):
        self.builder = builder
        self.known: dict[Node, Node] = {}
        self.inputs: dict[Node, int] = {}
        self.slots: dict[Node, int] = {}
        for k, node in enumerate(nodes):
            self.slots.setdefault(node, k)

    def __call__(self, node: Node) -> Node:
        found = self.known.get(node)
        if found is None:
            stack = [node]
            while stack:
                self._lift(stack)
            found = self.known[node]
        return found

    def _lift(self, stack: list[Node]) -> None:
        """Settle the node on top of the stack, or put what it needs on top of it."""
        node = stack[-1]
        if node in self.known:
            stack.pop()
        elif node.op is CONSTANT:
            self.known[stack.pop()] = self.builder.constant(node.value, node.name)
        elif node in self.slots:
            new = input_node(f"v{self.slots[node]}", node.type, node.origin)
            self.inputs[new] = self.slots[node]
            self.known[stack.pop()] = new
        else:
            missing = [i for i in node.inputs if i not in self.known]
            if missing:
                stack.extend(missing)
                return
            inputs = tuple([self.known[i] for i in node.inputs])
            self.known[stack.pop()] = self.builder.add(
                node.with_inputs(inputs)
            )
