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
    """The module as it is now, but for `__getattr__`: without it the interpreter remembers where a name was found,
    which takes 20 ns from each `np.float64(x)`."""
    plain = ModuleType(module.__name__, module.__doc__)
    vars(plain).update(vars(module))
    del vars(plain)["__getattr__"]
    return plain


_NUMPY = _without_getattr(np)
_LAZY = frozenset(np.__dir__()).difference(vars(_NUMPY))  # parts that NumPy imports when they are asked for


def _file_name(name: str) -> str:
    """A name that no other generated module has."""
    with _lock:
        _used[name] += 1
        k = _used[name]
    return os.path.join(_FOLDER, f"{name}.py" if k == 1 else f"{name}_{k}.py")


class Space:
    """The namespace of a generated module: what its functions can see, and what is compiled only when it is called.

    `text` is asked for the source later, if ever.
    """

    def __init__(self, name: str, text: Callable[[], str]):
        self.file = _file_name(name)
        self.names: dict[str, Any] = {"np": _NUMPY, "math": math, "__name__": f"tapec.generated.{name}"}
        self.constants: dict[str, Any] = {}
        self.helpers: dict[str, Callable[..., Any]] = {}
        self._text = text
        self._late: dict[str, Callable[[], Any]] = {}

    def define(self, tree: ast.stmt) -> None:
        """Compile a function and put it into the namespace."""
        code = compile(ast.Module([tree], []), self.file, "exec", dont_inherit=True)
        self.look_into(code)
        exec(code, self.names)

    def look_into(self, code: CodeType) -> None:
        """NumPy itself for code that needs a part of it which may not be there yet."""
        if not _LAZY.isdisjoint(code.co_names):
            self.names["np"] = np
        for inner in code.co_consts:
            if type(inner) is CodeType:
                self.look_into(inner)

    def helper(self, wish: str, function: Callable[..., Any]) -> str:
        """The name by which the code can call a function."""
        name, k = wish, 1
        while self.helpers.get(name, function) is not function:
            k += 1
            name = f"{wish}{k}"
        self.helpers[name] = self.names[name] = function
        return name

    def later(self, name: str, make: Callable[[], ast.stmt]) -> None:
        """A function that is compiled when it is called for the first time, or when somebody looks."""

        def stub(*args: Any) -> Any:
            self.complete()
            return self.names[name](*args)

        self._late[name] = make
        self.names[name] = stub

    def complete(self) -> None:
        """Compile what was put off."""
        with _lock:
            while self._late:
                name, make = next(iter(self._late.items()))
                self.define(make())
                del self._late[name]

    def functions(self) -> list[FunctionType]:
        """What has been compiled so far."""
        found = [f for f in self.names.values() if isinstance(f, FunctionType)]
        return [f for f in found if f.__code__.co_filename == self.file]

    def waiting(self) -> list[str]:
        """The names of what was put off."""
        return list(self._late)

    def register(self, function: Callable[..., Any]) -> None:
        """Make the source known, for as long as the function lives, and without keeping it alive."""
        text = weakref.WeakMethod(self._text)

        def lines() -> str | None:
            found = text()
            return None if found is None else found()

        linecache.cache[self.file] = (lines,)  # lazy: a callable in place of lines
        weakref.finalize(function, linecache.cache.pop, self.file, None).atexit = False
