"""Write loops whose bodies are on Python floats.

for y_k, (f, v) in zip(y.tolist(), reversed(steps)):        sequences are lists, which other loops have made, or arrays
    a = a + f * v
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tapec.codegen.common.block_items import Deferred
from tapec.codegen.common.block_lowering import BlockLowering
from tapec.codegen.common.expressions import Expr, Expression, parse_template, slots
from tapec.codegen.common.line_templates import APPEND, EMPTY_LIST
from tapec.codegen.common.naming import RESULT, identifier
from tapec.codegen.common.statements import Assign, Do, For
from tapec.codegen.floats.float_plan import FloatPlan
from tapec.codegen.floats.packing import NUMBER_OF, PACK
from tapec.codegen.numpy.target_ops import FLOAT_LOOP, UNPACK
from tapec.codegen.schedule.lifetimes import Lifetimes
from tapec.ir import CONSTANT, ITEM, Node, ops
from tapec.ir.source_location import variable_for
from tapec.ops.control.loop import operands_of

if TYPE_CHECKING:
    from tapec.codegen.numpy.lowering import Lowering

__all__ = ["lower_float_loop"]

RANGE = parse_template("range(_0)", 1)
REVERSED = parse_template("reversed(_0)", 1)
TO_LIST = parse_template("_0.tolist()", 1)
AS_ARRAY = parse_template("np.array(_0)", 1)


def lower_float_loop(outer: Lowering, node: Node, parts: dict[int, Node]) -> None:
    """Write the loop; `parts` are its results that are read."""
    of = operands_of(node.inputs, **{k: v for k, v in node.given if k != "lists"})
    body, carried = node.bodies[0], node.param("carried")
    first = len(of.constants)
    called: dict[Node, Any] = dict(zip(body.inputs, map(outer.operand, of.constants)))
    taken: list[str] = []  # names that are free after the loop
    states = body.inputs[first : first + carried]
    names: list[str] = []
    for k, (state, x) in enumerate(zip(states, of.carried, strict=True)):
        names.append(_name(outer, parts.get(k), state, taken))
        outer.out.append(Assign(names[k], outer.operand(x)))
    lists = {k: outer.memory.call(part) for k, part in parts.items() if k >= carried}
    outer.out += [Assign(name, EMPTY_LIST) for name in lists.values()]
    called |= zip(states, names, strict=True)

    inside = outer.names.branch()
    inside.fixed.update(inside.taken)
    rows = body.inputs[first + carried :]
    apart: dict[Node, list[Node]] = {row: [] for row in rows}
    for n in body.nodes:
        source = (
            n.inputs[0].inputs[0]
            if n.op is ITEM and n.inputs[0].op is UNPACK
            else n.inputs[0]
            if n.op is NUMBER_OF
            else None
        )
        if source in apart:
            apart[source].append(n)
    heads: list[tuple[Any, Expression]] = []
    for row, x in zip(rows, of.rows, strict=True):
        heads.append((_targets(row, apart[row], called, inside), _walked(outer, x)))
    skipped = {n for group in apart.values() for n in group}
    nodes = [n for n in body.nodes if n not in skipped and n.op is not UNPACK and n.op is not PACK]
    packs = body.outputs[carried:]
    wanted = [*body.outputs[:carried], *[i for k, p in enumerate(packs, carried) if k in lists for i in p.inputs]]
    plan = FloatPlan(nodes, wanted)
    for k, o in enumerate(body.outputs[:carried]):
        if identifier(plan.wishes.get(o) or "_") == names[k] or (plan.uses.get(o) == 1 and names[k] == RESULT):
            plan.wishes.pop(o, None)  # it gets that name where it is handed on
    leaves = tuple([leaf for o in wanted for leaf in plan.nest_results([o])])  # each has a line to itself
    changed = [k for k, state in enumerate(states) if body.outputs[k] is not state]

    def finish(inner: Any) -> None:
        for k, name in lists.items():
            values = [inner.operand(i) for i in packs[k - carried].inputs]
            inner.out.append(Do(Expr(APPEND, (name, _tuple(values, packs[k - carried].type.shape)))))
        inner.out += together([(names[k], inner.operand(body.outputs[k]), body.outputs[k].origin) for k in changed])

    inner = BlockLowering(Lifetimes(plan, inside, called), outer.space)
    items: list[Any] = [n for n in plan.nodes if n not in plan.nested and n.op is not CONSTANT and n.op is not ITEM]
    lines = inner.block([*items, Deferred(finish, leaves)])
    if heads and len(heads) == 1:
        target, values = heads[0]
    elif heads:
        target = tuple([t for t, _ in heads])
        values = Expr(parse_template(f"zip({', '.join(slots(len(heads)))})", len(heads)), tuple([v for _, v in heads]))
    else:
        target, values = "_", Expr(RANGE, (node.param("count"),))
    outer.out.append(For(target, values, lines, node.origin))
    for k, name in lists.items():
        if not _is_list(parts[k]):
            outer.out.append(Assign(name, Expr(AS_ARRAY, (name,))))
    for name in taken:
        outer.names.release(name)


def together(moved: Sequence[tuple[str, Expression, Any]]) -> list[Assign]:
    """Give names their new values at once: one after the other, if there is an order in which none reads a name that
    has its new value already."""
    left = [(name, value, origin) for name, value, origin in moved if name != value]
    lines: list[Assign] = []
    while left:
        ready = next(
            (x for x in left if not any([reads(value, x[0]) for name, value, _ in left if name != x[0]])), None
        )
        if ready is None:
            text = ", ".join(slots(len(left)))
            values = tuple([value for _, value, _ in left])
            return [*lines, Assign(tuple([name for name, _, _ in left]), Expr(parse_template(text, len(left)), values))]
        left.remove(ready)
        lines.append(Assign(*ready))
    return lines


def reads(value: Expression, name: str) -> bool:
    """Return whether an expression reads a name."""
    return any([reads(a, name) for a in value.args]) if type(value) is Expr else value == name and type(value) is str


def _targets(row: Node, elements: Sequence[Node], called: dict[Node, Any], names: Any) -> Any:
    """Name the elements of a row, and return what stands between `for` and `in`."""
    if not row.type.shape:
        (element,) = elements
        called[element] = names.take(identifier(element.name or variable_for(row) or "v"))
        return called[element]
    at = {n.param("index"): n for n in elements}
    targets = []
    for k in range(row.type.size):
        if k in at:
            called[at[k]] = names.take(identifier(at[k].name or "v"))
        targets.append(called[at[k]] if k in at else "_")
    if len(row.type.shape) == 2:
        n = row.type.shape[1]
        return tuple([tuple(targets[k : k + n]) for k in range(0, len(targets), n)])
    return tuple(targets)


def _walked(outer: Lowering, x: Node) -> Expression:
    """Write what a loop goes through."""
    turned = x.op is ops.getitem and _is_list(x.inputs[0])
    if turned and x in outer.plan.nested:
        return Expr(REVERSED, (outer.operand(x.inputs[0]),))
    if turned or _is_list(x):
        return outer.operand(x)
    return Expr(TO_LIST, (outer.operand(x),))


def _is_list(x: Node) -> bool:
    """Return whether a value is a list that a loop has made for others."""
    if x.op is not ITEM or x.inputs[0].op is not FLOAT_LOOP:
        return False
    loop, k = x.inputs[0], x.param("index") - x.inputs[0].param("carried")
    return bool(0 <= k < loop.param("lists"))


def _tuple(values: Sequence[Expression], shape: tuple[int, ...]) -> Expression:
    if not shape:
        return values[0]
    if len(shape) == 2:
        n = shape[1]
        values = [_tuple(values[k : k + n], (n,)) for k in range(0, len(values), n)]
    text = ", ".join(slots(len(values)))
    return Expr(parse_template(f"({text}{',' if len(values) == 1 else ''})", len(values)), tuple(values))


def _name(outer: Lowering, part: Node | None, inner: Node, taken: list[str]) -> str:
    """Name what a loop carries: as the result that it becomes, or as the input of the body."""
    if part is not None:
        return outer.memory.call(part)
    taken.append(outer.names.take(identifier(inner.name or "s")))
    return taken[-1]
