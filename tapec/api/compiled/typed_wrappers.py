"""Type the decorators for checkers and editors: a call takes what `f` takes, and `f.source()` is known.

A transform is written as a function of anything, `grad(function=None, argnums=0, ...)`, because it serves as `@grad`,
`@grad(argnums=1)` and `grad(f, argnums=1)` alike. What marks it here tells checkers so; when it runs, it does no more
than let errors leave the transform with a short traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapec.tracebacks import shortens

__all__ = ["gives_the_same", "gives_the_same_and_more", "takes_others", "takes_the_same"]

if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property
    from os import PathLike
    from typing import Concatenate, ParamSpec, Protocol, TypeVar, overload

    from tapec.api.compiled.explain import Explanation
    from tapec.ir import Graph
    from tapec.runtime.memory_cache import CacheInfo

    P = ParamSpec("P")  # what the user's function takes
    Q = ParamSpec("Q")  # what else the transform takes
    R = TypeVar("R")
    Result = TypeVar("Result", covariant=True)
    Method = classmethod[Any, Any, Any] | property | cached_property[Any]

    class Compiled(Protocol[P, Result]):
        """Runs a function as generated code. The classes that do so have the whole docstrings."""

        __name__: str

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...
        @overload
        def __get__(self, owner: None, kind: type | None = None, /) -> Compiled[P, Result]: ...
        @overload
        def __get__(
            self: Compiled[Concatenate[Any, Q], Result], owner: object, kind: type | None = None, /
        ) -> Compiled[Q, Result]: ...
        def source(self, *args: Any, **kwargs: Any) -> str:
            """Return the generated code that a call with these arguments runs, as text."""

        def ir(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
            """Return the graph of a call with these arguments: the operations that it consists of."""

        def explain(self, *args: Any, **kwargs: Any) -> Explanation:
            """Return what tapec knows about a call with these arguments."""

        def export(self, path: str | PathLike[str], *args: Any, **kwargs: Any) -> None:
            """Write a module that does what a call with these arguments does, and needs NumPy (and `math`) alone."""

        def cache_info(self) -> CacheInfo:
            """Return how often known code answered, and how much is compiled and kept."""

        def cache_clear(self) -> None:
            """Forget all code of the function, and start counting anew."""

    class GivesTheSame(Protocol[Q]):
        @overload
        def __call__(self, function: Method, /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
        @overload
        def __call__(self, function: Callable[P, R], /, *args: Q.args, **kwargs: Q.kwargs) -> Compiled[P, R]: ...
        @overload
        def __call__(
            self, function: None = None, /, *args: Q.args, **kwargs: Q.kwargs
        ) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...

    class GivesTheSameAndMore(Protocol[Q]):
        @overload
        def __call__(self, function: Method, /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
        @overload
        def __call__(
            self, function: Callable[P, R], /, *args: Q.args, **kwargs: Q.kwargs
        ) -> Compiled[P, tuple[R, Any]]: ...
        @overload
        def __call__(
            self, function: None = None, /, *args: Q.args, **kwargs: Q.kwargs
        ) -> Callable[[Callable[P, R]], Compiled[P, tuple[R, Any]]]: ...

    class TakesTheSame(Protocol[Q]):
        @overload
        def __call__(self, function: Method, /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
        @overload
        def __call__(self, function: Callable[P, Any], /, *args: Q.args, **kwargs: Q.kwargs) -> Compiled[P, Any]: ...
        @overload
        def __call__(
            self, function: None = None, /, *args: Q.args, **kwargs: Q.kwargs
        ) -> Callable[[Callable[P, Any]], Compiled[P, Any]]: ...

    class TakesOthers(Protocol[Q]):
        @overload
        def __call__(self, function: Method, /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
        @overload
        def __call__(
            self, function: Callable[..., Any], /, *args: Q.args, **kwargs: Q.kwargs
        ) -> Compiled[..., Any]: ...
        @overload
        def __call__(
            self, function: None = None, /, *args: Q.args, **kwargs: Q.kwargs
        ) -> Callable[[Callable[..., Any]], Compiled[..., Any]]: ...

    def gives_the_same(transform: Callable[Concatenate[Any, Q], Any]) -> GivesTheSame[Q]:
        """Declare that the result takes the arguments of the function, and gives what the function gives."""

    def gives_the_same_and_more(transform: Callable[Concatenate[Any, Q], Any]) -> GivesTheSameAndMore[Q]:
        """Declare that the result takes the arguments of the function, and gives a pair: its result and something
        else."""

    def takes_the_same(transform: Callable[Concatenate[Any, Q], Any]) -> TakesTheSame[Q]:
        """Declare that the result takes the arguments of the function, and gives something else."""

    def takes_others(transform: Callable[Concatenate[Any, Q], Any]) -> TakesOthers[Q]:
        """Declare that the result takes other arguments, and gives something else."""

else:
    # four declarations for checkers, one function when it runs
    gives_the_same = gives_the_same_and_more = takes_the_same = takes_others = shortens
