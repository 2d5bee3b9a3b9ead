"""Write ops with bodies as statements: `cond` as `if` and `else`, `loop` as `for` or `while`, the others inline.

A `call` of a helper that is a function of its own is a call.

    h = x
    for row in rows:                    carried values have one name before, in and after the loop
        h = np.tanh(w @ h + row)

    u = u0.copy()
    for _ in range(10):                 arrays of which each turn only writes parts are written in place
        u[1:-1] += 0.1 * u[2:]

Nothing else that a body reads is written in place, and what it hands on shares memory with nothing else, so what comes
later may be computed in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tapec.codegen.common.block_items import Deferred
from tapec.codegen.common.expressions import Expr, Expression, parse_template, slots
from tapec.codegen.common.line_templates import APPEND, COPY, EMPTY_LIST, new_array
from tapec.codegen.common.made_names import one_of
from tapec.codegen.common.naming import identifier
from tapec.codegen.common.statements import (
    Assign,
    Augment,
    Break,
    Do,
    For,
    If,
    Statement,
    Store,
    While,
    in_place,
    together,
)
from tapec.codegen.floats.lazy import lower_float_loop
from tapec.codegen.numpy.idioms import is_weak
from tapec.codegen.numpy.listed_rows import listed_rows
from tapec.codegen.numpy.result_types import result
from tapec.codegen.numpy.scatter_forms import is_scatter
from tapec.codegen.numpy.target_ops import FLOAT_LOOP
from tapec.codegen.numpy.written_states import is_written
from tapec.codegen.schedule.buffers import Buffers
from tapec.codegen.schedule.inlining import Plan, count_uses
from tapec.ir import CONSTANT, INPUT, ITEM, Graph, Node, OpSet, ops
from tapec.ir.bare_graph import all_nodes
from tapec.ir.source_location import counted_to, name_for
from tapec.ir.static_index import Slice
from tapec.ops.control.cond import COND
from tapec.ops.control.loop import LOOP, operands_of

if TYPE_CHECKING:
    from tapec.codegen.numpy.lowering import Lowering

__all__ = ["called", "lower_bodies"]

NOT = parse_template("not _0", 1)
ITEM_OF = parse_template("_0[_1]", 2)
ENUMERATE = parse_template("enumerate(_0)", 1)
RANGE = parse_template("range(_0)", 1)
REVERSED = parse_template("reversed(_0)", 1)
LENGTH = parse_template("len(_0)", 1)
SUMS = OpSet("add subtract")
COUNTERS = "k", "i", "j", "t", "step"
TRUE = Expr(parse_template("True", 0), ())


def lower_bodies(outer: Lowering, node: Node, leaves: Sequence[Node]) -> None:
    """Write the lines of an op with bodies; its results are arrays of their own."""
    parts = dict(sorted(outer.plan.parts.get(node, {}).items()))
    if node.op is COND:
        _cond(outer, node, parts)
    elif node.op is LOOP:
        _loop(outer, node, parts)
    elif id(node.bodies[0]) in outer.space.called:
        _call(outer, node, parts, leaves)
    elif node.op is FLOAT_LOOP:
        lower_float_loop(outer, node, parts)
    else:
        targets = {k: outer.memory.call(part) for k, part in parts.items()}
        body = node.bodies[0]
        results = [body.outputs[k] for k in targets]
        outer.out += _body(outer, body, node.inputs, {}, results, partial(_assign_each, targets))
    for part in parts.values():
        outer.memory.own(part)
        if part in outer.listed:
            outer.memory.owned.discard(part)  # a list is no memory that another array could take
    outer.memory.free_dead(leaves)


def _body(
    outer: Lowering,
    body: Graph,
    operands: Sequence[Node],
    called: dict[Node, Expression],
    results: Sequence[Node],
    finish: Callable[[list[Node], Lowering], None],
    turns: int = 1,
    handed: Mapping[Node, str] = MappingProxyType({}),
    stores: Sequence[tuple[Node, Callable[[Lowering], None]]] = (),
    written: Collection[Node] = (),
) -> list[Statement]:
    """Return the lines of a body; `finish` writes what becomes of these results.

    `called` says how inputs are called that are no operands, `handed` which results take over such a name, `written`
    which inputs may be written. Each of `stores` is a value, with what is written as soon as that is there. Names that
    the body takes are free again after it: no other value has them while it runs.
    """
    kept = [n for n, _ in stores]
    plan = Plan(body.nodes, [*results, *kept], checked=outer.plan.checked, donated=written)
    handed = {} if plan.checked else handed  # messages tell what a value is
    plan.wishes |= {o: wish for o, wish in handed.items() if plan.uses[o] > 1}
    for o, wish in handed.items():
        if identifier(plan.wishes.get(o) or wish) == wish and plan.uses[o] == 1:
            plan.wishes.pop(o, None)
    names = outer.names.branch()
    names.fixed.update(names.taken)
    names.fixed.difference_update(handed.values())
    name = {n: outer.name[n] for n in all_nodes(body.nodes) if n.op is CONSTANT and n in outer.name}
    name |= {i: outer.operand(x) for i, x in zip(body.inputs, operands)} | called
    leaves = {n: plan.nest_results([n]) for n in [*results, *kept]}  # each has a line to itself
    plan.wishes |= {o: wish for o, wish in handed.items() if o not in plan.nested}
    inner = outer.inner(Buffers(plan, names, name))
    items: list[Any] = [n for n in plan.nodes if n not in plan.nested and n.op is not CONSTANT and n.op is not ITEM]
    for n, write in stores:
        made = [leaf.inputs[0] if leaf.op is ITEM else leaf for leaf in leaves[n]]
        after = max([k for k, item in enumerate(items, 1) if item in made], default=0)
        items.insert(after, Deferred(write, leaves[n]))
    ends = tuple([leaf for n in results for leaf in leaves[n]])
    lines = inner.block([*items, Deferred(partial(finish, list(results)), ends)])
    outer.memory.use.count_turns(inner.memory.use)
    outer.memory.use.moved += inner.memory.use.moved * (turns - 1)
    return lines


def _assign_each(targets: dict[int, str], results: list[Node], inner: Lowering) -> None:
    """Give each result the name by which it is known outside."""
    given: set[Node] = set()
    for target, node in zip(targets.values(), results, strict=True):
        _assign(inner, target, result(inner, node, given), node)


def _assign(inner: Lowering, target: str, value: Expression, node: Node) -> None:
    """Write `target = value`; a value that the line before has made, and nothing else reads, gets its name there."""
    if value == target:
        return
    last = inner.out[-1] if inner.out else None
    if type(last) is Assign and last.target == value and node not in inner.plan.parts and inner.plan.uses[node] == 1:
        inner.out[-1] = last._replace(target=target)
    else:
        inner.out.append(Assign(target, value, node.origin))


def _call(outer: Lowering, node: Node, parts: dict[int, Node], leaves: Sequence[Node]) -> None:
    """Write the call of a function that stands before this one: `du, dv = rhs(u, v)`."""
    memory, (body,) = outer.memory, node.bodies
    function = outer.space.called[id(body)]
    call = parse_template(f"{function.name}({', '.join(slots(len(node.inputs)))})", len(node.inputs))
    value = Expr(call, tuple(map(outer.operand, node.inputs)))
    use = memory.use
    use.peak = max(use.peak, use.alive + function.cost.peak)
    use.moved += function.cost.moved
    memory.free_dead(leaves)
    stems = [None if o.role is None else o.name for o in body.outputs]
    targets = tuple(
        [
            memory.call(parts[k], likely=() if stem is None else (stem,)) if k in parts else "_"
            for k, stem in enumerate(stems)
        ]
    )
    outer.out.append(Assign(targets if len(targets) > 1 else targets[0], value, node.origin))


# -- conditions -----------------------------------------------------------------------------------------------------
def _cond(outer: Lowering, node: Node, parts: dict[int, Node]) -> None:
    targets = {k: outer.memory.call(part) for k, part in parts.items()}
    test, *operands = node.inputs
    finish = partial(_assign_each, targets)
    then, otherwise = [
        _body(outer, body, operands, {}, [body.outputs[k] for k in targets], finish) for body in node.bodies
    ]
    outer.out.append(If(outer.operand(test), then, node.origin, "", otherwise))


# -- loops ----------------------------------------------------------------------------------------------------------
def _loop(outer: Lowering, node: Node, parts: dict[int, Node]) -> None:
    of = operands_of(node.inputs, **dict(node.given))
    body, count, carried = node.bodies[0], node.param("count"), node.param("carried")
    states = body.inputs[len(of.constants) : len(of.constants) + carried]
    sums = _sums(body, states)
    ends = body.outputs[:carried]
    written = {k for k, (s, e) in enumerate(zip(states, ends)) if k not in sums and is_written(body, s, e)}
    written = set() if outer.plan.checked else written
    taken: list[str] = []  # names that are free after the loop
    names: list[str] = []
    summed: set[int] = set()  # which carried numbers begin as one of Python's, and are only added to
    for k, state in enumerate(states):
        first, part = of.carried[k], parts.get(k)
        if _goes_on(outer, node, first, state):
            names.append(outer.name[first])
            outer.memory.hand_on(first, part)
            taken += [] if part is not None else names[-1:]
            continue
        is_uniform = first.op is ops.full and state.type.shape and first not in outer.name
        value = outer.uniform(first, parts.get(k, state)) if is_uniform else outer.operand(first)
        stays = body.outputs[k] is state
        if first in outer.plan.nested and _is_summed(node, state, body.outputs[k], first):
            value = first.param("value")
            summed.add(k)
        is_copied = state.type.shape and (stays or not count or k in sums or k in written)
        if is_copied and k in written and _is_own(outer, node, first):
            outer.memory.owned.discard(first)  # its memory goes by another name from here on
        elif is_copied and first not in outer.plan.nested:
            value = Expr(COPY, (value,))
        end = body.outputs[k]
        names.append(_name(outer, part, state, taken, (end.role is None and name_for(end)) or "s"))
        outer.out.append(Assign(names[k], value, first.origin if first in outer.plan.nested else None))
    collected = {k: outer.memory.call(part) for k, part in parts.items() if k >= carried}
    near = {name: state for name, state in zip(names, states) if state.type.shape}
    uses = count_uses(body.nodes, body.outputs)
    rows = [(i, x) for i, x in zip(body.inputs[len(of.constants) + carried :], of.rows, strict=True) if i in uses]
    turned = _turned(outer, [x for _, x in rows], [parts[k] for k in collected])
    given = _argument_counted_to(outer, node, count)
    turns = (of.rows and outer.space.shapes.size(of.rows[0], 0)) or given or str(count)
    listed: set[int] = set()
    if turned is None:
        listed = listed_rows(outer.plan, node, {k: parts[k] for k in collected}, {*sums, *written})
    outer.listed.update([parts[k] for k in listed])
    for k, name in collected.items():
        if k in listed:
            outer.out.append(Assign(name, EMPTY_LIST))
            continue
        shape = outer.space.shapes.text(body.outputs[k], near, turns)
        outer.out.append(Assign(name, new_array("np.empty", parts[k].type, shape)))
    for r in turned or ():
        outer.name[r] = outer.name[r.inputs[0]]
        outer.same.add(r)
    called: dict[Node, Expression] = dict(zip(states, names, strict=True))
    turn = outer.names.take_unused(COUNTERS) if collected.keys() - listed else None
    taken_apart: list[Statement] = []
    for i, x in rows:
        whole = outer.operand(x if turned is None else _ahead(x))
        if turned is None or uses[i] > 1:
            base = outer.name.get(_ahead(x))
            stem = "row" if type(base) is not str else one_of(base) if _ahead(x) in outer.listed else f"{base}_k"
            called[i] = _name(outer, None, i, taken, stem)
        if turned is not None:
            taken_apart += [Assign(called[i], Expr(ITEM_OF, (whole, turn)))] if i in called else []
            called.setdefault(i, Expr(ITEM_OF, (whole, turn)))
    added = {k: ("+", addend) for k, addend in sums.items()}
    added |= {k: found for k in summed if (found := _added(states[k], body.outputs[k], uses)) is not None}
    changed = [k for k, state in enumerate(states) if body.outputs[k] is not state and k not in added]

    def add(name: str, op: str, addend: Node, inner: Lowering) -> None:
        value, last = inner.operand(addend), inner.out[-1] if inner.out else None
        if type(last) is Assign and last.target == value and inner.plan.uses[addend] == 1:
            inner.out[-1] = Augment(name, op, last.value, last.origin, last.note)
        else:
            inner.out.append(Augment(name, op, value, addend.origin))

    def store(name: str, row: Node, inner: Lowering) -> None:
        inner.out.append(Store(Expr(ITEM_OF, (name, turn)), "", inner.operand(row), row.origin))

    def append(name: str, row: Node, inner: Lowering) -> None:
        inner.out.append(Do(Expr(APPEND, (name, inner.operand(row))), row.origin))
        inner.memory.owned.discard(inner.memory.root_of(row))  # the list has it

    def finish(results: list[Node], inner: Lowering) -> None:
        given: set[Node] = set()
        root_of = inner.memory.root_of
        shared = {*[states[k] for k in written], *[root_of(body.outputs[k]) for k in written]}
        moved = []
        for k, y in zip(changed, results, strict=True):  # what is read after the loop is an array of its own then
            is_own = k in parts or not y.type.shape or root_of(y) in shared
            weak = states[k].type.weak  # a number of Python's, with which the next turn computes as Python does
            value = result(inner, y, given) if is_own and not weak else inner.operand(y)
            moved.append((names[k], value, y.origin))
        if len(moved) == 1:
            _assign(inner, *moved[0][:2], results[0])
        else:
            inner.out += together(moved)
        numbers = {names[k] for k in summed}
        inner.out[:] = [in_place(s) if type(s) is Assign and s.target in numbers else s for s in inner.out]

    wanted = [body.outputs[k] for k in changed]
    stores = [
        (body.outputs[k], partial(append if k in listed else store, name, body.outputs[k]))
        for k, name in collected.items()
    ]
    stores += [(addend, partial(add, names[k], op, addend)) for k, (op, addend) in added.items()]
    handed = {body.outputs[k]: names[k] for k in changed if body.outputs[k].op is not INPUT}
    lines: list[Statement] = []
    if wanted or stores:
        own = [states[k] for k in sorted(written)]
        lines = _body(outer, body, of.constants, called, wanted, finish, count or 1, handed, stores, own)
    if len(node.bodies) == 2:
        outer.out.append(_while(outer, node, of.constants, names, lines))
    elif lines and count != 0:
        if turned is None:
            turns = outer.operand(of.turns[0]) if of.turns else given or count
            target, values = _head(
                [called[i] for i, _ in rows], [_gone_through(outer, x) for _, x in rows], turns, turn
            )
        else:
            whole = outer.operand(_ahead(rows[0][1])) if rows else None
            turns = Expr(LENGTH, (whole,)) if type(whole) is str else given or count
            target, values = turn, Expr(REVERSED, (Expr(RANGE, (turns,)),))
        outer.out.append(For(target, values, [*taken_apart, *lines], node.origin))
    for name in (*taken, *([] if turn is None else [turn])):
        outer.names.release(name)


def _argument_counted_to(outer: Lowering, node: Node, count: int | None) -> str | None:
    """Return the argument to which the user's loop counts, where the code is for one value of it: `range(steps)`."""
    given = outer.space.given
    names = counted_to(node.origin) if given and count and node.origin is not None else ()
    return next((name for name in names if given.get(name) == count), None)


