"""Define `Adapter`: a function that calls users' functions in a way of its own and is traced as they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["Adapter", "parameter_names", "with_other"]


class Adapter:
    """`call(*functions, *args)`. When it is traced, each of the functions reads its captured state as usual.

    `extra` names parameters that come after those of the first function.
    """

    def __init__(self, call: Callable[..., Any], *functions: Callable[..., Any], parameters: list[str] | None = None):
        self.call = call
        self.functions = functions
        first = functions[0]
        self.__name__ = getattr(first, "__name__", type(first).__name__)
        self.__qualname__ = getattr(first, "__qualname__", self.__name__)
        self.__doc__ = first.__doc__
        if hasattr(first, "__self__"):
            self.__self__ = first.__self__
        if parameters is not None:
            kind = inspect.Parameter.POSITIONAL_ONLY
            self.__signature__ = inspect.Signature([inspect.Parameter(p, kind) for p in parameters])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*self.functions, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<adapter of {self.__qualname__}>"


def parameter_names(function: Any, n: int) -> list[str]:
    """The names of the first n positional parameters."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:n]
    return names + [f"arg{k}" for k in range(len(names), n)]


def with_other(names: list[str], *wishes: str) -> list[str]:
    """Return more names, none of which is taken."""
    out = list(names)
    for wish in wishes:
        while wish in out:
            wish += "_"
        out.append(wish)
    return out
