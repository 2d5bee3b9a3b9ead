"""Find plain arrays of a run that somebody else holds and may change; all others are constants.

Comes in: the recording of a run that is over.  Goes out: `held_elsewhere`.  Must not be imported here: `program`.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from tapec.pytree import flatten
from tapec.trace.function.trace_function import run_traced
from tapec.trace.log import Log
from tapec.trace.reference_counts import others

__all__ = ["held_elsewhere"]


def held_elsewhere(log: Log, results: list[Any]) -> set[int]:
    """Return the ids of the recorded arrays that somebody else holds too, or whose memory somebody does."""
    arrays, counts = _counted(log, results)
    held = {k for k, count in counts.items() if count > _own_references()}
    views = _views(arrays, results)
    given = Counter(map(id, results))
    for k, x in arrays.items():
        if isinstance(x.base, np.ndarray):
            at = id(x.base)
            if at in held if at in arrays else others([x.base], 0) > views[at] + given[at]:
                held.add(k)
    return held


def _counted(log: Log, results: list[Any]) -> tuple[dict[int, np.ndarray], dict[int, int]]:
    """Return the plain arrays in a recording, and how many references each has beside those that are known of."""
    uses = Counter([id(x) for entry in log.records for x in entry[1] if type(x) is np.ndarray])
    uses.update(map(id, results))
    arrays = {id(x): x for entry in log.records for x in entry[1] if type(x) is np.ndarray}
    views = _views(arrays, results)
    return arrays, {k: others(arrays, k) - uses[k] - views[k] for k, x in arrays.items()}


def _views(arrays: dict[int, np.ndarray], results: list[Any]) -> Counter[int]:
    """Count, for each owner of memory, the arrays that are views of it, among these and the results."""
    known = arrays | {id(x): x for x in results if type(x) is np.ndarray}
    return Counter([id(x.base) for x in known.values()])


@cache
def _own_references() -> int:
    """Return the reference count of an array that a run made and nobody else knows; it depends on the interpreter."""
    recorded = run_traced(lambda x: x + np.ones(1), flatten(((1.0,), {}), []), [1.0], [True], ["x"])
    recorded.trace.log.scan()
    [count] = _counted(recorded.trace.log, [])[1].values()
    return count
