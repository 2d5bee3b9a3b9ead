"""Keep what a compiled function knows: its stubs, its signatures, and their programs, which are made and run here."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from tapec.api.compiled.checks.plain_check import PlainCheck
from tapec.api.compiled.fresh.families import Family
from tapec.api.compiled.packing import MISS, packer
from tapec.api.compiled.programs.guarded_paths import TracedPath
from tapec.api.compiled.programs.path_set import Program
from tapec.api.compiled.programs.retraced import RecordedProgram
from tapec.api.compiled.recorded_outputs import recorded_outputs
from tapec.api.compiled.signature import Arguments, Call, value_of
from tapec.api.compiled.signature_entry import Entry
from tapec.api.compiled.transform import Template, Transform
from tapec.api.compiled.user_function import UserFunction
from tapec.config import code_settings, in_force
from tapec.ir import Graph, Op
from tapec.log_gradients.first_sight import Calls
from tapec.ops.core.symbol import is_batch_example
from tapec.progress import at
from tapec.runtime.memory_cache import Cache
from tapec.trace.function.trace_function import Recorded
from tapec.trace.recording_stack import CURRENT, in_batch, in_making_batch
from tapec.trace.tensor import Tensor

__all__ = ["UNKNOWN", "ProgramStore", "has_tensors"]

P = TypeVar("P", bound=Program)
UNKNOWN: Any = object()  # a family that nobody has looked for


class ProgramStore(UserFunction):
    """Holds the stubs of a function, by the types of a call, and its entries, by the key of a signature."""

    def __init__(self, function: Any, transform: Transform, static_argnums: Any, static_argnames: Any, call_op: Op):
        super().__init__(function, transform, static_argnums, static_argnames)
        self._call_op = call_op  # what a recording of a call records
        self._cache = Cache()  # entries of signatures
        self._family: Family | None = UNKNOWN
        self.cache_clear()

    def cache_clear(self) -> None:
        """Forget all code of the function, and start counting anew.

        The next call is traced, as the first one was.

        Examples
        --------
        >>> import tapec
        >>> f = tapec.grad(lambda x: x * x)
        >>> f(3.0)
        np.float64(6.0)
        >>> f.cache_clear()
        >>> f.cache_info().size
        0

        See Also
        --------
        f.cache_info : what is kept
        tapec.cache_clear : of tapes
        """
        with self._cache.lock:
            self._cache.clear()
            self._stub: Callable[..., Any] = _no_stub  # the one that answered last
            self._stubs: OrderedDict[Any, tuple[Callable[..., Any], ...]] = OrderedDict()
            self._stub_hits = 0
            self._last: Program | None = None
            self._why = ""
            self._calls = Calls()
            self._answered: dict[Any, tuple[Any, Any]] = {}  # a call that each shared stub has answered
        if self._family is not None and self._family is not UNKNOWN:
            self._family.stubs.clear()

    @property
    def _options(self) -> tuple[Any, ...]:
        """Return the options of the transform, which are equal in transforms that compute the same."""
        return (*self._transform.key, *self._static)

    # -- signatures ----------------------------------------------------------------------------------------------------
    def _entry(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, Call]:
        """Take a call apart, and find the entry of its signature."""
        given = args, kwargs
        args, kwargs = self._binder.bind(args, kwargs)
        call = self._binder.take_apart(args, kwargs)
        # in a batch, where nothing may depend on values, the program may be another
        batch = (tuple(map(is_batch_example, call.leaves)), in_making_batch()) if in_batch() else None
        call = call._replace(key=(call.key, code_settings(in_force()), batch), given=given)
        entry = self._cache.get(call.key)
        if entry is None:
            return self._cache.make(call.key, partial(self._new_entry, call, args, kwargs)), call
        entry.used = True
        return entry, call

    def _new_entry(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        info = self._binder.describe(call, args, kwargs)
        return Entry(call, info, self._transform.prepare(self._binder, info, args, kwargs))

    def _put(self, entry: Entry, program: Program, before: tuple[Program, ...]) -> None:
        """Take a program in the place of others, whose stubs go."""
        entry.put(program, before)
        gone = set(before)
        with self._cache.lock:
            self._stub = _no_stub
            for types, stubs in self._stubs.items() if gone else ():
                self._stubs[types] = tuple([s for s in stubs if s.program not in gone])  # type: ignore[attr-defined]

    # -- making programs -----------------------------------------------------------------------------------------------
    def _new(self, kind: type[P], entry: Entry) -> P:
        transform, plan = self._transform, entry.plan

        def build(graph: Graph, info: Arguments) -> tuple[Graph, Template]:
            at("transforming", len(graph.nodes), transform.name and f"({transform.name})")
            return transform.build(graph, info, plan)

        return kind(build, self._name, entry.info)

    def _compile(self, entry: Entry, program: Program, recorded: Recorded) -> None:
        path = program.add(recorded, entry.info)
        path.unchecked = recorded.unchecked
        trace, words = recorded.trace, recorded.captures.clones.words
        path.depends_on_order = trace.log.depends_on_order or (trace.shows_elements and "asfortranarray" in words)
        path.pack = packer(path.template)
        self._count(program)

    def _compile_structure(self, entry: Entry, recorded: Recorded, moving: frozenset[int]) -> RecordedProgram:
        program = self._new(RecordedProgram, entry)
        program.moving = moving
        self._compile(entry, program, recorded)
        return program

    def _count(self, program: Program) -> None:
        self._cache.compiled(loaded=program.compiled is not None and program.compiled.entry is not None)
        self._last = program

    # -- running programs ----------------------------------------------------------------------------------------------
    def _run(
        self,
        program: Program,
        objects: list[Any],
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
        trace = None if rec is None else rec.trace
        if trace is not None and trace.captures is not None:
            read = program.follow(read, trace.captures)
        outputs = program.run([value_of(x) for x in read])
        if outputs is None:
            return MISS
        path = program.path_taken(outputs)
        if plain is not None:
            self._compare_outputs(path, outputs, plain)
        if path.unchecked is not None and trace is not None:
            trace.effects = path.unchecked
        if path.count is not None:
            if not counted:
                path.count()
            if trace is not None:
                trace.single_use_reason = f"it calls {self._name}, which counts {path.increments[0].path.label}"
        return self._result(path, objects, read, outputs)

    def _result(self, path: TracedPath, objects: list[Any], read: list[Any], outputs: Any) -> Any:
        """Return what the caller gets from these outputs: tensors, where it gave some or a tape or a trace records."""
        rec, as_tensors = CURRENT.get(), has_tensors(objects)
        if path.depends_on_order and rec is not None and rec.trace is not None:
            rec.trace.note_order()
        if as_tensors or rec is not None:
            outputs = recorded_outputs(self._call_op, path, read, outputs, as_tensors)
        return path.pack(outputs)


def _no_stub(args: tuple[Any, ...], kwargs: dict[str, Any], own: Any) -> Any:
    """Take no call: the stub of a function that no stub has answered."""
    return MISS


def has_tensors(objects: list[Any]) -> bool:
    return any([type(x) is Tensor for x in objects])
