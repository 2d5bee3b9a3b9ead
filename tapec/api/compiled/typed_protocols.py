"""Say what transforms return, for checkers and editors: `grad(f)(x)` has the type of `x`.

A checker knows the types of the first two parameters of a function, so gradients with respect to these are typed, by
`ByFirst` and `BySecond`: a gradient has the structure of the argument. Names and positions beyond give Any, and so
does a parameter without an annotation. A call that gives the first argument by name is allowed, and not checked.

Nothing imports this module when a program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from os import PathLike
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypedDict, TypeVar, Unpack, overload

import numpy as np

from tapec.api.compiled.explain import Explanation
from tapec.ir import Graph
from tapec.runtime.memory_cache import CacheInfo

__all__ = [
    "ByFirst",
    "BySecond",
    "Compiled",
    "GivesArrays",
    "GivesGradient",
    "GivesProduct",
    "GivesPullback",
    "GivesTangent",
    "GivesTangentMap",
    "GivesTheSame",
    "GivesValueAndGradient",
    "TakesBatch",
    "TakesOthers",
]

# bound=Any: so pyright lets the body of a lambda do whatever it does with a parameter
A = TypeVar("A", bound=Any)  # the type of the first parameter
B = TypeVar("B", bound=Any)  # that of the second
P = ParamSpec("P")  # the parameters of the user's function, or those that follow
Q = ParamSpec("Q")  # what else a transform takes
R = TypeVar("R")
Aux = TypeVar("Aux")
Result = TypeVar("Result", covariant=True)
Bound = TypeVar("Bound", covariant=True)  # what a method returns: its first parameter, `self`, is no argument
First = TypeVar("First", contravariant=True)
Second = TypeVar("Second", contravariant=True)

Array = np.ndarray[Any, Any]
Number = float | complex | np.number[Any]
Numbers = TypeVar("Numbers", bound=Array)
Method: TypeAlias = "classmethod[Any, Any, Any] | property | cached_property[Any]"


# -- compiled functions -----------------------------------------------------------------------------------------------
class Inspected(Protocol):
    """Has the methods of compiled functions. The classes that have them have the whole docstrings."""

    __name__: str

    def source(self, *args: Any, target: str | None = None, lines: bool = False, **kwargs: Any) -> str:
        """Return the generated code that a call with these arguments runs, as text."""
        ...

    def ir(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """Return the graph of a call with these arguments: the operations that it consists of."""
        ...

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Return what tapec knows about a call with these arguments."""
        ...

    def export(self, path: str | PathLike[str], *args: Any, target: str | None = None, **kwargs: Any) -> None:
        """Write a module that does what a call with these arguments does, and needs NumPy (and `math`) alone."""
        ...

    def cache_info(self) -> CacheInfo:
        """Return how often known code answered, and how much is compiled and kept."""
        ...

    def cache_clear(self) -> None:
        """Forget all code of the function, and start counting anew."""
        ...


