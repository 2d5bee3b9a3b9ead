"""Follow how NumPy's floating point errors are handled while a traced function runs: `np.errstate` blocks, filters of
`warnings.catch_warnings`, and whatever else a function enters.

Each recorded operation looks whether something has changed since the run began. Generated code ignores, from its first
line to its last, the kinds of errors that some operation ignored: the run that was recorded has said what there is to
say. A function that asks for errors, or for warnings where its caller has none, is recorded at each call instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from typing import Any

import numpy as np

from tapec.trace.float_warnings import OWN

__all__ = ["ErrorHandling"]

WARNINGS = {  # by kinds of errors, as `np.errstate` calls them: what NumPy's warnings say
    "divide": "divide by zero encountered in",
    "over": "overflow encountered in",
    "under": "underflow encountered in",
    "invalid": "invalid value encountered in",
}


_ABSENT = object()


class _ComparedError(Exception):
    """Says that the values of two context variables compare by an operation that would be recorded."""


class ErrorHandling:
    """Collects the floating point errors that the operations of one run ignore.

    `retrace_reason` says why the function must be recorded at each call, `single_use_reason` why code of this run is
    for single use: what the run did may be its caller's choice.
    """

    def __init__(self) -> None:
        self.ignored: set[str] = set()
        self.retrace_reason: str | None = None
        self.single_use_reason: str | None = None
        self._is_comparing = self._by_identity = False  # are contexts compared just now, and by which values they hold?

    def begin(self) -> None:
        """Note what the function's caller has chosen, before the function runs."""
        self._context = copy_context()  # np.errstate keeps its state in a context variable,
        self._filters = warnings.filters  # and catch_warnings puts another list in the place of this one
        self._last: Any = None

    def end(self) -> None:
        """Let go of the context, which holds recordings as well."""
        del self._context, self._last

    @property
    def silenced(self) -> set[str]:
        """The kinds of errors that generated code ignores. Derivatives of infinite values are invalid."""
        return {*self.ignored, "invalid"} if self.ignored else set()

    def watching(self, keep: Callable[[Any], None]) -> Callable[[Any], None]:
        """Return a function that takes a record as `keep` does, and looks at the handling of errors that is in
        force."""

        def append(entry: Any) -> None:
            if self._is_comparing:
                raise _ComparedError
            keep(entry)
            if warnings.filters is not self._filters or self._is_other_context():
                self._look(entry[0].name)

        return append

    def _is_other_context(self) -> bool:
        """Return whether a context variable has another value than when the run began. Values that cannot be compared,
        as tensors and arrays that the run has set, are told apart by which they are."""
        if not self._by_identity:
            self._is_comparing = True
            try:
                return copy_context() != self._context
            except Exception:  # whatever == of a value raises: of arrays, of the user's own classes, of a tensor
                self._by_identity = True
            finally:
                self._is_comparing = False
        return not _is_same(copy_context(), self._context)

    def _look(self, op: str) -> None:
        """Compare what is in force with what was when the run began."""
        now = copy_context(), [*warnings.filters], op
        if self._last is not None and now[1:] == self._last[1:] and _is_same(now[0], self._last[0]):
            return
        self._last = now
        modes: Any = np.geterr()
        before: Any = self._context.run(np.geterr)
        filters, is_other = now[1], not _is_same(now[0], self._context)
        usual = {(kind, "warn") for kind in WARNINGS}  # is rather what NumPy does by itself than asked for,
        if set(modes.values()) != {"ignore"}:
            usual.add(("under", "ignore"))  # and so is this
        for kind, warning in WARNINGS.items():
            mode, was = modes[kind], before[kind]
            if is_other and (mode != was or (kind, mode) not in usual):
                self._note(kind, mode, was)
            if warnings.filters is not self._filters:
                rule, old = [_first_match(f"{warning} {op}", found) for found in (filters, self._filters)]
                if (rule != old or filters == self._filters) and (rule[0], old[0]) != ("warn", "warn"):
                    self._note(kind, rule[0], old[0])

    def _note(self, kind: str, answer: str, was: str) -> None:
        """The function, if not its caller, asks for this answer to errors of a kind; its caller has asked for `was`."""
        why = f"NumPy what to do about floating point errors ({kind}={answer!r}, its caller {was!r})"
        if answer == "ignore":
            self.ignored.add(kind)
        elif answer in ("warn", was):
            self.single_use_reason = self.single_use_reason or f"it may tell {why}"
        else:
            self.retrace_reason = self.retrace_reason or f"it tells {why}"


def _is_same(a: Context, b: Context) -> bool:
    """Return whether variables have the same objects as values in two contexts."""
    return len(a) == len(b) and all([a.get(variable, _ABSENT) is value for variable, value in b.items()])


def _first_match(text: str, filters: Sequence[Any]) -> tuple[str, Any]:
    """Return what the first fitting filter does with a warning of NumPy's, "error", "ignore" or "warn", and the
    filter."""
    for rule in filters:
        if rule is OWN:
            continue
        action, message, category, _, line = rule
        if (message is None or message.match(text)) and not line and issubclass(RuntimeWarning, category):
            return action if action in ("error", "ignore") else "warn", rule
    return "warn", None
