"""Note numbers, strings and keys in captured containers as facts, compared by type and sign too."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from marshal import dumps
from typing import Any

import numpy as np

from tapec.locks import computed_once
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import CapturedPath, is_plain_class

__all__ = ["are_plain", "as_a_fact", "is_plain", "note_keys", "note_members", "rows_as_array"]


def is_plain(x: Any) -> bool:
    """Return whether x is a number or string, or a tuple of these: then equality with another one says that both mean
    the same."""
    return is_plain_class(type(x)) or (type(x) is tuple and all(map(is_plain, x)))


def are_plain(items: Iterable[Any]) -> bool:
    """Return whether all items are numbers or strings. This asks for their classes: there may be many items."""
    return all(map(is_plain_class, {*map(type, items)}))


def as_a_fact(captures: Any, value: Any, path: CapturedPath) -> Any:
    """Note many numbers or strings as one fact, to be compared as a whole."""
    if isinstance(value, dict):
        note_keys(captures, value, path)
        _note_exactly(captures, path.values())
    else:
        _note_exactly(captures, path)
    return value


def note_keys(captures: Any, value: Any, path: CapturedPath) -> None:
    """Note the keys of a dict as a fact, with their order. What a key that is an object holds is one, too."""
    label, source, get = f"keys of {path.label}", path.source, path.get
    if all(type(key) is str for key in value):
        keys = CapturedPath(label, f"tuple({source})", path.names, lambda: tuple(get()))
    elif all(map(is_plain, value)):
        return _note_exactly(captures, CapturedPath(label, source, path.names, get))
    else:
        text = f"(tuple({source}), tuple(map(type, {source})))"
        keys = CapturedPath(label, text, path.names, lambda: (tuple(get()), tuple(map(type, get()))))
    captures.facts.add_present(keys)
    note_members(captures, value, f"a key of {path.label}")
    return None


def note_members(captures: Any, members: Iterable[Any], label: str) -> None:
    """Note as facts what objects hold that code gets as they are, since they are found by what they equal."""
    for x in members:
        if not is_plain(x) and not isinstance(x, Enum):
            captures.untraced.note_member(x, label)


def _note_exactly(captures: Any, path: CapturedPath) -> None:
    names = {**path.names, "_exactly": _Exactly}
    text = f"_exactly({path.source})"
    captures.facts.add_present(CapturedPath(path.label, text, names, lambda: _Exactly(path.get())))


class _Exactly(tuple[Any, ...]):
    """Compares numbers and strings by type and sign too: 2 and 2.0 are equal in Python, and so are 0.0 and -0.0."""

    @computed_once
    def told(self) -> bytes | str:
        try:
            return dumps([*self], 2)  # in this version of `marshal` types and signs of zeros are told apart
        except ValueError:  # NumPy's numbers, and members of an Enum
            return repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exactly) and self.told == other.told

    def __ne__(self, other: object) -> bool:
        return not self == other


def rows_as_array(captures: Any, value: Any, path: CapturedPath) -> Any:
    """Return many rows of numbers, of which NumPy makes an array, as one input; None for anything else, and for rows
    that the run has changed: these may hold what it computes."""
    if type(value) not in (list, tuple) or not all([type(row) in (list, tuple) for row in value]):
        return None
    if any([getattr(captures.identities.met(row)[1], "_tapec_is_changed", False) for row in value]):
        return None
    if not all(map(are_plain, value)):
        return None
    try:
        array = _array_of(value)
    except ValueError:  # rows of several lengths
        return None
    if array.dtype.kind not in "fc" or array.ndim < 2 or array.size <= tuning.CONTAINER_MAX_CAPTURES:
        return None
    get, names = path.get, {**path.names, "_array_of": _array_of}
    at = CapturedPath(path.label, f"_array_of({path.source})", names, lambda: _array_of(get()))
    return captures.read_item(value, array, at)


def _array_of(rows: Any) -> np.ndarray:
    return np.array(rows)
