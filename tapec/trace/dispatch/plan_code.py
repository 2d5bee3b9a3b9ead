"""Write plans out as functions: nothing is looked up that is known when the plan is made.

The text depends on what goes where, not on ops and shapes, so a few texts serve all plans.
For `np.outer(a, b)` of vectors, which is a reshape and a product:

    def follow(operands, values):
        try:
            v0, v1 = values
            v2 = c0(v0)
            v3 = c1(v2, v1)
        except Exception as error:
            note_user_line(error)
            raise
        x3 = new(Tensor)
        x3._value = v3
        x3._link = x3._mark = None
        rec = current()
        if rec is not None:
            a0, a1 = operands
            mark = rec.mark
            if rec.append is not None and rec.trace is None and (type(a0) is Tensor and a0._mark is mark):
                if type(a1) is ndarray: a1 = rec.log.seen(a1)
                code, offset = user_position()
                append = rec.append
                append((o0, (a0,), p0, v2, code, offset))
                append((o1, (v2, a1), p1, x3, code, offset))
                x3._mark = mark
            else:
                general(rec, operands, [v0, v1, v2, v3], [x3])
        return x3
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from tapec.errors import note_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.trace import classes
from tapec.trace.classes import wrap
from tapec.trace.inplace.shared_memory import share
from tapec.trace.perform import user_position
from tapec.trace.recording_stack import current

__all__ = ["Line", "Text", "made_in", "noting", "own", "written"]


class Line(NamedTuple):
    """Describes one op by the places of its inputs and results.

    `scalars` are the results that may be without axes, `flags` those that are single truth values. `moves` tells that
    the op depends on an operand that may be watched.
    """

    picks: tuple[int, ...]
    to: tuple[int, ...]
    scalars: tuple[int, ...]
    flags: tuple[int, ...]
    several: bool
    moves: bool


class Text(NamedTuple):
    """Describes a plan for which a function is written. Places count operands first, then constants, then results.

    `own` are the places of constants that are no numbers of Python's; `ends` those of the results; `views` tells, for
    each of them, from which operand it may be a view, or None.
    """

    operands: int
    constants: int
    own: tuple[int, ...]
    lines: tuple[Line, ...]
    ends: tuple[int, ...]
    views: tuple[int | None, ...]
    arranged: bool


@lru_cache(maxsize=1024)
def written(text: Text) -> Any:
    """A function of (computations, ops, parameters, constants, the general road, steps of views, arrangement), which
    makes plans."""
    return _made(["def make(cs, ops, ps, gs, general, ss, arrange):", *_unpacking(text), *_function(text)])


def _made(lines: list[str]) -> Any:
    """Run lines that begin with `def make`, and return the function that they define."""
    space = {**_SPACE, "Tensor": classes.Tensor}
    exec(compile("\n".join(lines), _FILE, "exec"), space)
    return space["make"]


def _unpacking(text: Text) -> Iterator[str]:
    for letter, whole in (("c", "cs"), ("o", "ops"), ("p", "ps")) if text.lines else ():
        yield f"    {_row(letter, range(len(text.lines)))} = {whole}"
    if text.constants:
        yield f"    {_row('v', range(text.operands, text.operands + text.constants))} = gs"
    if any(k is not None for k in text.views):
        yield f"    {_row('s', range(len(text.ends)))} = ss"


def _function(text: Text) -> Iterator[str]:
    made = made_in(text)
    numbers = {k for line in text.lines for k in line.scalars}
    views = {k for k, operand in zip(text.ends, text.views) if operand is not None}
    results = [f"x{k}" if k in made else f"operands[{k}]" for k in text.ends]
    yield "    def follow(operands, values):"
    yield "        try:"
    if text.operands:
        yield f"            {_row('v', range(text.operands))} = values"
    for n, line in enumerate(text.lines):
        to = _row("v", line.to) if line.several else f"v{line.to[0]}"
        yield f"            {to} = c{n}({_args('v', line.picks)})"
        for k in line.scalars:
            if k not in views:  # those have to show first whose memory they look at
                yield f"            if type(v{k}) is ndarray and not v{k}.ndim: v{k} = v{k}[()]"
    yield "        except Exception as error:"
    yield "            note_user_line(error)"
    yield "            raise"
    depends = _dependencies(text, range(text.operands))
    for k in made:
        if len(depends[k]) == 1 < text.operands:  # it may be a view of an array, which may change
            [alone] = depends[k]
            yield f"        if type(v{k}) is ndarray and v{k}.base is not None and type(operands[{alone}]) is ndarray:"
            yield f"            v{k} = v{k}.copy()"
        yield f"        x{k} = new(Tensor)"
        yield f"        x{k}._value = v{k}"
        yield f"        x{k}._link = x{k}._mark = None"
    yield "        rec = current()"
    yield "        if rec is not None:"
    for statement in _recording(text):
        yield "            " + statement
    for n, (k, operand) in enumerate(zip(text.ends, text.views)):
        if operand is not None:
            yield f"        if type(v{k}) is ndarray and v{k}.base is not None and type(operands[{operand}]) is Tensor:"
            yield f"            share(x{k}, operands[{operand}], s{n})"
            if k in numbers:
                yield f"        if type(v{k}) is ndarray and not v{k}.ndim: x{k}._value = v{k}[()]"
    yield f"        return arrange([{', '.join(results)}])" if text.arranged else f"        return {results[0]}"
    yield "    return follow"


def made_in(text: Text) -> list[int]:
    """The results that become tensors."""
    return list(dict.fromkeys([k for k in text.ends if k >= text.operands]))


def _places(text: Text) -> range:
    return range(text.operands + text.constants + sum([len(line.to) for line in text.lines]))


def _recording(text: Text) -> Iterator[str]:
    if text.operands:
        yield f"{_row('a', range(text.operands))} = operands"
        yield "mark = rec.mark"
    general = f"    general(rec, operands, [{_args('v', _places(text))}], [{_args('x', made_in(text))}])"
    plain = _beside(text)[0]
    if not any([line.moves for line in text.lines]):  # made of nothing that is watched: only traced functions take it
        yield f"if {' or '.join(['rec.trace is not None', *[f'type(a{k}) is Tensor' for k in plain]])}:"
        yield general
        return
    yield from _at_once("if", text)
    if plain:  # and where there are tensors now
        yield from _at_once("elif", _depending_on(text, range(text.operands)))
    yield "else:"
    yield general


def _at_once(word: str, text: Text) -> Iterator[str]:
    """Yield the branch for one tape that watches all operands that move."""
    plain = _beside(text)[0]
    groups = _groups(text, [k for k in range(text.operands) if k not in plain])
    asked = ["rec.append is not None", _watched(text, groups)]
    asked += [f"(type(a{k}) is not Tensor or a{k}._mark is None)" for k in plain]
    yield f"{word} {' and '.join(asked)}:"
    for statement in _appending(text, groups):
        yield "    " + statement


def _depending_on(text: Text, operands: Iterable[int]) -> Text:
    """The same, where it is these that may be watched."""
    depends = _dependencies(text, operands)
    return text._replace(lines=tuple([line._replace(moves=bool(depends[line.to[0]])) for line in text.lines]))


def _beside(text: Text) -> tuple[list[int], list[int]]:
    """The operands that may not be watched because ops on them are not recorded, and what these ops give."""
    depends = _dependencies(text, range(text.operands))
    lines = [line for line in text.lines if not line.moves and depends[line.to[0]]]
    return sorted(set().union(*[depends[line.to[0]] for line in lines])), [k for line in lines for k in line.to]


def _appending(text: Text, groups: list[set[int]], wrapped: bool = False) -> Iterator[str]:
    """Yield lines that record what moves. The rest is a leaf for the record, and no view of an array that may
    change."""
    first, made = text.operands + text.constants, made_in(text)
    names = {k: f"a{k}" for k in range(text.operands)}
    names |= {k: f"h{k}" if k in text.own else f"v{k}" for k in range(text.operands, first)}
    for line in text.lines:
        names |= {k: f"x{k}" if k in made else f"h{k}" if k in line.flags else f"v{k}" for k in line.to}
    for k in [k for k in _beside(text)[1] if k not in made]:
        yield f"if type(v{k}) is ndarray and v{k}.base is not None: v{k} = v{k}.copy()"
    for k in sorted({k for line in text.lines if line.moves for k in line.picks if k < text.operands}):
        if {k} not in groups:
            yield f"if type(a{k}) is ndarray: a{k} = rec.log.seen(a{k})"
    yield "code, offset = user_position()"
    yield "append = rec.append"
    for k in text.own:  # as `own` has it, without the call
        yield f"h{k} = v{k}.copy() if type(v{k}) is ndarray else type(v{k})(v{k})"
    plain = len(text.lines) == 1 and text.operands == 1 and text.lines[0].picks == (0,)
    for n, line in enumerate(text.lines):
        for k in line.flags:
            if k not in made:
                yield f"h{k} = wrap(v{k})"
        between = [k for k in line.to if wrapped and names[k] == f"v{k}"] if line.moves else []
        for k in between:
            yield f"v{k} = wrap(v{k})"
            yield f"v{k}._mark = mark"
        if line.moves:
            inputs = "operands" if plain else f"({_listed([names[k] for k in line.picks])})"
            out = f"({_listed([names[k] for k in line.to])})" if line.several else names[line.to[0]]
            yield f"append((o{n}, {inputs}, p{n}, {out}, code, offset))"
            for k in line.to:
                if k in made:
                    yield f"x{k}._mark = mark"


def own(x: Any) -> Any:
    """A constant for one record: an array or a number of its own, since recordings tell them apart by identity."""
    return x.copy() if type(x) is np.ndarray else type(x)(x)  # whose own `copy` makes an array first


@lru_cache(maxsize=1024)
def noting(text: Text, watched: tuple[int, ...], several: bool = False) -> Any:
    """A function of (ops, parameters) that makes one which records what depends on these operands, on one tape.

    On several, values between ops are tensors: a gradient that one tape gives is a call of them for the others.
    """
    text = _depending_on(text, watched)
    made = made_in(text)
    code = ["def make(ops, ps):"]
    code += [f"    {_row(letter, range(len(text.lines)))} = {whole}" for letter, whole in (("o", "ops"), ("p", "ps"))]
    code += ["    def note(rec, operands, known, results):"]
    for letter, places, row in (("a", range(text.operands), "operands"), ("v", _places(text), "known")):
        code.append(f"        {_row(letter, places)} = {row}")
    code += [f"        {_row('x', made)} = results"] if made else []
    code.append("        mark = rec.mark")
    code += ["        " + statement for statement in _appending(text, _groups(text, watched), several)]
    return _made([*code, "    return note"])


def _groups(text: Text, watched: Iterable[int]) -> list[set[int]]:
    """The operands on which each op depends that is recorded, of those that may be watched."""
    depends = _dependencies(text, watched)
    groups: list[set[int]] = []
    for line in text.lines:
        group = depends[line.to[0]]
        if line.moves and group not in groups:
            groups.append(group)
    return groups


def _dependencies(text: Text, operands: Iterable[int]) -> dict[int, set[int]]:
    """Return, for each operand and result, the operands among these that it depends on."""
    depends: dict[int, set[int]] = {k: {k} for k in operands}
    for line in text.lines:
        depends |= dict.fromkeys(line.to, set().union(*[depends.get(k, ()) for k in line.picks]))
    return depends


def _watched(text: Text, groups: list[set[int]]) -> str:
    """Return the condition that of each group one operand is watched: then all results that depend on it are watched,
    too."""
    least = [group for group in groups if not any([other < group for other in groups])]
    tests = [" or ".join([f"type(a{k}) is Tensor and a{k}._mark is mark" for k in sorted(group)]) for group in least]
    alone = len(text.lines) == 1
    return " and ".join([*([] if alone else ["rec.trace is None"]), *[f"({test})" for test in tests]])


def _row(letter: str, places: Any) -> str:
    """Return names in a row, as a tuple has them."""
    return _listed([f"{letter}{k}" for k in places])


def _listed(names: list[str]) -> str:
    return f"{names[0]}," if len(names) == 1 else ", ".join(names)


def _args(letter: str, places: Any) -> str:
    return ", ".join([f"{letter}{k}" for k in places])


_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "<plan>")
_SPACE = {
    "current": current,
    "ndarray": np.ndarray,
    "new": object.__new__,
    "note_user_line": note_user_line,
    "share": share,
    "user_position": user_position,
    "wrap": wrap,
}
