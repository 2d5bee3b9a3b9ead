"""Name the inputs of generated code as the user calls what a recording read."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

from tapec.ir.source_location import place_of
from tapec.ir.types import NUMBERS
from tapec.ops.control.select_and_call import CALL

__all__ = ["names_of_leaves"]


def names_of_leaves(records: list[tuple[Any, ...]]) -> dict[int, str]:
    """Return names for the objects that a recording did not make, by identity, from the expression that first reads
    each."""
    names: dict[int, str] = {}
    taken: set[str] = set()
    seen: set[int] = set()
    for op, inputs, _, out, code, lasti, *_ in records:
        for k, x in enumerate(inputs):
            if id(x) not in seen and id(x) not in names:
                if type(x) not in NUMBERS:  # an equal number may stand there as a literal first
                    seen.add(id(x))
                if op is not CALL:
                    name = _operand(place_of((code, lasti)).text, k, len(inputs))
                    if name is not None and name not in taken:
                        names[id(x)] = name
                        taken.add(name)
        seen.update([id(part) for part in out] if type(out) is tuple else (id(out),))
    return names


def _operand(text: str, k: int, count: int) -> str | None:
    """The name of the k-th of `count` operands, if the expression has so many, or it is the first."""
    operands = _operands(text)
    if k < len(operands) and (len(operands) == count or k == 0):
        return operands[k]
    return None


@lru_cache(maxsize=4096)
def _operands(text: str) -> tuple[str | None, ...]:
    """The operands of an expression: their names, None for what has no name."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError:
        return ()
    return tuple([_name(part) for part in _parts(tree)])


def _parts(tree: ast.expr) -> list[ast.expr]:
    if isinstance(tree, ast.BinOp):
        return [tree.left, tree.right]
    if isinstance(tree, ast.UnaryOp):
        return [tree.operand]
    if isinstance(tree, ast.Compare):
        return [tree.left, *tree.comparators]
    if isinstance(tree, ast.Subscript):
        return [tree.value, *(tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice])]
    if isinstance(tree, ast.Call):
        method = isinstance(tree.func, ast.Attribute) and not _of_module(tree.func)
        parts = [tree.func.value] if method else []  # type: ignore[attr-defined]
        for argument in tree.args:
            parts += argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
        return parts
    return []


def _of_module(function: ast.expr) -> bool:
    """Return whether a call is one of a function, `f(x)` or `np.linalg.norm(x)`, not of a method as `x.sum()`."""
    while isinstance(function, ast.Attribute):
        function = function.value
        if isinstance(function, ast.Name):
            return function.id in ("np", "numpy", "tf", "scipy", "special")
    return isinstance(function, ast.Name)


def _name(part: ast.expr) -> str | None:
    if isinstance(part, ast.Name):
        return part.id
    if isinstance(part, ast.Attribute):
        return _name(part.value) if part.attr in ("T", "mT", "real", "imag") else part.attr
    if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant) and isinstance(part.slice.value, str):
        return part.slice.value if part.slice.value.isidentifier() else None
    return None
