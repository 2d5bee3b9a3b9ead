"""Read from bytecode what the user's line was doing when a tensor was asked for a plain number.

`t.__float__()` does not say who asked: `float(t)`, `math.sin(t)` and `arr[0] = t` all end there. The instruction of the
user's frame does, and from its position the name of the function that is called. Nor is anybody told of `a is b`, or of
which globals a function reads that runs as it is: the instructions say so.
"""

from __future__ import annotations

import builtins
import dis  # code tells nothing else of what it does: whether it calls, stores, formats or compares by `is`
from collections.abc import Iterator
from types import CodeType, FrameType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tapec.errors import user_frame
from tapec.fast_namedtuple import NamedTuple
from tapec.trace import tuning

__all__ = [
    "Site",
    "call_site",
    "calls_unbound",
    "compared_by_identity",
    "found_by",
    "keys_read",
    "site_at",
    "variables_of",
]


class Site(NamedTuple):
    """`kind` is "call", "store" (`arr[i] = t`), "format" (`"%f" % t`), "iteration" (`[*map(float, ts)]`), or "" for
    anything else; `name` is the callee as it is written.
    """

    kind: str
    name: str = ""
    function: Any = None


_LOADS = (
    "LOAD_NAME",
    "LOAD_GLOBAL",
    "LOAD_FAST",
    "LOAD_DEREF",
    "LOAD_CLASSDEREF",
    "LOAD_FAST_CHECK",
    "LOAD_FAST_BORROW",
)
_ITERATES = {"FOR_ITER", "UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE", "CONTAINS_OP"}
_SEEN: dict[tuple[CodeType, int], tuple[str, tuple[str, ...]]] = {}


def call_site() -> Site:
    """Return what the innermost frame of the user's own code is doing."""
    frame = user_frame(2)
    return Site("") if frame is None else site_at(frame, frame.f_lasti)


def site_at(frame: FrameType, lasti: int) -> Site:
    """Return what a frame is doing at an instruction."""
    key = (frame.f_code, lasti)
    known = _SEEN.get(key)
    if known is None:
        if len(_SEEN) > tuning.SITES_KEPT_MAX:
            _SEEN.clear()
        known = _SEEN[key] = _read(frame.f_code, lasti)
    kind, names = known
    if kind != "call" or not names:
        return Site(kind)
    return Site("call", ".".join(names), found_by(frame, names))


def _read(code: CodeType, lasti: int) -> tuple[str, tuple[str, ...]]:
    """The kind of instruction at this place, and the names that lead to what it calls.

    A call of a Python function has its place somewhere behind the instruction, among what the interpreter notes there.
    """
    before = [i for i in dis.get_instructions(code) if i.offset <= lasti]
    if not before:
        return "", ()
    instruction = before.pop()
    name = instruction.opname
    if name in ("STORE_SUBSCR", "STORE_SLICE"):
        return "store", ()
    if name == "BINARY_OP" and instruction.argrepr.startswith("%"):
        return "format", ()
    if name in _ITERATES:
        return "iteration", ()
    if not name.startswith(("CALL", "PRECALL")):  # Python 3.11 calls some built-ins in PRECALL
        return "", ()
    at = instruction.positions
    if at is None or at.lineno is None:
        return "call", ()
    return "call", _callee(before, (at.lineno, at.col_offset), (at.end_lineno, at.end_col_offset))


def _callee(before: list[dis.Instruction], start: Any, end: Any) -> tuple[str, ...]:
    """Return the names of the expression that starts where the call starts and ends before it does."""
    names: list[str] = []
    loaded: Any = None  # the variable that a LOAD_FAST_LOAD_FAST loads second, whose position is nowhere
    for instruction in before:
        at = instruction.positions
        if type(instruction.argval) is tuple and "LOAD_FAST" in instruction.opname:
            loaded = instruction.argval[-1]
            continue
        second, loaded = loaded, None
        if at is None or (at.lineno, at.col_offset) != start or (at.end_lineno, at.end_col_offset) == end:
            continue
        if instruction.opname in _LOADS:
            names = [str(instruction.argval)]
        elif second is not None and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            names = [str(second), str(instruction.argval)]
        elif names and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            names.append(str(instruction.argval))
        elif names and instruction.opname.startswith("CALL"):
            names[-1] += "()"
    return tuple(names)


