"""Plan which values get a line of their own, and which are written inside the line that reads them.

A value is nested when one place reads it, the line stays short, and nothing is lost by it: a big array keeps its own
line, so that its memory can be used again, and nothing that frees a big array is put off.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.expressions import Template
from tapec.codegen.common.made_names import wished_name
from tapec.codegen.numpy.idioms import BIT_BY_BIT, is_weak, own_template, template_of
from tapec.codegen.numpy.scatter_forms import (
    fused_operand,
    is_diagonal,
    is_number_stored,
    is_scatter,
    is_write,
    line_template,
)
from tapec.codegen.numpy.what_pays import BUFFERS, CALLS
from tapec.ir import CONSTANT, INPUT, ITEM, Node, OpSet, is_literal, ops
from tapec.ir.cost import bytes_of

__all__ = ["NUMBERS_MADE", "Plan", "count_uses", "is_big", "is_view", "makes_more", "spells_out"]


LOOPS, NUMBERS_MADE = OpSet("loop float_loop"), OpSet("float_of_array")


def is_view(node: Node) -> bool:
    """Return whether the result shares memory with the first input."""
    if not node.inputs or not node.op.view:
        return False
    if node.op is ops.reshape and node.inputs[0].op is ops.broadcast_to:
        return not (spells_out(node) and is_made(node.inputs[0].inputs[0]))
    return node.op is not ops.getitem or not any(i.type.shape for i in node.inputs[1:])


def spells_out(node: Node) -> bool:
    """Return whether a reshape joins a broadcast axis with one that is not broadcast.

    No strides could describe that, so the reshape makes an array of its own.
    """
    spread = node.inputs[0] if node.op is ops.reshape else node
    if spread.op is not ops.broadcast_to or not node.type.size:
        return False
    shape, source = spread.type.shape, spread.inputs[0].type.shape
    own = (1,) * (len(shape) - len(source)) + source
    axes = iter([(n, n != m) for n, m in zip(shape, own) if n != 1])
    for n in node.type.shape:
        joined, kinds = 1, set()
        while joined < n:
            size, equal = next(axes)
            joined *= size
            kinds.add(equal)
        if joined > n:
            return False  # an axis is split: strides may describe that
        if len(kinds) > 1:
            return True
    return False


def is_made(node: Node) -> bool:
    """Return whether a value is computed here, or looks into one that is. The strides of a given array may be 0."""
    while is_view(node) and node.op is not ops.broadcast_to:
        node = node.inputs[0]
    return node.op is not INPUT and node.op is not CONSTANT and not is_view(node)


def is_number(node: Node) -> bool:
    """Return whether a node is the last step to the gradient of a number; it needs no line of its own to say so."""
    return node.role is not None and node.op.kind == "elementwise" and not node.type.shape


def is_big(t: Any) -> bool:
    return not isinstance(t, tuple) and bytes_of(t) >= tuning.BUFFER_MIN_BYTES


def is_loop(node: Node) -> bool:
    """Return whether a node is a loop, on arrays or on Python floats."""
    return node.op in LOOPS


def makes_more(item: Any) -> bool:
    """Return whether an item makes a large array, unless it is computed in memory that is there."""
    return type(item) is Node and not is_view(item) and (item.op.multi or is_big(item.type))


class Plan:
    """Holds, for each node, its readers, template, wished name, whether it is nested, and what its line reads.

    `donated` are inputs that the caller needs no more: they may be written like arrays made here. `forms` are forms of
    operations that pay in the whole program (`numpy/what_pays.py`). Where values are `checked`, each has a line and an
    array of its own.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        results: Iterable[Node],
        checked: bool = False,
        in_loop: bool = False,
        donated: Collection[Node] = (),
        forms: Collection[str] = (),
    ):
        self.forms = forms
        self.checked = checked
        self.in_loop = in_loop
        self.donated = donated
        self.uses = count_uses(nodes, results)
        self.nested: set[Node] = set()
        self.leaves: dict[Node, tuple[Node, ...]] = {}
        self.templates: dict[Node, Template | None] = {}
        self.wishes: dict[Node, str] = {}
        self.fused: dict[Node, int] = {}  # sums with a scatter that is added in place, and which operand that is
        self.parts: dict[Node, dict[int, Node]] = {}  # the items that are read of operations with several results
        self._width: dict[Node, int] = {}
        self._depth: dict[Node, int] = {}
        self.nodes = [n for n in nodes if n in self.uses]
        self._settle_all()

    def _settle_all(self) -> None:
        """Decide on all nodes, in order."""
        self._inner = inner_nodes(self.nodes)
        self._place = {n: k for k, n in enumerate(self.nodes)}
        self._written = {n.inputs[0] for n in self.nodes if is_write(n)}
        for node in self.nodes:
            self._settle(node)

    def is_big(self, t: Any) -> bool:
        """Return whether an array is worth a buffer here.

        Blocks are in the cache, and NumPy has memory of their size at hand.
        """
        if self.in_loop or not is_big(t):
            return False
        return BUFFERS in self.forms or bytes_of(t) >= tuning.BUFFER_ALWAYS_MIN_BYTES

    def is_kept(self, node: Node) -> bool:
        """Return whether a value is an input that the caller may still need."""
        return node.op is INPUT and node not in self.donated

    def has_out(self, node: Node) -> bool:
        """Return whether a value can be computed into an array."""
        return bool(node.op.out) or (node.op is ops.where and self.templates[node] in BIT_BY_BIT)

    # -- one node ---------------------------------------------------------------------------------------------------
    def _settle(self, node: Node) -> None:
        """Decide on the inputs of a node, all of whose own inputs are decided on."""
        if node.op is CONSTANT:
            text = node.name or (repr(node.value) if is_literal(node) else "constant")
            self._width[node], self._depth[node] = len(text), 0
            self.leaves[node] = ()
            return
        found = None
        if node.op is ITEM:
            self.parts.setdefault(node.inputs[0], {})[node.param("index")] = node
        elif is_scatter(node) or is_write(node):
            self.templates[node] = found = line_template(node)
        else:
            self.templates[node] = found = template_of(node, self.forms)
        if node not in self._inner:
            wish = wished_name(node)
            if wish:
                self.wishes[node] = wish
        leaves: list[Node] = []
        width, depth = (found.width if found is not None else 20), 1
        scattered = fused_operand(node, self.uses) if not self.checked else None
        if scattered is not None and node.inputs[scattered] not in self.leaves:
            scattered = None  # in a loop, the scatter may be computed before it
        if scattered is not None:
            self.fused[node] = scattered
            self.nested.add(node.inputs[scattered])
        stored = 0 if is_scatter(node) or is_diagonal(node) else 1 if is_write(node) else None
        for k, i in enumerate(node.inputs):
            if k == scattered:
                leaves.extend(self.leaves[i])
            elif k == stored and self.uses[i] == 1 and is_number_stored(i):
                self.nested.add(i)
            elif found is not None and self.may_nest(i, node, found.counts[k] if k < len(found.counts) else 2):
                w, d = width + self._width[i], depth + self._depth[i]
                if w <= tuning.NESTED_MAX_CHARACTERS and d <= tuning.NESTED_MAX_OPS:
                    self.nested.add(i)
                    leaves.extend(self.leaves[i])
                    width, depth = w, d
                else:
                    leaves.append(i)
                    width += self.name_width(i)
            elif is_loop(node) and self.begins(k, node):
                self.nested.add(i)
                leaves.extend(self.leaves[i])
            elif not is_literal(i):
                leaves.append(i)
                width += self.name_width(i)
        self.leaves[node] = tuple(leaves)
        self._width[node], self._depth[node] = width, depth

    def name_width(self, node: Node) -> int:
        """Return how many characters the name of a value has, about."""
        wish = self.wishes.get(node) or node.name
        return tuning.NAME_CHARACTERS if wish is None else len(wish)

    def may_nest(self, i: Node, reader: Node, count: int) -> bool:
        """Return whether a value may be written inside its reader's line, if there is space for it."""
        if self.checked or self.uses[i] != 1 or count != 1 or i in self.wishes or self.templates.get(i) is None:
            return False
        if i.op.multi or i.op is ITEM or is_scatter(i) or is_write(i) or i in self.fused:
            return False
        if is_view(i):
            return True
        if i.op is ops.negative and reader.op in (ops.add, ops.subtract) and i.type.dtype != reader.type.dtype:
            return False  # `x - -a` is written as `x + a`, but whole numbers may have no negative of their dtype
        if reader.op is ops.matmul and i is reader.inputs[0] and i.op in (ops.multiply, ops.divide):
            return CALLS in self.forms  # `a * b @ c` is read as `a * (b @ c)`
        if self.is_big(i.type):
            return not self.in_loop and self._is_addend(i, reader)
        return not any(map(self._is_freed, self.leaves[i])) or self._next_line(i, reader)

    def begins(self, k: int, loop: Node) -> bool:
        """Return whether the line in which a loop begins has its k-th operand: a view of rows that it goes through, or
        what it starts with, where that is a number taken out of an array or a new array."""
        i, first = (
            loop.inputs[k],
            loop.param("constants") + (loop.op is ops.loop and len(loop.bodies) == 1 and loop.param("count") is None),
        )
        if first <= k < first + loop.param("carried"):
            if self.checked or self.uses[i] != 1:
                return False
            if i.op is ops.full and not i.type.shape:
                return loop.op is ops.loop
            return i.op in NUMBERS_MADE or (bool(i.type.shape) and (i.op is ops.full or self.is_begun_with(i, loop)))
        return is_view(i) and self.may_nest(i, loop, 1)

    def is_begun_with(self, i: Node, loop: Node) -> bool:
        """Return whether a new array is written where the loop that changes it begins."""
        if loop.op is not ops.loop or self.templates.get(i) is None or i.op.multi or is_view(i):
            return False
        if (
            i.op is ITEM
            or i in self.fused
            or is_scatter(i)
            or is_write(i)
            or self._width[i] > tuning.NESTED_MAX_CHARACTERS
        ):
            return False
        return not any(map(self._is_freed, self.leaves[i])) or self._next_line(i, loop)

    def _is_freed(self, leaf: Node) -> bool:
        """Return whether a leaf is a big array that is free after its last line, or a view of one that is written then.

        Inputs are there to the end, except those of a loop, and donated ones.
        """
        if self.is_big(leaf.type) and (self.in_loop or not self.is_kept(leaf)):
            return True
        return bool(self._written) and is_view(leaf) and leaf.inputs[0] in self._written

    def _is_addend(self, i: Node, reader: Node) -> bool:
        """Return whether a big value is made of inputs only and added at once to one that dies: `d_w += w * 0.2`.

        In a line of its own the value would stay in memory for longer, and there is no dead array that it could take.
        """
        if reader.op.inplace is None or len(reader.inputs) != 2:
            return False
        other = reader.inputs[reader.inputs[0] is i]
        return (
            (i is reader.inputs[1] or reader.op.commutative)
            and i.op.kind == "elementwise"
            and all([n.op is INPUT or n.op is CONSTANT for n in i.inputs])
            and other.type == i.type == reader.type
            and self.uses[other] == 1
            and other.op is not INPUT
            and not is_view(other)
            and self._next_line(i, reader)
        )

    def _next_line(self, i: Node, reader: Node) -> bool:
        """Return whether no line stands between a value and its reader."""
        first, last = self._place[i] + 1, self._place[reader]
        near = last - first <= tuning.NEXT_LINE_MAX_NODES
        return near and all(n in self.nested or n.op is CONSTANT for n in self.nodes[first:last])

    def nest_test(self, node: Node) -> None:
        """Write a condition that only its `if` reads into that line."""
        if (
            not self.checked
            and self.uses[node] == 1
            and self.templates.get(node) is not None
            and node not in self.wishes
            and self._width[node] <= tuning.NESTED_MAX_CHARACTERS
        ):
            self.nested.add(node)
            if node.type.dtype.kind == "b" and all(map(is_weak, node.inputs)):
                self.templates[node] = own_template(node)  # `n > 0` of Python numbers: for `if`, Python's bool does

    # -- what a return reads ----------------------------------------------------------------------------------------
    def nest_results(self, results: Sequence[Node]) -> tuple[Node, ...]:
        """Nest what only the return reads, while there is space; return all leaves that the return reads."""
        leaves: list[Node] = []
        room = tuning.RETURN_MAX_CHARACTERS
        has_value = any([n.role is not None for n in results]) and results[0].role is None
        for node in results:
            if node.op.kind == "starred" or (node.op is ops.pack and not node.type.shape and self.uses.get(node) == 1):
                width = 0  # `*values` can stand nowhere else, and a number that is one of NumPy's is no other value
            elif has_value and node is results[0] and self._comes_first(node):
                width = room + 1  # the value is computed before its derivatives, as in the user's program
            elif self.uses.get(node) == 1 and self._may_return(node, results):
                width = self._width[node]
            else:
                width = room + 1
            if width <= room:
                self.nested.add(node)
                leaves.extend(self.leaves[node])
                room -= width
            else:
                leaves.append(node)
        return tuple(leaves)

    def _comes_first(self, value: Node) -> bool:
        """Return whether the value has a line before its derivatives: it is long, or a loop comes between."""
        if self._width.get(value, 0) > tuning.RETURNED_VALUE_MAX_CHARACTERS:
            return True
        return value in self.nodes and any(map(is_loop, self.nodes[self.nodes.index(value) :]))

    def _may_return(self, node: Node, results: Sequence[Node]) -> bool:
        """Return whether a value that only the return reads may be written there, if there is space."""
        if self.checked or self.templates.get(node) is None or (node in self.wishes and not is_number(node)):
            return False
        if node.op is ITEM or node.op.multi or is_scatter(node) or is_write(node) or node in self.fused:
            return False
        if self.is_big(node.type) and (node.op.kind == "elementwise" or is_view(node)):
            return False
        if any(self.is_big(leaf.type) for leaf in self.leaves[node]):
            rest = self.nodes[self._place[node] :]
            return len(rest) <= tuning.NEXT_LINE_MAX_NODES and all(n in self.nested or n in results for n in rest)
        return True


def count_uses(nodes: Sequence[Node], results: Iterable[Node]) -> dict[Node, int]:
    """Count the places that read each value; values that nothing needs are left out."""
    uses: dict[Node, int] = {}
    for r in results:
        uses[r] = uses.get(r, 0) + 1
    for node in reversed(nodes):
        if node in uses:
            for i in node.inputs:
                uses[i] = uses.get(i, 0) + 1
    return uses


def readers_of(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """Return the nodes that read each value, once for each place."""
    readers: dict[Node, list[Node]] = {}
    for node in nodes:
        for i in node.inputs:
            readers.setdefault(i, []).append(node)
    return readers


def inner_nodes(nodes: Sequence[Node]) -> set[Node]:
    """Return the values inside one user call that is several operations: its variable belongs to the last of them."""
    inner: set[Node] = set()
    for node in nodes:
        origin = node.origin
        if origin is not None and node.role is None:
            for i in node.inputs:
                other = i.origin
                if (
                    other is not None
                    and i.role is None
                    and other[1] == origin[1]
                    and other[0] is origin[0]
                    and i.op is not node.op
                    and i.op is not INPUT
                ):
                    inner.add(i)
    return inner
