"""Tell which captured whole numbers a function only computes with, by its instructions: these are inputs at once.

A number that is an operand of `+ - * / // %`, or the exponent of a number, may be any other one at the next call.
Where something else is done with it, it may decide a size, an axis, a branch, or a rule for powers: then it is a fact.
A name in capitals is a constant, as everybody writes it: a fact, too, so that it is written into code.
"""

from __future__ import annotations

import dis  # nobody is told what becomes of a number that is read
from collections.abc import Iterator
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

from tapec.fast_namedtuple import NamedTuple
from tapec.locks import computed_once

__all__ = ["only_computes"]

_SYMBOLS = frozenset({"+", "-", "*", "/", "//", "%", "**"})
_LOADED = {"LOAD_GLOBAL": "global", "LOAD_NAME": "global", "LOAD_DEREF": "cell", "LOAD_ATTR": "attribute"}
_CHANGED = {"STORE_GLOBAL": "global", "DELETE_GLOBAL": "global", "STORE_DEREF": "cell", "DELETE_DEREF": "cell"}
_POPS = {"COMPARE_OP": 2, "BINARY_SUBSCR": 2, "BINARY_SLICE": 3, "LOAD_METHOD": 1, "PUSH_NULL": 0}
_NOTHING = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "RESUME", "PRECALL", "KW_NAMES"})
_REPEATED = frozenset({"BUILD_LIST", "BUILD_TUPLE", "LIST_EXTEND", "BUILD_STRING"})  # by a number of times
_TEXTS = (str, bytes, tuple)  # constants that are repeated, or filled in


class _Step(NamedTuple):
    """Says what an instruction does: it takes `pops` values from the stack and puts `pushes` there.

    `kind` is "constant", "local", "global", "cell", "attribute", "store" (of a local), "operator", "negative", or ""
    for what takes and gives values in another way; `pops` is -1 where nobody knows how many.
    """

    kind: str
    name: Any
    pops: int
    pushes: int


def only_computes(code: CodeType, kind: str, name: str) -> bool:
    """Return whether all that code, and code inside it, does with a variable or attribute is to compute with it."""
    if name.isupper():
        return False
    known = _KNOWN.get(code)
    if known is None:
        known = _KNOWN[code] = _Uses(code)
    inner = [c for c in code.co_consts if isinstance(c, CodeType) and (kind != "cell" or name in c.co_freevars)]
    return known.only_computes(kind, name) and all([only_computes(c, kind, name) for c in inner])


class _Uses:
    """Knows what the instructions of one code do with what they load."""

    def __init__(self, code: CodeType):
        self._code = code
        self._found: dict[tuple[str, Any], bool] = {}

    @computed_once
    def _steps(self) -> list[_Step]:
        return [step for i in dis.get_instructions(self._code) if i.opname not in _NOTHING for step in _steps_of(i)]

    def only_computes(self, kind: str, name: Any) -> bool:
        key = kind, name
        if key not in self._found:
            self._found[key] = False  # where a variable is made of itself
            found = [self._computes(k, k, 0) for k, s in enumerate(self._steps) if (s.kind, s.name) == key]
            self._found[key] = all(found) and ("changed", key) not in [(s.kind, s.name) for s in self._steps]
        return self._found[key]

    def _computes(self, first: int, last: int, above: int) -> bool:
        """Return whether the value that the steps from `first` to `last` put on the stack is computed with."""
        steps = self._steps
        if steps[first].kind == "attribute":
            first = self._owner(first)
        for k in range(last + 1, len(steps)):
            step = steps[k]
            if step.kind == "negative" and above == 0:
                last = k
            elif step.kind == "store" and above == 0:
                return self.only_computes("local", step.name)
            elif step.kind == "operator" and above <= 1:
                return self._is_operand(first, last, k, is_left=above == 1)
            elif not 0 <= step.pops <= above:
                return False
            above += step.pushes - step.pops
        return False

    def _owner(self, k: int) -> int:
        """Return the step that loads the owner of an attribute, or the attribute where that is no name."""
        first = k
        while first > 0 and self._steps[first].kind == "attribute":
            first -= 1
        return first if self._steps[first].kind in ("local", "global", "cell") else k

    def _is_operand(self, first: int, last: int, operator: int, is_left: bool) -> bool:
        """Return whether a number may be any other one as this operand of an operator."""
        symbol, steps = self._steps[operator].name, self._steps
        if symbol[-1] == "=" and not is_left:
            symbol = symbol[:-1]
        if symbol not in _SYMBOLS:
            return False
        other = None
        if not is_left and first > 0:
            other = steps[first - 1]
        elif is_left and operator == last + 2:
            other = steps[last + 1]
        if symbol == "**" and not is_left and (other is None or other.kind in ("local", "", "operator", "negative")):
            return False  # the power of an array has a derivative by its rule
        if other is not None and (other.name in _REPEATED or (other.kind == "constant" and type(other.name) in _TEXTS)):
            return False
        if other is not None and other.kind == "constant" and type(other.name) is int and symbol != "/":
            if symbol == "**" and not is_left:
                return False  # it is a whole number, or a float
            return self._computes(first if is_left else first - 1, operator, 0)  # a whole number again
        return True


def _steps_of(i: dis.Instruction) -> Iterator[_Step]:
    """Yield what an instruction does; those that do two things at once do one after the other."""
    name, value = i.opname, i.argval
    if "LOAD_FAST" in name or name == "STORE_FAST" or name == "STORE_FAST_STORE_FAST":
        names = value if type(value) is tuple else (value,)
        parts = name.replace("_BORROW", "").replace("_CHECK", "").replace("_AND_CLEAR", "").split("_FAST")
        for part, variable in zip(parts, names):
            yield _Step("store", variable, 1, 0) if part.endswith("STORE") else _Step("local", variable, 0, 1)
    elif name in ("LOAD_CONST", "LOAD_SMALL_INT"):
        yield _Step("constant", value, 0, 1)
    elif name in _LOADED:
        pops = int(name == "LOAD_ATTR")
        pushes = dis.stack_effect(i.opcode, i.arg) + pops
        yield _Step(_LOADED[name] if pushes == 1 else "", value, pops, pushes)
    elif name in _CHANGED:
        yield _Step("changed", (_CHANGED[name], value), 1, 0)
    elif name == "BINARY_OP" and not i.argrepr.startswith("["):
        yield _Step("operator", i.argrepr, 2, 1)
    elif name == "UNARY_NEGATIVE":
        yield _Step("negative", "", 1, 1)
    else:
        yield _Step("", name, *_effect(i))


def _effect(i: dis.Instruction) -> tuple[int, int]:
    """Return how many values an instruction takes and gives; -1 and 0 where that depends on more than itself."""
    name, count = i.opname, i.arg or 0
    if name in ("CALL", "CALL_KW"):
        pops = count + 2 + (name == "CALL_KW")
    elif name in ("BUILD_TUPLE", "BUILD_LIST"):
        pops = count
    elif name == "BINARY_OP":
        pops = 2
    elif name in _POPS:
        pops = _POPS[name]
    else:
        return -1, 0
    return pops, dis.stack_effect(i.opcode, i.arg) + pops


_KNOWN: WeakKeyDictionary[CodeType, _Uses] = WeakKeyDictionary()
