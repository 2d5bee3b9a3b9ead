"""Type the decorators for checkers and editors: a call takes what `f` takes, and `f.source()` is known.

A transform is written as a function of anything, `grad(function=None, argnums=0, ...)`, because it serves as `@grad`,
`@grad(argnums=1)` and `grad(f, argnums=1)` alike. What marks it here tells checkers what it takes and returns, see
`typed_protocols`; when it runs, it does no more than let errors leave the transform with a short traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapec.tracebacks import shortens

__all__ = [
    "gives_arrays",
    "gives_gradient",
    "gives_product",
    "gives_pullback",
    "gives_tangent",
    "gives_tangent_map",
    "gives_the_same",
    "gives_value_and_gradient",
    "takes_batch",
    "takes_others",
]

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate

    from tapec.api.compiled.typed_protocols import (
        GivesArrays,
        GivesGradient,
        GivesProduct,
        GivesPullback,
        GivesTangent,
        GivesTangentMap,
        GivesTheSame,
        GivesValueAndGradient,
        Q,
        TakesBatch,
        TakesOthers,
    )

    Transform = Callable[..., Any]

    def gives_the_same(transform: Callable[Concatenate[Any, Q], Any]) -> GivesTheSame[Q]: ...
    def gives_arrays(transform: Callable[Concatenate[Any, Q], Any]) -> GivesArrays[Q]: ...
    def gives_product(transform: Callable[Concatenate[Any, Q], Any]) -> GivesProduct[Q]: ...
    def takes_batch(transform: Callable[Concatenate[Any, Q], Any]) -> TakesBatch[Q]: ...
    def takes_others(transform: Callable[Concatenate[Any, Q], Any]) -> TakesOthers[Q]: ...
    def gives_gradient(transform: Transform) -> GivesGradient: ...
    def gives_value_and_gradient(transform: Transform) -> GivesValueAndGradient: ...
    def gives_pullback(transform: Transform) -> GivesPullback: ...
    def gives_tangent(transform: Transform) -> GivesTangent: ...
    def gives_tangent_map(transform: Transform) -> GivesTangentMap: ...

else:
    # declarations for checkers, one function when it runs
    gives_the_same = gives_arrays = gives_product = takes_batch = takes_others = shortens
    gives_gradient = gives_value_and_gradient = gives_pullback = gives_tangent = gives_tangent_map = shortens
