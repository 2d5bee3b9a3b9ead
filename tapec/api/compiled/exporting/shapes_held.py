"""Tell for which shapes of the arguments the text of generated code holds, in one line at its head.

    # for x of shape (200, 1), w of shape (any, 1)

An axis is `any` where the code is the same for other lengths, to the letter. For `f.export` that is found out by
tracing the function again (`export_free_axes.py`). For `f.source`, which runs no code of the user's again, the
recorded program is given other sizes, differentiated and compiled anew: a program of operations that say nothing of
sizes themselves, in code that never asks for a size. Of all other programs the line tells the shapes that they have.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tapec.api import tuning
from tapec.api.compiled.exporting.head_lines import with_head_line
from tapec.errors import filtered_warnings
from tapec.ir import Graph, Node, Type, input_node, is_literal, ops
from tapec.ir.source_location import place_of
from tapec.ir.static_index import Slice, Slot
from tapec.runtime.compile import optimized_code_of
from tapec.trace.written_numbers import operands_of

__all__ = [
    "ASKS",
    "holds_for_all_sizes",
    "parameters_section",
    "shapes_line",
    "with_shapes",
]

ASKS = frozenset({"shape", "size", "ndim", "len", "nbytes", "itemsize", "strides", "enumerate", "tolist"})
TELLING_NOTHING = frozenset({"axis", "axes", "keepdims", "dtype", "ddof"})  # parameters that are no sizes
UNFIT_KINDS = frozenset({"creation", "dynamic", "random", "constant", "input"})
NAMES = frozenset({"np", "numpy", "math"})
BLOCKS = re.compile(
    r"(range\(0, .+, |^ *block = slice\(i, i \+ )\d+", re.MULTILINE
)  # how long blocks are is no matter of shapes


def shapes_line(names: Sequence[str], shapes: Sequence[tuple[int, ...]], free: Collection[tuple[int, int]] = ()) -> str:
    """Return the line for arguments of these names and shapes, of which some axes are free; empty if all are."""
    parts = []
    for k, (name, shape) in enumerate(zip(names, shapes)):
        fixed = [axis for axis in range(len(shape)) if (k, axis) not in free]
        if fixed:
            sizes = [str(n) if axis in fixed else "any" for axis, n in enumerate(shape)]
            parts.append(f"{name} of shape ({', '.join(sizes)}{',' if len(sizes) == 1 else ''})")
    line = f"# for {', '.join(parts)}"
    most = tuning.SHAPES_LINE_MAX_COLUMNS
    return "" if not parts else line if len(line) <= most else f"{line[: most - 4].rpartition(', ')[0]}, ..."


def parameters_section(names: Sequence[str], types: Sequence[Type], free: Collection[tuple[int, int]] = ()) -> str:
    """Return types and shapes of arguments as a section of a docstring; empty where all are numbers."""
    lines = ["Parameters", "----------"]
    for k, (name, t) in enumerate(zip(names, types)):
        sizes = ["any" if (k, axis) in free else str(n) for axis, n in enumerate(t.shape)]
        shape = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''}) "
        kind = type(t.dtype.type().item()).__name__ if t.weak else t.dtype.name
        lines.append(f"{name} : {shape}{kind} array" if t.shape else f"{name} : {kind}")
    return "\n".join(lines) if any([t.shape for t in types]) else ""


def with_shapes(source: str, program: Any, target: str | None) -> str:
    """Return the text of a program with the line that says for which shapes it holds, where it needs one."""
    if holds_for_all_sizes(program, target):
        return source
    inputs = program.compiled.graph.inputs
    return with_head_line(source, shapes_line([i.name or "" for i in inputs], [i.type.shape for i in inputs]))


def holds_for_all_sizes(program: Any, target: str | None = None) -> bool:
    """Return whether the code of a program is the same for arguments of other sizes, found out without running it."""
    if program.is_retraced or program.branches or not ASKS.isdisjoint(program.words):
        return False
    path = program.paths[0]
    sizes = {n for i in path.forward.inputs for n in i.type.shape}
    if min(sizes, default=2) < 2 or len(path.forward.nodes) > tuning.OTHER_SIZES_MAX_NODES:
        return not sizes
    compiled = program.compiled.code if target is None else program.compiled.renamed(target=target)
    near = {n: n + 1 for n in sizes}
    doubled = {n: n + 1 if n & (n - 1) else 2 * n for n in sizes}  # code divides by powers of two in a way of its own
    for other in (near, doubled) if near != doubled else (near,):
        with suppress(Exception), filtered_warnings("ignore"):  # whatever rules say to sizes that nobody gave them
            found = _code_for(program, path, other, target) if len({*other.values()}) == len(other) else None
            if found is not None and _lines(found) == _lines(compiled):
                return True
    return False


def _lines(code: Any) -> Any:
    """Return what must be the same: constants, and lines but for those about memory and the first comments."""
    text = "\n".join([line for line in code.source.splitlines() if not line.lstrip().startswith(("#", "del "))])
    arrays = {name: np.asarray(value) for name, value in code.constants.items()}
    return BLOCKS.sub(r"\1_", text), {name: (x.shape, x.dtype, x.tobytes()) for name, x in arrays.items()}


def _code_for(program: Any, path: Any, other: Mapping[int, int], target: str | None) -> Any:
    """Return the code of a program for arguments of other sizes; None where some operation may tell its own sizes."""
    new: dict[Node, Node] = {}
    for i in path.forward.inputs:
        new[i] = input_node(i.name, _resized(i.type, other), i.origin)
    for node in path.forward.nodes:
        made = _for_other_sizes(node, new, other)
        if made is None:
            return None
        new[node] = made
    forward = path.forward
    inputs, outputs = ([new[n] for n in nodes] for nodes in (forward.inputs, forward.outputs))
    graph = Graph(inputs, [new[n] for n in forward.nodes], outputs, forward.name)
    types = [_resized(t, other) for t in path.info.types]
    info = path.info._replace(types=types, integers={new[n]: v for n, v in path.info.integers.items()})
    derived, _ = program.transform(graph, info)
    whole = Graph(graph.inputs, derived.nodes, derived.outputs, program.name)
    options = program.compiled.options._replace(target=target)
    return optimized_code_of(whole, options)


def _resized(t: Type, other: Mapping[int, int]) -> Type:
    return Type(tuple([other.get(n, n) for n in t.shape]), t.dtype, t.weak)


def _for_other_sizes(node: Node, new: Mapping[Node, Node], other: Mapping[int, int]) -> Node | None:
    """Return a node on operands of other sizes; None where its parameters or numbers may tell sizes."""
    if is_literal(node):
        return node
    op, params, before = node.op, node.params, node.inputs
    inputs = tuple([new[i] for i in before])
    if op.kind in UNFIT_KINDS or node.bodies or op.multi:
        return None
    if any(map(is_literal, before)) and not _are_the_users(node):
        return None
    if op is ops.reshape:  # axes of length one come and go
        kept = [n for n in before[0].type.shape if n != 1]
        if kept != [n for n in node.type.shape if n != 1]:
            return None
        params = (("shape", tuple([other.get(n, n) for n in node.type.shape])),)
    elif op is ops.getitem:
        if not all([_is_plain(part, node) for part in node.param("index")]):
            return None
    elif not TELLING_NOTHING.issuperset([key for key, _ in params]):
        return None
    result = op.rule(*[i.type for i in inputs], **dict(params))
    return Node(op, inputs, params, result, node.origin, node.name, node.role)


def _is_plain(part: Any, node: Node) -> bool:
    """Return whether a part of an index says nothing of a length: a whole axis, all but an end, a row asked for."""
    if type(part) is Slice:
        return part.step in (None, 1, -1) and all([b in (None, 0, 1, -1) for b in (part.start, part.stop)])
    if type(part) is int:
        return part in (0, -1) or (_text(node).endswith("]") and part + 1 not in node.inputs[0].type.shape)
    return part is None or part is ... or type(part) is Slot


def _text(node: Node) -> str:
    return place_of(node.origin).text if node.origin is not None else ""


def _are_the_users(node: Node) -> bool:
    """Return whether the user wrote the numbers that a node reads there, without a variable.

    Others may be sizes: NumPy's functions compute with them, and so may the user who counts rows in a loop.
    """
    operands = operands_of(_text(node), node.op.name)
    names = [{n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} for tree in operands]
    return sum([of <= NAMES for of in names]) >= sum(map(is_literal, node.inputs))
