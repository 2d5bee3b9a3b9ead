"""Define stand-ins for captured lists and deques."""

from __future__ import annotations

from collections import deque
from typing import Any

from tapec.pytree import STANDS_FOR
from tapec.trace.capture.captured_paths import CapturedPath
from tapec.trace.capture.proxies.mirrored_container import MirroredContainer, on_a_copy, on_both, reading_whole

__all__ = ["sequence_proxy"]


class _Sequence(MirroredContainer):
    __contains__, count, index = map(reading_whole, ("__contains__", "count", "index"))
    __lt__, __le__, __gt__, __ge__ = map(reading_whole, ("__lt__", "__le__", "__gt__", "__ge__"))
    __add__, __mul__, __rmul__ = map(on_a_copy, ("__add__", "__mul__", "__rmul__"))
    append, insert, remove = on_both("append", moves=False), on_both("insert"), on_both("remove")
    reverse, __imul__ = on_both("reverse"), on_both("__imul__")

    def _tapec_names_item(self, key: Any) -> bool:
        return type(key) is int and key >= 0

    def __radd__(self: Any, other: Any) -> Any:
        self._tapec_captures.stores.counters.exposes(self._tapec_real)
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
    appendleft, popleft, rotate = on_both("appendleft"), on_both("popleft"), on_both("rotate")

    def extendleft(self, items: Any) -> None:
        for item in list(items):
            self.appendleft(item)


def sequence_proxy(captures: Any, real: Any, path: CapturedPath) -> Any:
    """Return the stand-in for a list or deque."""
    made: Any = _List() if type(real) is list else _Deque((), real.maxlen)
    made._tapec_stand_for(captures, real, path)
    captures.facts.add(path.length(), len(real))
    super(MirroredContainer, made).extend([captures.read(v, path.item(i)) for i, v in enumerate(real)])
    return made


STANDS_FOR.update({_List: list, _Deque: deque})
