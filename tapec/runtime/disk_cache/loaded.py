"""`Loaded` is generated code that comes from disk: a `Compiled` without a graph.

What is not kept on disk, the graph and source that is long, is made again when somebody looks: it is the same.
"""

from __future__ import annotations

import builtins
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from tapec.codegen import Compiled
from tapec.codegen.common.loader import Space
from tapec.codegen.numpy.nan_checks import finite
from tapec.codegen.runtime_helpers import HELPERS
from tapec.codegen.schedule.emitted_cost import Cost
from tapec.ir import Graph, get_op

__all__ = ["Loaded", "helper_words", "origin_table"]

KNOWN = {**HELPERS, "finite": finite}


def helper_words(compiled: Compiled) -> dict[str, str]:
    """Return how another process finds the functions that the code calls; raise ValueError where it cannot."""
    ops = dict.fromkeys([n.op for n in compiled.graph.nodes])
    words: dict[Any, str] = {op.run: f"op {op.name}" for op in ops}
    words |= {op.facts["helper"]: f"helper of {op.name}" for op in ops if "helper" in op.facts}
    words |= {f: name for name, f in KNOWN.items()}
    for name, function in compiled.space.helpers.items():
        if function not in words:
            raise ValueError(f"nobody finds {name} again")
    return {name: words[function] for name, function in compiled.space.helpers.items()}


def helper_of(word: str) -> Any:
    if word in KNOWN:
        return KNOWN[word]
    kind, _, op = word.rpartition(" ")
    return get_op(op).run if kind == "op" else get_op(op).facts["helper"]


def origin_table(compiled: Compiled, codes: tuple[CodeType, ...]) -> np.ndarray:
    """Return a row for each line from which another place of the user's begins.

    A row has the line, the number of the user's code object, and the offset in it.
    """
    number = {code: k for k, code in enumerate(codes)}
    rows: list[tuple[int, int, int]] = []
    last: Any = rows
    for line, origin in compiled.origins():
        if origin != last:
            last = origin
            rows.append((line, -1, 0) if origin is None else (line, number.get(origin[0], -1), origin[1]))
    return np.array(rows, np.int32).reshape(-1, 3)


class Loaded(Compiled):
    """Holds generated code from disk; `wanted` is asked for what is not kept there."""

    __slots__ = ("_codes", "_made", "_table", "_wanted")

    def __init__(
        self,
        wanted: Any,
        about: dict[str, Any],
        codes: list[CodeType],
        arrays: dict[str, Any],
        user_codes: tuple[CodeType, ...],
    ):
        self.name = about["name"]
        self.cost = Cost(*about["cost"])
        self._wanted, self._codes = wanted, user_codes
        self._text = about["source"]
        self._made: Compiled | None = None
        self._on_arrays: Compiled | None = None
        self.lists = tuple([range(*places) for places in about["lists"]])
        self._table = arrays.pop("origins")
        self.space = space = Space(self.name, self._source)
        space.names["__builtins__"] = builtins
        for module in about["imports"]:
            space.names[module.partition(".")[0]] = __import__(module)
        for name, word in about["helpers"].items():
            space.helper(name, helper_of(word))
        for name, value in arrays.items():
            name = name.removeprefix("constant ")
            space.names[name] = space.constants[name] = value
        for code in codes:
            space.look_into(code)
            space.names[code.co_name] = FunctionType(in_file(code, space.file), space.names)
        errors = tuple([getattr(builtins, name) for name in about["errors"]])
        self.complete(errors, lambda: self.again().on_arrays)

    def again(self) -> Compiled:
        """The same code, generated."""
        if self._made is None:
            self._made = self._wanted.emitted()
        return self._made

    @property
    def graph(self) -> Graph:  # type: ignore[override]
        return self._wanted.optimized

    @property
    def source(self) -> str:
        if self._text is None:
            self._text = self.again().source
        return self._text

    @property
    def lined_source(self) -> str:
        return self.again().lined_source

    def origin_at(self, line: int) -> Any:
        at = int(np.searchsorted(self._table[:, 0], line, side="right")) - 1
        if at < 0 or self._table[at, 1] < 0:
            return None
        return self._codes[self._table[at, 1]], int(self._table[at, 2])


def in_file(code: CodeType, file: str) -> CodeType:
    """Return code, and the functions within it, as if it came from this file."""
    parts = tuple([in_file(c, file) if isinstance(c, CodeType) else c for c in code.co_consts])
    return code.replace(co_filename=file, co_consts=parts)
