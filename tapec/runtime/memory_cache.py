"""`Cache` maps signatures and structures to what was compiled for them; it is bounded, and safe under threads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import RLock
from typing import Any

from tapec.config import settings
from tapec.fast_namedtuple import NamedTuple
from tapec.locks import renew_lock_of
from tapec.progress import logger

__all__ = ["Cache", "CacheInfo"]


class _Counts(NamedTuple):
    hits: int
    misses: int
    compilations: int
    size: int
    maxsize: int


class CacheInfo(_Counts):
    """Counts what a cache has answered and made, and tells its size.

    Attributes
    ----------
    hits : int
        How often known code answered.
    misses : int
        How often something was recorded that was not known.
    compilations : int
        How many functions were generated.
    size : int
        How many structures, or signatures, are kept.
    maxsize : int
        How many are kept at most: `settings.cache_size`.
    loaded : int
        How many of the compilations came from the cache on disk.

    Examples
    --------
    >>> import tapec
    >>> tapec.grad(lambda x: x * x).cache_info().compilations
    0

    See Also
    --------
    f.cache_info : of a compiled function
    tapec.cache_info : of tapes
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
    whoever uses one sets. There are at most as many as `settings.cache_size` says.
    """

    def __init__(self) -> None:
        self.entries: OrderedDict[Hashable, Any] = OrderedDict()
        self.lock = RLock()
        renew_lock_of(self, "lock")
        self.hits = self.misses = self.compilations = self.loaded = 0
        self.get = self.entries.get

    def make(self, key: Hashable, build: Callable[[], Any]) -> Any:
        """The entry, made under the lock unless another thread has just made it."""
        with self.lock:
            found = self.get(key)
            if found is None:
                found = self.entries[key] = build()
                self._shrink()
            return found

    def _shrink(self) -> None:
        """Drop the oldest entries; one that was used since it came gets a second chance."""
        entries = self.entries
        while len(entries) > settings.cache_size:
            key, entry = entries.popitem(last=False)
            if entry.used:
                entry.used = False
                entries[key] = entry
                continue
            log = logger("cache")
            if log is not None:
                log.info("the oldest of %d entries is dropped: settings.cache_size", len(entries) + 1)

    def compiled(self, loaded: bool) -> None:
        """Count one generated function."""
        with self.lock:
            self.loaded += loaded
            self.compilations += 1

    def info(self, more_hits: int = 0) -> CacheInfo:
        hits, size = self.hits + more_hits, len(self.entries)
        return CacheInfo.of(hits, self.misses, self.compilations, size, settings.cache_size, loaded=self.loaded)

    def clear(self) -> None:
        """Forget everything, and start counting anew."""
        with self.lock:
            self.entries.clear()
            self.hits = self.misses = self.compilations = self.loaded = 0
