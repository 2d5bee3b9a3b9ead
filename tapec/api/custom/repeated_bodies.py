"""Record a body that runs many times, and once more, to refuse one that does something else each time.

A loop's body is traced once for all turns, so what it draws or counts would be the same in each: NumPy's program comes
to other numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from tapec.api.custom.gradient_watcher import Found, UnknownsTrace, parts_of_result
from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Graph, interpret
from tapec.ops import ArrayLike
from tapec.trace.capture.captured_paths import cell_contents, generator_state, is_generator
from tapec.trace.capture.random_state import states
from tapec.trace.recording_stack import captures_now

__all__ = ["recorded_twice"]


def recorded_twice(
    function: Callable[..., Any],
    rule: Any,
    outer: Any,
    trace_for: Callable[[str], UnknownsTrace],
    advice: str,
    counts: bool = False,
) -> Found:
    """Record a rule that runs the user's function, by the trace for a name: that of a body which is run again, or none.

    A body inside of one that runs again is recorded once. Where it `counts`, it may set variables around it.
    """
    repeated = getattr(outer, "repeated", "")
    found = trace_for(repeated).run(rule)
    if repeated:
        return found
    seen = [x if isinstance(x, ArrayLike) else np.copy(x) for x in found.captured]  # the second run may write
    before, count = _around(function, not counts), len(outer.log.records)
    again = trace_for(rule.name)
    other = again.run(rule)
    same = all(map(_are_one, before, _around(function, not counts)))
    same = same and not _changes([*outer.log.records[count:], *again.log.records])
    if not same or not _compute_the_same(rule, found, seen, other):
        raise UnsupportedError(
            at_user_line(
                f"{rule.name}: the function does something else when it runs again: it draws random numbers, counts, "
                f"or changes a value around it. It is traced once for all. Fix: {advice}"
            )
        )
    return found


def _compute_the_same(rule: Any, found: Found, seen: list[Any], other: Found) -> bool:
    """Return whether two recordings of a body are the same program of the same arrays.

    Arrays that differ may be memory that nobody has written yet, of np.empty: then results are the same.
    """
    graph: Graph = dict(found.params)["bodies"][0]
    if graph != dict(other.params)["bodies"][0]:
        return False
    if all(map(_are_equal, seen, other.captured)):
        return True
    given = [np.add(x._value, 0.6, dtype=x.dtype) if x.dtype.kind in "fc" else x._value for x in rule.results]
    with np.errstate(all="ignore"):
        runs = [interpret(graph, *given, *map(_value, captured)) for captured in (seen, other.captured)]
    return all(map(_are_equal, *runs))


def _value(x: Any) -> Any:
    return x._tapec_read()._value if isinstance(x, ArrayLike) else x


def _are_equal(a: Any, b: Any) -> bool:
    return a is b or np.array_equal(_value(a), _value(b), equal_nan=True)


def _are_one(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, (tuple, dict)) and a == b)


def _around(function: Any, variables: bool) -> list[Any]:
    """Return the states of the generators of random numbers in reach, and what variables around a function hold."""
    captures = captures_now()
    held: list[Any] = []
    functions = [function]
    for f in functions:
        cells = map(cell_contents, f.__closure__ or ()) if isinstance(f, FunctionType) else ()
        new = [x for x in cells if not any([x is y for y in held])]
        held += new
        functions += new
    met = [] if captures is None else captures.untraced.generators()  # none of a tape
    generators = [*met, *filter(is_generator, held)]
    return [states(), *map(generator_state, generators), *(held if variables else ())]


def _changes(records: list[Any]) -> bool:
    """Return whether operations change tensors in place that were there before them."""
    made = {id(x) for entry in records if entry[6] is None for x in parts_of_result(entry)}
    return any([entry[6] is not None and id(entry[3]) not in made for entry in records])
