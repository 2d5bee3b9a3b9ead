"""Loops over blocks as statements: a plain `for` over slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tapec.codegen.blocks import Body
from tapec.codegen.expressions import Expr, parse_template
from tapec.codegen.items import AddUp
from tapec.codegen.names import Names, generic_name
from tapec.codegen.plan import Plan
from tapec.codegen.statements import Assign, For
from tapec.ir import CONSTANT, ITEM, Node
from tapec.ir.types import Type

if TYPE_CHECKING:
    from tapec.codegen.lower import Lowering

__all__ = ["lower_loop"]

SLICE = parse_template("_0[_1:_2]", 3)


def lower_loop(outer: Lowering, node: Node, leaves: Sequence[Node]) -> None:
    """Arrays for what is kept, zeros for what is added up, and the loop."""
    body: Body = node.param("body")
    parts = outer.plan.parts[node]
    made = zip(node.type, body.graph.outputs)
    targets = [_prepare(outer, parts.get(k), t, o, k < body.kept) for k, (t, o) in enumerate(made)]
    names = outer.names.branch()
    i, j = names.take("i"), names.take("j")
    names.fixed.update((i, j))
    even = body.rows % body.block == 0
    end = f"_0 + {body.block}" if even else f"min(_0 + {body.block}, {body.rows})"
    lines: list[Any] = [Assign(j, Expr(parse_template(end, 1), (i,)))]
    called: dict[Node, str] = {}

    def slice_of(name: str) -> str:
        part = names.take(f"{name}_")
        lines.append(Assign(part, Expr(SLICE, (name, i, j))))
        return part

    for inner, whole, sliced in zip(body.graph.inputs, node.inputs, body.sliced, strict=True):
        name = outer.name[whole]
        called[inner] = slice_of(name) if sliced else name
        names.fixed.add(name)  # the next turn needs it too
    plan = Plan(body.graph.nodes, body.graph.outputs)
    into = {n: slice_of(t) for n, t in zip(body.graph.outputs[: body.kept], targets) if t}
    into.update(_bases(plan, into))
    sums = dict(zip(body.graph.outputs[body.kept :], targets[body.kept :]))
    inside = outer.inner(plan, names, called, into)
    inside.workspace, names.ever = {}, set()
    items: list[Any] = []
    for n in plan.nodes:
        if n.op is CONSTANT or n.op is ITEM:
            continue
        if n in sums:
            plan.nested.add(n)
            items.append(AddUp(n, sums[n], plan.leaves[n]))
        elif n not in plan.nested:
            items.append(n)
    inner_lines = inside.block(items)
    before, at_start = _workspace(inside.workspace, names, None if even else (i, j))
    outer.out += before
    lines += at_start + inner_lines
    inside.moved = 0
    outer.count(inside, outer.alive)
    span = Expr(parse_template(f"range(0, {body.rows}, {body.block})", 0), ())
    outer.out.append(For(i, span, lines, None, "blocks that stay in the cache"))
    outer.bury(leaves)


def _workspace(
    arrays: dict[str, Type], names: Names, span: tuple[str, str] | None
) -> tuple[list[Assign], list[Assign]]:
    """The lines that make the workspace before the loop, and those that cut it to size in each turn if need be."""
    by_type: dict[Type, list[str]] = {}
    for name, t in arrays.items():
        by_type.setdefault(t, []).append(name)
    before, at_start = [], []
    for t, group in by_type.items():
        many = len(group) > 1
        whole = _empty(Type((len(group), *t.shape), t.dtype) if many else t)
        targets = tuple(group) if many else group[0]
        if span is None:
            before.append(Assign(targets, whole))
            continue
        work = names.take("work")
        before.append(Assign(work, whole))
        cut = parse_template("_0[:, :_2 - _1]" if many else "_0[:_2 - _1]", 3)
        at_start.append(Assign(targets, Expr(cut, (work, *span))))
    return before, at_start


def _bases(plan: Plan, into: dict[Node, str]) -> dict[Node, str]:
    """What is scattered into belongs where the sum is kept, from the start."""
    found = {}
    for node, target in into.items():
        if node in plan.fused:
            base = node.inputs[1 - plan.fused[node]]
            if base.op.kind == "elementwise" and plan.uses[base] == 1 and base not in plan.nested | into.keys():
                found[base] = target
    return found


def _prepare(outer: Lowering, part: Node | None, t: Type, value: Node, kept: bool) -> str:
    """The name of an array to be filled, or of a sum that starts at zero."""
    if part is None:
        return ""
    if kept:
        old = outer.reuse(t, outer.plan.wishes.get(part))
        name = outer.call(part, old)
        outer.own(part, old is None)
        if name != old:
            outer.out.append(Assign(name, old if old is not None else _empty(t)))
        return name
    name = outer.call(part, generic_name(value))
    outer.own(part)
    zero: Any = Expr(parse_template(f"np.zeros({_shape(t)}{_dtype(t)})", 0), ()) if t.shape else 0.0
    outer.out.append(Assign(name, zero))
    return name


def _empty(t: Type) -> Expr:
    return Expr(parse_template(f"np.empty({_shape(t)}{_dtype(t)})", 0), ())


def _shape(t: Type) -> Any:
    return t.shape[0] if t.ndim == 1 else t.shape


def _dtype(t: Type) -> str:
    return "" if t.dtype == float else f", dtype=np.{t.dtype.name}"
