"""Choose what stands in for a captured list, dict or tuple: a fact, a tuple, or a stand-in of each item."""

from __future__ import annotations

import sys
import types
from typing import Any

from tapec.errors import PACKAGE_FOLDER, is_installed
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import PLAIN, CapturedPath, class_file, is_own_code
from tapec.trace.capture.proxies.container_facts import as_a_fact, is_plain
from tapec.trace.capture.proxies.mapping_proxies import mapping_proxy
from tapec.trace.capture.proxies.mirrored_container import OF_THE_LIBRARY
from tapec.trace.capture.proxies.sequence_proxies import sequence_proxy

__all__ = ["container", "is_container"]


def is_container(x: Any) -> bool:
    """Return whether there is a stand-in for containers of this class."""
    kind = type(x)
    if kind in OF_THE_LIBRARY:
        return True
    return isinstance(x, dict) and is_own_code(class_file(kind)) and not _METHODS & _own_names(kind)


_METHODS = {"__getitem__", "__setitem__", "__iter__", "__getattribute__", "__new__", "items", "values", "get", "keys"}
_METHODS |= {"__delitem__", "__ior__", "clear", "move_to_end", "pop", "popitem", "setdefault", "update"}


def _own_names(kind: type) -> set[str]:
    return {name for c in kind.__mro__ if is_own_code(class_file(c)) for name in c.__dict__}


def container(captures: Any, value: Any, path: CapturedPath) -> Any:
    """Return the stand-in for a container; the container itself where all of it is one fact."""
    if id(value) in captures.open:
        captures.trace.require_retrace(f"{path.label} holds itself")
        return value
    kind = type(value)
    parts = list(value.values() if isinstance(value, dict) else value)
    if kind is list and not _HEAP.isdisjoint(captures.clones.words):
        whole = all(map(is_plain, parts))
    else:
        whole = len(parts) > tuning.CONTAINER_MAX_CAPTURES and all(isinstance(p, PLAIN) for p in parts)
        whole = whole and not (isinstance(value, dict) and any(isinstance(key, _STOOD_FOR) for key in value))
    if _is_read_by_a_package():  # which may hand it to compiled code
        plain_keys = all(map(is_plain, value)) if isinstance(value, dict) else True
        whole = whole or (kind in (list, tuple, dict) and plain_keys and all(map(is_plain, parts)))
    captures.facts.add(path.kind(), kind)  # what isinstance is told, and named tuples by their names
    if whole:
        return as_a_fact(captures, value, path)
    captures.open.add(id(value))
    try:
        if kind is tuple:
            captures.facts.add(path.length(), len(value))
            return tuple([captures.read(v, path.item(i)) for i, v in enumerate(value)])
        return (mapping_proxy if isinstance(value, dict) else sequence_proxy)(captures, value, path)
    finally:
        captures.open.discard(id(value))


def _is_read_by_a_package() -> bool:
    """Return whether the code that reads a container is that of an installed package."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        frame = frame.f_back
    return frame is not None and is_installed(frame.f_code.co_filename)


_STOOD_FOR = (types.FunctionType, types.MethodType)  # objects with stand-ins that are other keys than they themselves
_HEAP = {"heapify", "heappop", "heappush", "heappushpop", "heapreplace"}  # they change lists past all methods
