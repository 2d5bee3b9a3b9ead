"""`Compiled` is what code generation makes of a graph: a function, with its source and its cost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapec.codegen.common.loader import Space
from tapec.codegen.common.module_layout import Layout
from tapec.codegen.common.source_text import Page
from tapec.codegen.list_inputs import arguments, gathered
from tapec.codegen.schedule.emitted_cost import Cost
from tapec.ir import Graph
from tapec.ir.source_location import place_of

__all__ = ["Compiled"]


class Compiled:
    """Holds a generated function and the graph it came from; `source` is its text, made when somebody looks.

    Python's floats raise errors where NumPy gives inf and nan. A program on floats that may do so has the classes of
    these `errors`. Its `function` catches them, and answers the call by the same program `on_arrays`; `generated` is
    the function as the source has it.

    `function` takes all inputs of the graph. Those at the places in `lists` are the elements of a list each, which is
    one parameter of `generated`, and of `run`, which is the same but for errors.
    """

    __slots__ = (
        "__weakref__",
        "_all_origins",
        "_layout",
        "_make_on_arrays",
        "_on_arrays",
        "_origins",
        "_page",
        "_text",
        "cost",
        "errors",
        "function",
        "graph",
        "leading",
        "lists",
        "name",
        "run",
        "space",
        "target",
    )
    target: str  # the name of the target that wrote it
    leading: tuple[str, ...]  # the parameters that the function has before the graph's inputs

    function: Callable[..., Any]
    run: Callable[..., Any]
    lists: tuple[range, ...]
    cost: Cost  # floating point operations, bytes moved, and the most memory in use
    errors: tuple[type[Exception], ...]

    def __init__(self, graph: Graph, name: str):
        self.graph = graph
        self.name = name
        self.space = Space(name, self._source)
        self._layout = Layout()
        self._text: str | None = None
        self._page: Page | None = None
        self._origins: list[tuple[int, Any]] | None = None
        self._all_origins: list[tuple[int, tuple[Any, ...]]] | None = None
        self.errors = ()
        self.lists = ()
        self._make_on_arrays: Callable[[], Compiled] | None = None
        self._on_arrays: Compiled | None = None

    def complete(
        self,
        errors: tuple[type[Exception], ...],
        make_on_arrays: Callable[[], Compiled],
        load: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
    ) -> None:
        """Set the function, now that the namespace has the generated one; the target may `load` it in its way."""
        self.errors = errors
        self._make_on_arrays = make_on_arrays
        run = self.generated if load is None else load(self.generated)
        self.run = caught(run, errors, self.instead) if errors else run
        self.function = taking_elements(self.run, self.lists) if self.lists else self.run
        self.function.compiled = self  # type: ignore[attr-defined]  # lives, source and all, as long as the function
        self.space.register(self.function)

    @property
    def generated(self) -> Callable[..., Any]:
        """The generated function."""
        found: Callable[..., Any] = self.space.names[self.name]
        return found

    @property
    def on_arrays(self) -> Compiled:
        """The program on arrays, which is compiled when it is first asked for."""
        if self._on_arrays is None:
            assert self._make_on_arrays is not None
            self._on_arrays = self._make_on_arrays()
        return self._on_arrays

    def instead(self, *args: Any) -> Any:
        """Return what the program on arrays gives for arguments with which the one on floats has raised an error."""
        return self.on_arrays.run(*self.for_arrays(args))

    def for_arrays(self, args: Iterable[Any]) -> list[Any]:
        """Return the arguments of the program on floats as those of the one on arrays."""
        inputs = gathered(self.graph.inputs, self.lists)
        scalars = [type(i) is not list and i.type.shape == () and not i.type.weak for i in inputs]
        return [i.type.dtype.type(x) if k else x for i, x, k in zip(inputs, args, scalars, strict=True)]

    @property
    def constants(self) -> dict[str, Any]:
        """Return the arrays that the code refers to by name."""
        return self.space.constants

    @property
    def helpers(self) -> dict[str, Callable[..., Any]]:
        """Return the functions that the code calls besides NumPy's; `helper_text` gives their source."""
        return self.space.helpers

    @property
    def source(self) -> str:
        """Return the generated source."""
        if self._text is None:
            self._page = self._layout.page()
            self._text = self._page.text()
            self._origins, self._all_origins = self._layout.origins(), self._layout.all_origins()
            self._layout = Layout()
        return self._text

    @property
    def lined_source(self) -> str:
        """Return the generated source with the user's line beside each."""
        assert self.source and self._page is not None
        return self._page.text(lines=True)

    def _source(self) -> str:
        return self.source

    @property
    def lines(self) -> int:
        """Return how many lines have been compiled so far."""
        return self._layout.next - 1

    def origins(self) -> list[tuple[int, Any]]:
        """Return the first line of each statement compiled so far, and the user's line that it came from."""
        return self._layout.origins() if self._origins is None else self._origins

    def all_origins(self) -> list[tuple[int, tuple[Any, ...]]]:
        """Return the first line of each statement of the source, and the origins of all that it computes."""
        assert self.source
        return self._all_origins or []

    def origin_at(self, line: int) -> Any:
        """Return the user's line that a line of the source came from; None when there is none."""
        if self._origins is None:
            self._origins = self._layout.origins()
        at = bisect_right(self._origins, line, key=lambda entry: entry[0]) - 1
        return self._origins[at][1] if at >= 0 else None

    def annotate(self, error: BaseException) -> None:
        """Add a note to an error from inside the function: which line of the user the failing line came from."""
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.space.file:
                origin = self.origin_at(trace.tb_lineno)
                if origin is not None:
                    place = place_of(origin)
                    error.add_note(f"in code generated for {place.short}   {place.text}".rstrip())
                return
            trace = trace.tb_next
        if self._on_arrays is not None:
            self._on_arrays.annotate(error)

    def __repr__(self) -> str:
        return f"<compiled {self.name}>"


def taking_elements(run: Callable[..., Any], lists: Sequence[range]) -> Callable[..., Any]:
    """Return a function that takes what `run` takes, but the elements of lists one by one."""

    def function(*args: Any) -> Any:
        return run(*arguments(args, lists))

    return function


def caught(
    run: Callable[..., Any], errors: tuple[type[Exception], ...], instead: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function whose calls `instead` answers where `run` raises one of these errors."""

    def function(*args: Any) -> Any:
        try:
            return run(*args)
        except errors:
            pass
        return instead(*args)

    return function
