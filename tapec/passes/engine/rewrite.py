"""`RuleSet` applies rewrite rules in one walk over a graph.

Nodes are visited in order, so operands are in their final form when a node is looked at; what a rule makes is rewritten
as it is made. Rules are found by the ops of a node and its operands, so most nodes cost one look-up. The type of a
result never changes: a rule that would change it does not fire, except that a smaller shape is broadcast back.

The numbering of the values goes with the graph from one set of rules to the next
(`tapec.passes.engine.value_numbering`), so a walk over a graph in which little is to be done is cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import islice
from threading import RLock
from typing import Any

from tapec.config import settings
from tapec.errors import GraphError
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CT, Builder, Graph, Node, Op, broadcast_shapes, constant, prune
from tapec.ir.builder import constant_key
from tapec.ir.cost import elements
from tapec.ir.node import parted
from tapec.ir.op import OWN_KINDS
from tapec.ir.pattern import Call, Look, Pattern, Some, Variable, looks_below
from tapec.locks import computed_once, renew_lock_of
from tapec.ops.layout.reshape_and_transpose import BROADCAST_TO
from tapec.passes import tuning
from tapec.passes.engine.rule import Rule, parameters
from tapec.passes.engine.rule_table import Table
from tapec.passes.engine.use_counts import Uses
from tapec.passes.engine.value_numbering import heads, key_of, key_of_node, numbering

__all__ = ["Rewrite", "RuleSet"]


class Rewrite(NamedTuple):
    """One firing of a rule: its name, and the node before and after."""

    rule: str
    before: Node
    after: Node


Variant = tuple[Rule, Pattern, tuple[Look, ...]]
Variants = tuple[Variant, ...]
RulePosition = tuple[int, int]  # numbers of a table, and of a rule in the table


class RuleSet:
    """A set of rules with an index by ops, which is filled as ops are met. Calling the set rewrites a graph.

    The rules of a `Table` are taken up when a graph has an operation that they are about, or a rule makes one.
    """

    def __init__(self, about: str, *tables: Iterable[Rule]):
        self.__doc__ = about
        self.tables = tables
        self._about: dict[str, list[int]] = {}  # tables that are imported later, by the ops that they are about
        self._ready: set[int] = set()  # tables whose rules are in the index
        self._rules: dict[RulePosition, Rule] = {}
        self._by_head: dict[str, list[RulePosition]] = {}  # by the op of their root
        self._by_op: dict[Op, dict[str | None, list[RulePosition]]] = {}  # likewise, and by the op of an operand
        # for each of fast math or not, cotangents or not
        self.indices: dict[tuple[bool, bool], dict[Any, Variants]] = {}
        self._lock = RLock()
        renew_lock_of(self, "_lock")
        for k, table in enumerate(tables):
            if type(table) is Table and table.about:
                for name in table.about:
                    self._about.setdefault(name, []).append(k)
            else:
                self._take_up(k)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return all rules, in the order in which they are tried."""
        return tuple([rule for table in self.tables for rule in table])

    def taken_up(self) -> tuple[Rule, ...]:
        """Return the rules of the tables that graphs have had operations for: no other can have fired."""
        with self._lock:
            return tuple(self._rules.values())

    def _prepare(self, names: Iterable[str]) -> None:
        """Take up the tables about any of these ops."""
        if len(self._ready) < len(self.tables):
            needed = {k for name in names for k in self._about.get(name, ())}
            for k in needed - self._ready:
                self._take_up(k)

    def _take_up(self, k: int) -> None:
        """Index the rules of a table; clear what was known of which rules may fire where.

        After a fork in the middle of it, it is done once more.
        """
        rules = tuple(self.tables[k])
        if {rule.name for rule in rules} & {rule.name for (table, _), rule in self._rules.items() if table != k}:
            raise ValueError("two rules of one name")
        for j, rule in enumerate(rules):
            self._rules[k, j] = rule
            for head in rule.pattern.heads:
                places = self._by_head.setdefault(head, [])
                if (k, j) not in places:
                    places.append((k, j))
        self._ready.add(k)
        self._by_op.clear()
        for index in self.indices.values():
            index.clear()

    def __call__(self, graph: Graph, note: Callable[[Rewrite], None] | None = None) -> Graph:
        """Return the graph in its simplest form by these rules; `note` is called with each firing."""
        groups = self.groups(graph)
        return Rewriter(self, graph, note).run(groups) if groups else graph

    def groups(self, graph: Graph) -> list[tuple[Variants, list[int]]]:
        """Return groups of rules, each with the places of the nodes at which they might fire.

        Only ops decide here, those of a node and of its operands, so a graph without work for these rules costs a
        look-up for each of its heads, and none of its nodes is visited.
        """
        looks, fast = heads(graph), settings.fast_math
        with self._lock:
            met = self.index(fast, False), self.index(fast, True)
            new = {word for ct, ops in looks if ops not in met[ct] for word in words_of(ops)}
            self._prepare(new | {"fast-math"} if fast else new)
            if not self._rules:
                return []
            found = [(self._candidates(ops, fast, ct, met[ct]), places) for (ct, ops), places in looks.items()]
        return [(variants, places) for variants, places in found if variants]

    def index(self, fast: bool, cotangent: bool) -> dict[Any, Variants]:
        return self.indices.setdefault((fast, cotangent), {})

    def candidates(self, key: tuple[Op, ...], fast: bool, cotangent: bool) -> Variants:
        """Return the rules that may match a node of the op `key[0]` on operands of the other ops."""
        with self._lock:
            self._prepare(words_of(key))
            return self._candidates(key, fast, cotangent, self.index(fast, cotangent))

    def _candidates(self, key: tuple[Op, ...], fast: bool, cotangent: bool, index: dict[Any, Variants]) -> Variants:
        """Return the candidates, where the tables about these ops are taken up, and the lock is held."""
        known = index.get(key)
        if known is not None:
            return known
        op, ops = key[0], key[1:]
        by_operand = self._by_op.get(op)
        if by_operand is None:
            by_operand = self._by_op[op] = self._rules_of(op)
        places = {*by_operand.get(None, ())}
        for operand in {*ops}:
            places.update(by_operand.get(operand.name, ()), by_operand.get(operand.kind, ()))
        found: list[Variant] = []
        for place in sorted(places):
            rule = self._rules[place]
            if (fast or rule.changes != "fast-math") and (cotangent or rule.only is None):
                fits = rule.pattern.fits_operands
                if fits(ops) or (op.commutative and fits(ops[::-1])):
                    found += [variant for variant in variants(rule) if variant[1].fits_operands(ops)]
        made = index[key] = tuple(found)
        return made

    def _rules_of(self, op: Op) -> dict[str | None, list[RulePosition]]:
        """Return the rules that begin with an op, by the op or kind that one of its operands must have; by None for any
        operand.
        """
        found: dict[str | None, list[RulePosition]] = {}
        for place in {*self._by_head.get(op.name, ()), *self._by_head.get(op.kind, ())}:
            pattern = self._rules[place].pattern
            if pattern.fits(op):
                for operand in pattern.operand or (None,):
                    found.setdefault(operand, []).append(place)
        return found


