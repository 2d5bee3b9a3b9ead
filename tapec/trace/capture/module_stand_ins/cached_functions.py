"""Define stand-ins for functions that `functools.lru_cache` has made of the user's: what they return is captured state.

What such a function keeps, nobody sees. So each call asks it again, with the same arguments: mostly it has the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tapec.fast_namedtuple import NamedTuple
from tapec.trace.capture.captured_paths import CapturedPath
from tapec.trace.capture.proxies.container_facts import is_plain
from tapec.trace.escape.to_plain import to_key
from tapec.trace.tensor import Tensor

__all__ = ["CachedFunction", "is_cached_function"]


class _Argument(NamedTuple):
    """Says how an argument is found at each call: by text over `names`, or by a function."""

    text: str
    names: dict[str, Any]
    get: Callable[[], Any]


def is_cached_function(x: Any) -> bool:
    """Return whether x keeps what a function has returned, or stands in for one that does."""
    return type(x) is type(lru_cache(_nothing)) or type(x) is CachedFunction


def _nothing() -> None:
    """Do nothing: this shows of which class functions are that are cached."""


class CachedFunction:
    """Stands in for a cached function, which is found at a path."""

    def __init__(self, captures: Any, function: Any, path: CapturedPath):
        self.__wrapped__ = function
        self._captures = captures
        self._path = path

    def __getattr__(self, name: str) -> Any:
        self._captures.trace.require_retrace(f"it asks {self._path.label} for its attribute {name}")
        return getattr(self.__wrapped__, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self.__wrapped__.__class__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        captures = self._captures
        captures.untraced.note_root(self.__wrapped__, self._path)
        args = tuple(map(self._plain, args))
        kwargs = {name: self._plain(x) for name, x in kwargs.items()}
        given = [*map(self._argument, args), *map(self._argument, kwargs.values())]
        if captures.is_judged or None in given:
            captures.untraced.note(self.__wrapped__, self._path)
            return self.__wrapped__(*args, **kwargs)
        path = self._called(given[: len(args)], dict(zip(kwargs, given[len(args) :])))
        try:
            found = path.get()
        except Exception:  # whatever the user's function raises, at other calls it may answer
            captures.trace.require_retrace(f"{path.label} raises an error")
            raise
        return captures.read(found, path)

    def _plain(self, x: Any) -> Any:
        """Return the number for a tensor that decides which answer it is, as keys do."""
        if not isinstance(x, Tensor):
            return x
        number = self._captures.inputs.as_a_fact(x)
        return to_key(x) if number is x else number

    def _argument(self, x: Any) -> _Argument | None:
        """Return how an argument is found again; None where it is nowhere."""
        if is_plain(x):
            name = f"_key_{id(x)}"
            return _Argument(name, {name: x}, lambda: x)
        path = self._captures.identities.path_of(x)
        return None if path is None else _Argument(path.source, path.names, path.get)

    def _called(self, args: list[Any], kwargs: dict[str, Any]) -> CapturedPath:
        """Return the path of what the function returns."""
        texts = [*[a.text for a in args], *[f"{name}={a.text}" for name, a in kwargs.items()]]
        shown = [repr(a.get()) if a.text.startswith("_key_") else "..." for a in (*args, *kwargs.values())]
        names = {name: x for a in (*args, *kwargs.values()) for name, x in a.names.items()}
        get = self._path.get
        return CapturedPath(
            f"{self._path.label}({', '.join(shown)})",
            f"{self._path.source}({', '.join(texts)})",
            {**self._path.names, **names},
            lambda: get()(*[a.get() for a in args], **{name: a.get() for name, a in kwargs.items()}),
        )
