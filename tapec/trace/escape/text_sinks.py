"""Find out whether text of a tensor goes nowhere: `print(f"loss {loss:.3f}")` shows it, and that is all.

The call that is running, or the expression in which text is made, is found in the source by its position. Text may
pass through f-strings, `+`, `%`, `str(x)` and `"...".format(x)`, and must end as an argument of a call that stands
alone as a statement. What is called must be `print`, `warnings.warn` or a logger's own method, told by who it is and
not by its name. Everything else might read the text again, and so does code without source.
"""

from __future__ import annotations

import ast
import linecache
import sys
import warnings
from functools import cache
from types import CodeType, FrameType
from typing import Any

from tapec.ir.source_location import positions_of, remembered
from tapec.trace.escape.bytecode_site import found_by

__all__ = ["goes_nowhere", "outlets"]

_LEVELS = {"debug", "info", "warning", "warn", "error", "exception", "critical", "log"}  # of logging; they return None
_STREAMS = {"sys.stdout", "sys.stderr"}


def goes_nowhere(frame: FrameType) -> bool:
    """Return whether the text that a frame is making, or the call of it that makes text, shows the text alone."""
    callee, text_makers = _callee((frame.f_code, frame.f_lasti))
    if not callee or not _is_sink(found_by(frame, callee)):
        return False
    return all([found_by(frame, names) in (str, repr, format) for names in text_makers])


def outlets() -> tuple[Any, ...]:
    """Return where texts go: a function that puts something else there can read what it prints."""
    return sys.stdout, sys.stderr, warnings.filters, warnings.showwarning


def _is_sink(function: Any) -> bool:
    if function is print or function is warnings.warn:
        return True
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    logging = sys.modules.get("logging")
    return code is not None and code.co_name in _LEVELS and code.co_filename == getattr(logging, "__file__", None)


@remembered
def _callee(origin: tuple[CodeType, int]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the names that lead to what a statement calls, and to what makes text in the arguments of the call.

    Both are empty where the text may go elsewhere.
    """
    nowhere: tuple[Any, Any] = (), ()
    path = _nodes_at(origin[0].co_filename, *positions_of(origin))
    if len(path) < 2:
        return nowhere
    makers: list[tuple[str, ...]] = []
    *outer, node = path
    while outer:
        parent = outer.pop()
        if type(node) is ast.Call and type(parent) is ast.Expr:
            return (_names(node.func), tuple(makers)) if _shows(node) else nowhere
        if type(node) is ast.Call:
            if not (type(node.func) is ast.Attribute and type(node.func.value) is ast.Constant):  # "{}".format(x)
                makers.append(_names(node.func))
        elif type(node) not in _TEXT:
            return nowhere
        node = parent
    return nowhere


_TEXT = {
    ast.Constant,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.BinOp,
    ast.Tuple,
    ast.List,
    ast.keyword,
}  # in Python 3.11 all parts of an f-string stand where it stands


def _shows(call: ast.Call) -> bool:
    """Return whether a call gets no file to write to, but for those that Python has."""
    return all([k.arg != "file" or ast.unparse(k.value) in _STREAMS for k in call.keywords])


def _names(node: Any) -> tuple[str, ...]:
    """Return `("logging", "info")` for `logging.info`; nothing for what is no name."""
    if type(node) is ast.Name:
        return (node.id,)
    if not isinstance(node, ast.Attribute):
        return ()
    owner = _names(node.value)
    return (*owner, node.attr) if owner else ()


def _nodes_at(
    file: str, line: int | None, end_line: int | None, column: int | None, end_column: int | None
) -> list[Any]:
    """Return the nodes around a position in a file, each inside the one before."""
    if None in (line, end_line, column, end_column):
        return []
    start, end = (line, column), (end_line, end_column)
    path: list[Any] = []
    inside: Any = _tree(file, "".join(linecache.getlines(file)))
    while inside is not None:
        path.append(inside)
        inside = next((child for child in ast.iter_child_nodes(inside) if _holds(child, start, end)), None)
    return path[1:]


def _holds(node: Any, start: Any, end: Any) -> bool:
    if not hasattr(node, "lineno"):
        return False
    return (node.lineno, node.col_offset) <= start and end <= (node.end_lineno, node.end_col_offset)


@cache
def _tree(file: str, text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):  # it is no text of Python's
        return ast.Module([], [])