@lru_cache(maxsize=4096)
def words_of(ops: tuple[Op, ...]) -> tuple[str, ...]:
    """Return the names in `Table.about` that an operation satisfies: those of its ops, and `outer(inner)`."""
    outer, *inner = [op.name for op in ops]
    return (outer, *inner, *[f"{outer}({name})" for name in inner])


@cache
def variants(rule: Rule) -> Variants:
    """Return the variants of a rule's pattern, each with its quick tests, the cheapest first."""
    first: tuple[Look, ...] = (lambda node, walk: elements(node) >= rule.least,) if rule.least else ()
    if condition_comes_first(rule):
        when: Any = rule.when
        kinds = rule.kinds
        if len(parameters(when)) == 1:
            first += (lambda node, walk: node.type.dtype.kind in kinds and when(node),)
        else:
            first += (lambda node, walk: node.type.dtype.kind in kinds and when(node, walk.uses.of),)
    return tuple([(rule, pattern, first + looks_below(pattern, rule.smaller)) for pattern in rule.pattern.variants()])


def condition_comes_first(rule: Rule) -> bool:
    """Return whether the condition may run before the pattern is matched.

    It may if the pattern is one op, and the condition does not take its operands. Such a condition is often cheaper
    than the match.
    """
    pattern = rule.pattern
    flat = type(pattern) is Some or (type(pattern) is Call and all([type(a) is Variable for a in pattern.args]))
    return flat and rule.when is not None and parameters(rule.when) in (("y",), ("y", "uses"))


