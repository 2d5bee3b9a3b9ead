"""Compiled functions that were pickled: generated code without a function behind it.

A pickle holds the exported module of each signature that was known. Unpickled, it serves those, and refuses others by
name; it needs neither the user's module nor a trace.
"""

from __future__ import annotations

from typing import Any

from tapec.api.export import module_text
from tapec.errors import TapecError, at_user_line

__all__ = ["SavedFunction", "load_saved", "saved_state"]


def saved_state(function: Any) -> tuple[str, str | None, tuple[str, ...], tuple[str, ...]]:
    """Name, docstring, and for each known signature its description and its module."""
    described, texts = [], []
    for entry in function._entries.values():
        for program in entry.programs[-1:]:  # captured facts are as they were when it was called last
            described.append(", ".join(f"{n}: {t}" for n, t in zip(entry.info.names, entry.info.types)))
            texts.append(module_text(function, entry, program))
    return function._name, function.__doc__, tuple(described), tuple(texts)


def load_saved(name: str, doc: str | None, described: tuple[str, ...], texts: tuple[str, ...]) -> SavedFunction:
    return SavedFunction(name, doc, described, texts)


class SavedFunction:
    """Serves the signatures that were known when it was pickled."""

    def __init__(self, name: str, doc: str | None, described: tuple[str, ...], texts: tuple[str, ...]):
        self.__name__ = self.__qualname__ = name
        self.__doc__ = doc
        self._described = described
        self._texts = texts
        self._modules: list[dict[str, Any]] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._modules is None:
            self._modules = [_run(text, self.__name__) for text in self._texts]
        for k, module in enumerate(self._modules):
            try:
                result = module[self.__name__](*args, **kwargs)
            except module["Mismatch"]:
                continue
            if k:  # most calls are like the last one
                self._modules.insert(0, self._modules.pop(k))
            return result
        known = "; ".join(f"({d})" for d in self._described) or "none"
        raise TapecError(
            at_user_line(
                f"{self.__name__} was pickled as generated code and knows these signatures alone: {known}. "
                f"Mend: call the function with such arguments before it is pickled, or decorate it again here."
            )
        )

    def source(self) -> str:
        """The generated modules."""
        return "\n\n".join(self._texts)

    def __reduce__(self) -> Any:
        return load_saved, (self.__name__, self.__doc__, self._described, self._texts)

    def __repr__(self) -> str:
        return f"<tapec {self.__name__}, {len(self._texts)} signatures, from a pickle>"


def _run(text: str, name: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": f"tapec.generated.{name}"}
    exec(compile(text, f"<{name}, from a pickle>", "exec"), space)
    return space
