"""Functions that say which of NumPy's floating point errors they want to hear of: `with np.errstate(divide="ignore")`,
or `with warnings.catch_warnings()`.

Which operations stand in such a block is not recorded. Generated code is silent, from its first line to its last, about
what the function silences anywhere: the run that was recorded has said what there is to say. A function that asks for
errors, or for what its code does not spell out, as in `np.errstate(divide=mode)`, is recorded anew at each call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType

__all__ = ["asks_for_more", "says_anything", "silenced"]

KINDS = frozenset({"divide", "over", "under", "invalid"})
LOUD = frozenset({"raise", "call", "error"})
MILD = frozenset({"ignore", "warn", "print", "log", "default", "always", "module", "once"})
_SAYING = frozenset({"errstate", "catch_warnings"})


def silenced(codes: Iterable[CodeType]) -> set[str]:
    """The kinds of errors that these ignore somewhere; and invalid ones, which derivatives of infinite values are."""
    found: set[str] = set()
    for words in map(_words, codes):
        if _is_more(words) or ("ignore" in words and words & {"all", "catch_warnings"}):
            found |= KINDS
        elif "ignore" in words:
            found |= (KINDS & words) | {"invalid"}
    return found


def asks_for_more(codes: Iterable[CodeType]) -> bool:
    """Does one ask for errors, or for what is not known? Each call is recorded, and says what there is to say."""
    return any([_is_more(_words(code)) for code in codes])


def _is_more(words: frozenset[str]) -> bool:
    return bool(words) and (MILD.isdisjoint(words) or not LOUD.isdisjoint(words))


def says_anything(names: set[str]) -> bool:
    """Do functions that spell out these names?"""
    return not _SAYING.isdisjoint(names)


@cache
def _words(code: CodeType) -> frozenset[str]:
    """The strings in a code that does so, and what it does so with: the words for it, and more."""
    found = [_words(c) for c in code.co_consts if isinstance(c, CodeType)]
    names = _SAYING.intersection(code.co_names)
    if names:
        found += [names, frozenset(_strings(code.co_consts))]
    return frozenset().union(*found)


def _strings(constants: tuple[object, ...]) -> Iterator[str]:
    for c in constants:
        if isinstance(c, str):
            yield c
        elif isinstance(c, tuple):
            yield from _strings(c)  # the keywords of a call
