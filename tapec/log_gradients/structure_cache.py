"""Cache what was compiled for each structure that tapes have recorded.

A structure is the recording with its values left out. Python numbers are left out too: they are written into the code
as literals until one is seen to change, and from then on that one is an input.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

from tapec.config import code_settings, in_force
from tapec.log_gradients.first_sight import forget_recent, recent_structures
from tapec.log_gradients.log_to_graph import Forward
from tapec.progress import job
from tapec.runtime.gc_pause import resting_collector
from tapec.runtime.memory_cache import Cache, CacheInfo
from tapec.trace.literals import Variants

__all__ = ["CACHE", "PIECES", "Structure", "cache_clear", "cache_info", "structure_of"]

CACHE = Cache()
PIECES = Cache()  # ways back through single operations: `op_by_op.eager_gradient`


def cache_info() -> CacheInfo:
    """Return how often a tape's structure was known and not known, how much was compiled, and how much is kept.

    Returns
    -------
    CacheInfo
        The five counts, and `loaded`: how many compilations came from the cache on disk.

    Examples
    --------
    >>> import tapec
    >>> tapec.cache_info()
    CacheInfo(hits=..., misses=..., compilations=..., size=..., maxsize=1024)

    See Also
    --------
    f.cache_info : of a compiled function
    tapec.cache_clear : forgets it all
    """
    return CACHE.info()


def cache_clear() -> None:
    """Forget all compiled gradients of tapes, and start counting anew.

    Examples
    --------
    >>> import tapec
    >>> tapec.cache_clear()
    >>> tapec.cache_info().size
    0

    See Also
    --------
    tapec.cache_info : what is kept
    f.cache_clear : of a compiled function
    """
    CACHE.clear()
    PIECES.clear()
    forget_recent()


class Structure:
    """Holds all compiled code of one recorded structure.

    `cuts` are the places where Python code has to run, found when first asked for. `times` counts recordings.
    `compile_on_repeat` tells that a new structure comes here each time, so that this one is not worth compiling until
    it comes again.
    """

    __slots__ = ("__weakref__", "compile_on_repeat", "cuts", "times", "used", "variants")

    def __init__(self, scalars: list[tuple[int, Any]], compile_on_repeat: bool = False):
        self.cuts: Any = None
        self.compile_on_repeat = compile_on_repeat
        self.times = 0
        self.used = False
        self.variants = Variants(scalars)

    def find(self, log: Any, what: Any, make: Callable[[Forward], Any]) -> Any:
        """Return the code for a request, with the numbers of this recording in it."""
        variants = self.variants
        found = variants.made.get((what, variants.literals(log)))
        if found is None:
            with CACHE.lock, resting_collector(), job("gradient of a tape"):
                found = variants.find(log, lambda: make(Forward(log, dict(variants.literals(log)))), what)
        else:
            CACHE.hits += 1
        self.used = True
        return found


def structure_of(log: Any, request: tuple[Any, ...]) -> Structure:
    """Return the structure of a recording and of what is asked of it."""
    key = (log.key, request, code_settings(in_force()))
    found = CACHE.get(key) or CACHE.make(key, partial(_newcomer, log))
    found.times += 1
    return found


def _newcomer(log: Any) -> Structure:
    """Make the structure of a recording that was not known."""
    if not log.records:
        return Structure(log.scalars)
    recent = recent_structures(log)
    found = Structure(log.scalars, recent.defers_compilation)
    recent.before.append(ref(found))
    return found