class Rewriter(Builder):
    """One walk over a graph. As a builder it makes nodes that are already rewritten, and reuses nodes that are there.

    `_known`, the numbering, has the operations of the whole graph from the start, and also those that were dropped in
    earlier walks; so a node found in it counts only once it is `placed`. `duplicates` are nodes of the graph whose
    operation another node does.
    """

    def __init__(self, rules: RuleSet, graph: Graph, note: Callable[[Rewrite], None] | None):
        super().__init__()
        self.rules = rules
        self.start = graph
        self.note = note
        self.fast = settings.fast_math
        self.indices = rules.index(self.fast, False), rules.index(self.fast, True)
        self.firing: list[Node] = []  # nodes at which rules are firing, each inside what the one before makes
        self._known, self.duplicates = numbering(graph)
        self.placed: set[Node] = set(graph.inputs)

    @computed_once
    def uses(self) -> Uses:
        """Return the use counts, which are made when first asked for.

        A walk that changes nothing may never ask for them, or leaves them on the graph for the next walk.
        """
        graph = self.start
        graph._uses = graph._uses or Uses(graph)
        return graph._uses

    def run(self, groups: list[tuple[Variants, list[int]]]) -> Graph:
        """Return the graph rewritten; `groups` are rules with the places of the nodes at which they might fire."""
        graph = self.start
        duplicates, new = self.duplicates, dict[Node, Node]()
        places = {k: variants for variants, places in groups for k in places}
        begin = 0 if duplicates else self.first(places)
        if begin == len(graph.nodes):
            graph._numbering = self._known
            return graph
        uses, graph._uses = self.uses, None
        self.nodes += graph.nodes[:begin]
        self.placed.update(self.nodes)
        unchanged = new.keys().isdisjoint
        append, place = self.nodes.append, self.placed.add
        at = places.get
        for k, node in enumerate(islice(graph.nodes, begin, None), begin):
            if unchanged(node.inputs) and node not in duplicates:
                variants = at(k)
                result = node if variants is None else self.rewritten(node, variants)
                if result is node:
                    append(node)
                    place(node)
                    continue
                self._known[key_of_node(node)] = result
            else:
                result = self.with_new_operands(node, new)
                if result is node:
                    continue
            new[node] = result
            uses.add(result, uses.of(node))
        if not new:
            graph._numbering = self._known
            return graph
        for o in graph.outputs:
            result = new.get(o, o)
            if result.name is None and result.role is not None:
                result.name = o.name  # a gradient keeps its name, whatever node computes it in the end
        made = prune(Graph(graph.inputs, self.nodes, [new.get(o, o) for o in graph.outputs], graph.name))
        made._numbering = self._known
        return made

    def with_new_operands(self, node: Node, new: dict[Node, Node]) -> Node:
        """Return the replacement of a node whose operands were replaced: the node on the new operands, simplified."""
        if not new.keys().isdisjoint(node.inputs):
            node = node.with_inputs(tuple([new.get(i, i) for i in node.inputs]))
        if node.op.kind in OWN_KINDS:
            return self.settle(None, node)
        key = key_of_node(node)
        known = self.placed_node(key, node.role)
        if known is None:
            return self.settle(key, node)
        self.uses.drop_operands(node)
        return known

    def has_seen(self, op: Op, inputs: tuple[Node, ...], params: Any = ()) -> bool:
        """Return whether this operation, or an equal one, is or was anywhere in the program."""
        return key_of(op, inputs, params) in self._known

    def used_value(self, op: Op, inputs: tuple[Node, ...], params: Any = ()) -> Node | None:
        """Return the value of this operation if it is there already and used, else None."""
        node = self.placed_node(key_of(op, inputs, params), self.role)
        return None if node is None or node in self.firing or not self.uses.of(node) else node

    def is_used_anywhere(self, op: Op, inputs: tuple[Node, ...]) -> bool:
        """Return whether this operation is in the program, here or further on, and is used.

        A node that is being rewritten is not: what is made in its place would become the node again, and so on.
        """
        node = self._known.get(key_of(op, inputs, ()))
        return node is not None and self.uses.of(node) > 0 and node not in self.firing

    def value_with_number(self, op: Op, x: Node, number: float, first: bool = False) -> Node | None:
        """Return the value of an operation of x and a Python number, which may come `first`, wherever in the program it
        is; None without one.
        """
        k = self._known.get(constant_key(number))
        return None if k is None else self._known.get(key_of(op, (k, x) if first else (x, k), ()))

    def placed_node(self, key: Any, role: str | None) -> Node | None:
        """Return the placed node that does an operation already, else None.

        A node that stands further on in the graph does not count, since it would be used before it is computed; it
        becomes a duplicate, and is replaced when the walk comes to it.
        """
        known = self._known.get(key)
        if known is None:
            return None
        if known not in self.placed:
            self.duplicates.add(known)
            return None
        if role is None:
            known.role = None  # what the user wrote keeps its exact values
        return known

    def settle(self, key: Any, node: Node) -> Node:
        """Simplify a node, place it if it stays as it is, and enter the result under its key."""
        result = self.simplified(node)
        if result is node:
            self.nodes.append(node)
            self.placed.add(node)
        if key is not None:
            self._known[key] = result
        return result

    # -- as a builder -----------------------------------------------------------------------------------------------
    def emit(self, op: Op, inputs: tuple[Node, ...], params: Any = (), origin: Any = None) -> Node:
        """Make an operation, or find it; a new one is simplified at once, so that a replacement is in its final
        form.
        """
        key = key_of(op, inputs, params)
        known = self.placed_node(key, self.role)
        if known is not None:
            return known
        types = [i.type for i in inputs]
        t = op.rule(*types, **dict(params)) if params else op.rule(*types)
        bodies: Any = ()
        if op.bodies:
            params, bodies = parted(params)
        node = Node(op, inputs, params, t, self.origin if origin is None else origin, None, self.role, bodies)
        self.uses.use_operands(node)
        return self.settle(key, node)

    def constant(self, value: Any, name: str | None = None) -> Node:
        key = constant_key(value)
        known = self.placed_node(key, CT)
        if known is None:
            known = self._known[key] = constant(value, name)
            self.nodes.append(known)
            self.placed.add(known)
        return known

    # -- rules ------------------------------------------------------------------------------------------------------
    def first(self, places: dict[int, Variants]) -> int:
        """Return the place of the first node at which a rule fires; the length of the graph when there is none.

        A rule that declines when it builds its replacement counts, too. Up to that place the graph is kept without a
        visit.
        """
        nodes = self.start.nodes
        for k in sorted(places):  # one look at each, up to the first that fires; the walk does the rest
            if self.matches(nodes[k], places[k]):
                return k
        return len(nodes)

    def matches(self, node: Node, variants: Variants) -> bool:
        """Return whether the pattern and the condition of one of these rules hold at a node."""
        for rule, pattern, looks in variants:
            for look in looks:
                if not look(node, self):
                    break
            else:
                found: dict[str, Any] = {}
                inner: list[Node] = []
                if pattern.matches(node, found, inner) and rule.allows(inner, found, self):
                    return True
        return False

    def simplified(self, node: Node) -> Node:
        """Apply the rules to a node whose operands are in their final form, and return the result."""
        inputs = node.inputs
        n = len(inputs)
        if n == 2:
            key: tuple[Op, ...] = (node.op, inputs[0].op, inputs[1].op)
        elif n == 1:
            key = (node.op, inputs[0].op)
        else:
            key = (node.op, *[i.op for i in inputs[:3]])
        cotangent = node.role is not None
        found = self.indices[cotangent].get(key)
        if found is None:
            found = self.rules.candidates(key, self.fast, cotangent)
        return self.rewritten(node, found)

    def rewritten(self, node: Node, variants: Variants) -> Node:
        """Apply the first of these rules that fires at a node, and return its result; the node itself if none fires."""
        for rule, pattern, looks in variants:
            for look in looks:
                if not look(node, self):
                    break
            else:
                result = self.applied(rule, pattern, node)
                if result is not None:
                    return result
        return node

    def applied(self, rule: Rule, pattern: Pattern, node: Node) -> Node | None:
        """Fire a rule at a node, and return the result; None where the rule may not fire, or declines."""
        found: dict[str, Any] = {}
        inner: list[Node] = []
        if not pattern.matches(node, found, inner) or not rule.allows(inner, found, self):
            return None
        if len(self.firing) > tuning.NESTED_FIRINGS_MAX:
            if settings.verify and self.is_being_rewritten(node):
                raise GraphError(f"rules undo one another; the last to fire would be {rule.name!r} at {node!r}")
            return None
        keep = self.origin, self.role
        self.origin, self.role = node.origin, node.role
        self.firing.append(node)
        suspended = self.uses.suspend(inner or [node])
        try:
            result = rule.build(node, found, self)
            if result is not None:
                result = self.in_type_of(result, node)
        finally:
            self.origin, self.role = keep
            self.firing.pop()
        if result is None or result is node:
            self.uses.restore(suspended)
            return None
        self.uses.replace(suspended, result)
        if result.of is None and result.role is not None:
            result.of = node.of
        if self.note is not None:
            self.note(Rewrite(rule.name, node, result))
        return result

    def is_being_rewritten(self, node: Node) -> bool:
        """Return whether the rules that are at work began at an equal node: then they undo one another."""
        key = key_of_node(node)
        return any([key_of_node(before) == key for before in self.firing])

    def in_type_of(self, result: Node, node: Node) -> Node | None:
        """Return the result in the shape of the node that it replaces; drop it, and return None, if its type is
        another.

        A Python number that the user computes stays one: guards ask for it (`number_kind`).
        """
        have, want = result.type, node.type
        if have is want or have == want:
            return result
        is_number = want.weak and node.role is None
        if have.dtype == want.dtype and not (have.weak or is_number):
            if broadcast_shapes(have.shape, want.shape) == want.shape:
                return self.emit(BROADCAST_TO, (result,), (("shape", want.shape),))
        self.uses.drop_if_unused(result)
        return None