def _goes_on(outer: Lowering, node: Node, first: Node, state: Node) -> bool:
    """Return whether what a loop begins with is an array of its own that nothing else reads, with a name that fits."""
    name, wish = outer.name.get(first), called(state)
    if type(name) is not str or name in outer.names.fixed or not _is_own(outer, node, first):
        return False
    return wish is None or identifier(wish) in (name, outer.names.taken.get(name, ("", 0))[0].rstrip("_"))


def _is_own(outer: Lowering, node: Node, first: Node) -> bool:
    """Return whether what a loop begins with is an array of its own that nothing else reads, nor looks into."""
    memory = outer.memory
    if first not in memory.owned or memory.last_read.get(first) != memory.here or memory.last.get(first) != memory.here:
        return False
    of = operands_of(node.inputs, **dict(node.given))
    nested, leaves = outer.plan.nested, outer.plan.leaves
    read = [leaf for x in (*of.constants, *of.rows) for leaf in (leaves[x] if x in nested else (x,))]
    return [memory.root_of(x) for x in (*of.carried, *read)].count(first) == 1


def _turned(outer: Lowering, rows: Sequence[Node], collected: Sequence[Node]) -> list[Node] | None:
    """Return the views that read what a loop collects from its end, where it goes through its rows from their ends,
    too: then `k` counts down, and neither is turned. None for other loops."""
    plan = outer.plan
    if not collected or plan.checked or not any(map(_is_turned, rows)):
        return None
    for x in rows:
        is_read = x.op is ops.full or (_is_turned(x) and x in plan.nested and x not in outer.same)
        if not is_read or type(outer.name.get(_ahead(x))) is not str:
            return None
    readers = [n for n in plan.nodes if _is_turned(n) and n.inputs[0] in collected]
    return readers if len(readers) == sum([plan.uses[part] for part in collected]) else None


