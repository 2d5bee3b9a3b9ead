"""Run the user's function by plain NumPy, on arguments that it cannot change, and compare results within rounding."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from types import FrameType
from typing import Any

import numpy as np

from tapec.api import tuning
from tapec.errors import filtered_warnings, is_user_file
from tapec.ir.checks.rounding import apart, nudged, told
from tapec.pytree import flatten, unflatten
from tapec.trace.classes import unwrap
from tapec.trace.recording_stack import unrecorded

__all__ = ["Difference", "TooLong", "compare", "copied", "ending_within", "moved", "plain_run", "read_only"]

Leaves = list[Any]


def plain_run(function: Callable[..., Any], tree: Any, leaves: Leaves) -> tuple[Any, Leaves]:
    """Return the structure and leaves of what a function returns for these arguments when nobody records it.

    It gets read-only views of the arrays; if it writes into one, it runs again on copies.
    """
    try:
        return _run(function, tree, read_only(leaves))
    except ValueError as error:
        if "read-only" not in str(error):
            raise
    return _run(function, tree, copied(leaves))


def _run(function: Callable[..., Any], tree: Any, leaves: Leaves) -> tuple[Any, Leaves]:
    args, kwargs = unflatten(tree, leaves)
    results: Leaves = []
    with np.errstate(all="ignore"), _silence():  # the recorded run has told
        return flatten(unrecorded(function, *args, **kwargs), results), list(map(_settled, results))


@contextmanager
def _silence() -> Iterator[None]:
    """Ignore warnings. Their filters are for all threads: where there are others, they stay as they are."""
    if threading.active_count() > 1:
        yield
        return
    with filtered_warnings("ignore"):
        yield


class TooLong(BaseException):
    """Ends a run that takes too long. No user code catches it."""


@contextmanager
def ending_within(seconds: float) -> Iterator[None]:
    """End what runs too long: a loop of the user's may never end at arguments that are close to those of the call."""
    end = perf_counter() + seconds

    def look(frame: FrameType, event: str, arg: Any) -> Any:
        if not is_user_file(frame.f_code.co_filename):  # ours would be left half done
            return None
        if perf_counter() > end:
            raise TooLong
        return look

    before = sys.gettrace()
    sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(before)


def _settled(x: Any) -> Any:
    """A result as it leaves a compiled function, too: Variables are read."""
    read = getattr(type(x), "_tapec_read", None)
    return unwrap(x if read is None else read(x))


# ---------------------------------------------------------------------------------------------------------------
# arguments
# ---------------------------------------------------------------------------------------------------------------
def _each_once(change: Callable[[np.ndarray], Any], leaves: Iterable[Any]) -> Leaves:
    """Change the arrays among leaves. What is one array stays one."""
    plain = list(map(unwrap, leaves))
    made = {id(x): change(x) for x in plain if isinstance(x, np.ndarray)}
    return [made.get(id(x), x) for x in plain]


def read_only(leaves: Iterable[Any]) -> Leaves:
    """Views that refuse to be written to. They lie, and share memory, as the arrays do."""

    def view(x: np.ndarray) -> np.ndarray:
        if type(x) is not np.ndarray:
            return x.copy()
        seen = x.view()
        seen.flags.writeable = False
        return seen

    return _each_once(view, leaves)


def copied(leaves: Iterable[Any]) -> Leaves:
    """Copies that lie as the arrays do, and share memory with each other as these do."""
    bases: dict[int, np.ndarray] = {}

    def copy(x: np.ndarray) -> np.ndarray:
        base = x
        while isinstance(base.base, np.ndarray):
            base = base.base
        is_part = type(x) is type(base) is np.ndarray and base.flags.c_contiguous
        if not is_part or base.nbytes > tuning.COPIED_BASE_MAX_TIMES * x.nbytes + tuning.COPIED_BASE_BYTES:
            return x.copy(order="K")
        if id(base) not in bases:
            bases[id(base)] = base.copy()
        start = x.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return np.ndarray(x.shape, x.dtype, bases[id(base)].data, start, x.strides)

    return _each_once(copy, leaves)


def moved(leaves: Iterable[Any], seed: int) -> Leaves:
    """The arguments with each float a few units in the last place off."""
    rng = np.random.default_rng(seed)

    shifted = _each_once(lambda x: nudged(x, rng) if x.dtype.kind in "fc" else x.copy(), leaves)
    numbers = (float, complex, np.inexact)
    return [type(x)(nudged(np.asarray(x), rng)) if isinstance(x, numbers) else x for x in shifted]


# ---------------------------------------------------------------------------------------------------------------
# results
# ---------------------------------------------------------------------------------------------------------------
class Difference:
    """Says how a result differs from what plain NumPy gives.

    `at` are the elements that do, `size` is by how much; None where the result is of another kind.
    """

    def __init__(self, text: str, at: Any = None, size: float | None = None):
        self.text = text
        self.at = at
        self.size = size


def compare(got: Any, plain: Any) -> Difference | None:
    """Return how a leaf of a result differs from the plain one, or None where it is the same within rounding."""
    if not (_is_numeric(got) and _is_numeric(plain)):
        return None if _is_same(got, plain) else Difference(f"is {_short(got)}, plain NumPy gives {_short(plain)}")
    a, b = np.asarray(got), np.asarray(plain)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return Difference(f"is {a.dtype} of shape {a.shape}, plain NumPy gives {b.dtype} of shape {b.shape}")
    with np.errstate(all="ignore"):
        if (a == b).all():
            return None
        at, size = apart(a, b)
    if not at.any():
        return None
    return Difference(told(a, b, at, size, "plain NumPy gives"), at, size)


def _is_numeric(x: Any) -> bool:
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "fciub"
    return isinstance(x, (bool, int, float, complex))


def _is_same(a: Any, b: Any) -> bool:
    """Return whether two results that are no numbers may be the same: functions and objects are made anew by a run."""
    if type(a) is not type(b):
        return False
    return a == b if isinstance(a, (str, bytes)) else True


def _short(x: Any) -> str:
    text = " ".join(repr(x).split())
    return text if len(text) < 60 else text[:57] + "..."
