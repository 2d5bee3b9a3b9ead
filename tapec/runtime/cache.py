"""The cache: structure -> compiled function. Bounded, inspectable, safe under threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any, NamedTuple

__all__ = ["Cache", "CacheInfo"]


class CacheInfo(NamedTuple):
    """How often a structure was known, how often not, how many functions were compiled, how many are kept."""

    hits: int
    misses: int
    compilations: int
    size: int
    maxsize: int


class Cache:
    """Least recently used entries go first. Looking up takes no lock; making takes one, so each is made once."""

    def __init__(self, maxsize: int = 1024):
        self._entries: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = RLock()
        self.maxsize = maxsize
        self.hits = self.misses = self.compilations = 0

    def get(self, key: Hashable) -> Any:
        found = self._entries.get(key)
        if found is not None:
            self.hits += 1
        return found

    def make(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """The entry, made under the lock unless another thread has just made it."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                self.misses += 1
                found = build()
                self._entries[key] = found
                while len(self._entries) > self.maxsize:
                    self._entries.popitem(last=False)
            else:
                self.hits += 1
            return found

    def compiled(self) -> None:
        """Count one generated function."""
        with self._lock:
            self.compilations += 1

    def info(self) -> CacheInfo:
        return CacheInfo(self.hits, self.misses, self.compilations, len(self._entries), self.maxsize)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self.hits = self.misses = self.compilations = 0
