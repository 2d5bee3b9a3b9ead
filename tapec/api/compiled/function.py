"""Define `CompiledFunction`: a Python function that runs as generated code, traced once for each signature and path.

What is computed from the traced program is said by a `Transform` (`transform.py`), in which alone decorators differ.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tapec.api.compiled import lazy
from tapec.api.compiled.call_stub import fast_call, packer
from tapec.api.compiled.checks.plain_check import PlainCheck
from tapec.api.compiled.guarded_paths import TracedPath
from tapec.api.compiled.method_decorators import Copied, bound, dress, is_class_method
from tapec.api.compiled.path_set import Program
from tapec.api.compiled.recorded_outputs import recorded_outputs
from tapec.api.compiled.retraced import RecordedProgram
from tapec.api.compiled.signature import Binder, Call, value_of
from tapec.api.compiled.signature_entry import Entry
from tapec.api.compiled.stub_table import MISS, Out, StubTable
from tapec.api.compiled.transform import Transform
from tapec.config import code_settings, in_force, settings
from tapec.errors import MismatchError, TapecError, UnsupportedError, at_user_line, depends_on_values
from tapec.ir import Graph, Op
from tapec.ir.text.notebook_hooks import Source, rich
from tapec.log_gradients.first_sight import Calls
from tapec.ops.control.select_and_call import CALL
from tapec.ops.core.symbol import is_batch_example
from tapec.runtime.gc_pause import resting_collector
from tapec.runtime.memory_cache import Cache, CacheInfo
from tapec.trace.capture.counters import without_counting
from tapec.trace.function.effects import why_not_again
from tapec.trace.function.function_trace import LOOKED
from tapec.trace.function.trace_function import Recorded, run_traced
from tapec.trace.literals import Variants
from tapec.trace.recording_stack import CURRENT, in_batch, in_making_batch
from tapec.trace.tensor import Tensor

if TYPE_CHECKING:
    from tapec.api.compiled.explain import Explanation

__all__ = ["CompiledFunction", "Out"]

P = TypeVar("P", bound=Program)


class CompiledFunction(Copied):
    """A function together with the programs compiled for it. Made by the decorators.

    `__call__` is a slot: what a call runs is generated code (see `call_stub`), and no method stands before it.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(
        self,
        function: Callable[..., Any],
        transform: Transform,
        *,
        static_argnums: Any = (),
        static_argnames: Any = (),
        call_op: Op = CALL,
    ):
        if not callable(function):
            raise TypeError(f"{transform.name or 'compile'} takes a function, not {type(function).__name__}")
        dress(self, function)
        self._function = function
        self._transform = transform
        self._static = (static_argnums, static_argnames)
        self._call_op = call_op  # what a recording of a call records
        self._binder = Binder(function, static_argnums, static_argnames)
        self._cache = Cache()  # entries of signatures
        self._stubs = StubTable(self._any_call)
        self.__call__ = self._stubs.first
        self._last: Program | None = None
        self._why = ""
        self._calls = Calls()
        self._bound: dict[int, CompiledFunction] = {}
        self._making = True  # may it run as `trace.making` has it?

    # -- calling ----------------------------------------------------------------------------------------------------
    def _any_call(self, *args: Any, **kwargs: Any) -> Any:
        """Answer a call that no stub knows."""
        while args and args[-1] is MISS:  # there were fewer than a stub takes
            args = args[:-1]
        if args and isinstance(args[0], type) and is_class_method(self, args[0]):
            return self.__get__(args[0])(*args[1:], **kwargs)
        return self._call(args, kwargs)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        """Bind the function as a method, compiled for each instance: the instance is captured state and no argument."""
        if owner is None:
            return self
        return bound(self, owner, self._bound, lambda: self._like(types.MethodType(self._function, owner)))

    def _like(self, function: Callable[..., Any]) -> CompiledFunction:
        """The same transform of a function, with nothing compiled yet."""
        argnums, argnames = self._static
        return CompiledFunction(
            function, self._transform, static_argnums=argnums, static_argnames=argnames, call_op=self._call_op
        )

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        entry, call = self._entry(args, kwargs)
        objects = call.objects()
        as_tensors = any(type(x) is Tensor for x in objects)
        every = settings.check == "every"
        if entry.retrace_reason is None:
            if entry.without_stub and not every and self._make_stub(entry, objects):
                return self.__call__(*args, **kwargs)
            plain = partial(self._plain, entry, call.tree, self._values(entry, call, objects)) if every else None
            for program in entry.programs:
                try:
                    found = self._try(program, objects, as_tensors, plain=plain)
                except MismatchError:
                    raise
                except Exception as error:  # the function may catch it, which the code does not
                    found = self._recovered(error, *args, **kwargs)
                    if found is MISS:
                        raise
                    return found
                if found is not MISS:
                    self._cache.hits += 1
                    return found
        try:
            return self._trace(entry, call, objects, as_tensors)
        except BaseException:
            self._forget(entry, call)
            raise

    def _forget(self, entry: Entry, call: Call) -> None:
        """A signature of which nothing is known leaves no trace: its first call failed."""
        with self._cache.lock:
            if not (entry.programs or entry.recorded) and self._cache.get(call.key) is entry:
                del self._cache.entries[call.key]

    def _recovered(self, error: Exception, *args: Any, **kwargs: Any) -> Any:
        """The result for values with which known code raised an error that the function itself catches; else MISS."""
        entry, call = self._entry(args, kwargs)
        return self._caught(error, entry, call, call.objects())

    def _caught(self, error: Exception, entry: Entry, call: Call, objects: list[Any]) -> Any:
        """The same for a call that is known."""
        if not depends_on_values(error):
            return MISS
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
            self._transform.refuse(recorded.trace.retrace_reason)
            return self._run_recorded(entry, recorded, objects, any(type(x) is Tensor for x in objects))

    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, Call]:
        args, kwargs = self._binder.bind(args, kwargs)
        call = self._binder.take_apart(args, kwargs)
        call = call._replace(key=(call.key, code_settings(in_force())))
        if in_batch():  # where nothing may depend on values, the program may be another
            call = call._replace(key=(call.key, tuple(map(is_batch_example, call.leaves)), in_making_batch()))
        entry = self._cache.get(call.key)
        if entry is None:
            return self._cache.make(call.key, partial(self._new_entry, call, args, kwargs)), call
        entry.used = True
        return entry, call

    def _new_entry(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        info = self._binder.describe(call, args, kwargs)
        return Entry(call.without_values(), info, self._transform.prepare(self._binder, info, args, kwargs))

    def _try(
        self,
        program: Program,
        objects: list[Any],
        as_tensors: bool,
        counted: bool = False,
        plain: Callable[[], PlainCheck | None] | None = None,
    ) -> Any:
        """Run a program if what it relies on still holds; MISS when it does not, or the path is not known.

        Counters were `counted` if the user's function itself has just run for this call. `plain` gives what plain NumPy
        comes to, to be compared with the outputs.
        """
        read = program.read(objects)
        if read is None:
            return MISS
        rec = CURRENT.get()
        if rec is not None and rec.trace is not None and rec.trace.captures is not None:
            read = program.follow(read, rec.trace.captures)
        outputs = program.run([value_of(x) for x in read])
        if outputs is None:
            return MISS
        path = program.path_taken(outputs)
        if plain is not None:
            self._compare(path, outputs, plain)
        if path.unchecked is not None and rec is not None and rec.trace is not None:
            rec.trace.effects = path.unchecked
        if path.count is not None:
            if not counted:
                path.count()
            if rec is not None and rec.trace is not None:
                rec.trace.single_use_reason = f"it calls {self._name}, which counts {path.increments[0].path.label}"
        return self._given(path, read, outputs, as_tensors)

    def _given(self, path: TracedPath, read: list[Any], outputs: Any, as_tensors: bool) -> Any:
        """Return what the caller gets from these outputs: tensors, where a tape or a trace records."""
        rec = CURRENT.get()
        if path.depends_on_order and rec is not None and rec.trace is not None:
            rec.trace.note_order()
        if as_tensors or rec is not None:
            outputs = recorded_outputs(self._call_op, path, read, outputs, as_tensors)
        return path.pack(outputs)

    def _trace(self, entry: Entry, call: Call, objects: list[Any], as_tensors: bool) -> Any:
        """Record a path that is not known, compile it, and run it."""
        try:
            return self._traced(entry, call, objects, as_tensors)
        except UnsupportedError:
            if not self._transform.maps or not self._making:
                raise
            with suppress(Exception):  # examples may pick for themselves from arrays that the function makes
                return self._traced(entry, call, objects, as_tensors, refused=True)
            self._making = False  # it was something else
            raise

    def _traced(self, entry: Entry, call: Call, objects: list[Any], as_tensors: bool, refused: bool = False) -> Any:
        with entry.lock, resting_collector(), ExitStack() as at_the_end:
            if entry.retrace_reason is None:
                for program in entry.programs:  # another thread may have been here
                    found = self._try(program, objects, as_tensors)
                    if found is not MISS:
                        return found
            recorded = self._record(entry, call, objects, refused)
            at_the_end.callback(recorded.let_go)
            self._cache.misses += 1
            return self._answer(entry, recorded, objects, as_tensors)

    def _answer(self, entry: Entry, recorded: Recorded, objects: list[Any], as_tensors: bool) -> Any:
        """The result of a run, by code for it."""
        if recorded.trace.retrace_reason is not None:
            self._transform.refuse(recorded.trace.retrace_reason)
            if recorded.trace.retrace_reason != LOOKED or recorded.trace.single_use_reason is None:
                entry.retrace_reason = recorded.trace.retrace_reason
        entry.single_use_reason = recorded.trace.single_use_reason
        found = self._at_first_sight(entry, recorded, as_tensors)
        if found is not MISS:
            return found
        if entry.reason_to_record is None:
            program = entry.program_now(objects) or self._new(Program, entry)
            entry.limit(program, objects, recorded, self._name)
            if entry.retrace_reason is None:
                before = entry.programs, dict(entry.without_stub)
                grown = self._add(entry, program, objects, recorded)
                try:
                    found = self._try(grown, objects, as_tensors, counted=True, plain=lambda: recorded.plain)
                except MismatchError:
                    entry.programs, entry.without_stub = before
                    raise
                if found is not MISS:
                    return found
                # a guard on a nan, or captured state that another thread is changing
                entry.retrace_reason = "what it relied on held no longer when it had been compiled"
        return self._run_recorded(entry, recorded, objects, as_tensors)

    def _record(self, entry: Entry, call: Call, objects: list[Any], refused: bool = False) -> Recorded:
        """Run the user's function, to see what it does."""
        values = self._values(entry, call, objects)
        recorded = self._recorded(entry, call, objects, values, refused)
        self._check(entry, recorded, call.tree, values, partial(self._recorded, entry, call, objects, values, refused))
        recorded.forget_results()
        return recorded

    def _values(self, entry: Entry, call: Call, objects: list[Any]) -> list[Any]:
        """The leaves that the user's function gets."""
        leaves = iter(objects)
        values = [next(leaves) if moving else x for x, moving in zip(call.leaves, call.dynamic)]
        return self._transform.examples(values, entry.plan)

    def _check(
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

    def _compare(self, path: TracedPath, outputs: Any, plain: Callable[[], PlainCheck | None]) -> None:
        """Compare the outputs of a path with plain NumPy, if they hold the function's results."""
        at = self._transform.results_at
        if at is None or path.unchecked is not None or settings.fast_math:
            return
        found = plain()
        if found is not None and found.unchecked is None:
            found.generated(path, outputs, at)
            if found.wrt and settings.check == "every":
                found.gradient(path, outputs[len(path.forward.outputs) + at :])

    def _recorded(self, entry: Entry, call: Call, objects: list[Any], values: list[Any], refused: bool) -> Recorded:
        """Record one run of the function.

        A run that looks at integers, or that was refused as a batch, is recorded once more as `trace.making` does it.
        """
        leaves = iter(objects)
        given = [next(leaves) if moving else x for x, moving in zip(call.leaves, call.dynamic)]
        batched = self._transform.batched(given, entry.plan)
        run = partial(
            run_traced,
            self._function,
            call.tree,
            values,
            call.dynamic,
            entry.info.names,
            merges=self._transform.merges,
        )
        if in_making_batch():
            try:
                return run(batched, making=True)
            except Exception:  # what the function does with its arrays may be nothing that tensors do: then without
                return run(batched)
        recorded = run(() if refused else batched)
        only_looked = recorded.trace.retrace_reason == LOOKED and recorded.trace.single_use_reason is None
        if refused or (only_looked and self._making):
            with without_counting(recorded.captures.increments):
                made = _as_good(partial(run, batched, making=True), recorded)
            if made is not None:
                recorded.let_go()
                return made
            if refused:
                raise UnsupportedError("it does another thing with tensors")  # `_trace` tells the first refusal
            self._making = False
        return recorded

    def _at_first_sight(self, entry: Entry, recorded: Recorded, as_tensors: bool) -> Any:
        """The result, where nothing that is known was asked for in the last calls, and this run is new as well."""
        calls = self._calls
        if not calls.defers_compilation(self._cache.hits + self._stubs.hits) or as_tensors or CURRENT.get() is not None:
            return MISS
        if entry.has_seen(RecordedProgram.key(recorded)):
            calls.in_a_row = 0
            return MISS
        found, too_new = self._transform.at_first_sight(recorded, entry.info, entry.plan)
        calls.failed_tries += too_new
        return found

    def _new(self, kind: type[P], entry: Entry) -> P:
        transform, plan = self._transform, entry.plan
        return kind(lambda graph, info: transform.build(graph, info, plan), self._name, entry.info)

    def _add(self, entry: Entry, program: Program, objects: list[Any], recorded: Recorded) -> Program:
        """Compile and return the program that knows one more path: this program grown, or one beside it."""
        with self._cache.lock:
            self._why = entry.reason(program, self._cache.entries.values())
        grown, before = entry.grown(program, objects)
        self._compile(entry, grown, recorded)
        entry.put(grown, before)
        return grown

    def _compile(self, entry: Entry, program: Program, recorded: Recorded) -> None:
        path = program.add(recorded, entry.info)
        path.unchecked = recorded.unchecked
        trace, words = recorded.trace, recorded.captures.clones.words
        path.depends_on_order = trace.log.depends_on_order or (trace.shows_elements and "asfortranarray" in words)
        path.pack = packer(path.template)
        self._count(program)

    def _count(self, program: Program) -> None:
        self._cache.compiled(loaded=program.compiled is not None and program.compiled.entry is not None)
        self._last = program

    def _make_stub(self, entry: Entry, objects: list[Any]) -> bool:
        """Generate the call stub of a program, now that a call of it comes again; return whether there is one now."""
        with entry.lock:
            program = next((p for p in entry.without_stub if p.read(objects) is not None), None)
            if program is None:
                return False
            before = entry.without_stub.pop(program)
        stub = fast_call(self._binder, entry.call, program, self._recovered)
        if stub is not None:
            stub.__qualname__ = getattr(self, "__qualname__", self._name)
            with self._cache.lock:
                self._stubs.add(program, stub, before)
                self.__call__ = self._stubs.first
        return stub is not None

    def _join(self, entry: Entry) -> None:
        """Compile together what was found at different times: who looks at code sees all paths in one function."""
        with entry.lock, resting_collector():
            for addition in entry.programs:
                if addition.base is not None:
                    joined = addition.joined()
                    joined.compile()
                    self._count(joined)
                    entry.put(joined, (addition.base, addition))

    def _run_recorded(self, entry: Entry, recorded: Recorded, objects: list[Any], as_tensors: bool) -> Any:
        """Run the code cached for the structure of this very run."""
        rec = CURRENT.get()
        retrace_reason = recorded.trace.retrace_reason or entry.retrace_reason
        if rec is not None and rec.trace is not None:
            if retrace_reason is not None:
                rec.trace.require_retrace(retrace_reason)
            rec.trace.single_use_reason = recorded.trace.single_use_reason or rec.trace.single_use_reason
            rec.trace.errors.ignored |= recorded.trace.errors.silenced
        key = RecordedProgram.key(recorded)
        log = recorded.trace.log
        variants = entry.recorded.get(key) or Variants(log.scalars)
        program = variants.find(log, lambda: self._compile_recorded(entry, recorded, variants.moving))
        entry.recorded[key] = variants  # of which something could be compiled
        while len(entry.recorded) > settings.cache_size:
            entry.recorded.popitem(last=False)
        path = program.paths[0]
        read = program.objects(recorded, objects)
        outputs = program.run([value_of(x) for x in read])
        self._compare(path, outputs, lambda: recorded.plain)
        return self._given(path, read, outputs, as_tensors)

    def _compile_recorded(self, entry: Entry, recorded: Recorded, moving: frozenset[int]) -> RecordedProgram:
        program = self._new(RecordedProgram, entry)
        program.moving = moving
        self._compile(entry, program, recorded)
        return program

    # -- looking ----------------------------------------------------------------------------------------------------
    def locate(self, *args: Any, **kwargs: Any) -> tuple[Entry, Program | None, TracedPath | None]:
        """The signature, program and path that a call with these arguments takes; traced when it is not known."""
        entry, call = self._entry(args, kwargs)
        objects = call.objects()
        for unknown in (True, True, False):  # a state that the first run changes is settled, mostly, in the second
            self._join(entry)
            for program in entry.programs if entry.retrace_reason is None else ():
                read = program.read(objects)
                outputs = None if read is None else program.run([value_of(x) for x in read])
                if outputs is not None:
                    return entry, program, program.path_taken(outputs)
            if entry.retrace_reason is None and unknown:
                self._trace(entry, call, objects, False)
        if not entry.recorded:
            self._trace(entry, call, objects, False)
        program = next(reversed(entry.recorded.values())).last
        return entry, program, program.paths[0]

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated code that a call with these arguments runs; without arguments, the code compiled last."""
        return Source(self._program(args, kwargs).compiled.code.source)  # type: ignore[union-attr]

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        if not args and not kwargs and self._last is not None:
            return self._last
        program = self.locate(*args, **kwargs)[1]
        assert program is not None
        return program

    def generated(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        """The compiled code that a call with these arguments runs, and the values it is called with."""
        entry, call = self._entry(args, kwargs)
        _, program, _ = self.locate(*args, **kwargs)
        read = None if program is None or program.is_retraced else program.read(call.objects())
        if program is None or program.compiled is None or read is None:
            raise TapecError(f"{self._name} is recorded anew at each call, because {entry.reason_to_record}")
        return program.compiled.code, [value_of(x) for x in read]

    def ir(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """The graph of a call: "forward" is what was recorded, "gradient" what the transform made of it, "optimized"
        what code is generated from (with all known paths)."""
        if stage not in ("forward", "gradient", "optimized"):
            raise ValueError(f"stage must be 'forward', 'gradient' or 'optimized', not {stage!r}")
        _, program, path = self.locate(*args, **kwargs)
        assert program is not None and path is not None
        if stage == "forward":
            return path.forward
        return path.target if stage == "gradient" else program.graph  # type: ignore[return-value]

    def export(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write a module of its own, for the signature of these arguments, that needs NumPy (and `math`) alone.

        Captured values are baked in as named constants; a path that was never traced is an error there.
        """
        lazy.write_module(self, path, args, kwargs)

    def __reduce__(self) -> Any:
        """Pickle the function as generated code: what it knows now, without the user's module and without tracing."""
        return lazy.pickled(self)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Return what tapec knows about a call with these arguments: paths, guards, captured state, gradients that
        vanish."""
        entry, program, path = self.locate(*args, **kwargs)
        wrt = getattr(entry.plan, "inputs", None)
        forwards = path is not None and self._transform.goes_forwards(path.forward, entry.plan)
        anew = entry.reason_to_record if program is None or program.is_retraced else None
        return lazy.explanation(self._name, entry.info, program, path, anew, self._why, wrt, forwards)

    @property
    def _name(self) -> str:
        own = getattr(self, "__name__", None) or type(self._function).__name__
        own = "function" if own == "<lambda>" else own
        return f"{own}_{self._transform.name}" if self._transform.name else own

    def cache_info(self) -> CacheInfo:
        """Return (hits, misses, compilations, size, maxsize) of the function.

        One compilation is one generated function, and `.loaded` of them came from the cache on disk.
        """
        return self._cache.info(more_hits=self._stubs.hits)

    def cache_clear(self) -> None:
        """Forget every signature."""
        with self._cache.lock:
            self._cache.clear()
            self._stubs.clear()
            self.__call__ = self._stubs.first
            self._last = None
            self._calls = Calls()

    def last_source(self) -> str | None:
        """The code compiled last; None when nothing was compiled yet."""
        return None if self._last is None or self._last.compiled is None else self._last.compiled.code.source

    def _repr_html_(self) -> str:
        return rich("function_html", self)

    def __repr__(self) -> str:
        own = getattr(self._function, "__qualname__", getattr(self._function, "__name__", self._function))
        return f"<tapec {self._transform.name or 'compile'} of {own}>"


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
