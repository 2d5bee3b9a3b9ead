"""Look at a compiled function: its generated code, its graphs, what it knows of a call, and what it has cached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapec.api.compiled import lazy
from tapec.api.compiled.call_path import CallPath
from tapec.api.compiled.packing import MISS
from tapec.api.compiled.programs.guarded_paths import TracedPath
from tapec.api.compiled.programs.path_set import Program
from tapec.api.compiled.signature import Call, value_of
from tapec.api.compiled.signature_entry import Entry, State
from tapec.errors import TapecError
from tapec.ir import Graph
from tapec.ir.text.notebook_hooks import Source, rich
from tapec.runtime.gc_pause import resting_collector
from tapec.runtime.memory_cache import CacheInfo
from tapec.tracebacks import shortens

if TYPE_CHECKING:
    from tapec.api.compiled.explain import Explanation

__all__ = ["Inspection"]


class Inspection(CallPath):
    """Shows what calls run. Who asks for a call that is not known has it recorded and compiled."""

    @shortens
    def locate(self, *args: Any, **kwargs: Any) -> tuple[Entry, Program | None, TracedPath | None]:
        """The signature, program and path that a call with these arguments takes; traced when it is not known."""
        entry, call = self._entry(args, kwargs)
        objects = call.objects()
        for runs_left in (2, 1, 0):  # a state that the first run changes is settled, mostly, in the second
            self._join(entry)
            try:
                known = self._known_path(entry, objects)
            except Exception as error:  # the function may catch it, which the code does not
                if self._recorded_after(error, args, kwargs) is MISS:
                    raise
                break
            if known is not None:
                return entry, *known
            if runs_left:
                self._compile_call(entry, call, objects)
            if entry.state is State.RETRACED:
                break
        program = next(reversed(entry.recorded.values())).last  # of the run above
        return entry, program, program.paths[0]

    def _known_path(self, entry: Entry, objects: list[Any]) -> tuple[Program, TracedPath] | None:
        """Return the program that answers a call, and its path; None where no program does."""
        for program in entry.known:
            read = program.read(objects)
            outputs = None if read is None else program.run([value_of(x) for x in read])
            if outputs is not None:
                return program, program.path_taken(outputs)
        return None

    def _compile_call(self, entry: Entry, call: Call, objects: list[Any]) -> None:
        """Record and compile a call; who looks at code does not wait until such a run comes again."""
        self._calls.in_a_row = 0
        self._record_and_answer(entry, call, objects)

    def _join(self, entry: Entry) -> None:
        """Compile together what was found at different times: who looks at code sees all paths in one function."""
        with entry.lock, resting_collector():
            for addition in entry.programs:
                if addition.base is not None:
                    joined = addition.joined()
                    joined.compile()
                    self._count(joined)
                    self._put(entry, joined, (addition.base, addition))

    @shortens
    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated code that a call with these arguments runs; without arguments, the code compiled last."""
        return Source(self._program(args, kwargs).compiled.code.source)  # type: ignore[union-attr]

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        if not args and not kwargs and self._last is not None:
            return self._last
        program = self.locate(*args, **kwargs)[1]
        assert program is not None
        return program

    @shortens
    def generated(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        """The compiled code that a call with these arguments runs, and the values it is called with."""
        entry, call = self._entry(args, kwargs)
        _, program, _ = self.locate(*args, **kwargs)
        read = None if program is None or program.is_retraced else program.read(call.objects())
        if program is None or program.compiled is None or read is None:
            raise TapecError(f"{self._name} is {State.RETRACED.value}, because {entry.why_recorded}")
        return program.compiled.code, [value_of(x) for x in read]

    @shortens
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

    @shortens
    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Return what tapec knows about a call with these arguments: paths, guards, captured state, gradients that
        vanish."""
        entry, program, path = self.locate(*args, **kwargs)
        wrt = getattr(entry.plan, "inputs", None)
        forwards = path is not None and self._transform.goes_forwards(path.forward, entry.plan)
        anew = entry.why_recorded if program is None or program.is_retraced else None
        return lazy.explanation(self._name, entry.info, program, path, anew, self._why, wrt, forwards)

    def cache_info(self) -> CacheInfo:
        """Return (hits, misses, compilations, size, maxsize) of the function.

        One compilation is one generated function, and `.loaded` of them came from the cache on disk.
        """
        return self._cache.info(more_hits=self._stub_hits)

    def last_source(self) -> str | None:
        """The code compiled last; None when nothing was compiled yet."""
        return None if self._last is None or self._last.compiled is None else self._last.compiled.code.source

    def _repr_html_(self) -> str:
        return rich("function_html", self)

    def __repr__(self) -> str:
        own = getattr(self._function, "__qualname__", getattr(self._function, "__name__", self._function))
        return f"<tapec {self._transform.name or 'compile'} of {own}>"
