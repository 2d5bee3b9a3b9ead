"""Load a TARGET: `path/file.py:function`, `package.module:function`, a graph-text file, or `-` for text from stdin."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import linecache
import os
import sys
from collections.abc import Callable
from inspect import getattr_static
from pathlib import Path
from types import ModuleType
from typing import Any

from tapec.cli.error_messages import Problem, describe, user_traceback
from tapec.cli.graph_functions import GraphFunction
from tapec.errors import ParseError, TapecError, is_user_file
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph
from tapec.ir.checks.verifier import verify
from tapec.ir.text.parser import parse

__all__ = ["Target", "as_if_there", "load_function", "load_target", "read_graph"]


WHOLE_LINE = f"call({' ' * 200})"  # positions in it take in all of the line that it stands for


class Target(NamedTuple):
    """Names the function that a word stands for: one of a module, or one that computes what a graph does."""

    word: str
    function: Any
    names: Any
    graph: Graph | None = None


def load_target(word: str) -> Target:
    """Return the target that a word stands for; raise `Problem` when it stands for none."""
    if word == "-" or (":" not in word and Path(word).suffix != ".py"):
        graph = read_graph(word, ". A function is written FILE.py:NAME or MODULE:NAME")
        return Target(word, GraphFunction(graph), {}, graph)
    return load_function(word)


def load_function(word: str) -> Target:
    where, colon, name = word.rpartition(":")
    if not colon or not where or not name:
        shown = word.rstrip(":")
        raise Problem(f"{shown}: which function? Write {shown}:NAME{_offer(shown)}")
    module = load_file(where) if where.endswith(".py") else load_module(where)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise Problem(f"{where} has no {name!r}{_close(part, found)}")
        owner, found = found, getattr(found, part)
        if isinstance(owner, type) and not isinstance(getattr_static(owner, part), (staticmethod, classmethod, type)):
            found = getattr(_object_of(owner, part, where), part)
    if isinstance(found, type):
        raise Problem(f"{word} is a class: name a method of it, or a function{_methods(found, word)}")
    if not callable(found):
        raise Problem(f"{word} is no function but {type(found).__name__} {found!r:.60}")
    return Target(word, found, vars(module))


def _object_of(kind: type, method: str, where: str) -> Any:
    """Return an object of a class, of which a method is the target."""
    try:
        return kind()
    except Exception as e:  # whatever the class raises
        name, one = kind.__name__, kind.__name__.lower()
        fix = f"Make one in the file, {one} = {name}(...), and name {one}.{method}"
        raise Problem(
            f"{where}:{name}.{method} is a method, and {name}() makes no object ({describe(e)}). {fix}"
        ) from e


def _methods(kind: type, word: str) -> str:
    names = [n for n, x in vars(kind).items() if not n.startswith("_") and (callable(x) or isinstance(x, staticmethod))]
    return f" ({', '.join(f'{word}.{n}' for n in names)})" if names else ""


def read_graph(word: str, instead: str = "") -> Graph:
    """The graph in a file, or on stdin; `instead` is said where there is no such file."""
    try:
        text = sys.stdin.read() if word == "-" else Path(word).read_text(encoding="utf-8")
    except OSError as e:
        raise Problem(f"{word}: {e.strerror}{'' if os.path.exists(word) else instead}") from e
    except UnicodeDecodeError as e:
        raise Problem(f"{word} is no text: {e}") from e
    try:
        return verify(parse(text))
    except ParseError as e:
        raise Problem(f"{'stdin' if word == '-' else word}, {e}") from e
    except TapecError as e:
        raise Problem(f"{'stdin' if word == '-' else word}: {e}") from e


def load_file(path: str) -> ModuleType:
    """Run a file as a module, with its folder importable as when it is run as a script."""
    file = Path(path)
    if not file.is_file():
        raise Problem(f"there is no file {path}")
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = file.stem if file.stem not in sys.modules else f"{file.stem}_target"
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as e:
        del sys.modules[name]
        raise Problem(f"{path} cannot be imported\n{user_traceback(e).rstrip()}") from e
    return module


def load_module(name: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name is not None and (name == e.name or name.startswith(e.name + ".")):
            raise Problem(f"there is no module {name} (and no file of that name: a file's name ends in .py)") from e
        raise Problem(f"{name} cannot be imported: {describe(e)}") from e
    except (Exception, SystemExit) as e:
        raise Problem(f"{name} cannot be imported\n{user_traceback(e).rstrip()}") from e


def as_if_there(function: Any, call: Callable[[], Any]) -> Any:
    """Call something as if a function's `def` line did: that is the user's line for whatever has no other."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or not is_user_file(code.co_filename):  # NumPy's own: its name stands for the line
        name = getattr(function, "__name__", type(function).__name__)
        return eval(compile(WHOLE_LINE, name, "eval"), {"call": call})
    line = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return eval(compile("\n" * (line - 1) + WHOLE_LINE, code.co_filename, "eval"), {"call": call})


def _close(name: str, owner: Any) -> str:
    names = [n for n in dir(owner) if not n.startswith("_") and callable(getattr(owner, n, None))]
    close = difflib.get_close_matches(name, names, n=3)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _offer(path: str) -> str:
    """The functions that a file defines, without running it."""
    import ast

    try:
        body = ast.parse(Path(path).read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError):
        return ""
    names = [n.name for n in body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]
    return f" (it has {', '.join(names)})" if names else ""
