"""Define the stand-in for a long captured tuple: it reads each item when it is asked for it, as those of lists do."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from operator import index
from typing import Any

from tapec.locks import computed_once
from tapec.pytree import STANDS_FOR
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import PLAIN, CapturedPath
from tapec.trace.capture.proxies.container_facts import are_plain, as_a_fact, rows_as_array
from tapec.trace.capture.proxies.mirrored_container import UNREAD, length_of

__all__ = ["LongTuple", "tuple_proxy"]


def _reading_whole(name: str) -> Any:
    """Make a method that may read all items."""

    def method(self: Any, *args: Any) -> Any:
        whole = [tuple(a) if isinstance(a, LongTuple) else a for a in args]
        return getattr(tuple(self), name)(*whole)

    return method


class LongTuple(tuple[Any, ...]):
    """Stands in for a tuple, which nobody can change."""

    _tapec_real: Any
    _tapec_captures: Any
    _tapec_path: Any
    _tapec_plain_items = 0  # how many numbers and strings were read one by one

    def _tapec_item(self, k: int) -> Any:
        """Return an item by its number, which is there."""
        captures, value = self._tapec_captures, self._tapec_real[k]
        if captures.is_judged:
            return value
        if isinstance(value, PLAIN):
            self._tapec_plain_items += 1
            if self._tapec_plain_items > tuning.CONTAINER_MAX_CAPTURES and self._tapec_are_plain:
                return as_a_fact(captures, self._tapec_real, self._tapec_path)[k]
        return captures.read_item(self._tapec_real, value, self._tapec_path.item(k))

    @computed_once
    def _tapec_are_plain(self) -> bool:
        """Return whether there are numbers and strings, and nothing else: these are one fact."""
        return type(self._tapec_real) is tuple and are_plain(self._tapec_real)

    def _tapec_as_array(self) -> Any:
        """Return what NumPy makes an array of: the stand-in, or a tensor for rows of numbers."""
        judged = self._tapec_captures.is_judged
        found = None if judged else rows_as_array(self._tapec_captures, self._tapec_real, self._tapec_path)
        return self if found is None else found

    def _tapec_note_length(self) -> int:
        number = len(self._tapec_real)
        if not self._tapec_captures.is_judged:
            self._tapec_captures.facts.add(self._tapec_path.length(), number)
        return number

    def _tapec_length(self) -> Any:
        """Return how many items there are: a tensor, where that is another number at each call."""
        if self._tapec_captures.is_judged:
            return len(self._tapec_real)
        return self._tapec_captures.read(length_of(self._tapec_real), self._tapec_path.length(length_of))

    def __len__(self) -> int:
        return self._tapec_note_length()

    def __bool__(self) -> bool:
        if not self._tapec_captures.is_judged:
            self._tapec_captures.facts.add(self._tapec_path.is_filled(), True)
        return True

    def __getitem__(self, key: Any) -> Any:
        if type(key) is slice:
            part = slice(*[None if x is None else int(index(x)) for x in (key.start, key.stop, key.step)])
            return tuple([self._tapec_item(k) for k in range(*part.indices(self._tapec_note_length()))])
        number = super().__len__()
        k = int(index(key)) if hasattr(type(key), "__index__") else number
        if not -number <= k < number:
            self._tapec_note_length()
            return super().__getitem__(key)  # an error
        return self._tapec_item(k)

    def __iter__(self) -> Iterator[Any]:
        """Go through the items: one that is broken off has read those before; of numbers and strings all are one
        fact."""
        captures = self._tapec_captures
        if not captures.is_judged and self._tapec_are_plain:
            yield from as_a_fact(captures, self._tapec_real, self._tapec_path)
            return
        for k in range(super().__len__()):
            yield self._tapec_item(k)
        self._tapec_note_length()

    __contains__, index, count = map(_reading_whole, ("__contains__", "index", "count"))
    __eq__, __ne__, __hash__ = map(_reading_whole, ("__eq__", "__ne__", "__hash__"))
    __lt__, __le__, __gt__, __ge__ = map(_reading_whole, ("__lt__", "__le__", "__gt__", "__ge__"))
    __add__, __mul__, __rmul__ = map(_reading_whole, ("__add__", "__mul__", "__rmul__"))
    __repr__ = _reading_whole("__repr__")

    def __radd__(self, other: Any) -> Any:
        return other + tuple(self)

    def __reversed__(self) -> Iterator[Any]:
        return reversed(tuple(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return tuple, (list(self),)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return tuple([copy.deepcopy(item, memo) for item in self])

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return tuple


def tuple_proxy(captures: Any, real: tuple[Any, ...], path: CapturedPath) -> Any:
    """Return the stand-in for a long tuple."""
    made: Any = tuple.__new__(LongTuple, [UNREAD] * tuple.__len__(real))
    made._tapec_real, made._tapec_captures, made._tapec_path = real, captures, path
    return made


STANDS_FOR[LongTuple] = tuple
