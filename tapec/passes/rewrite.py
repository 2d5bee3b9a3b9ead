"""The engine: applies a set of rules in one walk over a graph.

Nodes are visited in order, so operands are in their final form when a node is looked at; what a rule makes is rewritten
as it is made. Rules are found by the ops of a node and its operands, so most nodes cost one look-up. The type of a
result never changes: a rule that would change it does not fire, except that a smaller shape is broadcast back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tapec.config import settings
from tapec.errors import GraphError
from tapec.ir import Builder, Graph, Node, Op, broadcast_shapes
from tapec.ir.op import OWN_KINDS
from tapec.ops.layout import BROADCAST_TO
from tapec.passes.dce import dce
from tapec.passes.pattern import Pattern, Some, named_ops
from tapec.passes.rule import Rule
from tapec.passes.uses import Uses

__all__ = ["Rewrite", "RuleSet"]

DEPTH = 64  # rules firing inside what rules make: more means that rules undo one another


class Rewrite(NamedTuple):
    """One firing of a rule."""

    rule: str
    before: Node
    after: Node


Variants = tuple[tuple[Rule, Pattern], ...]


class RuleSet:
    """Rules with an index by ops, filled as ops are met. Calling it rewrites a graph."""

    def __init__(self, about: str, *groups: Sequence[Rule]):
        self.__doc__ = about
        self.rules = tuple([rule for group in groups for rule in group])
        self._needs = [(rule, named_ops(rule.pattern)) for rule in self.rules]
        self._variants: list[tuple[Rule, Pattern]] = []
        self.index: tuple[dict[Any, Variants], ...] = ({}, {})  # without and with fast math
        if len({rule.name for rule in self.rules}) != len(self.rules):
            raise ValueError("two rules of one name")

    def __call__(self, graph: Graph, note: Callable[[Rewrite], None] | None = None) -> Graph:
        """The graph in its simplest form by these rules; `note` is told of each firing."""
        if not self._may_fire(graph):
            return graph
        return Rewriter(self, graph, note).run()

    def _may_fire(self, graph: Graph) -> bool:
        """Is any rule's every op there?"""
        ops = {node.op for node in graph.nodes}
        names = {op.name for op in ops}
        for rule, needed in self._needs:
            if needed <= names and (type(rule.pattern) is not Some or any(map(rule.pattern.fits, ops))):
                return True
        return False

    def candidates(self, key: tuple[Op, ...], fast: bool) -> Variants:
        """The rules that may match a node of the op `key[0]` on operands of the other ops."""
        if not self._variants:
            self._variants = [(rule, v) for rule in self.rules for v in rule.pattern.variants()]
        found = [(r, v) for r, v in self._variants if (fast or r.changes != "fast-math") and _could_match(v, key)]
        self.index[fast][key] = variants = tuple(found)
        return variants


def _could_match(pattern: Any, key: tuple[Op, ...]) -> bool:
    if not pattern.fits(key[0]):
        return False
    if type(pattern) is Some:
        return pattern.fits_operands(key[1:])
    return len(key) - 1 == len(pattern.args) and all([p.fits(op) for p, op in zip(pattern.args, key[1:])])


def _key(op: Op, inputs: tuple[Node, ...], params: Any) -> Any:
    """Equal for nodes that compute the same; operands of commutative ops may stand in either order."""
    if op.commutative and id(inputs[0]) > id(inputs[1]):
        inputs = inputs[::-1]
    return op, inputs, params


