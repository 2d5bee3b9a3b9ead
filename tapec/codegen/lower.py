"""Lowering: nodes in order become statements that share buffers and names.

A value's memory is written again as soon as it is dead: by an augmented operator or `out=` where the types agree, or as
the target of a later operation. Inputs, constants, results and anything a living view looks into are never written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapec.codegen.expressions import Expr, Expression, parse_template
from tapec.codegen.idioms import is_weak, out_template
from tapec.codegen.load import Space
from tapec.codegen.names import Names, generic_name, identifier
from tapec.codegen.plan import Plan, is_big, is_view
from tapec.codegen.scatter import has_repeats, index_arrays, index_tuple, is_scatter, is_write, place_template
from tapec.codegen.statements import Assign, Augment, Do, If, Return, Statement, Store
from tapec.ir import CONSTANT, Node, is_literal

__all__ = ["Fork", "Lowering", "Results"]

COPY = parse_template("_0.copy()", 1)
TO_SCALAR = parse_template("_0[()]", 1)
AS_ARRAY = parse_template("np.asarray(_0)", 1)
NOT = parse_template("not _0", 1)
EQUAL = parse_template("_0 == _1", 2)
UNEQUAL = parse_template("_0 != _1", 2)
TO_INT = parse_template("int(_0)", 1)
AHEAD = 8  # operations to look through for the name that a buffer ends up with


class Results(NamedTuple):
    """An item of a block: the path ends here with these values; with None when the path is not known."""

    nodes: tuple[Node, ...] | None
    leaves: tuple[Node, ...]


class Fork(NamedTuple):
    """An item of a block: when `test` is (or, negated, is not) `value`, these items run, and the path ends in them."""

    test: Node
    value: Any
    negated: bool
    items: list[Any]
    leaves: tuple[Node, ...]


class Lowering:
    """Turns items (nodes, forks, results) into statements.

    `name` is what each value is called, `root` the value whose memory it looks into, `owned` the arrays made here,
    `pool` the names of dead big arrays by type, `last` the item in which a memory is read for the last time,
    `last_read` the same for a value.
    """

    def __init__(self, plan: Plan, names: Names, name: dict[Node, str], space: Space):
        self.plan = plan
        self.names = names
        self.name = name
        self.space = space
        self.root: dict[Node, Node] = {}
        self.owned: set[Node] = set()
        self.pool: dict[Any, list[str]] = {}
        self.pooled: dict[str, Any] = {}
        self.out: list[Statement] = []

    # -- blocks -----------------------------------------------------------------------------------------------------
    def block(self, items: list[Any]) -> list[Statement]:
        """The statements of a block. Nothing outlives it: every block ends by returning."""
        self.items = items
        self.last, self.last_read = self._lifetimes(items)
        for self.here, item in enumerate(items):
            kind = type(item)
            if kind is Node:
                self._value(item)
            elif kind is Fork:
                self._fork(item)
            else:
                self._results(item)
        return self.out

    def _lifetimes(self, items: list[Any]) -> tuple[dict[Node, int], dict[Node, int]]:
        last: dict[Node, int] = {}
        last_read: dict[Node, int] = {}
        for k, item in enumerate(items):
            for leaf in self._reads(item):
                last_read[leaf] = k
                last[self._root_of(leaf)] = k
        return last, last_read

    def _reads(self, item: Any) -> Sequence[Node]:
        return self.plan.leaves[item] if type(item) is Node else item.leaves

    def _root_of(self, node: Node) -> Node:
        """The value whose memory this one looks into."""
        found = self.root.get(node)
        if found is None:
            chain = [node]
            while is_view(chain[-1]) and chain[-1].inputs[0] not in self.root:
                chain.append(chain[-1].inputs[0])
            found = self.root[chain[-1].inputs[0]] if is_view(chain[-1]) else chain[-1]
            for n in chain:
                self.root[n] = found
        return found

    def _fork(self, fork: Fork) -> None:
        """A path that branches off. It ends by itself, so it may use up everything, names too."""
        test = self._operand(fork.test)
        condition: Expression
        if type(fork.value) is bool:
            condition = Expr(NOT, (test,)) if fork.value is fork.negated else test
        else:
            if type(fork.value) is int and fork.test.type.dtype.kind in "fc":
                test = Expr(TO_INT, (test,))
            condition = Expr(UNEQUAL if fork.negated else EQUAL, (test, fork.value))
        self.out.append(If(condition, self._branch().block(fork.items), fork.test.origin))
        self._bury(fork.leaves)

    def _branch(self) -> Lowering:
        """The state here, for a path that branches off. What is known of values is shared, what is free is not."""
        inner = Lowering(self.plan, self.names.branch(), self.name, self.space)
        inner.root, inner.owned = self.root, self.owned
        inner.pool = {t: list(names) for t, names in self.pool.items()}
        inner.pooled = dict(self.pooled)
        return inner

    # -- values -----------------------------------------------------------------------------------------------------
    def _value(self, node: Node) -> None:
        """One or two lines that compute a value."""
        plan = self.plan
        leaves = plan.leaves[node]
        if node.op.multi:
            self._several(node, leaves)
        elif node in plan.fused:
            self._add_scatter(node, leaves)
        elif is_scatter(node):
            self._scatter(node, leaves)
        elif is_write(node):
            self._write(node, leaves)
        elif not self._overwrite(node, leaves):
            self._assign(node, leaves)

    def _assign(self, node: Node, leaves: Sequence[Node]) -> None:
        """`name = expression`, or the expression alone when it writes into an array of that name."""
        buffer = self._reuse(node)
        if buffer is None:
            value = self._express(node)
        else:
            value = Expr(out_template(node), (*map(self._operand, node.inputs), buffer))
            self.names.release(buffer)
        self._bury(leaves)
        name = self._call(node, buffer)
        self.out.append(Do(value, node.origin) if name == buffer else Assign(name, value, node.origin))
        self._own(node)

    def _own(self, node: Node) -> None:
        if node.type.shape and not is_view(node):
            self.owned.add(node)

    def _several(self, node: Node, leaves: Sequence[Node]) -> None:
        """An operation with several results: `q, r = np.linalg.qr(a)`."""
        expression = self._express(node)
        self._bury(leaves)
        parts = self.plan.parts.get(node, {})
        targets = []
        for k in range(len(node.type)):
            part = parts.get(k)
            targets.append("_" if part is None else self._call(part))
            if part is not None:
                self._own(part)
        self.out.append(Assign(tuple(targets), expression, node.origin))

    def _overwrite(self, node: Node, leaves: Sequence[Node]) -> bool:
        """Compute in place of an operand that dies here, when that is possible and worth it."""
        op = node.op
        if op.kind != "elementwise" or not node.type.shape or not op.out:
            return False
        dying = [k for k, i in enumerate(node.inputs) if self._dies(i, node.type)]
        if not dying:
            return False
        wish = self.plan.wishes.get(node)
        big = is_big(node.type)
        if op.inplace:
            for k in dying:
                if k == 0 or (k == 1 and op.commutative):
                    target = self.name[node.inputs[k]]
                    if wish is None or identifier(wish) == target:
                        other = self._operand(node.inputs[1 - k])
                        self._become(node, node.inputs[k], leaves)
                        self.out.append(Augment(target, op.inplace.rstrip("="), other, node.origin))
                        return True
        if not big:
            return False
        victim = node.inputs[dying[0]]
        target = self.name[victim]
        value = Expr(out_template(node), (*[self._operand(i) for i in node.inputs], target))
        self._become(node, victim, leaves)
        if wish is None or identifier(wish) == target:
            self.out.append(Do(value, node.origin))
        else:
            self.names.release(target)
            self.out.append(Assign(self._call(node), value, node.origin))
        return True

    def _dies(self, node: Node, wanted: Any) -> bool:
        """Is it an array of our own, of this type, that nobody needs after this line?"""
        return (
            node in self.owned
            and self.last.get(node) == self.here
            and node.type == wanted
            and node not in self.plan.nested
        )

    def _become(self, node: Node, victim: Node, leaves: Sequence[Node]) -> None:
        """The value takes over the memory and the name of another."""
        self.owned.discard(victim)
        self.owned.add(node)
        self.name[node] = self.name[victim]
        self._bury(leaves, victim)

    def _reuse(self, node: Node) -> str | None:
        """The name of a dead big array of the same type to compute into."""
        op = node.op
        if not op.out or not is_big(node.type) or op.kind not in ("elementwise", "product"):
            return None
        free = self.pool.get(node.type)
        if not free:
            return None
        wish = self.plan.wishes.get(node)
        name = free.pop(free.index(wish) if wish in free else -1)
        del self.pooled[name]
        return name

    # -- scatters ---------------------------------------------------------------------------------------------------
    def _scatter(self, node: Node, leaves: Sequence[Node]) -> None:
        """`g = np.zeros(n)`, `g[1:] = a`."""
        t = node.type
        dtype = "" if t.dtype == np.dtype(float) else f", dtype=np.{t.dtype.name}"
        shape = t.shape[0] if t.ndim == 1 else t.shape
        zeros = Expr(parse_template(f"np.zeros({shape}{dtype})", 0), ())
        name = self._call(node)
        self.out.append(Assign(name, zeros, node.origin))
        self._put(name, "+" if has_repeats(node) else "", node)
        self._own(node)
        self._bury(leaves)

    def _add_scatter(self, node: Node, leaves: Sequence[Node]) -> None:
        """`g[1:] += a` for the sum of an array and a scatter."""
        k = self.plan.fused[node]
        self._change(node, node.inputs[1 - k], "+" if node.op.name == "add" else "-", node.inputs[k], leaves)

    def _write(self, node: Node, leaves: Sequence[Node]) -> None:
        """`y[1:] = v` for a copy in which some places hold something else."""
        self._change(node, node.inputs[0], "", node, leaves)

    def _change(self, node: Node, base: Node, op: str, part: Node, leaves: Sequence[Node]) -> None:
        """Change places of an array in place: of the array itself when it dies here, else of a copy."""
        wish = self.plan.wishes.get(node)
        if self._dies(base, node.type) and (wish is None or identifier(wish) == self.name[base]):
            self._put(self.name[base], op, part)
            self._become(node, base, leaves)
            return
        value = self._operand(base)
        if base not in self.plan.nested or is_view(base):
            value = Expr(COPY, (value,))
        target = self._call(node)
        self.out.append(Assign(target, value, node.origin))
        self._put(target, op, part)
        self._own(node)
        self._bury(leaves)

    def _put(self, target: str, op: str, part: Node) -> None:
        """Store or add the values of a scatter, or of a write, where they belong."""
        value = self._operand(part.inputs[0 if is_scatter(part) else 1])
        arrays = [self._operand(i) for i in index_arrays(part)]
        if op and arrays and has_repeats(part):
            place = Expr(index_tuple(part), tuple(arrays))
            at = parse_template("np.add.at(_0, _1, _2)" if op == "+" else "np.subtract.at(_0, _1, _2)", 3)
            self.out.append(Do(Expr(at, (target, place, value)), part.origin))
        else:
            self.out.append(Store(Expr(place_template(part), (target, *arrays)), op, value, part.origin))

    # -- names and the dead -----------------------------------------------------------------------------------------
    def _call(self, node: Node, old: str | None = None) -> str:
        """Name a new value; `old` is what its memory was called."""
        wish = self._wish(node) if old is None or node in self.plan.wishes else old
        if wish in self.pooled:
            self.pool[self.pooled.pop(wish)].remove(wish)
            self.names.release(wish)
        name = self.name[node] = self.names.take(wish)
        return name

    def _wish(self, node: Node) -> str:
        """Its own name, or the one that its memory ends up with, or a letter."""
        wishes, items = self.plan.wishes, self.items
        n = node
        for _ in range(AHEAD):
            found = wishes.get(n)
            if found is not None:
                return identifier(found)
            k = self.last.get(n)
            reader = items[k] if k is not None else None
            if type(reader) is not Node or n not in reader.inputs or reader.type != n.type or reader.role != n.role:
                break
            if reader.op.kind != "elementwise" and reader not in self.plan.fused:
                break
            n = reader
        return generic_name(node)

    def _bury(self, leaves: Sequence[Node], survivor: Node | None = None) -> None:
        """Free the names of values read for the last time; keep big arrays for later operations."""
        here, last_read = self.here, self.last_read
        for leaf in leaves:
            if last_read.get(leaf) != here:
                continue
            last_read[leaf] = -1
            name = self.name.get(leaf)
            if name is None or leaf is survivor or name in self.names.fixed:
                continue
            if leaf in self.owned and is_big(leaf.type) and self.last[leaf] == here:
                self.pool.setdefault(leaf.type, []).append(name)
                self.pooled[name] = leaf.type
            else:
                self.names.release(name)

    # -- expressions ------------------------------------------------------------------------------------------------
    def _express(self, node: Node) -> Expr:
        template = self.plan.templates[node]
        if template is None:
            return self._foreign(node)
        objects = template.objects
        return Expr(template, tuple([self._operand(i, k in objects) for k, i in enumerate(node.inputs)]))

    def _operand(self, node: Node, as_object: bool = False) -> Expression:
        """How a line reads a value: a number, a name, or the whole expression."""
        found: Expression = self.name.get(node)
        if found is None:
            found = node.value if is_literal(node) else self._express(node)
        return Expr(AS_ARRAY, (found,)) if as_object and is_weak(node) else found

    def _foreign(self, node: Node) -> Expr:
        """An op without a source is called as it is."""
        name = self.names.fix(node.op.name)
        params = dict(node.params)
        run = node.op.run
        self.space.names[name] = (lambda *values: run(*values, **params)) if params else run
        slots = ", ".join(f"_{k}" for k in range(len(node.inputs)))
        return Expr(parse_template(f"{name}({slots})", len(node.inputs)), tuple(map(self._operand, node.inputs)))

    # -- results ----------------------------------------------------------------------------------------------------
    def _results(self, item: Results) -> None:
        """`return (a, b)`: fresh arrays, none of which shares memory with another or with an input."""
        if item.nodes is None:
            self.out.append(Return(None))
            return
        given: set[Node] = set()
        values = tuple([self._result(n, given) for n in item.nodes])
        self.out.append(Return(values))

    def _result(self, node: Node, given: set[Node]) -> Expression:
        value = self._operand(node)
        t = node.type
        if not t.shape:
            if is_weak(node) or node.op is CONSTANT:
                return Expr(parse_template(f"np.{t.dtype.name}(_0)", 1), (value,))
            return value if _gives_scalar(node) else Expr(TO_SCALAR, (value,))
        root = self._root_of(node)
        fresh = root in self.owned or root in self.plan.nested
        if node is not root:
            fresh = fresh and root.type.nbytes == t.nbytes and not _frozen(node)
        if not fresh or root in given:
            return Expr(COPY, (value,))
        given.add(root)
        return value


def _gives_scalar(node: Node) -> bool:
    """Does its source give a NumPy scalar by itself, not an array of no dimensions?"""
    return isinstance(node.op.numpy, np.ufunc) or node.op.kind in ("reduction", "creation", "input")


def _frozen(node: Node) -> bool:
    """Is it a view that cannot be written, or one that repeats elements?"""
    while is_view(node):
        if node.op.name not in ("reshape", "transpose", "getitem", "swapaxes", "squeeze", "expand_dims", "flip"):
            return True
        node = node.inputs[0]
    return False
