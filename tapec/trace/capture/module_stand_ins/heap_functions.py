"""Answer what a traced function asks of `heapq`, whose functions are of C and change lists past all methods.

Of a captured list they get a copy. What they change there, the methods of the stand-in do to the captured list.
"""

from __future__ import annotations

import sys
import types
from functools import cache, update_wrapper
from typing import Any

from tapec.pytree import STANDS_FOR

__all__ = ["behind_heap_function", "heap_answers"]

_CHANGING = "heapify heappop heappush heappushpop heapreplace"  # and their likes for heaps of the largest first
_MODULES = ("heapq", "_heapq")


def heap_answers(value: Any) -> Any:
    """Return what stands for `heapq` or one of its functions; any other value as it is."""
    if type(value) is types.ModuleType:
        return _module() if value is sys.modules.get("heapq") else value
    return _answers().get(id(value), value) if getattr(value, "__module__", None) in _MODULES else value


def behind_heap_function(x: Any) -> Any:
    """Return the module or the function for what stands for it; any other value as it is."""
    if type(x) is _HeapFunction:
        return x.__wrapped__
    is_ours = type(x) is types.ModuleType and x.__name__ == "heapq" and x is _module()
    return sys.modules["heapq"] if is_ours else x


class _HeapFunction:
    """Stands in for a function of `heapq` that changes a list."""

    __wrapped__: Any

    def __init__(self, function: Any):
        update_wrapper(self, function)

    def __call__(self, heap: Any, *args: Any) -> Any:
        if STANDS_FOR.get(type(heap)) is not list:
            return self.__wrapped__(heap, *args)
        before = heap.copy()
        now = list(before)
        try:
            return self.__wrapped__(now, *args)
        finally:
            _take_over(heap, before, now)


def _take_over(heap: Any, before: list[Any], now: list[Any]) -> None:
    """Change a list by its methods from what it held before to what it is to hold now."""
    for item in now[len(before) :]:
        heap.append(item)
    for _ in before[len(now) :]:
        heap.pop()
    for k, (item, other) in enumerate(zip(now, before)):
        if item is not other:
            heap[k] = item


@cache
def _answers() -> dict[int, Any]:
    module = sys.modules["heapq"]
    names = [f"{name}{end}" for name in _CHANGING.split() for end in ("", "_max")]
    names += [f"_{name}_max" for name in _CHANGING.split()]
    return {id(f): _HeapFunction(f) for f in [getattr(module, name, None) for name in names] if f is not None}


@cache
def _module() -> types.ModuleType:
    module = types.ModuleType("heapq", sys.modules["heapq"].__doc__)
    for key, value in vars(sys.modules["heapq"]).items():
        module.__dict__[key] = _answers().get(id(value), value)
    return module