class Rewriter(Builder):
    """One walk. As a builder it makes nodes that are already rewritten, and finds again what is there."""

    __slots__ = ("depth", "fast", "index", "note", "rules", "start", "uses")

    def __init__(self, rules: RuleSet, graph: Graph, note: Callable[[Rewrite], None] | None):
        super().__init__()
        self.rules = rules
        self.start = graph
        self.note = note
        self.fast = settings.fast_math
        self.index = rules.index[self.fast]
        self.depth = 0
        self.uses = Uses(graph)

    def run(self) -> Graph:
        graph = self.start
        new: dict[Node, Node] = {}
        for node in graph.nodes:
            result = self.visit(node, new)
            if result is not node:
                new[node] = result
                self.uses.add(result, self.uses.of(node))
        if not new:
            return graph
        return dce(Graph(graph.inputs, self.nodes, [new.get(o, o) for o in graph.outputs], graph.name))

    def visit(self, node: Node, new: dict[Node, Node]) -> Node:
        """What takes the place of a node of the graph: itself, itself on new operands, or what rules make of it."""
        inputs = node.inputs
        if not inputs:
            result = self.simplified(node)
            if result is node:
                self.nodes.append(node)
            return result
        for i in inputs:
            if i in new:
                inputs = tuple([new.get(i, i) for i in inputs])
                node = node.with_inputs(inputs)
                break
        key = _key(node.op, inputs, node.params)
        known = self._known.get(key)
        if known is not None and node.op.kind not in OWN_KINDS:
            if node.role is None:
                known.role = None  # what the user wrote keeps its exact values
            self.uses.drop(node)
            return known
        return self.settle(key, node)

    def settle(self, key: Any, node: Node) -> Node:
        """Rewrite a node, and keep what comes of it."""
        result = self._known[key] = self.simplified(node)
        if result is node:
            self.nodes.append(node)
        return result

    def emit(self, op: Op, inputs: tuple[Node, ...], params: Any = (), origin: Any = None) -> Node:
        key = _key(op, inputs, params)
        known = self._known.get(key)
        if known is not None:
            if self.role is None:
                known.role = None
            return known
        t = op.rule(*[i.type for i in inputs], **dict(params))
        node = Node(op, inputs, params, t, self.origin if origin is None else origin, None, self.role)
        self.uses.take(node)
        return self.settle(key, node)

    # -- rules ------------------------------------------------------------------------------------------------------
    def simplified(self, node: Node) -> Node:
        """What the rules make of a node whose operands are in their final form."""
        inputs = node.inputs
        n = len(inputs)
        if n == 2:
            key: tuple[Op, ...] = (node.op, inputs[0].op, inputs[1].op)
        elif n == 1:
            key = (node.op, inputs[0].op)
        else:
            key = (node.op, *[i.op for i in inputs[:3]])
        found = self.index.get(key)
        if found is None:
            found = self.rules.candidates(key, self.fast)
        for rule, pattern in found:
            result = self.apply(rule, pattern, node)
            if result is not None:
                return result
        return node

    def apply(self, rule: Rule, pattern: Pattern, node: Node) -> Node | None:
        """Fire a rule at a node, if it may."""
        if rule.only is not None and node.role is None:
            return None
        found: dict[str, Any] = {}
        inner: list[Node] = []
        if not pattern.matches(node, found, inner) or not rule.allows(inner, found, self):
            return None
        if self.depth > DEPTH:
            if settings.verify:
                raise GraphError(f"rules undo one another; the last to fire would be {rule.name!r} at {node!r}")
            return None
        keep = self.origin, self.role
        self.origin, self.role = node.origin, node.role
        self.depth += 1
        loose = self.uses.loosen(inner or [node])
        try:
            result = rule.build(node, found, self)
            if result is not None:
                result = self.fitted(result, node)
        finally:
            self.origin, self.role = keep
            self.depth -= 1
        if result is None or result is node:
            self.uses.tighten(loose)
            return None
        self.uses.let_go(loose, result)
        if self.note is not None:
            self.note(Rewrite(rule.name, node, result))
        return result

    def fitted(self, result: Node, node: Node) -> Node | None:
        """The result in the shape of what it replaces; None, and nothing left of it, when its type is another."""
        have, want = result.type, node.type
        if have == want:
            return result
        if have.dtype == want.dtype and not have.weak and broadcast_shapes(have.shape, want.shape) == want.shape:
            return self.emit(BROADCAST_TO, (result,), (("shape", want.shape),))
        self.uses.forget(result)
        return None
