"""Write the functions that recognise recordings.

For `np.sin(x * 2.0)` of a number:

    def read(records, arrays):
        try:
            [[o0, [s0, s1], p0, s2, _, _],
            [o1, [a0], p1, s3, _, _]] = records
        except ValueError:
            return None
        if (o0 is not O0 or
            o1 is not O1):
            return None
        if (type(s0) is not Tensor):
            return None
        v0 = s0._value
        if (type(v0) is not np_d):
            return None
        if (type(s1) is not float or not s1 and copysign(1.0, s1) < 0.0 or
            type(s2) is not Tensor or
            type(s3) is not Tensor or
            a0 is not s2 or
            p0 is not P0 and p0 != P0 or
            p1 is not P1 and p1 != P1):
            return None
        return [s0, s1, s2, s3], [v0, s1, s2._value, s3._value], [(1, s1)]

It answers what a scan would find: the same objects in the same slots, and what they hold. What mostly tells recordings
of one program apart is asked first: the types of what was given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from math import copysign
from typing import Any

import numpy as np

from tapec.ir.types import NUMBERS
from tapec.trace import classes, tuning
from tapec.trace.inplace.array_snapshots import as_array
from tapec.trace.structure.scalar_kinds import scalar_kind

__all__ = ["known_of", "text_of"]

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "<known>")
_SCALARS = {np.bool_: "np_bool"} | {np.dtype(c).type: f"np_{c}" for c in "bBhHiIlLqQefdgFDG"}
_WORDS = {np.ndarray: "ndarray"} | {kind: kind.__name__ for kind in NUMBERS} | _SCALARS
_VALUES = {np.ndarray, *_SCALARS}
_SPACE = {word: kind for kind, word in _WORDS.items()} | {"copysign": copysign, "as_array": as_array}


class Known:
    """Describes a structure that is recognised.

    `read(records, arrays)` gives the objects of the slots, what they hold, and the numbers among them with their slots;
    None for another structure. `key` and `leaves` are as a scan finds them, `shortcuts` lead to gradients
    (see `tapec.api.tape.repeated_gradient`). It holds no values.
    """

    __slots__ = ("key", "leaves", "read", "shortcuts")

    def __init__(self, read: Callable[..., Any], key: tuple[Any, ...], leaves: set[int]):
        self.read = read
        self.key = key
        self.leaves = leaves
        self.shortcuts: list[Any] = []


def known_of(log: Any) -> Known | None:
    """Return what recognises logs like this one; None for one with changes in place, or with rare kinds of operands."""
    if not _is_plain(log):
        return None
    text = _Text(log)
    exec(compile(text.whole(), FILE, "exec"), text.space)
    return Known(text.space["read"], tuple(log.key), set(log.leaves))


def text_of(log: Any) -> str:
    """Return the source that recognises logs like this one."""
    return _Text(log).whole()


def _is_plain(log: Any) -> bool:
    words, numbers = _words(), {slot for slot, _ in log.scalars}
    return (
        not (log.given or log.behind)
        and all([len(entry) == 6 for entry in log.records])
        and len(log.index) + len(numbers) == len(log.objects)  # each slot has an object of its own
        and all([scalar_kind(x) is type(x) for _, x in log.scalars])
        and all([type(x) in words for x in log.objects])
        and not any([type(x) in NUMBERS for slot, x in enumerate(log.objects) if slot not in numbers])
        and all([type(log.held[slot]) in _VALUES for slot in log.leaves])
    )


@cache
def _words() -> dict[type, str]:
    """Return the names that the text has for the types of objects."""
    return {classes.Tensor: "Tensor", **_WORDS}


class _Text:
    """Writes the source of a function that recognises a log; `space` has the objects that it refers to by name."""

    def __init__(self, log: Any):
        self.log = log
        words = _words()
        self.words = [words[type(x)] for x in log.objects]
        self.space: dict[str, Any] = {**_SPACE, "Tensor": classes.Tensor}

    def whole(self) -> str:
        return "\n".join(["def read(records, arrays):", *[f"    {line}" for line in self.lines()]])

    def lines(self) -> Iterator[str]:
        rows, ops, several, repeats, params = self._records()
        slots, leaves = range(len(self.words)), sorted(self.log.leaves)
        held = [self._held(k) for k in slots]
        numbers = [f"({k}, s{k})" for k, _ in self.log.scalars]
        yield "try:"
        yield f"    [{_under(rows, ',')}] = records"
        yield "except ValueError:"
        yield "    return None"
        yield from _leave_if(ops)
        yield from several
        for k in leaves:
            yield from self._leaf(k)
        others = [self._kind(k) for k in slots if k not in self.log.leaves]
        yield from _leave_if([*others, *repeats, *self._apart(), *params])
        yield f"return [{_row(slots)}], [{', '.join(held)}], [{', '.join(numbers)}]"

    def _name(self, name: str, x: Any) -> str:
        self.space[name] = x
        return name

    def _records(self) -> tuple[list[str], ...]:
        """The records with a name for each thing in them; tests of the ops, lines for those with several results, tests
        of the operands that come again, and of the parameters."""
        rows: list[str] = []
        ops: list[str] = []
        several: list[str] = []
        repeats: list[str] = []
        params: list[str] = []
        met: set[int] = set()
        for n, ((op, _, given, out, *_), inputs, slot) in enumerate(self.log.steps()):
            names = []
            for k in inputs:
                names.append(f"a{len(repeats)}" if k in met else f"s{k}")
                if k in met:
                    repeats.append(f"{names[-1]} is not s{k}")
                met.add(k)
            result, results = f"s{slot}", range(slot, slot + (len(out) if type(out) is tuple else 1))
            met.update(results)
            ops.append(f"o{n} is not {self._name(f'O{n}', op)}")
            if type(out) is tuple:
                result = f"m{n}"
                ops.append(f"type(m{n}) is not tuple or len(m{n}) != {len(out)}")
                several.append(f"[{_row(results)}] = m{n}")
            rows.append(f"[o{n}, [{', '.join(names)}], p{n}, {result}, _, _]")
            params.append(f"p{n} is not {self._name(f'P{n}', given)} and p{n} != P{n}")
            if op.kind == "dynamic":  # the shape of the result depends on values
                params += [f"s{k}.shape != {self.log.objects[k].shape}" for k in results]
        return rows, ops, several, repeats, params

    def _kind(self, k: int) -> str:
        word = self.words[k]
        sign = {"float": f" or not s{k} and copysign(1.0, s{k}) < 0.0", "complex": f" or not (s{k}.real and s{k}.imag)"}
        return f"type(s{k}) is not {word}{sign.get(word, '')}"

    def _apart(self) -> list[str]:
        """Return tests of slots that might hold one object now. A tensor is made when it is recorded as a result."""
        numbers, words = {k for k, _ in self.log.scalars}, self.words
        slots = [k for k in range(len(words)) if k not in numbers]
        given = [k for k in slots if k in self.log.leaves or words[k] != "Tensor"]
        most = tuning.COMPARED_PAIRS_MAX_A_SLOT * len(slots)
        pairs = list(islice(((j, k) for k in given for j in range(k) if words[j] == words[k]), most + 1))
        if len(pairs) <= most:
            return [f"s{j} is s{k}" for j, k in pairs]
        return [f"len({{*map(id, [{_row(slots)}])}}) < {len(slots)}"]

    def _leaf(self, k: int) -> Iterator[str]:
        """Yield lines that check the type of a leaf and read its value. An array: what it held when it was read
        first."""
        word, value = self.words[k], self.log.held[k]
        if word == "Tensor":
            yield from _leave_if([self._kind(k)])
            yield f"v{k} = s{k}._value"
            types = self._type(f"v{k}", value) if type(value) is np.ndarray else []
            yield from _leave_if([f"type(v{k}) is not {_WORDS[type(value)]}", *types])
        elif word == "ndarray":
            yield from _leave_if([self._kind(k), *self._type(f"s{k}", value)])
            yield f"v{k} = s{k}"
            yield f"if id(s{k}) in arrays:"
            yield f"    v{k} = as_array(s{k}, arrays[id(s{k})][1])"
        else:
            yield from _leave_if([self._kind(k)])

    def _type(self, name: str, value: np.ndarray) -> list[str]:
        dtype = self._name(f"D{len(self.space)}", value.dtype)
        return [f"{name}.shape != {value.shape}", f"{name}.dtype is not {dtype} and {name}.dtype != {dtype}"]

    def _held(self, k: int) -> str:
        word = self.words[k]
        if k in self.log.leaves and word in ("Tensor", "ndarray"):
            return f"v{k}"
        return f"s{k}._value" if word == "Tensor" else f"s{k}"


def _leave_if(tests: list[str]) -> list[str]:
    """Return lines that leave where one of these is true."""
    return [f"if ({_under(tests, ' or')}):", "    return None"]


def _under(parts: list[str], between: str) -> str:
    return f"{between}\n        ".join(parts)


def _row(slots: Iterable[int]) -> str:
    return ", ".join([f"s{k}" for k in slots])
