"""Paths that leave a loop in other steps, and are told by the same lines from there on: these are written once.

    if abs(dx) < 1e-12:
        if k in (4, 6):
            ...
            return x, d_a, np.int64((0, 1)[(4, 6).index(k)])
        return None

The last of what they give is the number of the path, which is all that they may differ in.
"""

from __future__ import annotations

from typing import Any

from tapec.codegen.expressions import Expr, parse_template
from tapec.codegen.statements import If, Return
from tapec.codegen.templates import EQUAL

__all__ = ["by_step"]

Lines = list[Any]


def by_step(ends: list[tuple[int, Lines]], number: str, count: int) -> Lines:
    """What is done in the steps of a loop of so many, if something is known; `number` tells which one it is."""
    groups: list[list[tuple[int, Lines]]] = []
    for end in ends:
        for group in groups:
            if are_alike(group[0][1], end[1]):
                group.append(end)
                break
        else:
            groups.append([end])
    if len(groups[0]) == count:
        return lines_of(groups[0], number)
    known = [If(test_of([step for step, _ in group], number), lines_of(group, number)) for group in groups]
    return [*known, Return(None)]


def test_of(steps: list[int], number: str) -> Expr:
    if len(steps) == 1:
        return Expr(EQUAL, (number, steps[0]))
    return Expr(parse_template(f"_0 in {tuple(steps)}", 1), (number,))


def lines_of(group: list[tuple[int, Lines]], number: str) -> Lines:
    """The lines for all of them, which tell the path by the step."""
    (_, lines), *others = group
    if all([are_same(lines, other) for _, other in others]):
        return lines
    last = lines[-1]
    steps, paths = zip(*[(step, path_of(other)) for step, other in group])
    path = Expr(parse_template(f"{paths}[{steps}.index(_0)]", 1), (number,))
    return [*lines[:-1], last._replace(values=(*last.values[:-1], last.values[-1]._replace(args=(path,))))]


def path_of(lines: Lines) -> int | None:
    """The number of the path that ends there; None where it is not spelled out."""
    values = lines[-1].values if type(lines[-1]) is Return else None
    number = values[-1] if type(values) is tuple and values else None
    args = number.args if type(number) is Expr else ()
    return args[0] if len(args) == 1 and type(args[0]) is int else None


def are_alike(a: Lines, b: Lines) -> bool:
    """Are they the same but for the number of the path?"""
    if len(a) != len(b) or path_of(a) is None or path_of(b) is None:
        return are_same(a, b)
    template, other = [lines[-1].values[-1].template for lines in (a, b)]
    return template is other and are_same([*a[:-1], *a[-1].values[:-1]], [*b[:-1], *b[-1].values[:-1]])


def are_same(a: Any, b: Any) -> bool:
    """Are statements, or what they are made of, spelled alike? 0.0 and -0.0 are equal, and not the same."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(are_same, a, b))
    return a is b or (a == b and repr(a) == repr(b))
