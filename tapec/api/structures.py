"""The structures that tapes have recorded, and what was compiled for each.

A structure is the recording with its values left out. Python numbers are left out too: they are written into the code
as literals until one is seen to change, and from then on that one is an input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.api.forward import Forward
from tapec.config import code_settings, in_force
from tapec.runtime.cache import Cache, CacheInfo
from tapec.runtime.collector import resting_collector
from tapec.trace.anew import Literals

__all__ = ["CACHE", "Structure", "cache_clear", "cache_info", "structure_of"]

CACHE = Cache()


def cache_info() -> CacheInfo:
    """How often a tape's structure was known, how often not, what was compiled, and how much is kept.

    >>> import tapec
    >>> tapec.cache_info()
    CacheInfo(hits=..., misses=..., compilations=..., size=..., maxsize=1024)
    """
    return CACHE.info()


def cache_clear() -> None:
    """Forget all compiled gradients of tapes."""
    CACHE.clear()


class Structure:
    """All compiled code of one recorded structure.

    `compiled` has it by what is asked for and by the numbers written into it; `cuts` are the places where Python code
    has to run, found when first asked for.
    """

    __slots__ = ("compiled", "cuts", "literals", "used")

    def __init__(self, scalars: list[tuple[int, Any]]):
        self.compiled: dict[Any, Any] = {}
        self.cuts: Any = None
        self.literals = Literals(scalars)
        self.used = False

    def find(self, log: Any, what: Any, make: Callable[[Forward], Any]) -> Any:
        """The code for what is asked, with the numbers of this recording in it."""
        found = self.compiled.get((what, self.literals.of(log)))
        if found is None:
            with CACHE.lock, resting_collector():
                found = self._make(log, what, make)
        else:
            CACHE.hits += 1
        self.used = True
        return found

    def _make(self, log: Any, what: Any, make: Callable[[Forward], Any]) -> Any:
        if self.literals.changed(log):
            self.compiled.clear()
        literals = self.literals.of(log)
        found = self.compiled.get((what, literals))
        if found is None:
            found = self.compiled[what, literals] = make(Forward(log, dict(literals)))
            CACHE.compiled(loaded=found.is_loaded)
        return found


def structure_of(log: Any, request: tuple[Any, ...]) -> Structure:
    """The structure of what is recorded and what is asked of it."""
    key = (tuple(log.key), request, code_settings(in_force()))
    return CACHE.get(key) or CACHE.make(key, lambda: Structure(log.scalars))
