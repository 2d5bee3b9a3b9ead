"""Answer calls of a compiled function. `CallPath` asks in this order, and the first that can answers:

1. the stub that answered last (`call_stub.py`: generated code that looks at all that a call depends on), then those of
   the function for the types of the arguments, then those that functions of the same code share (`fresh/`), where
   nothing records;
2. the programs of the signature (`signature_entry.py`): each looks whether the captured facts that it relies on still
   hold, and its code whether it knows the path; what answers gets a stub;
3. a recording of the user's function (`user_function.py`): of the path a program is made, or grown, which answers.
   Where no program may be, code for the structure of this run answers; where no structure has come again lately, the
   operations are computed one by one.

What a call does beside that:

| where | stubs | what happens |
| --- | --- | --- |
| an argument is a tensor | none | the results are tensors; what records the inputs records the call as one op |
| an argument is a Variable | none | the same, with the tensor that it holds |
| a tape records | those without Variables | as above, if one of the inputs is watched |
| a trace records | those without captured state | it takes over captured facts, guards, effects, and why to retrace |
| in a batch | asked, and none is written | the signature tells which arguments are examples: code may be another |
| captured facts no longer hold | another may answer | another program, or a recording: one more program |
| the code raises an error | | the function is recorded: it may catch the error; else the error is raised |
| `settings` are others | another may answer | the signature has those that change code; `check="every"` has no stubs |
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import numpy as np

from tapec.api import tuning
from tapec.api.compiled.call_stub import call_types, write_shared_stub, write_stub
from tapec.api.compiled.fresh.families import family_of
from tapec.api.compiled.packing import MISS
from tapec.api.compiled.program_store import UNKNOWN, ProgramStore, has_tensors
from tapec.api.compiled.programs.path_set import Program
from tapec.api.compiled.programs.retraced import RecordedProgram
from tapec.api.compiled.signature import Call, value_of
from tapec.api.compiled.signature_entry import Entry, State
from tapec.config import settings
from tapec.errors import MismatchError, UnsupportedError, depends_on_values
from tapec.progress import job, logger
from tapec.runtime.gc_pause import resting_collector
from tapec.trace.float_warnings import told_count
from tapec.trace.function.trace_function import Recorded
from tapec.trace.literals import Variants
from tapec.trace.recording_stack import CURRENT, in_batch
from tapec.tracebacks import shorten

__all__ = ["CallPath"]


class CallPath(ProgramStore):
    """Answers the calls of a compiled function."""

    _tapec_answers = True  # a function that is traced calls it, and does not look into it

    # -- 1: by a stub --------------------------------------------------------------------------------------------------
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            found = self._stub(args, kwargs, self)
            if found is not MISS:
                self._stub_hits += 1
                return found
            found = self._answer_of_stubs(args, kwargs)
            return self._call(args, kwargs) if found is MISS else found
        except BaseException as error:
            shorten(error)
            raise

    def _answer_of_stubs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call by another stub than the last one; MISS where none takes it."""
        types = call_types(args, kwargs)
        for stub in self._stubs.get(types, ()):
            found = stub(args, kwargs, self)
            if found is not MISS:
                self._stub_hits += 1
                self._stub = stub
                return found
        return self._answer_of_family(types, args, kwargs)

    def _add_stub(self, entry: Entry, call: Call, args: Any, kwargs: Any, program: Program) -> None:
        """Write the stub of a program for calls like this one, once; the newest are asked first."""
        types = call_types(args, kwargs)
        with self._cache.lock:  # that of the entry is held while another path is compiled
            if types in self._stubs and (types, program) in entry.stubbed:
                return
            entry.stubbed.add((types, program))
        stub = write_stub(self._binder, call, args, kwargs, program)
        with self._cache.lock:
            known = self._stubs.setdefault(types, ())
            if stub is not None and program in entry.programs:
                self._stubs[types] = (stub, *known[: tuning.STUBS_MAX - 1])
            while len(self._stubs) > settings.cache_size:
                self._stubs.popitem(last=False)

    def _answer_of_family(self, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call by what was compiled for an earlier function of the same code; MISS where nothing was."""
        family = self._family
        if family is None or CURRENT.get() is not None:
            return MISS
        if family is UNKNOWN:
            family = self._family = family_of(self._function, self._options)
            return MISS if family is None else self._answer_of_family(types, args, kwargs)
        for stub in family.stubs.get(types, ()):
            found = stub(args, kwargs, self)
            if found is not MISS:
                self._stub_hits += 1
                self._stub = stub
                family.hits += 1
                if stub not in self._answered and _bytes_of((args, kwargs)) <= tuning.ANSWERED_MAX_BYTES:
                    self._answered[stub] = args, kwargs
                return found
        return MISS

    def _share(self, entry: Entry, call: Call, program: Program) -> None:
        """Let later functions of the same code have the program of a run, where there are such functions; or this one,
        which may have captured others by then."""
        family = self._family
        if family is None or family is UNKNOWN:
            return
        family.numbers.note(program.checks.values())
        family.changes = family.changes or len(entry.programs) > 1
        if not family.shares or len(program.paths) > 1:
            return
        if CURRENT.get() is None and settings.check != "every":
            stub = write_shared_stub(self._binder, call, *call.given, program)
            if stub is not None:
                family.put(call_types(*call.given), stub)

    def _changing_numbers(self, entry: Entry) -> frozenset[str]:
        own, family = super()._changing_numbers(entry), self._family
        return own if family is None or family is UNKNOWN else own | family.numbers.changing()

    # -- 2: by a program of the signature ------------------------------------------------------------------------------
    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call that no stub takes."""
        entry, call = self._entry(args, kwargs)
        objects = call.objects()
        found = self._ask_programs(entry, call, objects, args, kwargs)
        if found is not MISS:
            return found
        try:
            return self._record_and_answer(entry, call, objects)
        except BaseException:
            with self._cache.lock:  # a signature of which nothing is known leaves no trace
                if not (entry.programs or entry.recorded) and self._cache.get(call.key) is entry:
                    del self._cache.entries[call.key]
            raise

    def _ask_programs(self, entry: Entry, call: Call, objects: list[Any], args: Any, kwargs: Any) -> Any:
        """Run the program whose captured facts hold and that knows the path; MISS where there is none."""
        every = settings.check == "every"
        plain = partial(self._plain, entry, call.tree, self._values(entry, call, objects)) if every else None
        for program in entry.known:
            try:
                found = self._run(program, objects, plain=plain)
            except MismatchError:
                raise
            except Exception as error:  # the function may catch it, which the code does not
                found = self._recorded_after(error, args, kwargs)
                if found is MISS:
                    raise
                return found
            if found is not MISS:
                self._cache.hits += 1
                if not every and not in_batch():
                    self._add_stub(entry, call, args, kwargs, program)
                return found
        return MISS

    # -- 3: by a recording ---------------------------------------------------------------------------------------------
    def _record_and_answer(self, entry: Entry, call: Call, objects: list[Any]) -> Any:
        """Record what is not known, and answer by what is made of it."""
        try:
            return self._answer_unknown(entry, call, objects)
        except UnsupportedError:
            if not self._transform.maps or not self._makes_tensors:
                raise
            with suppress(Exception):  # examples may pick for themselves from arrays that the function makes
                return self._answer_unknown(entry, call, objects, refused=True)
            self._makes_tensors = False  # it was something else
            raise

    def _answer_unknown(self, entry: Entry, call: Call, objects: list[Any], refused: bool = False) -> Any:
        with entry.lock, resting_collector(), job(self._name), ExitStack() as at_the_end:
            for program in entry.known:  # another thread may have been here
                found = self._run(program, objects)
                if found is not MISS:
                    return found
            warnings = told_count()
            recorded = self._record(entry, call, objects, refused)
            at_the_end.callback(recorded.let_go)
            if told_count() != warnings:  # of which the generated code would tell once more
                at_the_end.enter_context(np.errstate(all="ignore"))
            self._cache.misses += 1
            self._refuse(entry, recorded)
            alone = entry.note_run(recorded)
            found = self._answer_op_by_op(entry, recorded, objects)
            if found is MISS and not alone:
                found = self._answer_by_program(entry, call, recorded, objects)
            return self._answer_by_structure(entry, recorded, objects) if found is MISS else found

    def _recorded_after(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call whose known code raised an error that the function itself catches; else MISS."""
        if not depends_on_values(error):
            return MISS
        entry, call = self._entry(args, kwargs)
        objects = call.objects()
        with entry.lock, resting_collector(), ExitStack() as at_the_end:
            try:
                recorded = self._record(entry, call, objects)
            except Exception as own:  # whatever the function raises: the error that it met, or what it makes of it
                if type(own) is type(error) and str(own) == str(error):
                    return MISS
                raise
            at_the_end.callback(recorded.let_go)
            if recorded.trace.retrace_reason is None:
                return MISS
            self._refuse(entry, recorded)
            return self._answer_by_structure(entry, recorded, objects)

    def _refuse(self, entry: Entry, recorded: Recorded) -> None:
        """Raise if the transform cannot do with a run that gives no program."""
        reason = recorded.trace.retrace_reason
        if reason is not None:
            try:
                self._transform.refuse(reason)
            except Exception:  # whatever the transform refuses with is raised again
                entry.become(State.REFUSED, reason)
                raise

    def _answer_op_by_op(self, entry: Entry, recorded: Recorded, objects: list[Any]) -> Any:
        """Compute the result op by op, where nothing that is known was asked for in the last calls and this run is new
        as well; else MISS."""
        calls, hits = self._calls, self._cache.hits + self._stub_hits
        if not calls.defers_compilation(hits) or has_tensors(objects) or CURRENT.get() is not None:
            return MISS
        if entry.has_seen(RecordedProgram.key(recorded)):
            calls.in_a_row = 0
            return MISS
        found, too_new = self._transform.at_first_sight(recorded, entry.info, entry.plan)
        calls.failed_tries += too_new
        if found is not MISS:
            entry.become(State.OP_BY_OP, recorded.trace.single_use_reason)
        return found

    def _answer_by_program(self, entry: Entry, call: Call, recorded: Recorded, objects: list[Any]) -> Any:
        """Make a program that knows this path, and run it; MISS where the path gives none."""
        program = entry.program_now(objects) or self._new(Program, entry)
        reason = entry.why_too_many(program, objects, recorded, self._name)
        if reason is None:
            with self._cache.lock:
                why = self._why = entry.why_compiled(program, self._cache.entries.values())
            log = logger("compile")
            if log is not None:
                log.info("%s compiles: %s", self._name, why)
            grown, before = entry.grown(program, objects)
            self._compile(entry, grown, recorded)
            known = entry.programs
            self._put(entry, grown, before)
            try:
                found = self._run(grown, objects, counted=True, plain=lambda: recorded.plain)
            except MismatchError:
                entry.programs = known
                raise
            if found is not MISS:
                self._share(entry, call, grown)
                return found
            # a guard on a nan, or captured state that another thread is changing
            reason = "what it relied on held no longer when it had been compiled"
        entry.become(State.RETRACED, reason)
        return MISS

    def _answer_by_structure(self, entry: Entry, recorded: Recorded, objects: list[Any]) -> Any:
        """Run the code cached for the structure of this very run."""
        rec = CURRENT.get()
        if rec is not None and rec.trace is not None:
            reason = recorded.trace.retrace_reason or (entry.reason if entry.state is State.RETRACED else None)
            if reason is not None:
                rec.trace.require_retrace(reason)
            rec.trace.single_use_reason = recorded.trace.single_use_reason or rec.trace.single_use_reason
            rec.trace.errors.ignored |= recorded.trace.errors.silenced
        key = RecordedProgram.key(recorded)
        log = recorded.trace.log
        variants = entry.recorded.get(key) or Variants(log.scalars)
        program = variants.find(log, lambda: self._compile_structure(entry, recorded, variants.moving))
        entry.recorded[key] = variants  # of which something could be compiled
        entry.recorded.move_to_end(key)
        while len(entry.recorded) > settings.cache_size:
            entry.recorded.popitem(last=False)
        path = program.paths[0]
        read = program.objects(recorded, objects)
        outputs = program.run([value_of(x) for x in read])
        self._compare_outputs(path, outputs, lambda: recorded.plain)
        return self._result(path, objects, read, outputs)


def _bytes_of(x: Any) -> int:
    """Return what arrays take that an argument is or holds."""
    if isinstance(x, np.ndarray):
        return x.nbytes
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
    return sum(map(_bytes_of, parts))