def _gone_through(outer: Lowering, x: Node) -> Expression:
    """Return what a loop goes through row by row: `xs`, `xs[::-1]`, or `reversed(xs)` of a list."""
    if _is_turned(x) and x in outer.plan.nested and x.inputs[0] in outer.listed:
        return Expr(REVERSED, (outer.operand(x.inputs[0]),))
    return outer.operand(x)


def _ahead(x: Node) -> Node:
    """Return the value from its first row to its last of which a loop reads the rows from the last on."""
    return x.inputs[0] if _is_turned(x) else x


def _is_turned(x: Node) -> bool:
    """Return whether a value is another one from its last row to its first."""
    return x.op is ops.getitem and len(x.inputs) == 1 and x.param("index") == (Slice(None, None, -1),)


def _sums(body: Graph, states: Sequence[Node]) -> dict[int, Node]:
    """Return the carried arrays to which each turn only adds, each with what it adds."""
    uses = count_uses(body.nodes, body.outputs)
    found = {}
    for k, state in enumerate(states):
        total = body.outputs[k]
        if total.op is ops.add and state in total.inputs and state.type.shape and total.type == state.type:
            addend = total.inputs[total.inputs[0] is state]
            if uses[state] == uses[total] == 1 and not addend.type.weak and not is_scatter(addend):
                found[k] = addend
    return found