class Compiled(Inspected, Protocol[P, Result]):
    """Runs a function as generated code."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...
    @overload
    def __get__(self, owner: None, kind: type | None = None, /) -> Compiled[P, Result]: ...
    @overload
    def __get__(
        self: Compiled[Concatenate[Any, Q], Result], owner: object, kind: type | None = None, /
    ) -> Compiled[Q, Result]: ...


class ByFirst(Inspected, Protocol[First, P, Result, Bound]):
    """Runs a transform of a function whose first parameter is known."""

    @overload
    def __call__(self, first: First, /, *args: P.args, **kwargs: P.kwargs) -> Result: ...
    @overload
    def __call__(self, /, **kwargs: Any) -> Result: ...
    @overload
    def __get__(self, owner: None, kind: type | None = None, /) -> ByFirst[First, P, Result, Bound]: ...
    @overload
    def __get__(self, owner: object, kind: type | None = None, /) -> Compiled[P, Bound]: ...


class BySecond(Inspected, Protocol[First, Second, P, Result, Bound]):
    """Runs a transform of a function whose first two parameters are known."""

    @overload
    def __call__(self, first: First, second: Second, /, *args: P.args, **kwargs: P.kwargs) -> Result: ...
    @overload
    def __call__(self, first: First, /, **kwargs: Any) -> Result: ...
    @overload
    def __call__(self, /, **kwargs: Any) -> Result: ...
    @overload
    def __get__(self, owner: None, kind: type | None = None, /) -> BySecond[First, Second, P, Result, Bound]: ...
    @overload
    def __get__(self, owner: object, kind: type | None = None, /) -> ByFirst[Second, P, Bound, Any]: ...


# -- transforms: `compile`, and what takes and returns anything -------------------------------------------------------
class GivesTheSame(Protocol[Q]):
    """Makes functions that take and return what the function does."""

    @overload
    def __call__(self, function: Method, /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
    @overload
    def __call__(self, function: Callable[P, R], /, *args: Q.args, **kwargs: Q.kwargs) -> Compiled[P, R]: ...
    @overload
    def __call__(
        self, function: None = None, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...


class TakesOthers(Protocol[Q]):
    """Makes functions that take other arguments, and return something else."""

    @overload
    def __call__(self, function: Method, /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
    @overload
    def __call__(self, function: Callable[..., Any], /, *args: Q.args, **kwargs: Q.kwargs) -> Compiled[..., Any]: ...
    @overload
    def __call__(
        self, function: None = None, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Callable[[Callable[..., Any]], Compiled[..., Any]]: ...


class TakesBatch(Protocol[Q]):
    """Makes functions of a batch: what returned an array or a number returns an array."""

    @overload
    def __call__(self, function: Method, /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
    @overload
    def __call__(
        self, function: Callable[..., Numbers], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Compiled[..., Numbers]: ...
    @overload
    def __call__(
        self, function: Callable[..., Number], /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Compiled[..., Array]: ...
    @overload
    def __call__(self, function: Callable[..., Any], /, *args: Q.args, **kwargs: Q.kwargs) -> Compiled[..., Any]: ...
    @overload
    def __call__(
        self, function: None = None, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Callable[[Callable[..., Any]], Compiled[..., Any]]: ...


# -- transforms: gradients --------------------------------------------------------------------------------------------
class Options(TypedDict, total=False):
    holomorphic: bool
    static_argnums: Any
    static_argnames: Any


class OptionsAndAux(Options, total=False):
    has_aux: bool


class GradientByFirst(Protocol):
    @overload
    def __call__(self, function: Method, /) -> Any: ...
    @overload
    def __call__(self, function: Callable[Concatenate[A, P], Any], /) -> ByFirst[A, P, A, Any]: ...


class GradientBySecond(Protocol):
    @overload
    def __call__(self, function: Method, /) -> Any: ...
    @overload
    def __call__(self, function: Callable[Concatenate[A, B, P], Any], /) -> BySecond[A, B, P, B, Any]: ...


class GradientByBoth(Protocol):
    @overload
    def __call__(self, function: Method, /) -> Any: ...
    @overload
    def __call__(self, function: Callable[Concatenate[A, B, P], Any], /) -> BySecond[A, B, P, tuple[A, B], Any]: ...


class Gradient(Protocol):
    @overload
    def __call__(self, function: Method, /) -> Any: ...
    @overload
    def __call__(self, function: Callable[P, Any], /) -> Compiled[P, Any]: ...


class GivesGradient(Protocol):
    """Makes gradients: of the type of the argument."""

    @overload
    def __call__(self, function: Method, /, argnums: Any = 0, **options: Unpack[OptionsAndAux]) -> Any: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[A, P], tuple[Any, Aux]],
        /,
        argnums: Literal[0] = 0,
        *,
        has_aux: Literal[True],
        **options: Unpack[Options],
    ) -> ByFirst[A, P, tuple[A, Aux], Any]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, P], Any], /, argnums: Literal[0] = 0, **options: Unpack[Options]
    ) -> ByFirst[A, P, A, Any]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, P], Any], /, argnums: tuple[Literal[0]], **options: Unpack[Options]
    ) -> ByFirst[A, P, tuple[A], Any]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, B, P], Any], /, argnums: Literal[1], **options: Unpack[Options]
    ) -> BySecond[A, B, P, B, Any]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[A, B, P], Any],
        /,
        argnums: tuple[Literal[0], Literal[1]],
        **options: Unpack[Options],
    ) -> BySecond[A, B, P, tuple[A, B], Any]: ...
    @overload
    def __call__(
        self, function: Callable[P, Any], /, argnums: Any, has_aux: bool = False, **options: Unpack[Options]
    ) -> Compiled[P, Any]: ...
    @overload
    def __call__(
        self, function: Callable[P, Any], /, *, has_aux: bool, **options: Unpack[Options]
    ) -> Compiled[P, Any]: ...
    @overload
    def __call__(
        self, function: None = None, /, argnums: Literal[0] = 0, **options: Unpack[Options]
    ) -> GradientByFirst: ...
    @overload
    def __call__(
        self, function: None = None, /, *, argnums: Literal[1], **options: Unpack[Options]
    ) -> GradientBySecond: ...
    @overload
    def __call__(
        self, function: None = None, /, *, argnums: tuple[Literal[0], Literal[1]], **options: Unpack[Options]
    ) -> GradientByBoth: ...
    @overload
    def __call__(
        self, function: None = None, /, argnums: Any = 0, has_aux: bool = False, **options: Unpack[Options]
    ) -> Gradient: ...


# -- transforms: values and gradients ---------------------------------------------------------------------------------
class ValueAndGradientByFirst(Protocol):
    @overload
    def __call__(self, function: Method, /) -> Any: ...
    @overload
    def __call__(self, function: Callable[Concatenate[A, P], R], /) -> ByFirst[A, P, tuple[R, A], tuple[R, Any]]: ...


class ValueAndGradientBySecond(Protocol):
    @overload
    def __call__(self, function: Method, /) -> Any: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, B, P], R], /
    ) -> BySecond[A, B, P, tuple[R, B], tuple[R, Any]]: ...


class ValueAndGradientByBoth(Protocol):
    @overload
    def __call__(self, function: Method, /) -> Any: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, B, P], R], /
    ) -> BySecond[A, B, P, tuple[R, tuple[A, B]], tuple[R, Any]]: ...


class ValueAndGradient(Protocol):
    @overload
    def __call__(self, function: Method, /) -> Any: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Compiled[P, tuple[R, Any]]: ...


class GivesValueAndGradient(Protocol):
    """Makes pairs of what the function returns, and its gradient."""

    @overload
    def __call__(self, function: Method, /, argnums: Any = 0, **options: Unpack[OptionsAndAux]) -> Any: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, P], R], /, argnums: Literal[0] = 0, **options: Unpack[OptionsAndAux]
    ) -> ByFirst[A, P, tuple[R, A], tuple[R, Any]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, P], R], /, argnums: tuple[Literal[0]], **options: Unpack[OptionsAndAux]
    ) -> ByFirst[A, P, tuple[R, tuple[A]], tuple[R, Any]]: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, B, P], R], /, argnums: Literal[1], **options: Unpack[OptionsAndAux]
    ) -> BySecond[A, B, P, tuple[R, B], tuple[R, Any]]: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[A, B, P], R],
        /,
        argnums: tuple[Literal[0], Literal[1]],
        **options: Unpack[OptionsAndAux],
    ) -> BySecond[A, B, P, tuple[R, tuple[A, B]], tuple[R, Any]]: ...
    @overload
    def __call__(
        self, function: Callable[P, R], /, argnums: Any, has_aux: bool = False, **options: Unpack[Options]
    ) -> Compiled[P, tuple[R, Any]]: ...
    @overload
    def __call__(
        self, function: None = None, /, argnums: Literal[0] = 0, **options: Unpack[OptionsAndAux]
    ) -> ValueAndGradientByFirst: ...
    @overload
    def __call__(
        self, function: None = None, /, *, argnums: Literal[1], **options: Unpack[OptionsAndAux]
    ) -> ValueAndGradientBySecond: ...
    @overload
    def __call__(
        self, function: None = None, /, *, argnums: tuple[Literal[0], Literal[1]], **options: Unpack[OptionsAndAux]
    ) -> ValueAndGradientByBoth: ...
    @overload
    def __call__(
        self, function: None = None, /, argnums: Any = 0, has_aux: bool = False, **options: Unpack[Options]
    ) -> ValueAndGradient: ...


# -- transforms: Jacobians, and products with them --------------------------------------------------------------------
class GivesArrays(Protocol[Q]):
    """Makes Jacobians and Hessians: arrays, where the function takes an array and returns one, or a number."""

    @overload
    def __call__(self, function: Method, /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
    @overload
    def __call__(
        self,
        function: Callable[Concatenate[Numbers, P], Array | Number],
        /,
        argnums: Literal[0] = 0,
        *,
        static_argnums: Any = (),
        static_argnames: Any = (),
    ) -> ByFirst[Numbers, P, Array, Any]: ...
    @overload
    def __call__(self, function: Callable[P, Any], /, *args: Q.args, **kwargs: Q.kwargs) -> Compiled[P, Any]: ...
    @overload
    def __call__(
        self, function: None = None, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Callable[[Callable[P, Any]], Compiled[P, Any]]: ...


class GivesProduct(Protocol[Q]):
    """Makes products with a Hessian: of the type of the first argument."""

    @overload
    def __call__(self, function: Method, /, *args: Q.args, **kwargs: Q.kwargs) -> Any: ...
    @overload
    def __call__(
        self, function: Callable[Concatenate[A, ...], Any], /, argnums: Literal[0] = 0
    ) -> Compiled[..., A]: ...
    @overload
    def __call__(self, function: Callable[..., Any], /, *args: Q.args, **kwargs: Q.kwargs) -> Compiled[..., Any]: ...
    @overload
    def __call__(
        self, function: None = None, /, *args: Q.args, **kwargs: Q.kwargs
    ) -> Callable[[Callable[..., Any]], Compiled[..., Any]]: ...


class PulledBack(Protocol[Result]):
    def __call__(self, cotangent: Any) -> Result: ...


class GivesPullback(Protocol):
    """Returns what the function does, and a function from its cotangent to those of the arguments."""

    @overload
    def __call__(
        self,
        function: Callable[..., tuple[R, Aux]],
        *primals: Any,
        has_aux: Literal[True],
        static_argnums: Any = (),
        static_argnames: Any = (),
    ) -> tuple[R, PulledBack[Any], Aux]: ...
    @overload
    def __call__(
        self,
        function: Callable[..., R],
        first: A,
        /,
        *,
        has_aux: Literal[False] = False,
        static_argnums: Any = (),
        static_argnames: Any = (),
    ) -> tuple[R, PulledBack[A]]: ...
    @overload
    def __call__(
        self,
        function: Callable[..., R],
        first: A,
        second: B,
        /,
        *,
        has_aux: Literal[False] = False,
        static_argnums: Any = (),
        static_argnames: Any = (),
    ) -> tuple[R, PulledBack[tuple[A, B]]]: ...
    @overload
    def __call__(
        self,
        function: Callable[..., R],
        *primals: Any,
        has_aux: Literal[False] = False,
        static_argnums: Any = (),
        static_argnames: Any = (),
    ) -> tuple[R, PulledBack[Any]]: ...
    @overload
    def __call__(
        self,
        function: Callable[..., Any],
        *primals: Any,
        has_aux: bool,
        static_argnums: Any = (),
        static_argnames: Any = (),
    ) -> tuple[Any, ...]: ...


class GivesTangent(Protocol):
    """Returns what the function does, and its tangent, which has the same type."""

    @overload
    def __call__(
        self, function: Callable[..., R], primals: Any, tangents: Any, has_aux: Literal[False] = False
    ) -> tuple[R, R]: ...
    @overload
    def __call__(
        self, function: Callable[..., tuple[R, Aux]], primals: Any, tangents: Any, has_aux: Literal[True]
    ) -> tuple[R, R, Aux]: ...
    @overload
    def __call__(self, function: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool) -> tuple[Any, ...]: ...


class GivesTangentMap(Protocol):
    """Returns what the function does, and a function from tangents of the arguments to its tangent."""

    def __call__(self, function: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]: ...