def found_by(frame: FrameType, names: tuple[str, ...]) -> Any:
    """The object, where reading it again runs nobody's code: through modules, classes, loggers and NumPy's objects."""
    first = names[0]
    for space in (frame.f_locals, frame.f_globals, builtins.__dict__):
        if first in space:
            found = space[first]
            break
    else:
        return None
    for name in names[1:]:
        known = isinstance(found, (ModuleType, type, np.ndarray, np.random.Generator, np.random.RandomState))
        if known or type(found).__module__ == "logging":
            found = getattr(found, name, None)
        else:
            found = getattr(found, "__dict__", {}).get(name)
    return found


def compared_by_identity(code: CodeType) -> frozenset[tuple[str, ...]]:
    """Return the names that lead from a global to what code, or code inside it, compares by `is`; () for other
    operands than globals and their attributes. None and other constants are left out.
    """
    known = _COMPARED.get(code)
    if known is None:
        found = set(_operands(code)) if _IS in code.co_code[::2] else set()
        found.update(*[compared_by_identity(c) for c in code.co_consts if isinstance(c, CodeType)])
        known = _COMPARED[code] = frozenset(found)
    return known


_IS = dis.opmap["IS_OP"]
_COMPARED: WeakKeyDictionary[CodeType, frozenset[tuple[str, ...]]] = WeakKeyDictionary()


def _operands(code: CodeType) -> Iterator[tuple[str, ...]]:
    """Yield the names of the right operand of each `is`."""
    before: list[dis.Instruction] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP" and not before[-1].opname.startswith("LOAD_CONST"):
            names: list[str] = []
            while before[-1].opname == "LOAD_ATTR":
                names.insert(0, before.pop().argval)
            yield (before[-1].argval, *names) if before[-1].opname == "LOAD_GLOBAL" else ()
        before.append(instruction)


def calls_unbound(code: CodeType) -> bool:
    """Return whether code, or code inside it, takes methods from classes of the library's containers: `dict.get`."""
    known = _UNBOUND.get(code)
    if known is None:
        inner = any([calls_unbound(c) for c in code.co_consts if isinstance(c, CodeType)])
        known = _UNBOUND[code] = inner or (not _CONTAINERS.isdisjoint(code.co_names) and _takes_methods(code))
    return known


def _takes_methods(code: CodeType) -> bool:
    loaded = ""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and loaded in _CONTAINERS:
            return True
        loaded = instruction.argval if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR") else ""
    return False


_CONTAINERS = frozenset({"list", "dict", "tuple", "deque", "OrderedDict", "defaultdict"})
_UNBOUND: WeakKeyDictionary[CodeType, bool] = WeakKeyDictionary()


def variables_of(code: CodeType) -> frozenset[str]:
    """Return the names that code, or code inside it, looks up as variables: globals and builtins, and no attributes."""
    known = _VARIABLES.get(code)
    if known is None:
        named = [i for i in dis.get_instructions(code) if i.opcode in dis.hasname]
        found = {i.argval for i in named if not i.opname.endswith(("_ATTR", "_METHOD"))}
        found.update(*[variables_of(c) for c in code.co_consts if isinstance(c, CodeType)])
        known = _VARIABLES[code] = frozenset(found)
    return known


_VARIABLES: WeakKeyDictionary[CodeType, frozenset[str]] = WeakKeyDictionary()


_OF_ITEMS = frozenset({"BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR", "COPY", "DUP_TOP_TWO"})
_NO_STEPS = frozenset({"CACHE", "COPY_FREE_VARS", "EXTENDED_ARG", "MAKE_CELL"})


def keys_read(code: CodeType, name: str) -> set[Any] | None:
    """Return the keys by which code reads and writes a container, which it knows as a variable of this name; None
    where it does anything else with it."""
    found: set[Any] = set()
    todo = [code]
    while todo:
        code = todo.pop()
        todo += [c for c in code.co_consts if isinstance(c, CodeType)]
        steps = [x for x in dis.get_instructions(code) if x.opname not in _NO_STEPS]
        for k, step in enumerate(steps):
            if step.argval != name or step.opname == "LOAD_CONST":
                continue
            key, use = (*steps[k + 1 : k + 3], None, None)[:2]
            if key is None or use is None or key.opname not in ("LOAD_CONST", "LOAD_SMALL_INT"):
                return None
            is_item = use.opname in _OF_ITEMS or (use.opname == "BINARY_OP" and use.argrepr == "[]")
            if not is_item or not (type(key.argval) is str or (type(key.argval) is int and key.argval >= 0)):
                return None
            found.add(key.argval)
    return found
