"""Write down rules as people read them: the derivative of an op, and what a rewrite rule puts in the place of what.

Both are data or short functions in tapec's own source, and their text is taken from there.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapec.ir import Op
from tapec.ir.pattern import Pattern
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.engine.rule import Rule
from tapec.passes.listed_pass import Pass
from tapec.report import tuning

__all__ = ["derivative_text", "numpy_name", "rewrite_text"]


def numpy_name(op: Op) -> str:
    """Return the name of the function that an op stands for: `np.tanh`; empty for an op of our own."""
    name = getattr(op.numpy, "__name__", "")
    if not name:
        return ""
    for prefix, module in (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft)):
        if getattr(module, name, None) is op.numpy:
            return f"{prefix}.{name}"
    return f"{getattr(op.numpy, '__module__', None) or 'scipy.special'}.{name}"


def derivative_text(op: Op) -> str:
    """Return the derivative rule of an op: `∂y/∂x = 1 - y * y`; y is the result, and other names are operands."""
    if op.gradient == "none":
        return "piecewise constant: no derivative"
    if op.gradient == "zero":
        return "its derivative is zero"
    if op.partials is not None:
        return partials_text(op.partials)
    if op.vjp is not None:
        return f"cotangents of the operands, from that of the result:\n{function_text(op.vjp)}"
    if op.jvp is not None:
        return f"tangent of the result, from those of the operands:\n{function_text(op.jvp)}"
    return "linear: its derivative is the same operation" if op.linear else ""


def partials_text(partials: Any) -> str:
    text = function_text(partials)
    head, _, body = text.partition(": ")
    if head.startswith("lambda y") and "\n" not in text:
        names = [name.strip().partition("=")[0] for name in head.removeprefix("lambda").split(",")][1:]
        names = [name for name in names if not name.startswith("*")]
        parts = ast.parse(body, mode="eval").body
        if isinstance(parts, ast.Tuple) and len(parts.elts) <= len(names):
            return "\n".join([f"∂y/∂{name} = {ast.unparse(part)}" for name, part in zip(names, parts.elts)])
    return text


def rewrite_text(one: Pass, name: str) -> str:
    """Return what a rewrite rule of a pass does: `multiply(x, 1) → x`."""
    rules = one.run.taken_up() if isinstance(one.run, RuleSet) else ()
    rule = next((rule for rule in rules if rule.name == name), None)
    return "" if rule is None else f"{rule.pattern!r}  →  {replacement_text(rule)}"


def replacement_text(rule: Rule) -> str:
    if isinstance(rule.replacement, Pattern):
        return repr(rule.replacement)
    summary = (rule.replacement.__doc__ or "").strip().split("\n")[0]
    text = function_text(rule.replacement)
    return summary or (text.partition(": ")[2] if text.startswith("lambda") else text.split("\n")[0])


def function_text(function: Any) -> str:
    """Return the source of a function: of a lambda the expression, of any other the lines without its docstring."""
    code = getattr(function, "__code__", None)
    if code is None:
        return getattr(function, "__name__", "")
    if code.co_name == "<lambda>":
        names = ", ".join(code.co_varnames[: code.co_argcount])
        return f"lambda {names}: {expression_text(code)}"
    lines = [line.rstrip() for line in block_at(code.co_filename, code.co_firstlineno)]
    return "\n".join(shortened(without_docstring(lines)))


def expression_text(code: Any) -> str:
    """Return the text that the instructions of a lambda span."""
    spans = [p for p in code.co_positions() if p[0] and p[2] is not None and (p[2], p[3]) != (0, 0)]
    if not spans:
        return "..."
    (line, column), (end, last) = min((p[0], p[2]) for p in spans), max((p[1], p[3]) for p in spans)
    text = [linecache.getline(code.co_filename, n).encode() for n in range(line, end + 1)]
    text[-1] = text[-1][:last]
    text[0] = text[0][column:]
    return " ".join(b" ".join(text).decode(errors="replace").split())


def block_at(file: str, line: int) -> Iterator[str]:
    """Yield the lines of the block of code that begins at a line, with the indentation of the first taken off."""
    first = linecache.getline(file, line)
    indent = len(first) - len(first.lstrip())
    yield first[indent:]
    is_header = not first.rstrip().endswith(":")
    while text := linecache.getline(file, line := line + 1):
        inside = not text.strip() or len(text) - len(text.lstrip()) > indent
        if not inside and not is_header:
            return
        is_header = is_header and not text.rstrip().endswith(":")
        yield text[indent:]


def without_docstring(lines: list[str]) -> list[str]:
    text = "\n".join(lines).strip()
    return re.sub(r'(:\n)\s*"""(?:.|\n)*?"""\n', r"\1", text, count=1).split("\n")


def shortened(lines: list[str]) -> list[str]:
    most = tuning.RULE_MAX_LINES
    return lines if len(lines) <= most else [*lines[:most], "    ..."]
