"""Measure the time of each line of a generated function: the source is run with a stamp after every statement."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Sequence
from typing import Any

from tapec.codegen.list_inputs import arguments
from tapec.fast_namedtuple import NamedTuple

__all__ = ["LineTimes", "answering", "line_times"]

STAMP = "_tapec_stamp"


class LineTimes(NamedTuple):
    """Seconds a call, by line (from 1) of the source; how often each line ran in a call; calls measured."""

    seconds: dict[int, float]
    counts: dict[int, float]
    calls: int

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def share(self, line: int) -> float:
        total = self.total
        return self.seconds.get(line, 0.0) / total if total else 0.0


def answering(
    function: Callable[..., Any], source: str, args: Sequence[Any]
) -> tuple[Callable[..., Any], str, Sequence[Any]]:
    """Return the program that answers a call, its source, and its arguments.

    It is another than the function's where that is on floats, and raises an error that arrays do not.
    """
    compiled = getattr(function, "compiled", None)
    if compiled is None or not compiled.errors:
        return function, source, args
    given = arguments(args, compiled.lists)
    try:
        compiled.generated(*given)
    except compiled.errors:
        return compiled.on_arrays.generated, compiled.on_arrays.source, compiled.for_arrays(given)
    return function, source, args


def line_times(function: Callable[..., Any], source: str, args: Sequence[Any], budget: float = 0.3) -> LineTimes:
    """Measure a function for `budget` seconds. `source` is the text of the module that defines it.

    One on floats is measured as its source has it: see `answering` for arguments with which it raises an error.
    """
    compiled = getattr(function, "compiled", None)
    if compiled is not None:
        function, args = compiled.generated, arguments(args, compiled.lists)
    stamp = _Stamp()
    space = dict(function.__globals__)
    space[STAMP] = stamp
    tree = ast.fix_missing_locations(_Stamped().visit(ast.parse(source)))
    exec(compile(tree, f"<profile of {function.__name__}>", "exec"), space)
    stamped = space[function.__name__]
    stamped(*args)  # the first call warms caches up
    stamp.clear()
    calls = 0
    end = time.perf_counter() + budget
    while not calls or time.perf_counter() < end:
        stamp.last = time.perf_counter_ns()
        stamped(*args)
        calls += 1
    cost = _stamp_cost()
    seconds = {k: max(t - n * cost, 0) * 1e-9 / calls for k, (t, n) in sorted(stamp.sums.items())}
    return LineTimes(seconds, {k: n / calls for k, (_, n) in stamp.sums.items()}, calls)


class _Stamp:
    """Measures lines: called with a line that has just ended, it counts the time since the last stamp as that
    line's."""

    __slots__ = ("last", "sums")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.sums: dict[int, list[int]] = {}
        self.last = time.perf_counter_ns()

    def __call__(self, line: int) -> None:
        now = time.perf_counter_ns()
        entry = self.sums.get(line)
        if entry is None:
            entry = self.sums[line] = [0, 0]
        entry[0] += now - self.last
        entry[1] += 1
        self.last = time.perf_counter_ns()


def _stamp_cost() -> float:
    """Measure what a stamp itself adds to a line, in nanoseconds: the least mean of some rounds."""
    best = float("inf")
    for _ in range(5):
        stamp = _Stamp()
        for _ in range(200):
            stamp(0)
        best = min(best, stamp.sums[0][0] / 200)
    return best


class _Stamped(ast.NodeTransformer):
    """Puts a stamp after each statement inside functions; the test of an `if` or a loop is stamped where it leads."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [s for statement in node.body for s in self.statement(statement)]
        return node

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) or _is_text(node):
            return [node]
        if isinstance(node, ast.Return):
            keep = ast.Assign([ast.Name("_tapec_result", ast.Store())], node.value or ast.Constant(None))
            return [*self.at(node, keep), _stamp(node.lineno), *self.at(node, ast.Return(_load("_tapec_result")))]
        if isinstance(node, (ast.Raise, ast.Break, ast.Continue)):
            return [_stamp(node.lineno), node]
        if hasattr(node, "body"):
            return self.compound(node)
        return [node, _stamp(node.lineno)]

    def at(self, old: ast.stmt, new: ast.stmt) -> list[ast.stmt]:
        return [ast.copy_location(new, old)]

    def compound(self, node: Any) -> list[ast.stmt]:
        """Stamp `if`, `for`, `while`, `with`, `try`."""
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if block:
                stamped = [s for statement in block for s in self.statement(statement)]
                setattr(node, field, [_stamp(node.lineno), *stamped])
        for handler in getattr(node, "handlers", ()):
            handler.body = [s for statement in handler.body for s in self.statement(statement)]
        return [node]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _stamp(line: int) -> ast.stmt:
    return ast.copy_location(
        ast.Expr(ast.Call(_load(STAMP), [ast.Constant(line)], [])), ast.Pass(lineno=line, col_offset=0)
    )


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())
