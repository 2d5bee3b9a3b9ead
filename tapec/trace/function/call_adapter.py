"""Define `Adapter`: a function that calls users' functions in a way of its own and is traced as they are."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["Adapter", "parameter_names", "with_other"]


class Adapter:
    """`call(*functions, *args)`. When it is traced, each of the functions reads its captured state as usual.

    `parameters` names those that it takes by position, and `keywords` the one that takes all others by name.
    """

    def __init__(
        self,
        call: Callable[..., Any],
        *functions: Callable[..., Any],
        parameters: list[str] | None = None,
        keywords: str | None = None,
    ):
        self.call = call
        self.functions = functions
        first = functions[0]
        self.__name__ = getattr(first, "__name__", type(first).__name__)
        self.__qualname__ = getattr(first, "__qualname__", self.__name__)
        self.__doc__ = first.__doc__
        if hasattr(first, "__self__"):
            self.__self__ = first.__self__
        if parameters is not None:
            taken = [inspect.Parameter(p, inspect.Parameter.POSITIONAL_ONLY) for p in parameters]
            if keywords is not None:
                taken.append(inspect.Parameter(keywords, inspect.Parameter.VAR_KEYWORD))
            self.__signature__ = inspect.Signature(taken)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*self.functions, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<adapter of {self.__qualname__}>"


def parameter_names(function: Any, n: int) -> list[str]:
    """The names of the first n positional parameters."""
    names = [p.name for p in _parameters(function) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:n]
    return names + [f"arg{k}" for k in range(len(names), n)]


def with_other(names: list[str], *wishes: str, function: Any = None) -> list[str]:
    """Return more names, none of which is taken, or is that of any parameter of the function."""
    out = list(names)
    taken = {*names, *[p.name for p in _parameters(function)]}
    for wish in wishes:
        while wish in taken:
            wish += "_"
        out.append(wish)
        taken.add(wish)
    return out


def _parameters(function: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
