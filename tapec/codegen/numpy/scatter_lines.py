"""Write scatters and writes as statements: zeros and a store, or an update in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tapec.codegen import tuning
from tapec.codegen.common.expressions import Expr, Expression, parse_template, slots
from tapec.codegen.common.line_templates import COPY, WHOLE, new_array
from tapec.codegen.common.statements import Assign, Do, Store
from tapec.codegen.numpy.scatter_forms import (
    has_repeats,
    index_arrays,
    index_tuple,
    is_copied_right,
    is_number_stored,
    is_part_read,
    is_scatter,
    is_write,
    place_template,
)
from tapec.codegen.runtime_helpers import add_at
from tapec.codegen.schedule.inlining import is_big, is_view
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, OpSet, broadcast_shapes, ops
from tapec.ir.cost import bytes_of, elements
from tapec.ir.static_index import Slice, Slot
from tapec.ops.indexing.getitem_and_scatter import FULL_SLICE, fills_all

if TYPE_CHECKING:
    from tapec.codegen.numpy.lowering import Lowering

__all__ = ["Filled", "Places", "lower_into_place", "lower_write", "lower_write_into"]

NEGATIVE = parse_template("-_0", 1)
NEGATIVE_INTO = parse_template("np.negative(_0, out=_1)", 2)
SCALINGS = OpSet("multiply divide")
ADD_AT = parse_template("np.add.at(_0, _1, _2)", 3)
SUBTRACT_AT = parse_template("np.subtract.at(_0, _1, _2)", 3)


# -- places not yet written --------------------------------------------------------------------------------------------
class Filled(NamedTuple):
    """Tells which lines along an axis of an array of zeros have been written, and whether it is read before all are.

    Where all are written first, `np.empty` does in place of `np.zeros`. `out[at]` is the statement that makes the
    zeros; `at` is -1 where a free array, which holds something else yet, serves instead.
    """

    axis: int
    lines: bytearray
    left: int
    out: list[Any]  # the lines with the statement that makes the zeros
    at: int  # its place among them; -1 where a free array serves instead
    read: bool = False


class Places(NamedTuple):
    """Knows where the lines of a block have written: parts of arrays of zeros, and values computed in their place.

    `filled` are the arrays of zeros, `stored` the values that are where they belong already, `reads` tells how often a
    value is read.
    """

    reads: Mapping[Node, int]
    filled: dict[Node, Filled]
    stored: set[Node]


def filled_with(filled: Filled, node: Node) -> Filled | None:
    """Add the lines that a scatter writes; None unless they lie along one axis and are all still zeros."""
    axis, lines = _lines(node)
    if lines is None:
        return None
    if not filled.lines:
        count = node.type.shape[axis]
        filled = filled._replace(axis=axis, lines=bytearray(count), left=count)
    elif axis != filled.axis or any(filled.lines[lines]):
        return None
    count = len(range(*lines.indices(len(filled.lines))))
    filled.lines[lines] = b"\1" * count
    return filled._replace(left=filled.left - count)


def _lines(node: Node) -> tuple[int, slice | None]:
    """Return the axis and the lines along it that a scatter writes, all other axes being written whole."""
    if not is_scatter(node) or len(node.inputs) > 1:
        return 0, None
    axis, found = 0, None
    for k, part in enumerate(node.param("index")):
        if part is None or part is Ellipsis:
            return 0, None
        n = node.type.shape[k]
        lines = slice(part % n, part % n + 1) if type(part) is int else slice(*part)
        if len(range(*lines.indices(n))) != n:
            if found is not None:
                return 0, None
            axis, found = k, lines
    return axis, found


# -- what is computed where it is stored -------------------------------------------------------------------------------
def lower_into_place(low: Lowering, node: Node, leaves: Sequence[Node]) -> bool:
    """Compute a value where it is stored, among zeros: `np.matmul(a, b, out=g[k])`; False where that cannot be done."""
    if not low.places.filled or node.op.kind not in ("elementwise", "product"):
        return False
    reader = _adder(low, node)
    if reader is None or reader.op is not ops.add or not low.plan.has_out(node):
        return False
    part, base = reader.inputs[low.plan.fused[reader]], reader.inputs[1 - low.plan.fused[reader]]
    filled = low.places.filled.get(base)
    if filled is None or part.inputs[0] is not node or part.type.dtype != node.type.dtype:
        return False
    in_rows = filled.at >= 0 or base in low.memory.in_rows
    if not _may_be_out(part, in_rows):
        return False
    last = low.memory.last
    if base not in low.memory.owned or last[base] != last[node] or base.type != reader.type:
        return False
    if filled.out is not low.out or filled_with(filled._replace(lines=bytearray(filled.lines)), part) is None:
        return False
    place = Expr(place_template(part), (low.name[base], *map(low.operand, index_arrays(part))))
    low.out.append(Do(low.express_into(node, place, straight=True), node.origin))
    low.memory.free_dead(leaves)
    low.places.stored.add(node)
    return True


def _adder(low: Lowering, node: Node) -> Node | None:
    """Return the sum that adds a scatter and alone reads a value; where paths part, several conditions read one."""
    reader = low.memory.last_reader(node) if low.places.reads.get(node) == 1 else None
    return reader if type(reader) is Node and reader in low.plan.fused else None


def _may_be_out(part: Node, in_rows: bool) -> bool:
    """Return whether a value is large and stored in a slice, so that `out=` may be that slice.

    BLAS wants whole rows that follow one another in memory.
    """
    value, index = part.inputs[0], dict(part.params).get("index")
    if index is None:  # the place is a diagonal
        return False
    if not is_big(value.type) or any([i.type.shape for i in index_arrays(part)]):
        return False
    if value.op.kind == "elementwise":
        return True
    rows = type(index[0]) is not Slice or index[0].step in (None, 1)
    return value.op.kind == "product" and in_rows and rows and set(index[1:]) <= {FULL_SLICE}


# -- statements --------------------------------------------------------------------------------------------------------
def lower_write(low: Lowering, node: Node, leaves: Sequence[Node]) -> None:
    """Write the lines that put values into places of an array, or add them to what is there."""
    if node in low.plan.fused:
        add_scatter(low, node, leaves)
    elif is_scatter(node):
        scatter(low, node, leaves)
    else:
        _change(low, node, node.inputs[0], "", node, leaves)


def lower_write_into(low: Lowering, node: Node, target: str) -> None:
    """Put or add values into places of `target`, an array made for the result."""
    k = low.plan.fused.get(node)
    base: Expression = 0 if k is None else low.operand(node.inputs[1 - k])
    if base != target:
        low.out.append(Store(Expr(WHOLE, (target,)), "", base, node.origin))
    if k is None:
        _put(low, target, "+" if has_repeats(node) else "", node)
    else:
        _put(low, target, "+" if node.op is ops.add else "-", node.inputs[k])


def scatter(low: Lowering, node: Node, leaves: Sequence[Node]) -> None:
    """Write a scatter: `g = np.zeros(n)`, `g[1:] = a`."""
    name = low.memory.call(node)
    filled = filled_with(Filled(0, bytearray(), 0, low.out, len(low.out)), node)
    made = new_array("np.empty" if fills_all(node) else "np.zeros", node.type, low.shape_of(node))
    low.out.append(Assign(name, made, node.origin))
    _put(low, name, "+" if has_repeats(node) else "", node)
    if filled is not None:
        low.places.filled[node] = filled
    low.memory.own(node)
    low.memory.free_dead(leaves)


def add_scatter(low: Lowering, node: Node, leaves: Sequence[Node]) -> None:
    """Write the sum of an array and a scatter, `g[1:] += a`; or `g[1:] = a` where there still are zeros."""
    k = low.plan.fused[node]
    base, part = node.inputs[1 - k], node.inputs[k]
    op = "+" if node.op is ops.add else "-"
    filled = low.places.filled.pop(base, None)
    if filled is not None and low.memory.is_overwritable(base, node.type):
        filled = filled_with(filled, part) if filled.out is low.out else None
        if filled is not None:
            read = filled.read or low.places.reads.get(base, 0) > 1
            filled = low.places.filled[node] = filled._replace(read=read)
            op = "" if op == "+" else "=-"
            if filled.at >= 0 and not filled.left and not filled.read:
                zeros = filled.out[filled.at]
                filled.out[filled.at] = zeros._replace(value=new_array("np.empty", node.type, low.shape_of(node)))
    _change(low, node, base, op, part, leaves)


def _change(low: Lowering, node: Node, base: Node, op: str, part: Node, leaves: Sequence[Node]) -> None:
    """Change places of an array: of the array itself when it dies here, else of a copy."""
    dying = low.memory.is_overwritable(base, node.type, node)
    if dying and low.memory.keeps_name(node, low.name[base]):
        _put(low, low.name[base], op, part)
        low.memory.take_memory_of(node, base, leaves)
        return
    if dying:
        old = low.name[base]
        target = low.memory.call(node, old)
        low.out.append(Assign(target, old, node.origin))
        _put(low, target, op, part)
        low.memory.take_memory_of(node, base, leaves)
        low.name[node] = target
        low.memory.release(old)
        return
    value = low.operand(base)
    if base not in low.plan.nested or is_view(base):
        value = Expr(COPY, (value,))
    target = low.memory.call(node)
    low.out.append(Assign(target, value, node.origin))
    low.memory.use.moved += 2 * bytes_of(node)
    _put(low, target, op, part)
    low.memory.own(node)
    low.memory.free_dead(leaves)


def _put(low: Lowering, target: str, op: str, part: Node) -> None:
    """Store or add the values of a scatter, or of a write, where they belong."""
    if part.inputs[0] in low.places.stored:
        return
    factor = _factor_of_part(low, part) if is_write(part) else None
    if factor is not None:
        place = Expr(place_template(part), (target, *map(low.operand, index_arrays(part))))
        low.out.append(Store(place, low.augments(part.inputs[1]), low.operand(factor), part.origin, low.note(part)))
        return
    values = part.inputs[1 if is_write(part) else 0]
    if values.op is ops.broadcast_to and values in low.plan.nested and not _adds_many(part):
        values = values.inputs[0]  # NumPy spreads out what it stores
    value = _value(low, values)
    reads_itself = is_write(part) and low.memory.root_of(part.inputs[1]) is low.memory.root_of(part.inputs[0])
    if reads_itself and type(value) is not float and not is_copied_right(part):
        value = Expr(COPY, (value,))
        low.memory.use.need(bytes_of(part.inputs[1]))
    if op == "=-":
        op, value = "", _negated(value)
    elif op and type(value) is Expr and value.template is NEGATIVE:
        op, value = "-" if op == "+" else "+", value.args[0]
    arrays = [low.operand(i) for i in index_arrays(part)]
    if op and _adds_many(part):
        low.space.helper("add_at", add_at)
        given = (target, *arrays, value if op == "+" else _negative(low, part.inputs[0], value))
        call = parse_template(f"add_at({', '.join(slots(len(given)))})", len(given))
        low.out.append(Do(Expr(call, given), part.origin, low.note(part) or "several times as fast as np.add.at"))
        low.memory.use.need(_bytes_of_places(part))
    elif op and arrays and has_repeats(part):
        place = Expr(index_tuple(part), tuple(arrays))
        at = Expr(ADD_AT if op == "+" else SUBTRACT_AT, (target, place, value))
        low.out.append(Do(at, part.origin, low.note(part)))
    else:
        low.out.append(Store(Expr(place_template(part), (target, *arrays)), op, value, part.origin, low.note(part)))


def _factor_of_part(low: Lowering, write: Node) -> Node | None:
    """Return by what a part is multiplied or divided where a product with the part is written over it, so that an
    augmented operator does, `u[::2] *= k`; None for other values."""
    value = write.inputs[1]
    if value.op not in SCALINGS or value not in low.plan.nested or not low.augments(value):
        return None
    for k in (1, 0) if value.op.commutative else (1,):
        read, factor = value.inputs[1 - k], value.inputs[k]
        if is_part_read(read, write) and read.type == value.type and factor.type.dtype == write.type.dtype:
            return factor
    return None


def _negative(low: Lowering, node: Node, value: Expression) -> Expression:
    """Return the values with the other sign, in their own memory if nobody needs them after this line."""
    if type(value) is not str or not low.plan.is_big(node.type) or not low.memory.is_overwritable(node, node.type):
        return Expr(NEGATIVE, (value,))
    low.out.append(Do(Expr(NEGATIVE_INTO, (value, value)), node.origin))
    return value


def _negated(value: Expression) -> Expression:
    if type(value) is float:
        return -value
    return value.args[0] if type(value) is Expr and value.template is NEGATIVE else Expr(NEGATIVE, (value,))


def _value(low: Lowering, node: Node) -> Expression:
    """Return the values that are stored, as a number where they are uniform."""
    if is_number_stored(node):
        value = float(node.param("value"))
        return value if node.name is None else low.number_told(value, node.name)
    return low.operand(node)


def _bytes_of_places(part: Node) -> int:
    """Return the bytes that `add_at` needs for places in the flat array, and for a table to look them up in.

    A vector needs neither.
    """
    arrays = index_arrays(part)
    count = prod(broadcast_shapes(*[a.type.shape for a in arrays]))
    tables = [n for n in part.type.shape[: len(arrays)] if n <= max(count, 1024)]
    return 8 * (count + max(tables, default=0)) if part.type.ndim > 1 else 0


def _adds_many(part: Node) -> bool:
    """Return whether many values are added by index arrays that may repeat a place: `np.add.at` is slow for most."""
    if not is_scatter(part) or elements(part.inputs[0]) <= tuning.NUMPY_ADD_AT_MAX_ELEMENTS or not has_repeats(part):
        return False
    arrays = index_arrays(part)
    if part.param("index") != tuple(map(Slot, range(len(arrays)))):
        return False
    if any([a.type.dtype.kind not in "iu" for a in arrays]):
        return False
    return part.type.ndim > 1 or arrays[0].type.ndim > 1
