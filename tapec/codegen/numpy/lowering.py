"""Write nodes in order as statements that share buffers and names.

A value's memory is written again as soon as it is dead: by an augmented operator or `out=` where the types agree, or as
the target of a later operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tapec.codegen import runtime_helpers, tuning
from tapec.codegen.common.block_items import Results, is_block_loop
from tapec.codegen.common.block_lowering import BlockLowering
from tapec.codegen.common.derivative_notes import derivative_note
from tapec.codegen.common.expressions import Expr, Expression, parse_template, slots
from tapec.codegen.common.line_templates import WHOLE, few_numbers_of
from tapec.codegen.common.loader import Space
from tapec.codegen.common.number_texts import number_text
from tapec.codegen.common.statements import Assign, Augment, Do, Return, Store, in_place
from tapec.codegen.numpy.blocks.block_loop_lines import lower_loop
from tapec.codegen.numpy.body_lines import lower_bodies
from tapec.codegen.numpy.idioms import BY_COLUMNS, BY_DOT, HELPED, is_weak, note_of, out_template
from tapec.codegen.numpy.nan_checks import check_of, finite
from tapec.codegen.numpy.result_types import result
from tapec.codegen.numpy.scatter_forms import is_scatter, is_write
from tapec.codegen.numpy.scatter_lines import Places, lower_into_place, lower_write, lower_write_into
from tapec.codegen.numpy.target_ops import UNPACK
from tapec.codegen.schedule.buffers import Buffers
from tapec.codegen.schedule.inlining import NUMBERS_MADE, is_view
from tapec.ir import INPUT, Node, is_literal, ops
from tapec.ir.cost import bytes_of
from tapec.ir.sizes import is_expression, sizes_in
from tapec.ops.core.op_helpers import source_of_value

__all__ = ["Lowering"]

AS_ARRAY = parse_template("np.asarray(_0)", 1)


class Lowering(BlockLowering):
    """Turns values on arrays into statements; `into` gives arrays that values must be computed into."""

    memory: Buffers

    def __init__(self, memory: Buffers, space: Space, into: Any = None, places: Places | None = None):
        super().__init__(memory, space)
        self.into: Any = {} if into is None else into
        self.places = Places(self.plan.uses, {}, set()) if places is None else places
        self.same: set[Node] = set()  # views of what a loop has filled from its end, which need not be turned
        self.listed: set[Node] = set()  # what loops collect in lists
        self.kept: dict[Node, list[str | None]] = {}  # names of the numbers in the lists of loops on floats

    def results(self, item: Results) -> None:
        """Write `return (a, b)`: fresh arrays, none of which shares memory with another or with an input."""
        given: set[Node] = set()
        nodes = item.nodes or ()
        values = tuple([result(self, n, given) for n in nodes])
        self.memory.use.results([n for n in nodes if n in self.plan.nested])
        self.out.append(Return(None if item.nodes is None else values, self.common_origin(nodes)))

    # -- values -----------------------------------------------------------------------------------------------------
    def value(self, node: Node, leaves: Sequence[Node]) -> None:
        """Write the one or few lines that compute a value, and a check of it where values are checked."""
        if node in self.same:
            return
        self.memory.use.line(node)
        if node.op.multi:
            if is_block_loop(node):
                lower_loop(self, node, leaves)
            elif node.op.kind in ("body", "call"):
                lower_bodies(self, node, leaves)
            else:
                self.several(node, leaves)
        elif node.op in NUMBERS_MADE and node.inputs[0].op is INPUT and self.plan.uses[node.inputs[0]] == 1:
            name = self.name[node] = self.name[node.inputs[0]]  # nothing else reads the argument: `x = float(x)`
            self.out.append(Assign(name, self.express(node), node.origin))
        elif node in self.into:
            self.compute_into(node, leaves)
        elif node in self.plan.fused or is_scatter(node) or is_write(node):
            lower_write(self, node, leaves)
        elif not lower_into_place(self, node, leaves) and not self.overwrite(node, leaves):
            self.assign(node, leaves)
        if self.plan.checked:
            self.check(node)

    def assign(self, node: Node, leaves: Sequence[Node]) -> None:
        """Write `name = expression`."""
        value = self.express(node)
        self.memory.use.make_room(node)
        self.memory.free_dead(leaves)
        name = self.memory.call(node)
        line = Assign(name, value, node.origin, self.note(node))
        self.out.append(in_place(line) if node.type.weak else line)
        self.memory.own(node)

    def check(self, node: Node) -> None:
        """Write a check that a value is finite."""
        self.space.helper("finite", finite)
        for part in self.plan.parts.get(node, {}).values() if node.op.multi else (node,):
            line = check_of(part, self.name[part], node.inputs if node.op.multi else part.inputs, self.name)
            if line is not None:
                self.out.append(line)

    def own_note(self, node: Node) -> str:
        return note_of(node, self.plan.forms) or derivative_note(node)

    def compute_into(self, node: Node, leaves: Sequence[Node]) -> None:
        """Compute a value into the array that `into` has for it."""
        target = self.into[node]
        if node in self.plan.fused or is_scatter(node):
            lower_write_into(self, node, target)
        elif (k := self.augmented(node, target)) is not None:
            other = self.operand(node.inputs[1 - k])
            self.out.append(Augment(target, self.augments(node), other, node.origin, self.note(node)))
        else:
            self.out.append(Store(Expr(WHOLE, (target,)), "", self.express(node), node.origin, self.note(node)))
        self.memory.free_dead(leaves)
        self.name[node] = target

    def augmented(self, node: Node, target: str) -> int | None:
        """Return which operand is in that array already, so that the value is computed by an augmented operator."""
        if not self.augments(node):
            return None
        same = self.memory.names_like(target)
        inputs = node.inputs[: 2 if node.op.commutative else 1]
        return next((k for k, i in enumerate(inputs) if self.name.get(i) in same and i.type == node.type), None)

    def several(self, node: Node, leaves: Sequence[Node]) -> None:
        """Write an operation with several results: `q, r = np.linalg.qr(a)`."""
        expression = self.express(node)
        taken_apart = self.operand(node.inputs[0]) if node.op is UNPACK else None
        self.memory.use.make_room(node)
        self.memory.free_dead(leaves)
        parts = self.plan.parts.get(node, {})
        targets = []
        for k in range(len(node.type)):
            part = parts.get(k)
            targets.append("_" if part is None else self.memory.call(part))
            if part is not None:
                self.memory.own(part)
            else:
                self.memory.use.allocate(node.type[k])  # `_` keeps it until the next `_`, or the end
        line = None
        if taken_apart is not None:
            line = few_numbers_of(targets, taken_apart, node.inputs[0].type, node.origin)
        self.out.append(line or Assign(tuple(targets), expression, node.origin))

    def overwrite(self, node: Node, leaves: Sequence[Node]) -> bool:
        """Compute a value in place of an operand that dies here, when that is possible and worth it."""
        op = node.op
        if op.kind != "elementwise" or not node.type.shape or not self.plan.has_out(node):
            return False
        if op is ops.sign and self.plan.is_big(node.type):
            return False  # NumPy's loop for it is eight times as slow in place
        dying = [k for k, i in enumerate(node.inputs) if self.memory.is_overwritable(i, node.type, node)]
        if not dying or any([self.looks_into_others(i, node) for i in node.inputs]):
            return False
        augments = self.augments(node)
        for k in dying if augments else ():
            target = self.name[node.inputs[k]]
            if self.means_other(node, node.inputs[k]) or self.was_read(node.inputs[k], node):
                continue
            if (k == 0 or (k == 1 and op.commutative)) and self.memory.keeps_name(node, target):
                other = self.operand(node.inputs[1 - k])
                self.memory.take_memory_of(node, node.inputs[k], leaves)
                self.out.append(Augment(target, augments, other, node.origin, self.note(node)))
                return True
        if not self.plan.is_big(node.type):
            return False
        victim = min([node.inputs[k] for k in dying], key=lambda i: self.means_other(node, i))
        target = self.name[victim]
        is_other = self.means_other(node, victim)
        # by a name that tells what it was, or as what a function has made of it
        is_told = op is not ops.where and (target in self.memory.unasked or not op.inplace)
        is_told = is_told or self.was_read(victim, node)
        same = self.memory.keeps_name(node, target) and not is_other and not is_told
        if not same and bytes_of(node) < tuning.RENAMED_MIN_BYTES:
            if not self.memory.comes_again and victim not in self.plan.donated:
                return False  # two names for one array are worth it only where memory counts
        value = self.express_into(node, target)
        self.memory.take_memory_of(node, victim, leaves)
        if same:
            self.out.append(Do(value, node.origin, self.note(node)))
        else:
            self.memory.release(target)
            lent = self.memory.comes_again or victim in self.plan.donated
            why = self.note(node) or ("" if lent else "in place: new memory takes longer")
            self.out.append(Assign(self.memory.call(node, target, other=is_other), value, node.origin, why))
        return True

    def means_other(self, node: Node, victim: Node) -> bool:
        """Return whether a derivative would be found under the name of another value, or of its derivative."""
        if node.role is None or (self.memory.comes_again and not self.plan.in_loop):
            return False  # memory that serves each turn keeps its name
        name = self.name[victim]
        is_called = name in self.memory.unasked and name.startswith("d_")
        return victim.role is None or (is_called and node.of is not None and self.memory.wish(node) != name)

    def was_read(self, victim: Node, node: Node) -> bool:
        """Return whether a value is known by its name, to the user or to lines before: no other one is called so."""
        wishes = self.plan.wishes
        return wishes.get(node) is None and (self.plan.uses[victim] > 1 or wishes.get(victim) is not None)

    def looks_into_others(self, node: Node, reader: Node) -> bool:
        """Return whether a large operand is a view of another one: NumPy copies it before it writes there."""
        return is_view(node) and node.type.size == reader.type.size and self.memory.root_of(node) in reader.inputs

    # -- expressions ------------------------------------------------------------------------------------------------
    def express(self, node: Node) -> Expr:
        """Return the expression that computes a value."""
        template = self.plan.templates[node]
        if template is None:
            return self.foreign(node)
        if node.op is ops.full and node.name is not None and node.type.shape:
            return self.uniform(node, node)
        self.call_for_help(node)
        objects = template.objects
        return Expr(template, tuple([self.operand(i, k in objects) for k, i in enumerate(node.inputs)]), node.origin)

    def express_into(self, node: Node, target: Expression, straight: bool = False) -> Expr:
        """Return the call that computes a value into `target`, whose rows lie one after the other if `straight`."""
        self.call_for_help(node)
        template = BY_DOT.get(self.plan.templates[node]) if straight else None
        return Expr(
            template or out_template(node, self.plan.templates[node]),
            (*map(self.operand, node.inputs), target),
            node.origin,
        )

    def augments(self, node: Node) -> str:
        """Return the operator, without its `=`, that computes a value in place; empty where another way is faster."""
        return "" if self.plan.templates[node] in BY_COLUMNS else (node.op.inplace or "").rstrip("=")

    def call_for_help(self, node: Node) -> None:
        """Make the helper known that a line calls, if it calls one."""
        helper, name = node.op.facts.get("helper"), HELPED.get(self.plan.templates[node])
        if helper is not None:
            self.space.helper(helper.__name__, helper)
        if name is not None:
            self.space.helper(name, getattr(runtime_helpers, name))

    def operand(self, node: Node, as_object: bool = False) -> Expression:
        """Return a value as a line reads it: a number, a name, or the whole expression."""
        found: Expression = self.name.get(node)
        if found is None:
            found = self.number(node) if is_literal(node) else self.express(node)
        return Expr(AS_ARRAY, (found,)) if as_object and is_weak(node) else found

    def shape_of(self, node: Node) -> str | None:
        """Write the shape of a value by an array that has the same; None where there is none."""
        return self.space.shapes.text(node, wish=self.memory.own_wish(node))

    def uniform(self, node: Node, value: Node) -> Expr:
        """Write an array of one number, in the place of another value of its shape."""
        shape, template, t = self.shape_of(value), self.plan.templates[node], node.type
        assert template is not None
        arguments, name, text = self.space.arguments, node.name or "", template.text
        if is_expression(name):
            number = number_text(node.param("value"), name, arguments)
            alike = [
                arguments[x][0] for _, x, _ in sizes_in(name) if x in arguments and arguments[x][1].shape == t.shape
            ]
            shape = f"{alike[0]}.shape" if alike and shape is None else shape
            if type(number) is Expr and text.startswith("np.full("):
                text = text.replace(source_of_value(node.param("value")), number.template.text)
        if shape is not None:
            text = text.replace(f"({t.shape[0] if t.ndim == 1 else t.shape}", f"({shape}", 1)
        return Expr(template if text == template.text else parse_template(text, 0), (), node.origin)

    def foreign(self, node: Node) -> Expr:
        """Write the call of an op without a source, as it is. No variable's name begins with an underscore."""
        run, params = node.op.run, dict(node.given)
        words = list(slots(len(node.inputs)))
        if all(map(_is_plain, params.values())):
            words += [f"{k}={v!r}" for k, v in params.items()]
        else:
            run = partial(run, **params)
        name = self.space.helper(f"_{node.op.name}", run)
        call = parse_template(f"{name}({', '.join(words)})", len(node.inputs))
        return Expr(call, tuple(map(self.operand, node.inputs)), node.origin)

    def inner(self, memory: Buffers, into: Any = None, places: Places | None = None) -> Lowering:
        """Return a lowering for the body of a node, which has a graph of its own."""
        return Lowering(memory, self.space, into, places)


def _is_plain(value: Any) -> bool:
    """Return whether the `repr` of a value is its source."""
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, str)