def _added(state: Node, total: Node, uses: Mapping[Node, int]) -> tuple[str, Node] | None:
    """Return by which operator each turn changes a carried number to which it only adds, and the value that it adds."""
    first = total.inputs[0] is state
    if uses[total] > 1 or not (first or total.op is ops.add):
        return None
    return "+" if total.op is ops.add else "-", total.inputs[first]


def _is_summed(loop: Node, state: Node, total: Node, first: Node) -> bool:
    """Return whether a loop that starts with one number only adds numbers of NumPy's to it, of its type: then it may
    start with one of Python's."""
    if first.op is not ops.full or first.type.shape or first.name is not None or first.type.dtype.char != "d":
        return False
    if len(loop.bodies) != 1 or not loop.param("count") or total.op not in SUMS or state not in total.inputs:
        return False
    addend = total.inputs[total.inputs[0] is state]
    body = loop.bodies[0]
    is_read_once = count_uses(body.nodes, body.outputs)[state] == 1
    return is_read_once and addend.type == first.type == total.type and not is_weak(addend)


def _name(outer: Lowering, part: Node | None, inner: Node, taken: list[str], stem: str = "s") -> str:
    """Name what a loop carries: as the result that it becomes, or as the input of the body."""
    if part is not None:
        return outer.memory.call(part)
    taken.append(outer.names.take(identifier(called(inner) or stem)))
    return taken[-1]


