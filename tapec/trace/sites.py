"""Calls that a line of the user's program has made before: generated code that looks whether this one is the same.

For `np.sum(x, axis=0)` that is, in effect,
    def site(function, args, kwargs, depth):
        if function is not np.sum or len(args) != 1 or len(kwargs) != 1: return MISS
        [x] = args
        v = x._value if type(x) is Tensor else x
        if type(v) is not ndarray or v.shape != (3, 4) or v.dtype is not float64: return MISS
        axis = kwargs.get("axis", MISS)
        if axis is not 0 and (type(axis) is not int or axis != 0): return MISS
        return plan((x,), [v], depth)
That takes less than to make the key under which `plans` knows the call. A line that makes many kinds of calls is left
alone after a while.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from marshal import dumps
from types import CodeType
from typing import Any, Literal

import numpy as np

from tapec.trace.plans import NO_REFERENCES, PLACED, word_of
from tapec.trace.recorder import current
from tapec.trace.tensor import HOLDING, NUMERIC, READABLE, Tensor

__all__ = ["MISS", "SITES", "note"]


class _Miss:
    """Stands for what generated code gives that is not for this call, and for an argument that is not given."""

    def __repr__(self) -> str:
        return "MISS"


MISS: Any = _Miss()
Site = Callable[[Any, tuple[Any, ...], dict[str, Any], int], Any]  # `depth` as in `record`
SITES: dict[int, Site | Literal[False]] = {}  # by the place in memory of the call in its code; False: of many kinds
_MANY = 4096  # it is emptied when it gets larger
_OFTEN = 16  # calls that no site took until one is made for the next
_FEW = 4  # sites that are made for one place, one after the other
_missed: dict[int, int] = {}
_ndarray = np.ndarray
_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "<site>")


def note(
    place: int,
    code: CodeType,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    values: list[Any],
    plan: Any,
) -> None:
    """No site took this call, which goes by such a plan. These are the values of its operands."""
    rec = current()
    if rec is not None and rec.trace is not None:
        return  # it runs once
    missed = _missed[place] = _missed.get(place, 0) + 1
    if missed % _OFTEN:
        return
    if len(_missed) > _MANY:
        SITES.clear()
        _missed.clear()
    site = _site(code, function, args, kwargs, values, plan) if missed <= _FEW * _OFTEN else None
    SITES[place] = site or False


def _site(
    code: CodeType, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], values: list[Any], plan: Any
) -> Site | None:
    w = _Writer(values)
    if not w.call(args, kwargs) or len(w.operands) < len(values):
        return None
    return _made(tuple(w.lines), len(w.known))(code, function, plan, *w.known)


class _Writer:
    """The lines that look at a call, what they compare it with, and the operands that they find."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.lines: list[str] = []
        self.known: list[Any] = []
        self.operands: list[str] = []

    def test(self, text: str) -> None:
        self.lines.append(f"if {text}: return MISS")

    def name(self, value: Any) -> str:
        self.known.append(value)
        return f"k{len(self.known) - 1}"

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        keywords = f"len(kwargs) != {len(kwargs)}" if kwargs else "kwargs"
        self.test(f"function is not known or len(args) != {len(args)} or {keywords}")
        if not self.row("x", "args", args):
            return False
        for k, (name, a) in enumerate(kwargs.items()):
            self.lines.append(f"y{k} = kwargs.get({name!r}, MISS)")
            if not self.argument(f"y{k}", a):
                return False
        operands, values = ["".join([f"{letter}, " for letter in row]) for row in (self.operands, self.named())]
        self.lines.append(f"return plan(({operands}), [{values}], depth)")
        return True

    def named(self) -> list[str]:
        return [f"v{k}" for k in range(len(self.operands))]

    def row(self, name: str, text: str, row: Any) -> bool:
        names = [f"{name}{k}" for k in range(len(row))]
        self.lines.append(f"[{', '.join(names)}] = {text}")
        return all([self.argument(x, a) for x, a in zip(names, row)])

    def argument(self, x: str, a: Any) -> bool:
        """Look at one argument; False where it is of no kind that is told apart here."""
        kind = type(a)
        if kind in HOLDING:
            return self.operand(x, a)
        if a is None or kind is bool:
            self.test(f"{x} is not {a}")
        elif kind is int:
            now = self.name(a)
            self.test(f"{x} is not {now} and (type({x}) is not int or {x} != {now})")
        elif kind in PLACED or isinstance(a, np.dtype):
            self.test(f"{x} is not {self.name(a)}")
        elif kind is list or kind is tuple:
            if a and type(a[0]) in HOLDING:
                self.test(f"type({x}) is not {kind.__name__} or len({x}) != {len(a)}")
                return self.row(f"{x}_", x, a)
            if word_of(a) is None or _said(a) is None:
                return False
            self.test(f"type({x}) is not {kind.__name__} or said({x}) != {self.name(_said(a))}")
        elif kind is str or kind is float:
            if word_of(a) is None:
                return False
            equal = f"{x} != {self.name(a)}" if kind is str else f"said({x}) != {self.name(_said(a))}"
            self.test(f"type({x}) is not {kind.__name__} or {equal}")
        else:
            return False
        return True

    def operand(self, x: str, a: Any) -> bool:
        n = len(self.operands)
        if n == len(self.values):
            return False
        value = self.values[n]
        if type(a) in READABLE:
            self.lines.append(f"if type({x}) in READABLE: {x} = {x}._tapec_read()")
        elif value is not (a._value if type(a) is Tensor else a):
            return False
        self.lines.append(f"v{n} = {x}._value if type({x}) is Tensor else {x}")
        if type(value) is _ndarray:
            shape, dtype = self.name(value.shape), self.name(value.dtype)
            self.test(f"type(v{n}) is not ndarray or v{n}.shape != {shape} or v{n}.dtype is not {dtype}")
        elif isinstance(value, np.generic) and value.dtype.kind in NUMERIC:  # whose class tells the dtype
            self.test(f"type(v{n}) is not {self.name(type(value))}")
        else:
            return False
        self.operands.append(x)
        return True


def _said(a: Any) -> bytes | None:
    """What stands for plain numbers, alone or in rows, so that equal ones are of the same types."""
    try:
        return dumps(a, NO_REFERENCES)
    except ValueError:
        return None


@lru_cache(maxsize=1024)
def _made(lines: tuple[str, ...], count: int) -> Callable[..., Site]:
    """A function of (the code, the function that is called, the plan, what to compare with), which makes sites."""
    known = "".join([f", k{k}" for k in range(count)])
    text = [f"def make(code, known, plan{known}):", "    def site(function, args, kwargs, depth):"]
    text += [f"        {line}" for line in lines]
    text += ["    site.code = code", "    return site"]  # as long as it is held, no other code has its id
    space = {"MISS": MISS, "READABLE": READABLE, "Tensor": Tensor, "ndarray": _ndarray, "said": _said}
    exec(compile("\n".join(text), _FILE, "exec"), space)
    return space["make"]
