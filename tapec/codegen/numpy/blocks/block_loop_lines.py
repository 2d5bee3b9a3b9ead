"""Write loops over blocks as statements: a plain `for` over slices.

Each turn makes slices of what is read by rows and of what is kept. An array that dies in the loop is workspace: its
slices are computed in, and what is kept may stay there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tapec.codegen.common.block_items import Deferred
from tapec.codegen.common.expressions import Expr, parse_template, slots
from tapec.codegen.common.line_templates import COPY, EMPTY_LIST, WHOLE, new_array
from tapec.codegen.common.naming import Names, generic_names, identifier
from tapec.codegen.common.statements import (
    Assign,
    Augment,
    Def,
    Delete,
    Do,
    For,
    Return,
    Store,
    names_read,
    replaced_names,
)
from tapec.codegen.numpy.blocks.block_buffers import BlockBuffers
from tapec.codegen.numpy.blocks.block_loops import Body
from tapec.codegen.numpy.blocks.block_sums import Placing
from tapec.codegen.numpy.scatter_forms import place_template
from tapec.codegen.runtime_helpers import in_threads
from tapec.codegen.schedule.inlining import Plan
from tapec.config import settings
from tapec.ir import CONSTANT, ITEM, Node

if TYPE_CHECKING:
    from tapec.codegen.numpy.lowering import Lowering

__all__ = ["lower_loop"]

SLICE = parse_template("_0[_1]", 2)
SAME = parse_template("_0", 1)


def lower_loop(outer: Lowering, node: Node, leaves: Sequence[Node]) -> None:
    """Write arrays for the values that are kept, zeros for those that are added up, and the loop."""
    body: Body = node.param("plan")
    parts = outer.plan.parts[node]
    count = body.kept + body.sums
    wanted = [(n, parts[k]) for k, n in enumerate(body.graph.outputs[:count]) if k in parts]
    adding = set(body.graph.outputs[body.kept : count])
    values = body.graph.outputs[count:]
    kept = {n: part for n, part in wanted if n not in adding}
    sums = {n: _zero(outer, part, n) for n, part in wanted if n in adding}
    bases = iter(node.inputs[len(body.graph.inputs) :])
    totals = [_Total(outer, parts[count + k], placing, bases) for k, placing in enumerate(body.placings)]
    threads = settings.threads if body.rows >= 2 * settings.threads * body.block else 1
    names = outer.names
    mark = names.mark()
    shares = {n: names.take_new(f"{s}_") for n, s in sums.items()} if threads > 1 else sums
    i, block = names.take_new("i"), names.take_new("block")
    slices: list[Any] = []

    def slice_of(name: str) -> str:
        part = names.take_new(f"{name}_block")
        slices.append(Assign(part, Expr(SLICE, (name, block))))
        return part

    called: dict[Node, str] = {}
    spare: dict[str, Node] = {}  # slices of arrays that die here
    owned: list[Node] = []
    roots = list(map(outer.memory.root_of, node.inputs))  # what several operands look into is read by later turns
    for inner, whole, sliced in zip(body.graph.inputs, node.inputs, body.sliced):
        name = outer.name[whole]
        names.fixed.add(name)  # the next turn needs it too
        called[inner] = slice_of(name) if sliced else name
        if sliced and roots.count(whole) == 1 and outer.memory.is_overwritable(whole, whole.type):
            spare[called[inner]] = whole
            owned.append(inner)
    into = [target for total in totals for target in total.parts(names, slice_of)]
    placed: dict[Node, list[tuple[str, str]]] = {}
    for n, target in zip(values, into, strict=True):
        placed.setdefault(n, []).append(target)
    plan = Plan(body.graph.nodes, [*[n for n, _ in wanted], *values], in_loop=True, forms=outer.plan.forms)
    wholes = {identifier(part.name) for part in parts.values() if part.name is not None}
    memory = BlockBuffers(plan, names, called, spare, wholes)
    memory.owned.update(owned)
    targets = _Targets(outer, memory, kept, slice_of)
    targets.taken += [(total.part, total.base) for total in totals if total.base is not None]
    lines = outer.inner(memory, targets).block(_items(plan, shares, threads > 1, placed))
    memory.use.moved = 0
    outer.memory.use.count_turns(memory.use)
    slices, lines, in_place = read_in_place(slices, lines)
    span = Expr(parse_template(f"slice(_0, _0 + {body.block})", 1), (i,))  # slices end where the array does
    turn = [Assign(block, span), *slices, *lines]
    if threads > 1:
        outer.out += _in_threads(outer, body, turn, i, list(zip(sums.values(), shares.values())))
    else:
        span = Expr(parse_template(f"range(0, {_rows(outer, node, body)}, {body.block})", 0), ())
        outer.out.append(For(i, span, turn, None, "blocks that stay in the cache"))
        read = zip(body.graph.inputs, node.inputs, body.sliced)
        held = {called[inner]: whole for inner, whole, sliced in read if sliced and whole in outer.memory.owned}
        held.update((name, kept[n]) for n, name in targets.given.items())
        held.update((name, total.part) for total in totals for name in total.named)
        outer.out += _freed(outer, memory, held, in_place)
    outer.memory.unbind(memory.bound)
    names.back_to(mark, {outer.name[part] for part in kept.values() if part in outer.name})
    outer.memory.free_dead(leaves, [whole for _, whole in targets.taken])
    outer.out += targets.renamed()


def _rows(outer: Lowering, node: Node, body: Body) -> str:
    """Write how many rows there are: the length of an argument that is read by rows, or else the number."""
    stays = {name for name, _ in outer.space.arguments.values()}
    names = [outer.name[whole] for whole, sliced in zip(node.inputs, body.sliced) if sliced]
    first = next((name for name in names if name in stays), None)
    return str(body.rows) if first is None else f"len({first})"


def _in_threads(outer: Lowering, body: Body, turn: list[Any], i: str, sums: list[tuple[str, str]]) -> list[Any]:
    """Write the loop as a function of a span of rows, called in threads; what blocks add up is added in their order."""
    outer.space.helper("in_threads", in_threads)
    names = outer.names
    blocks, first, last, found = [names.take_new(n) for n in ("blocks", "first", "last", "found")]
    shares = tuple([share for _, share in sums])
    if sums:
        append = parse_template(f"_0.append(({', '.join(slots(len(sums) + 1)[1:])},))", len(sums) + 1)
        turn = [*turn, Do(Expr(append, (found, *shares)))]
    span = Expr(parse_template(f"range(_0, _1, {body.block})", 2), (first, last))
    loop = For(i, span, turn, None, "blocks that stay in the cache")
    inside = [Assign(found, EMPTY_LIST), loop, Return(Expr(SAME, (found,)))]
    call = Expr(parse_template(f"in_threads(_0, {body.rows}, {body.block}, {settings.threads})", 1), (blocks,))
    lines: list[Any] = [Def(blocks, (first, last), inside)]
    if not sums:
        return [*lines, Do(call)]
    return [*lines, For(shares, call, [Augment(total, "+", share) for total, share in sums])]


def _items(plan: Plan, sums: dict[Node, str], later: bool, placed: dict[Node, list[tuple[str, str]]]) -> list[Any]:
    items: list[Any] = []
    for n in plan.nodes:
        if n.op is CONSTANT or n.op is ITEM:
            continue
        if n in sums:
            plan.nested.add(n)
            items.append(Deferred(partial(_add_up, n, sums[n], later), plan.leaves[n], n))
        elif n not in plan.nested:
            items.append(n)
            items += [Deferred(partial(_add_into, n, target, op), (n,), n) for target, op in placed.get(n, ())]
    return items


def _add_up(node: Node, target: str, later: bool, low: Lowering) -> None:
    """Write `target += value`; or, to be added up later, `target = value`."""
    value = low.express(node)
    low.out.append(Assign(target, value) if later else Augment(target, "+", value, node.origin))
    low.memory.use.line(node)
    low.memory.use.make_room(node)


def _add_into(node: Node, target: str, op: str, low: Lowering) -> None:
    """Write `target += value`, or `target -= value`, for a target that is a part of an array."""
    low.out.append(Augment(target, op, low.operand(node), node.origin))


class _Total:
    """An array to parts of which a loop adds: zeros, or the array that they are added to if it dies, or its copy."""

    def __init__(self, outer: Lowering, part: Node, placing: Placing, bases: Iterator[Node]):
        base = None if placing.base is None else next(bases)
        dying = base is not None and outer.memory.is_overwritable(base, part.type)
        self.part, self.places = part, placing.places
        self.base = base if dying else None
        self.named: list[str] = []  # names of its views
        self.out = outer.out
        if base is not None and dying:
            self.name = outer.name[base]
        else:
            zeros = new_array("np.zeros", part.type, outer.shape_of(part))
            value = zeros if base is None else Expr(COPY, (outer.operand(base),))
            self.name = outer.memory.call(part)
            self.out.append(Assign(self.name, value))
            outer.memory.own(part)
        outer.names.fixed.add(self.name)

    def parts(self, names: Names, slice_of: Callable[[str], str]) -> Iterator[tuple[str, str]]:
        """Give the slice that each turn adds to, by name, or subtracts from, as the sign says."""
        for place in self.places:
            view = names.take_new("v")
            self.out.append(Assign(view, Expr(place_template(place.scatter), (self.name,)), place.scatter.origin))
            self.named += [view, part := slice_of(view)]
            yield part, place.op


class _Targets:
    """Chooses the array of each value that is kept: a slice of a dying array that is free by then, else a new array."""

    def __init__(self, outer: Lowering, memory: BlockBuffers, kept: dict[Node, Node], slice_of: Callable[[str], str]):
        self.outer = outer
        self.memory = memory
        self.kept = kept
        self.slice_of = slice_of
        self.given: dict[Node, str] = {}
        self.taken: list[tuple[Node, Node]] = []  # values that are kept, each with the dying array that it lives in
        self.bases = _bases(memory.plan, kept)

    def __contains__(self, node: Node) -> bool:
        return node in self.kept or node in self.bases

    def __getitem__(self, node: Node) -> str:
        """Return the array to compute a value into, when it is about to be computed."""
        kept = self.bases.get(node, node)
        if kept not in self.given:
            found = self.memory.take_spare(node, self.kept[kept].type)
            if found is not None:
                self.taken.append((self.kept[kept], found[1]))
            self.given[kept] = self._new(kept) if found is None else found[0]
        return self.given[kept]

    def _new(self, node: Node) -> str:
        """Make an array for a value that is kept."""
        outer, part = self.outer, self.kept[node]
        name = outer.name[part] = outer.names.take_new(outer.memory.wish(part))
        outer.memory.own(part)
        outer.memory.bind(name)
        outer.out.append(Assign(name, new_array("np.empty", part.type, outer.shape_of(part))))
        return self.slice_of(name)

    def renamed(self) -> list[Assign]:
        """Return the lines after the loop by which arrays that live on as other values get their names."""
        lines = []
        outer = self.outer
        # all of them first, so that no new name is one that another array still has
        for part, whole in self.taken:
            outer.memory.take_memory_of(part, whole)
        for part, whole in self.taken:
            old = outer.name[whole]
            if not outer.memory.keeps_name(part, old):
                outer.memory.release(old)
                lines.append(Assign(outer.memory.call(part), old))
        return lines


def _bases(plan: Plan, kept: dict[Node, Node]) -> dict[Node, Node]:
    """Map the base of a sum with a scatter to the sum that is kept: the base belongs in its array from the start."""
    found = {}
    for node in kept:
        if node in plan.fused:
            base = node.inputs[1 - plan.fused[node]]
            if base.op.kind == "elementwise" and plan.uses[base] == 1 and base not in plan.nested and base not in kept:
                found[base] = node
    return found


def _freed(outer: Lowering, memory: BlockBuffers, held: dict[str, Node], gone: Container[str]) -> list[Delete]:
    """Return a `del`, after the loop, of slices of dying arrays and of what turns leave, if large arrays come later.

    `held` are the arrays of our own that slices look into, `gone` names that no line has any more.
    """
    around = outer.memory
    if not around.made_after(around.here):
        return []
    ends = {name: around.last.get(around.root_of(node), around.here) for name, node in held.items()}
    names = [n for name, last in ends.items() if around.made_after(last) for n in memory.names_like(name)]
    least = around.use.least_deleted()
    names += [name for name, size in memory.use.left_over.items() if size >= least]
    names = [name for name in dict.fromkeys(names) if name not in gone]
    return [Delete(tuple(names))] if names else []


def _zero(outer: Lowering, part: Node, value: Node) -> str:
    """Write the line by which a sum starts at zero, and return its name."""
    t = part.type
    name = outer.memory.call(part, likely=generic_names(value, outer.name, outer.names.given))
    outer.memory.own(part)
    number = 0.0 if t.dtype.kind in "fc" else 0
    zero: Any = new_array("np.zeros", t, outer.shape_of(part)) if t.shape else number
    outer.out.append(Assign(name, zero))
    return name


# ---------------------------------------------------------------------------------------------------------------
# slices
# ---------------------------------------------------------------------------------------------------------------
def read_in_place(slices: list[Assign], lines: list[Any]) -> tuple[list[Assign], list[Any], Collection[Any]]:
    """Write slices where they are read: `x[block]`. One that several lines write into, or get anew, keeps a name.

    Return those that keep a name, the lines, and the names that are gone.
    """
    written: Counter[Any] = Counter()
    for line in lines:
        if type(line) is Assign:
            written.update(dict.fromkeys(names_read((line.target, *line.more)), 2))
        elif type(line) is Augment:
            written[line.target] += 1
        elif type(line) is Store and line.target.template is WHOLE:
            written.update(names_read(line.target))
        written.update(_outs(line))
    gone = {s.target: s.value for s in slices if written[s.target] < 2}
    return [s for s in slices if s.target not in gone], [_in_place(line, gone) for line in lines], gone


def _outs(line: Any) -> list[Any]:
    """Return the array that a line is computed into by `out=`."""
    value = line.value if type(line) in (Assign, Do) else None
    return [value.args[-1]] if type(value) is Expr and "out=" in value.template.text else []


def _in_place(line: Any, gone: dict[Any, Any]) -> Any:
    if type(line) is Augment and line.target in gone:
        return replaced_names(Store(gone[line.target], line.op, line.value, line.origin, line.note), gone)
    whole = line.target if type(line) is Store else None
    if whole is not None and whole.template is WHOLE and whole.args[0] in gone:
        return replaced_names(line._replace(target=gone[whole.args[0]]), gone)  # `d_x[block] = ...`
    return replaced_names(line, gone)
