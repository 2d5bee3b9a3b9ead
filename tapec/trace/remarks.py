"""What functions only note: names that their code counts with (`n += 1`) or puts things under (`log.append(x)`), and
never reads.

What stands there may change at each call, and the result is the same.
"""

from __future__ import annotations

import dis
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from types import CodeType

__all__ = ["name_in", "only_noted"]


def only_noted(label: str, codes: Iterable[CodeType]) -> bool:
    """Is what has this label (`n`, `self.calls`, `count[0]`, `len(self.log)`) noted by these codes, and not read?"""
    name = name_in(label)
    found = [_looks(code) for code in codes]
    if any(not _BY_NAME.isdisjoint(reads) for reads, _ in found):
        return False
    noted = sum(notes[name] for _, notes in found)
    return noted > 0 and noted == sum(reads[name] for reads, _ in found)


def name_in(label: str) -> str:
    """The name by which code reaches what has this label."""
    place = label.removeprefix("len(").removeprefix("keys of ").rstrip(")")
    return re.sub(r"(\[[^\[\]]*\])+$", "", place).rpartition(".")[2]


@cache
def _looks(code: CodeType) -> tuple[Counter[str], Counter[str]]:
    """How often the code reads each name, and how often only to note something."""
    reads: Counter[str] = Counter()
    notes: Counter[str] = Counter()
    name = item = last = ""  # the name read last, the one an item of which is counted, and the instruction before
    kept = False  # are container and key read once more, to be written to, as `count[0] += 1` does?
    for i in dis.get_instructions(code):
        if i.opname in _BETWEEN:
            kept = kept or i.opname == "COPY"
            continue
        if i.opname in _READS:
            if i.argval in ("append", "extend") and last == "read":
                notes[name] += 1
            else:
                name = i.argval
                reads[name] += 1
            last = "read"
        elif i.opname in _STORES and last == "counted":
            notes[item if i.opname == "STORE_SUBSCR" else i.argval] += 1
            last = ""
        elif i.opname.startswith(_CONSTANT) and last == "read":
            last = "key"
        else:
            if i.opname == "MATCH_CLASS":
                reads[i.opname] += 1
            if kept and (i.opname == "BINARY_SUBSCR" or i.argrepr == "[]"):  # before Python 3.14, and since
                item = name if last == "key" else ""
            last = "counted" if i.opname == "BINARY_OP" and i.argrepr.endswith("=") else ""
        kept = False
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            for whole, part in zip((reads, notes), _looks(inner)):
                whole.update(part)
    return reads, notes


_READS = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"}
_READS |= {"LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS", "IMPORT_FROM"}
_BY_NAME = {"getattr", "vars", "__dict__", "attrgetter", "__getattribute__", "eval", "exec", "globals", "locals"}
_BY_NAME |= {"asdict", "astuple", "super", "MATCH_CLASS"}  # they read what no code spells out
_STORES = {"STORE_ATTR", "STORE_GLOBAL", "STORE_NAME", "STORE_DEREF", "STORE_SUBSCR"}
_CONSTANT = ("LOAD_CONST", "LOAD_SMALL_INT")
_BETWEEN = {"SWAP", "COPY", "CACHE", "EXTENDED_ARG", "NOP"}
