"""Define stand-ins for captured lists and deques."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from operator import index
from typing import Any

from tapec.pytree import STANDS_FOR
from tapec.trace.capture.captured_paths import CapturedPath
from tapec.trace.capture.container_contents import item_of, size_of
from tapec.trace.capture.proxies.mirrored_container import (
    MirroredContainer,
    at_an_end,
    on_a_copy,
    on_both,
    reading_whole,
)

__all__ = ["sequence_proxy"]


class _Sequence(MirroredContainer):
    __contains__, count, index = map(reading_whole, ("__contains__", "count", "index"))
    __lt__, __le__, __gt__, __ge__ = map(reading_whole, ("__lt__", "__le__", "__gt__", "__ge__"))
    __add__, __mul__, __rmul__ = map(on_a_copy, ("__add__", "__mul__", "__rmul__"))
    append, insert = on_both("append", moves=False), on_both("insert")
    pop = at_an_end("pop", -1)
    reverse, __imul__ = on_both("reverse"), on_both("__imul__")

    def _tapec_names_item(self, key: Any) -> bool:
        return type(key) is int and key >= 0

    def _tapec_real_key(self, key: Any) -> Any:
        """Return a number, or a slice of numbers, for what Python takes for one."""
        if type(key) is int:
            return key
        if type(key) is slice:
            return slice(*[None if x is None else int(index(x)) for x in (key.start, key.stop, key.step)])
        return int(index(key)) if hasattr(type(key), "__index__") else key

    def _tapec_item(self: Any, key: Any, in_turn: bool = False) -> Any:
        if type(key) is int and 0 <= key < size_of(self):
            return super()._tapec_item(key, in_turn)
        if type(key) is slice and type(self) is _List:
            return self._tapec_part(key)
        if type(key) is not int or not -size_of(self) <= key < 0 or self._tapec_captures.is_judged:
            self._tapec_note_keys()
            return item_of(self, key)  # an error
        if self._tapec_is_changed:
            self._tapec_note_keys()
            return super()._tapec_item(key + size_of(self))
        path = self._tapec_path.item(key)
        return self._tapec_captures.read_item(self._tapec_real, self._tapec_mirror[key], path)

    def _tapec_part(self: Any, part: slice) -> list[Any]:
        """Return the items of a slice. Those from the end are found from there: so a list may grow that one reads the
        end of."""
        start, stop, step = part.start, part.stop, part.step
        numbers = range(*part.indices(size_of(self)))
        from_start = (start or 0) >= 0 and (stop is None or stop >= 0) and (step is None or step > 0)
        from_end = start is not None and start < 0 and (stop or -1) < 0 and step in (None, 1)
        if (from_start or from_end) and not self._tapec_is_changed:
            self._tapec_captures.facts.add(self._tapec_path.part_length(part), len(numbers))
        else:
            self._tapec_note_keys()
        if from_end and not self._tapec_is_changed:
            numbers = range((stop or 0) - len(numbers), stop or 0)
        return [self._tapec_item(k) for k in numbers]

    def remove(self: Any, item: Any) -> None:
        """Take out the first item that equals this one; they are compared once, as they may do anything there."""
        self._tapec_sync()
        self._tapec_captures.stores.counters.exposes(self._tapec_real)
        self._tapec_read_all()
        for k in range(size_of(self)):
            if item_of(self, k) is item or item_of(self, k) == item:
                del self[k]
                return
        STANDS_FOR[type(self)]().remove(item)  # which raises the error

    def __iter__(self: Any) -> Iterator[Any]:
        """Go through the items: one that is broken off has read those before."""
        self._tapec_sync()
        self._tapec_captures.stores.counters.exposes(self._tapec_real)
        k = 0
        while k < size_of(self):
            yield self._tapec_item(k, in_turn=True)
            k += 1
        self._tapec_note_keys()

    def __radd__(self: Any, other: Any) -> Any:
        self._tapec_captures.stores.counters.exposes(self._tapec_real)
        self._tapec_read_all()
        return NotImplemented  # Python asks the other one next

    def extend(self, items: Any) -> None:
        for item in list(items):
            self.append(item)

    def __iadd__(self, items: Any) -> Any:  # type: ignore[misc]
        self.extend(items)
        return self


class _List(_Sequence, list):
    sort = on_both("sort")


class _Deque(_Sequence, deque):
    rotate = on_both("rotate")
    _tapec_append = on_both("append", moves=False)
    _tapec_appendleft = on_both("appendleft", moves=False, at_start=True)
    _tapec_popleft = at_an_end("popleft", 0)

    def append(self, item: Any) -> None:
        is_full = size_of(self) == self.maxlen
        if is_full:
            self._tapec_goes(0)
        if self.maxlen != 0:
            self._tapec_append(item)
            self._tapec_first += is_full

    def appendleft(self, item: Any) -> None:
        self._tapec_note_taken()
        self._tapec_goes(size_of(self) - 1)
        if self.maxlen != 0:
            self._tapec_first -= 1
            self._tapec_appendleft(item)

    def _tapec_goes(self, place: int) -> None:
        """Note that an item makes room for another one, and that nobody keeps what was there before."""
        self._tapec_note_lost()
        if size_of(self) == self.maxlen:
            self._tapec_filled.pop(self._tapec_place(place), None)

    def popleft(self) -> Any:
        item = self._tapec_popleft()
        self._tapec_first += 1
        return item

    def extendleft(self, items: Any) -> None:
        for item in list(items):
            self.appendleft(item)


_Deque.__name__ = "deque"  # with which its text begins


def sequence_proxy(captures: Any, real: Any, path: CapturedPath) -> Any:
    """Return the stand-in for a list or deque."""
    made: Any = _List() if isinstance(real, list) else _Deque((), real.maxlen)
    made._tapec_stand_for(captures, real, path)
    return made


STANDS_FOR.update({_List: list, _Deque: deque})
