"""Load functions from syntax trees, and register their text with `linecache` for tracebacks and debuggers.

The text is made when somebody asks for a line of it. Generated files have names inside the package, so that they are
nobody's user code.
"""

from __future__ import annotations

import ast
import linecache
import math
import os
import weakref
from collections import Counter
from collections.abc import Callable
from threading import RLock
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from tapec.errors import PACKAGE_FOLDER

__all__ = ["Space"]

_FOLDER = os.path.join(PACKAGE_FOLDER, "generated")
_used: Counter[str] = Counter()
_lock = RLock()


def _without_getattr(module: ModuleType) -> ModuleType:
    """Copy the module as it is now, without its `__getattr__`.

    Where a module has `__getattr__`, the interpreter does not remember where a name was found, which costs 20 ns for
    each `np.float64(x)`.
    """
    plain = ModuleType(module.__name__, module.__doc__)
    vars(plain).update(vars(module))
    del vars(plain)["__getattr__"]
    return plain


_NUMPY = _without_getattr(np)
_LAZY = frozenset(np.__dir__()).difference(vars(_NUMPY))  # parts that NumPy imports when they are asked for


def _file_name(name: str) -> str:
    """Return a file name that no other generated module has."""
    with _lock:
        _used[name] += 1
        k = _used[name]
    return os.path.join(_FOLDER, f"{name}.py" if k == 1 else f"{name}_{k}.py")


class Space:
    """The namespace of a generated module: the names that its functions see.

    `text` returns the source; it is called later, if at all.
    """

    def __init__(self, name: str, text: Callable[[], str]):
        self.file = _file_name(name)
        self.names: dict[str, Any] = {"np": _NUMPY, "math": math, "__name__": f"tapec.generated.{name}"}
        self.constants: dict[str, Any] = {}
        self.helpers: dict[str, Callable[..., Any]] = {}
        self.arguments: dict[
            str, tuple[str, Any]
        ] = {}  # arrays that are there to the end: names in graph and code, types
        self.given: dict[str, int] = {}  # the values of arguments, whole numbers, that the code is for
        self.numbers: dict[Any, None] = {}  # the templates of numbers that are written by their expressions
        self.shapes: Any = None  # knows which axes of the program are equally long
        self.called: dict[
            int, Any
        ] = {}  # the functions that this one calls, by the identity of the bodies that they are
        self._text = text

    def define(self, tree: ast.stmt) -> None:
        """Compile a function and put it into the namespace."""
        code = compile(ast.Module([tree], []), self.file, "exec", dont_inherit=True)
        self.look_into(code)
        exec(code, self.names)

    def look_into(self, code: CodeType) -> None:
        """Give code NumPy itself, with `__getattr__`, when it reads a part of NumPy that may not be imported yet."""
        if not _LAZY.isdisjoint(code.co_names):
            self.names["np"] = np
        for inner in code.co_consts:
            if type(inner) is CodeType:
                self.look_into(inner)

    def helper(self, wish: str, function: Callable[..., Any]) -> str:
        """Make a function known to the code, and return the name by which the code calls it."""
        name, k = wish, 1
        while self.helpers.get(name, function) is not function:
            k += 1
            name = f"{wish}{k}"
        self.helpers[name] = self.names[name] = function
        return name

    def functions(self) -> list[FunctionType]:
        """Return the functions compiled so far."""
        found = [f for f in self.names.values() if isinstance(f, FunctionType)]
        return [f for f in found if f.__code__.co_filename == self.file]

    def register(self, function: Callable[..., Any]) -> None:
        """Make the source known to `linecache` as long as the function lives, without keeping the function alive."""
        text = weakref.WeakMethod(self._text)

        def lines() -> str | None:
            found = text()
            return None if found is None else found()

        linecache.cache[self.file] = (lines,)  # a callable in place of lines is called when somebody looks
        weakref.finalize(function, linecache.cache.pop, self.file, None).atexit = False
