"""From a syntax tree to functions, registered with `linecache` so that tracebacks, pdb and profilers find the source.

The text is made when somebody asks for a line of it. Generated files have names inside the package, so that they are
nobody's user code.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

__all__ = ["file_name", "load"]

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "generated")
_used: Counter[str] = Counter()
_lock_free = itertools.count()


def file_name(name: str) -> str:
    """A name that no other generated module has."""
    _used[name] += 1
    k = _used[name]
    return os.path.join(_FOLDER, f"{name}.py" if k == 1 else f"{name}_{k}.py")


def load(tree: ast.Module, name: str, space: dict[str, Any], text: Callable[[], str]) -> Any:
    """Run a module in a namespace; gives the function of this name. `text` is asked for the source later, if ever."""
    file = file_name(name)
    code = compile(tree, file, "exec", dont_inherit=True)
    space["__name__"] = f"tapec.generated.{name}"
    exec(code, space)
    function = space[name]
    linecache.cache[file] = (text,)  # type: ignore[assignment]  # lazy: one callable instead of the lines
    weakref.finalize(function, linecache.cache.pop, file, None).atexit = False
    return function
