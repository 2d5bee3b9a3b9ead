"""Print syntax trees as text. No other module imports astor, and this one only when somebody looks at a source.

astor 0.8 reads fields of nodes that Python 3.14 has no more. There, and where astor is not installed, the interpreter's
own printer writes everything: of a text that both had a part in, half would have other parentheses.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from typing import Any

from tapec.codegen import tuning
from tapec.codegen.common.ast_nodes import KINDS
from tapec.errors import filtered_warnings

__all__ = ["to_text", "wrapped"]


def to_text(tree: Any) -> str:
    """Print a simple statement or an expression on one line."""
    with filtered_warnings("ignore", DeprecationWarning):  # astor asks for node classes that 3.12 deprecates
        printer = _printer()
        try:
            return ast.unparse(tree) if printer is None else _with_astor(printer, tree)
        except Exception:  # astor does not know every node; the interpreter's own printer does
            return ast.unparse(tree)


def _with_astor(printer: Any, tree: Any) -> str:
    text = printer(tree, pretty_source="".join).rstrip("\n")
    if "\n" in text:
        raise ValueError("not one line")
    return text[1:-1] if isinstance(tree, ast.expr) and _parenthesised(text) else text


@cache
def _printer() -> Any:
    """Return astor's printer, told of our node classes: it looks up how tightly a node binds by its exact class.

    None where astor does not work.
    """
    if sys.version_info >= (3, 14):
        return None
    try:
        import astor
        from astor.op_util import precedence_data
    except ImportError:
        return None

    for kind in KINDS:
        if kind.__base__ in precedence_data:
            precedence_data[kind] = precedence_data[kind.__base__]
    return astor.to_source


def _parenthesised(text: str) -> bool:
    """Return whether the first and the last character are parentheses that belong together."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return k == len(text) - 1
    return False


def wrapped(text: str, indent: int) -> list[str]:
    """Break a long line after commas inside brackets, into several; the first comes without its indentation."""
    lines: list[str] = []
    room = tuning.LINE_MAX_CHARACTERS - indent
    start, depth, last_comma = 0, 0, -1
    quote = ""
    for k, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
            continue
        if c in "'\"":
            quote = c
        depth += (c in "([{") - (c in ")]}")
        if k - start >= room and last_comma > start:
            lines.append(text[start : last_comma + 1])
            start = last_comma + 2
            room = tuning.LINE_MAX_CHARACTERS - indent - 4
        if depth > 0 and text.startswith(", ", k):  # not that of `(3,)`
            last_comma = k
    lines.append(text[start:])
    return lines
