"""Recognise scatters and writes that share zeros: `g = np.zeros(n); g[1:] += a; g[:-1] -= b; g[0] = c`.

A scatter that is only added to something is no array of its own: it is added in place, where it belongs.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from tapec.codegen.common.expressions import Template, parse_template, slots
from tapec.ir import Node, ops
from tapec.ir.static_index import Slice
from tapec.ops.indexing.getitem_and_scatter import completed, index_source, may_repeat

__all__ = [
    "fused_operand",
    "has_repeats",
    "is_copied_right",
    "index_arrays",
    "index_tuple",
    "is_diagonal",
    "is_number_stored",
    "is_part_read",
    "is_scatter",
    "is_write",
    "line_template",
    "place_template",
]


def is_scatter(node: Node) -> bool:
    return node.op is ops.scatter


def is_write(node: Node) -> bool:
    """Return whether a node is a copy of its first operand in which some places hold the second."""
    return node.op is ops.setitem and bool(node.type.shape)


def is_part_read(read: Node, write: Node) -> bool:
    """Return whether a value is what stands, before a write, in the places that it writes, in an array of its dtype."""
    base, _, *arrays = write.inputs
    is_there = read.op is ops.getitem and read.inputs == (base, *arrays) and read.param("index") == write.param("index")
    return is_there and read.type.dtype == write.type.dtype


def is_copied_right(node: Node) -> bool:
    """Return whether NumPy writes part of an array into the array as if it had copied the part first.

    It does where it meets overlapping memory of several axes, and along one axis where both have the same step; not
    for `v[::2] = v[:3]`, which reads what it has just written.
    """
    base, part = node.inputs[:2]
    if part.type.size <= 1:
        return True
    if len(node.inputs) > 2:
        return False
    place = [p for p in completed(base.type.ndim, node.param("index")) if p is not Ellipsis]
    if sum([type(p) is not int for p in place]) != 1:
        return True
    if part.op is not ops.getitem or part.inputs != (base,):
        return False
    return _steps(place) == _steps(completed(base.type.ndim, part.param("index")))


def _steps(index: Sequence[Any]) -> list[Any]:
    return [p.step or 1 if type(p) is Slice else type(p) for p in index]


def is_number_stored(values: Node) -> bool:
    """Return whether the values that are stored are all one number, which needs no array."""
    return values.op is ops.full and values.type.dtype.kind == "f"


def is_diagonal(node: Node) -> bool:
    """Return whether a node is a matrix with the operand on a diagonal and zeros elsewhere."""
    return node.op is ops.diag and node.inputs[0].type.ndim == 1 and node.type.dtype.kind in "fc"


def diagonal_template(node: Node) -> Template:
    """Return the template of a matrix's diagonal, `_0.flat[::n + 1]`."""
    n, k = node.type.shape[0], dict(node.params).get("k", 0)
    first, last = (k, n * (n - k)) if k >= 0 else (-k * n, n * n)
    start = "" if first == 0 else first
    stop = "" if last >= n * n else last
    return parse_template(f"_0.flat[{start}:{stop}:{n + 1}]", 1)


def index_arrays(node: Node) -> tuple[Node, ...]:
    """Return the inputs that stand in the index."""
    return node.inputs[1:] if is_scatter(node) or is_diagonal(node) else node.inputs[2:]


def fused_operand(node: Node, uses: dict[Node, int]) -> int | None:
    """Return which operand of a sum is a scatter that can be added in place to the other one; None for neither."""
    if node.op is ops.add:
        order: tuple[int, ...] = (1, 0)
    elif node.op is ops.subtract:
        order = (1,)
    else:
        return None
    for k in order:
        i, other = node.inputs[k], node.inputs[1 - k]
        if (is_scatter(i) or is_diagonal(i)) and uses[i] == 1 and i.type == node.type == other.type:
            return k
    return None


def place_template(node: Node) -> Template:
    """Return the template of the place in the target, `_0[1:]`, `_0[:, _1]`; the index arrays come after the target."""
    if is_diagonal(node):
        return diagonal_template(node)
    arrays = slots(len(index_arrays(node)) + 1)
    return parse_template(f"_0[{index_source(node.param('index'), arrays[1:])}]", len(arrays))


def line_template(node: Node) -> Template:
    """Return a template as long as the line of a scatter or a write, for planning; it reads every operand once."""
    template = copy(place_template(node))
    template.counts, template.objects = (1,) * len(node.inputs), frozenset()
    return template


def index_tuple(node: Node) -> Template:
    """Return the template of the place as a value, `(slice(None), _0)`, with the index arrays as arguments."""
    arrays = slots(len(index_arrays(node)))
    target = parse_index(index_source(node.param("index"), arrays))
    return parse_template(target, len(arrays))


def parse_index(text: str) -> str:
    """Write an index as an expression, with slices spelled out."""
    import ast

    index = ast.parse(f"x[{text}]", mode="eval").body.slice  # type: ignore[attr-defined]
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    spelled = []
    for p in parts:
        if isinstance(p, ast.Slice):
            bounds = [None if b is None else ast.unparse(b) for b in (p.lower, p.upper, p.step)]
            used = bounds if bounds[2] is not None else bounds[:2]
            spelled.append("slice(None)" if bounds == [None] * 3 else f"slice({', '.join(map(str, used))})")
        else:
            spelled.append(ast.unparse(p))
    return spelled[0] if len(spelled) == 1 else f"({', '.join(spelled)})"


def has_repeats(node: Node) -> bool:
    """Return whether the same position may occur twice."""
    return may_repeat(index_arrays(node), bool(dict(node.params).get("unique")))