def called(inner: Node) -> str | None:
    """Return what the input of a body is called: as the user's variable, or as the derivative that it is."""
    return name_for(inner) if inner.role is None else inner.name


def _head(names: list[Any], rows: list[Expression], turns: Expression, turn: str | None) -> tuple[Any, Expression]:
    """Return what a `for` counts or goes through, and by which names."""
    if not rows:
        return turn or "_", Expr(RANGE, (turns,))
    if len(rows) == 1:
        target, values = names[0], rows[0]
    else:
        target = tuple(names)
        values = Expr(parse_template(f"zip({', '.join(slots(len(rows)))})", len(rows)), tuple(rows))
    return (target, values) if turn is None else ((turn, target), Expr(ENUMERATE, (values,)))


def _while(
    outer: Lowering, node: Node, constants: Sequence[Node], names: list[str], lines: list[Statement]
) -> Statement:
    """Write a loop with a condition: in the head, if it is one expression."""
    condition = node.bodies[1]
    called: dict[Node, Expression] = dict(zip(condition.inputs[len(constants) :], names, strict=True))
    tests: list[Expression] = []

    def finish(results: list[Node], inner: Lowering) -> None:
        tests.append(inner.operand(results[0]))

    before = _body(outer, condition, constants, called, condition.outputs[:1], finish)
    if not before:
        return While(tests[0], lines, node.origin)
    return While(TRUE, [*before, If(Expr(NOT, (tests[0],)), [Break()]), *lines], node.origin)
