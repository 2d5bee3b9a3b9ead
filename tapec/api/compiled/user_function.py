"""Run the user's function for a call: recorded, and by plain NumPy to compare with it (`settings.check`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from tapec.api.compiled.checks.plain_check import PlainCheck
from tapec.api.compiled.programs.guarded_paths import TracedPath
from tapec.api.compiled.programs.retraced import RecordedProgram
from tapec.api.compiled.signature import Binder, Call
from tapec.api.compiled.signature_entry import Entry
from tapec.api.compiled.transform import Transform
from tapec.config import settings
from tapec.errors import UnsupportedError, at_user_line
from tapec.locks import computed_once
from tapec.progress import at, logger
from tapec.trace.capture.counters import without_counting
from tapec.trace.function.effects import why_not_again
from tapec.trace.function.function_trace import LOOKED
from tapec.trace.function.trace_function import Recorded, run_traced
from tapec.trace.recording_stack import CURRENT, in_batch, in_making_batch

__all__ = ["UserFunction"]


class UserFunction:
    """Holds what the user gave: a function and what is made of it. It runs for calls that no compiled code takes."""

    def __init__(self, function: Callable[..., Any], transform: Transform, static_argnums: Any, static_argnames: Any):
        self._function = function
        self._transform = transform
        self._static = (static_argnums, static_argnames)
        if self._static != ((), ()):
            self._binder  # noqa: B018  # says now what is wrong
        self._makes_tensors = True  # may arrays that the function makes be tensors, as `trace.making` has it?

    @computed_once
    def _binder(self) -> Binder:
        """Return what binds arguments to parameters. Made late: a function that is called once mostly needs none."""
        return Binder(self._function, *self._static)

    @property
    def _name(self) -> str:
        own = getattr(self, "__name__", None) or type(self._function).__name__
        own = "function" if own == "<lambda>" else own
        return f"{own}_{self._transform.name}" if self._transform.name else own

    # -- recording -----------------------------------------------------------------------------------------------------
    def _record(self, entry: Entry, call: Call, objects: list[Any], refused: bool = False) -> Recorded:
        """Record a run of the function, and compare it with plain NumPy.

        It is `refused` where a batch was: the function then runs with arrays of its own as tensors.
        """
        values = self._values(entry, call, objects)
        run = partial(self._choose_run, entry, call, objects, values, refused)
        log, start = logger("trace"), perf_counter()
        recorded = run()
        recorded.defaults.write_back()
        if log is not None:
            ms = 1e3 * (perf_counter() - start)
            log.info("%s: %d operations traced in %.2f ms", self._name, len(recorded.trace.log.records), ms)
        at("comparing with plain NumPy")
        self._compare_recording(entry, recorded, call.tree, values, run)
        recorded.forget_results()
        return recorded

    def _choose_run(self, entry: Entry, call: Call, objects: list[Any], values: list[Any], refused: bool) -> Recorded:
        """Record the function in the way that goes furthest.

        A run that looks at integers, or that was refused as a batch, is recorded once more as `trace.making` does it.
        """
        batched = self._transform.batched(call.leaves_with(objects), entry.plan)
        run = partial(
            run_traced,
            self._function,
            call.tree,
            values,
            call.dynamic,
            entry.info.names,
            merges=self._transform.merges,
            changing=self._changing_numbers(entry),
            left_out=self._binder.left_out(*call.given),
        )
        if in_making_batch():
            try:
                return run(batched, making=True)
            except Exception:  # what the function does with its arrays may be nothing that tensors do: then without
                return run(batched)
        recorded = run(() if refused else batched)
        only_looked = recorded.trace.retrace_reason == LOOKED and recorded.trace.single_use_reason is None
        if refused or (only_looked and self._makes_tensors):
            with without_counting(recorded.captures.stores.increments):
                made = _as_good(partial(run, batched, making=True), recorded)
            if made is not None:
                recorded.let_go()
                return made
            if refused:
                raise UnsupportedError("it does another thing with tensors")  # `CallPath` tells the first refusal
            self._makes_tensors = False
        return recorded

    def _changing_numbers(self, entry: Entry) -> frozenset[str]:
        """Return the labels of captured whole numbers that are inputs, since earlier runs have met several."""
        return entry.numbers.changing()

    def _values(self, entry: Entry, call: Call, objects: list[Any]) -> list[Any]:
        """The leaves that the user's function gets."""
        return self._transform.examples(call.leaves_with(objects), entry.plan)

    # -- comparing with plain NumPy ------------------------------------------------------------------------------------
    def _compare_recording(
        self, entry: Entry, recorded: Recorded, tree: Any, values: list[Any], again: Callable[[], Recorded]
    ) -> None:
        """Compare a recording with plain NumPy, where `settings.check` asks for it and it does nothing else."""
        rec = CURRENT.get()
        recorded.unchecked = "settings.check is 'never'" if settings.check == "never" else why_not_again(recorded)
        if recorded.unchecked is not None:
            if settings.check != "never" and not self._transform.merges and recorded.captures.clones.ask_identity:
                _refuse_shared(values)
            if rec is not None and rec.trace is not None:
                rec.trace.effects = recorded.unchecked
            return
        known = entry.recorded and settings.check == "first" and RecordedProgram.key(recorded) in entry.recorded
        if not known:
            recorded.plain = self._plain(entry, tree, values, again)
            recorded.unchecked = recorded.plain.unchecked
            if recorded.unchecked is None:
                recorded.plain.recording(recorded)

    def _plain(
        self, entry: Entry, tree: Any, values: list[Any], again: Callable[[], Recorded] | None = None
    ) -> PlainCheck:
        """Return what plain NumPy comes to."""
        wrt = [entry.info.position.index(k) for k in self._transform.gradients_by(entry.plan)]
        of_batch = self._transform.maps or in_batch()
        return PlainCheck(self._name, self._function, tree, values, again, of_batch, wrt)

    def _compare_outputs(self, path: TracedPath, outputs: Any, plain: Callable[[], PlainCheck | None]) -> None:
        """Compare the outputs of a path with plain NumPy, if they hold the function's results."""
        at = self._transform.results_at
        if at is None or path.unchecked is not None or settings.fast_math:
            return
        found = plain()
        if found is not None and found.unchecked is None:
            found.generated(path, outputs, at)
            if found.wrt and settings.check == "every":
                found.gradient(path, outputs[len(path.forward.outputs) + at :])


def _refuse_shared(values: list[Any]) -> None:
    """Refuse one array for two parameters of a function that may ask `x is y`, where nobody compares the recording."""
    arrays = [x for x in values if isinstance(x, np.ndarray)]
    if len({id(x) for x in arrays}) < len(arrays):
        raise UnsupportedError(
            at_user_line(
                "two arguments are one array, and what the function compares by `is` takes them for two. Fix: pass a "
                "copy of one, or a flag beside them"
            )
        )


def _as_good(run: Callable[[], Recorded], plain: Recorded) -> Recorded | None:
    """A run that makes tensors, where it comes to the same as with arrays: who asks for classes may go another way."""
    try:
        made = run()
        return made if made.trace.retrace_reason is None and made.agrees(plain.tree, plain.results) else None
    except Exception:  # what the function does with its arrays may be nothing that tensors do
        return None
