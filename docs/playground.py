"""What the page "Try it here" runs in the browser: the text that it shows for a reader's code. It needs tapec alone."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import sys
import traceback
import types

import numpy as np

import tapec

__all__ = ["answer"]

FILE = "code.py"


def answer(code: str) -> str:
    """Return what the code prints, then value and gradient of its last function, or the error that it raises."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            found = derivative(code)
    except BaseException as e:  # SystemExit too: what the reader wrote ends the answer, not Python
        found = error_text(e)
    return "\n\n".join(part.rstrip() for part in (out.getvalue(), found) if part.strip())


def derivative(code: str) -> str:
    name = last_function(code)
    linecache.cache[FILE] = (len(code), None, code.splitlines(keepends=True), FILE)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(compile(code, FILE, "exec"), module.__dict__)
    if name is None:
        return "Define a function: its gradient appears here."
    function = getattr(module, name)
    args = getattr(module, "args", None)
    if args is None:
        return f"Say where {name} is to be differentiated: args = (np.ones(3),)"
    args = args if isinstance(args, tuple) else (args,)
    one_number = np.ndim(function(*args)) == 0
    transform = tapec.grad(function) if one_number else tapec.jacobian(function)
    kind = "gradient" if one_number else "Jacobian"
    return f"{kind}:\n{transform(*args)}\n\n{transform.source(*args)}"


def last_function(code: str) -> str | None:
    names = [node.name for node in ast.parse(code, FILE).body if isinstance(node, ast.FunctionDef)]
    return names[-1] if names else None


def error_text(error: BaseException) -> str:
    """The error, below the reader's own lines that led to it."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == FILE]
    lines = [f"{FILE}, line {f.lineno}: {f.line}" for f in frames]
    return "\n".join([*lines, *(line.rstrip() for line in traceback.format_exception_only(error))])
