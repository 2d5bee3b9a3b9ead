"""Look at a compiled function: its generated code, its graphs, what it knows of a call, and what it has cached."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tapec.api.compiled import lazy
from tapec.api.compiled.call_path import CallPath
from tapec.api.compiled.call_stub import call_types
from tapec.api.compiled.packing import MISS
from tapec.api.compiled.program_store import UNKNOWN
from tapec.api.compiled.programs.guarded_paths import TracedPath
from tapec.api.compiled.programs.path_set import Program
from tapec.api.compiled.signature import Call, value_of
from tapec.api.compiled.signature_entry import FIRST_CALL, Entry, State
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
        """Return the signature, the program and the path that a call with these arguments takes.

        It is for tools, such as tapec's own commands: what it returns are objects from inside tapec, which may
        change. A call that is not known is traced and compiled.

        Parameters
        ----------
        *args : object
            The arguments of the call.
        **kwargs : object
            Its keyword arguments.

        Returns
        -------
        entry : object
            What is known of the signature: `entry.info.names` and `entry.info.types` are its inputs.
        program : object or None
            The program of all known paths: `program.graph` is its graph, `program.compiled` what is compiled of it.
        path : object or None
            The path that this call takes: `path.forward` is what was recorded, `path.guards` the tests that chose it.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> f = tapec.grad(lambda x: np.sum(x**2))
        >>> entry, program, path = f.locate(np.ones(3))
        >>> entry.info.names, len(program.paths), path.guards
        (['x'], 1, [])

        See Also
        --------
        f.explain : the same, for people
        """
        self._record_answered()
        entry, call = self._entry(args, kwargs)
        objects = call.objects()
        shows_last = entry.state is State.RETRACED and entry.recorded  # to run it again might change captured state
        # a state that the first run changes is settled, mostly, in the second
        for runs_left in () if shows_last else (2, 1, 0):
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
        program = next(reversed(entry.recorded.values())).last  # of the last run
        return entry, program, program.paths[0]

    def _record_answered(self) -> None:
        """Record calls that were answered by what functions of the same code share: who looks sees programs of this
        function."""
        while self._answered:
            args, kwargs = self._answered.popitem()[1]
            with suppress(Exception):  # the call was answered; what it would come to now is not asked
                self.locate(*args, **kwargs)

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
    def source(self, *args: Any, target: str | None = None, lines: bool = False, **kwargs: Any) -> str:
        """Return the generated code that a call with these arguments runs, as text.

        A call that is not known is traced and compiled, but its result is not given. Of a function that is recorded
        anew at each call it is the code of its last run: another run might change what the function has captured.

        Parameters
        ----------
        *args : object
            The arguments of the call. Without any, it is the code that was compiled last.
        target : str or None, default None
            Who writes the code: "numpy" on arrays, also on tiny ones, "floats" on Python's numbers, "portable" for any
            library of the array API. None is what runs. A function that has a parameter `target` gets this.
        lines : bool, default False
            Whether each line of yours is quoted beside what computes it. A parameter of this name gets it.
        **kwargs : object
            Its keyword arguments.

        Returns
        -------
        str
            The source of a Python function. Comments name the line of yours where code begins to compute it, and say
            the mathematics of a derivative that does not look like one; one at the head says for which shapes the code
            holds, unless it is right for all. Its last parameters have the default numbers of your function.

        Raises
        ------
        UnsupportedError
            If the target does not write such programs, or one of the operations.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> @tapec.grad
        ... def f(x):
        ...     return np.sum(x**2)
        >>> print(f.source(np.ones(3)))
        # numpy: 3 flop, 48 B moved, at most 24 B of memory
        def f_grad(x):
            d_x = 2 * x  # ...
            return d_x,

        See Also
        --------
        f.last_source : without arguments, and None where nothing is compiled
        f.export : as a module that runs without tapec
        f.ir : the graph that it is generated from
        """
        target = self._own_target(target, kwargs)
        if lines and "lines" in self._binder.names:
            kwargs["lines"], lines = lines, False
        program = self._program(args, kwargs)
        compiled = program.compiled
        assert compiled is not None
        code = compiled.code if target is None else compiled.renamed(target=target)
        return Source(self._shown(code, program, target, lines))

    def _shown(self, code: Any, program: Program, target: str | None, lines: bool) -> str:
        return lazy.shown(code, program, target, self._binder.signature, lines)

    def _own_target(self, target: Any, kwargs: dict[str, Any]) -> str | None:
        """Return the target that was asked for; it is an argument where the function has a parameter of this name."""
        if target is not None and "target" in self._binder.names:
            kwargs["target"], target = target, None
        return target

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
        self._record_answered()
        if not args and not kwargs and self._last is not None:
            return self._last
        program = self.locate(*args, **kwargs)[1]
        assert program is not None
        return program

    @shortens
    def generated(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        """Return the compiled code that a call with these arguments runs, and the values that it is called with.

        It is for tools, such as profilers, that run the generated code themselves.

        Parameters
        ----------
        *args : object
            The arguments of the call.
        **kwargs : object
            Its keyword arguments.

        Returns
        -------
        code : object
            `code.function` is the generated function, which returns a tuple, `code.source` its text.
        values : list
            Arrays and numbers: the inputs among the arguments, and captured state as it is now.

        Raises
        ------
        TapecError
            If such calls are recorded anew each time, so that no code stays.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> f = tapec.grad(lambda x: np.sum(x**2))
        >>> code, values = f.generated(np.ones(3))
        >>> code.function(*values)
        (array([2., 2., 2.]),)

        See Also
        --------
        f.source : its text
        """
        entry, call = self._entry(args, kwargs)
        _, program, _ = self.locate(*args, **kwargs)
        read = None if program is None or program.is_retraced else program.read(call.objects())
        if program is None or program.compiled is None or read is None:
            raise TapecError(f"{self._name} is {State.RETRACED.value}, because {entry.why_recorded}")
        return program.compiled.code, [value_of(x) for x in read]

    @shortens
    def ir(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """Return the graph of a call with these arguments: the operations that it consists of.

        Parameters
        ----------
        *args : object
            The arguments of the call.
        stage : str, default 'optimized'
            "forward" is what was recorded of the function, "gradient" what the transform made of it, "optimized" what
            the passes left, with all known paths, "target" what code is written from: what the target's own passes
            made of that, such as the sums of products that NumPy has functions for, or Python's numbers.
        **kwargs : object
            The keyword arguments of the call.

        Returns
        -------
        tapec.ir.Graph
            The graph. `str` of it is its text.

        Raises
        ------
        ValueError
            If the stage is another word.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> @tapec.grad
        ... def f(x):
        ...     return np.sum(np.exp(x))
        >>> print(f.ir(np.ones(3), stage="forward"))
        graph f_grad(%x: f64[3]) {
          %0: f64[3] = exp %x
          %1: f64[] = sum %0 {axis=(0,), keepdims=False}
          return %1
        }

        See Also
        --------
        f.source : the code
        f.explain : the reasons
        """
        if stage not in ("forward", "gradient", "optimized", "target"):
            raise ValueError(f"stage must be 'forward', 'gradient', 'optimized' or 'target', not {stage!r}")
        _, program, path = self.locate(*args, **kwargs)
        assert program is not None and path is not None
        if stage == "forward":
            return path.forward
        if stage == "target" and program.compiled is not None:
            return program.compiled.written
        return path.target if stage == "gradient" else program.graph  # type: ignore[return-value]

    @shortens
    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Return what tapec knows about a call with these arguments.

        It tells the paths and the tests that choose between them, captured state, numbers that were written into the
        code, arguments whose gradient vanishes and why, why the function compiled last, and what a call costs.

        Parameters
        ----------
        *args : object
            The arguments of the call.
        **kwargs : object
            Its keyword arguments.

        Returns
        -------
        Explanation
            `print` shows it, and its attributes have the parts.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> @tapec.grad
        ... def f(x):
        ...     return np.sum(np.exp(x))
        >>> print(f.explain(np.ones(3)))
        f_grad
          arguments
            x: f64[3]
          gradients
            x: flows
          last compiled because it was called for the first time
          cost
            2 nodes, 1 after optimisation, 1 written
            3 flop, 48 B moved, at most 24 B of memory

        See Also
        --------
        f.source : the code
        f.ir : the graph
        """
        entry, program, path = self.locate(*args, **kwargs)
        wrt = getattr(entry.plan, "inputs", None)
        forwards = path is not None and self._transform.goes_forwards(path.forward, path.info, entry.plan)
        anew = entry.why_recorded if program is None or program.is_retraced else None
        why = self._why if self._why != FIRST_CALL else f"{FIRST_CALL}{self._unlike_others(args, kwargs)}"
        return lazy.explanation(self._name, entry.info, program, path, anew, why, wrt, forwards)

    def _unlike_others(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Say what is another one than in a function of the same code that is known."""
        family = self._family
        known = () if family is None or family is UNKNOWN else family.stubs.get(call_types(args, kwargs), ())
        for stub in known:
            difference = stub.difference(args, kwargs, self)  # type: ignore[attr-defined]
            if difference is not None:
                return f", and {difference} is another than in a function of the same code before"
        return ""

    def cache_info(self) -> CacheInfo:
        """Return how often known code answered, how often the function was recorded, and how much is compiled and kept.

        Returns
        -------
        CacheInfo
            The five counts, and `loaded`: how many compilations came from the cache on disk.

        Examples
        --------
        >>> import tapec
        >>> f = tapec.grad(lambda x: x * x)
        >>> f(3.0), f(4.0)
        (np.float64(6.0), np.float64(8.0))
        >>> f.cache_info()
        CacheInfo(hits=1, misses=1, compilations=1, size=1, maxsize=1024)

        See Also
        --------
        f.cache_clear : forget it all
        tapec.cache_info : of tapes
        tapec.testing.assert_compiles : in a test
        """
        return self._cache.info(more_hits=self._stub_hits)

    def last_source(self) -> str | None:
        """Return the code that was compiled last, as text; None when nothing was compiled yet.

        It traces and compiles nothing, unlike `source`.

        Returns
        -------
        str or None
            The source of a Python function.

        Examples
        --------
        >>> import tapec
        >>> f = tapec.grad(lambda x: x * x)
        >>> print(f.last_source())
        None

        See Also
        --------
        f.source : for the arguments of a call
        """
        self._record_answered()
        return None if self._last is None or self._last.compiled is None else self._last.compiled.code.source

    def _repr_html_(self) -> str:
        return rich("function_html", self)

    def __repr__(self) -> str:
        own = getattr(self._function, "__qualname__", getattr(self._function, "__name__", self._function))
        return f"<tapec {self._transform.name or 'compile'} of {own}>"
