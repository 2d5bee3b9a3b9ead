"""Name what goes into the functions of helpers and what comes out, as the user's own source does.

def rhs(u, v): return u * v - c          the operands of `u * v` are `u` and `v`
y = u + 0.5 * dt * k1                    what is multiplied there is called `k1`
g = d_uv * v, from `u * v`               is a part of the cotangent of `u`
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tapec.codegen.common.made_names import made_name, wished_name
from tapec.codegen.common.naming import generic_name
from tapec.ir import CONSTANT, ITEM, Graph, Node, ops
from tapec.ir.sizes import tells_size
from tapec.ir.source_location import is_returned, place_of
from tapec.ops.control.loop import LOOP, operands_of

if TYPE_CHECKING:
    from tapec.codegen.numpy.passes.find_helper_calls import HelperCall

__all__ = ["InsideNames", "name_at_call", "name_inputs_of_bodies", "name_of_result"]


class InsideNames:
    """Holds the names that values have inside of a function of the user's, for the functions of its derivatives.

    `known` has the values, `order` the names of parameters and of other values in order, `results` those of results,
    and `read` the names that are read where an instruction of the user's stands.
    """

    def __init__(self) -> None:
        self.known: dict[Node, str] = {}
        self.order: list[str] = []
        self.results: list[str | None] = []
        self.read: dict[Any, list[list[str]]] = {}

    def learn(
        self, calls: Sequence[HelperCall], parameters: Mapping[int, str | None], results: list[str | None]
    ) -> None:
        """Note the names of a function that computes values."""
        self.order, self.results = [name for name in parameters.values() if name], results
        for call in calls:
            self.known.update({call.operands[k]: name for k, name in parameters.items() if name})
            self.known.update({node: name for node in call.nodes if (name := name_of(node))})
        for node in calls[0].nodes:
            names = [self.known[i] for i in node.inputs if i in self.known]
            self.read.setdefault(node.origin, []).append(names)

    def of_parameter(self, values: Sequence[Node], readers: Sequence[Node]) -> str | None:
        """Name a parameter that has these values in the calls; these operations are all of the first call."""
        first = values[0]
        if first.role is None:
            found = name_at_readers(first, [n for n in readers if n.role is None])
            found = found or next((self.known[v] for v in values if v in self.known), None)
            if found:
                return found
        names = [v.name or (wished_name(v) if v.role is None else None) for v in values]
        found = next((name for name in names if name and not tells_size(name)), None)
        return found or (None if first.op is CONSTANT or not first.inputs else generic_name(first))

    def of_result(self, node: Node) -> str | None:
        """Name a result: a cotangent after the parameter whose cotangent it is."""
        if node.role is None:
            return name_of(node)
        votes, parts = set(), [node]
        while parts:
            part = parts.pop()
            if part.op in (ops.add, ops.subtract) and part.role is not None:
                parts += part.inputs
            elif part.role is not None:
                held = {self.known.get(i) for i in part.inputs}
                for names in self.read.get(part.origin, ()):
                    left = {name for name in names if name not in held or len(set(names)) == 1}
                    votes |= left.intersection(self.order) if len(left) == 1 else set()
        return f"d_{votes.pop()}" if len(votes) == 1 else node.name

    def rank(self, name: str | None, value: Node, code: Any) -> tuple[bool, int]:
        """Return where a parameter stands: cotangents come first, then the user's own, then what was captured."""
        own = list(code.co_varnames[: code.co_argcount])
        if value.role is not None and value.type.shape:
            return False, _place(name, [f"d_{result}" for result in self.results])
        return True, _place(name, [*own, *[n for n in self.order if n not in own]])

    def rank_of_result(self, name: str | None) -> int:
        """Return where a result stands: cotangents in the order of parameters, all others where they are."""
        return _place(name, [f"d_{parameter}" for parameter in self.order])


def name_inputs_of_bodies(graph: Graph, names: Iterable[InsideNames]) -> None:
    """Note the names of what the bodies of loops read: of constants, and of rows that another loop has collected."""
    for node in graph.nodes:
        if node.op is not LOOP:
            continue
        of, inputs = operands_of(node.inputs, **dict(node.given)), node.bodies[0].inputs
        rows = inputs[len(of.constants) + len(of.carried) :]
        for i, value in zip([*inputs[: len(of.constants)], *rows], [*of.constants, *of.rows], strict=True):
            made = _collected(value)
            for known in [n.known for n in names]:
                name = known.get(made) or (wished_name(value) if value.role is None and made is value else None)
                if name:
                    known[i] = name


def _collected(value: Node) -> Node:
    """Return what a loop computes in each turn, for the rows of it that are read; the value for all others."""
    rows = value
    while rows.op is ops.getitem and len(rows.inputs) == 1:
        rows = rows.inputs[0]
    if rows.op is ITEM and rows.inputs[0].op is LOOP:
        return rows.inputs[0].bodies[0].outputs[rows.param("index")]
    return value


def _place(name: str | None, names: Sequence[str]) -> int:
    return names.index(name) if name in names else len(names)


def name_at_call(old: Node, readers: Iterable[Node]) -> str | None:
    """Name a result where a helper is called: as those call it who read it there."""
    if old.role is not None:
        return None
    code = None if old.origin is None else old.origin[0]
    outside = [n for n in readers if n.role is None and n.origin is not None and n.origin[0] is not code]
    return name_at_readers(old, outside) or name_of(old)


def name_of_result(value: Node, readers: Iterable[Node]) -> str | None:
    """Return how a value that a function of the user's returns is called by those who read it outside of that."""
    if value.role is not None or value.origin is None or not is_returned(value.origin):
        return None
    code = value.origin[0]
    outside = [n for n in readers if n.role is None and n.origin is not None and n.origin[0] is not code]
    return name_at_readers(value, outside)


def name_of(node: Node) -> str | None:
    """Name a value from what it is; None for one of which no more is to say than a word for its kind."""
    return wished_name(node) or made_name(node)


def name_at_readers(value: Node, readers: Iterable[Node]) -> str | None:
    """Return how the user's source calls a value where an operation reads it."""
    for node in readers:
        for operand, text in _operands(node):
            if operand is value:
                return text
    return None


def _operands(node: Node) -> list[tuple[Node, str]]:
    """Return operands of an operation with what the user's source calls them."""
    if node.origin is None:
        return []
    try:
        tree: Any = ast.parse(place_of(node.origin).text, mode="eval").body
    except (SyntaxError, ValueError):
        return []
    parts: list[Any] = []
    if isinstance(tree, ast.BinOp):
        parts = [tree.left, tree.right]
    elif isinstance(tree, ast.UnaryOp):
        parts = [tree.operand]
    elif isinstance(tree, ast.Subscript):
        parts = [tree.value]
    elif isinstance(tree, ast.Call):
        parts = list(tree.args)
    return [(i, name) for i, part in zip(node.inputs, parts, strict=False) if (name := _name(part))]


def _name(part: Any) -> str | None:
    return part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else None
