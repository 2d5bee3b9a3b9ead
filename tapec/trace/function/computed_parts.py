"""Find what a run has computed inside an object that it returns, and that is no structure: later calls give it back as
it is."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tapec.trace import tuning
from tapec.trace.capture.captured_paths import cell_contents, class_file, is_own_code, is_plain_class
from tapec.trace.tensor import Tensor

__all__ = ["holds_computed"]


_VIEWS: Any = (type({}.keys()), type({}.values()), type({}.items()))
_ITERABLE: tuple[Any, ...] = (list, tuple, deque, set, frozenset)


def holds_computed(x: Any, captures: Any) -> bool:
    """Return whether an object, or one inside it, holds a tensor of the run.

    Stand-ins for captured objects are not looked into, as what they hold is the user's own, nor are objects of ours. A
    function whose result has too many parts to be searched is recorded anew at each call.
    """
    trace, originals = captures.trace, captures.identities.originals
    todo, known = deque([x]), {id(x): x}
    while todo and len(known) <= tuning.RESULT_MAX_PARTS:
        for part in _parts(todo.popleft()):  # the nearest first
            if isinstance(part, Tensor):
                if trace.making or trace.watches(part):
                    return True
            elif not is_plain_class(type(part)) and id(part) not in known and id(part) not in originals:
                known[id(part)] = part
                todo.append(part)
    if todo:
        trace.require_retrace(f"it returns a {type(x).__name__} of too many parts to be searched for what it computed")
    return False


def _parts(x: Any) -> Iterator[Any]:
    """Go through what an object holds, past methods that its class may have in the place of the library's."""
    if isinstance(x, type):
        if is_own_code(class_file(x)):
            yield from list(vars(x).values())
        return
    if isinstance(x, types.ModuleType) or type(x).__module__.startswith("tapec."):
        if hasattr(type(x), "_tapec_answers"):  # a compiled function
            yield x._function
        return
    if isinstance(x, dict):
        yield from dict.keys(x)
        yield from dict.values(x)
    elif isinstance(x, np.ndarray):
        yield from x.ravel().tolist() if x.dtype.hasobject else ()
    elif isinstance(x, _VIEWS):
        yield from x
    elif isinstance(x, types.MappingProxyType):
        yield from x.values()
    elif isinstance(x, slice):
        yield from (x.start, x.stop, x.step)
    elif isinstance(x, partial):
        yield from (x.func, x.args, x.keywords)
    elif isinstance(x, types.MethodType):
        yield from (x.__func__, x.__self__)
    elif isinstance(x, types.BuiltinMethodType):
        yield x.__self__
    elif isinstance(x, types.FunctionType):
        yield from map(cell_contents, x.__closure__ or ())
        yield from (x.__defaults__, x.__kwdefaults__)
    elif isinstance(x, BaseException):
        yield x.args
    for kind in _ITERABLE:
        if isinstance(x, kind):
            yield from kind.__iter__(x)
    yield from _attributes(x)


def _attributes(x: Any) -> Iterator[Any]:
    """Go through the attributes and slots of an object, and its class."""
    kind = type(x)
    yield kind
    if kind.__dictoffset__:
        held = getattr(x, "__dict__", None)
        yield from list(held.values()) if isinstance(held, dict) else ()
    for c in kind.__mro__:
        for slot in vars(c).values() if "__slots__" in vars(c) else ():  # not what functions have of their modules
            if type(slot) is types.MemberDescriptorType:
                try:
                    yield slot.__get__(x, kind)
                except AttributeError:  # it is not filled
                    continue
