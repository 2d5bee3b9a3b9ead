"""`Cache` maps structures to compiled functions; it is bounded, inspectable, and safe under threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any

from tapec.config import settings
from tapec.fast_namedtuple import NamedTuple
from tapec.locks import renew_lock_of

__all__ = ["Cache", "CacheInfo"]


class _Counts(NamedTuple):
    hits: int
    misses: int
    compilations: int
    size: int
    maxsize: int


class CacheInfo(_Counts):
    """Counts hits, misses and compilations of a cache, and has its size, and its largest size, in structures.

    `loaded`, beside the five, is how many compilations came from the cache on disk.
    """

    loaded = 0

    @classmethod
    def of(cls, *counts: int, loaded: int) -> CacheInfo:
        info = cls(*counts)
        info.loaded = loaded
        return info


class Cache:
    """Keeps compiled code; when it is full, it drops the oldest entry that was not used since it last was the oldest.

    Looking up takes no lock; making takes one, so each entry is made once. Entries have an attribute `used`, which
    whoever uses one sets, and a method `dropped`, for the end. The size is `maxsize`, or else the setting `cache_size`.
    """

    def __init__(self, maxsize: int | None = None):
        self._entries: OrderedDict[Hashable, Any] = OrderedDict()
        self._maxsize = maxsize
        self.lock = RLock()
        renew_lock_of(self, "lock")
        self.hits = self.misses = self.compilations = self.loaded = 0
        self.get = self._entries.get

    @property
    def maxsize(self) -> int:
        return settings.cache_size if self._maxsize is None else self._maxsize

    def make(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """The entry, made under the lock unless another thread has just made it."""
        with self.lock:
            found = self._entries.get(key)
            if found is None:
                found = self._entries[key] = build()
                self._shrink()
            return found

    def _shrink(self) -> None:
        """Drop the oldest entries; one that was used since it came gets a second chance."""
        entries, most = self._entries, self.maxsize
        while len(entries) > most:
            key, entry = entries.popitem(last=False)
            if entry.used:
                entry.used = False
                entries[key] = entry

    def compiled(self, loaded: bool) -> None:
        """Count one generated function, which was asked for in vain before."""
        with self.lock:
            self.loaded += loaded
            self.compilations += 1
            self.misses += 1

    def info(self) -> CacheInfo:
        return CacheInfo.of(
            self.hits, self.misses, self.compilations, len(self._entries), self.maxsize, loaded=self.loaded
        )

    def clear(self) -> None:
        """Forget everything, and start counting anew."""
        with self.lock:
            self._entries.clear()
            self.hits = self.misses = self.compilations = self.loaded = 0
