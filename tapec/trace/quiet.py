"""Functions that say which of NumPy's floating point errors they want to hear of: `with np.errstate(divide="ignore")`,
or `with warnings.catch_warnings()`.

Which operations stand in such a block is not recorded. Generated code is silent, from its first line to its last, about
what the function silences anywhere: the run that was recorded has said what there is to say. A function that asks for
anything else, such as errors, is recorded anew at each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType

__all__ = ["asks_for_errors", "says_anything", "silenced"]

KINDS = frozenset({"divide", "over", "under", "invalid"})
LOUD = frozenset({"raise", "call", "error"})


def silenced(codes: Iterable[CodeType]) -> set[str]:
    """The kinds of errors that these ignore somewhere; and invalid ones, which derivatives of infinite values are."""
    found: set[str] = set()
    for words in map(_words, codes):
        if "ignore" in words:
            found |= KINDS if "all" in words else (KINDS & words) | {"invalid"}
    return found


def asks_for_errors(codes: Iterable[CodeType]) -> bool:
    return any([not LOUD.isdisjoint(_words(code)) for code in codes])


def says_anything(codes: Iterable[CodeType]) -> bool:
    return any(map(_words, codes))


@cache
def _words(code: CodeType) -> frozenset[str]:
    """The strings in a code that does so: the words for it, and more."""
    found = [_words(c) for c in code.co_consts if isinstance(c, CodeType)]
    if "errstate" in code.co_names or "catch_warnings" in code.co_names:
        found.append(frozenset(_strings(code.co_consts)))
    if "catch_warnings" in code.co_names:
        found.append(frozenset({"all"}))
    return frozenset().union(*found)


def _strings(constants: tuple[object, ...]) -> Iterator[str]:
    for c in constants:
        if isinstance(c, str):
            yield c
        elif isinstance(c, tuple):
            yield from _strings(c)  # the keywords of a call
