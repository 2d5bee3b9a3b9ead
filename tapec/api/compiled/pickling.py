"""Pickle compiled functions: generated code is saved, and loaded without the user's function.

A pickle holds the exported module of each signature that was known. Unpickled, it serves those, and refuses others by
name; it needs neither the user's module nor a trace.
"""

from __future__ import annotations

import inspect
from typing import Any, NoReturn

from tapec.api.compiled.explain import Explanation
from tapec.api.compiled.export import module_text, write_text
from tapec.errors import TapecError, at_user_line
from tapec.ir.notebook_hooks import Source
from tapec.ops import ArrayLike
from tapec.pytree import flatten, map_leaves, unflatten
from tapec.runtime.memory_cache import CacheInfo
from tapec.trace.classes import wrap
from tapec.trace.recording_stack import recordings

__all__ = ["SavedFunction", "face_of", "load_saved", "saved_state"]


def saved_state(function: Any, results: Any = None) -> tuple[Any, ...]:
    """The name of the code, names and docstring of what was compiled, and for each known signature its description and
    its module. `results` as in `module_text`."""
    described, texts = [], []
    for entry in function._entries.values():
        function._join(entry)
        for program in entry.programs[-1:]:  # captured facts are as they were when it was called last
            described.append(", ".join(f"{n}: {t}" for n, t in zip(entry.info.names, entry.info.types)))
            texts.append(module_text(function, entry, program, None, results))
    return function._name, face_of(function), tuple(described), tuple(texts)


def face_of(function: Any) -> dict[str, Any]:
    """Return the names and the docstring that a pickled function shows: those of the function that was pickled."""
    return {key: getattr(function, key) for key in ("__name__", "__qualname__", "__doc__") if hasattr(function, key)}


def load_saved(name: str, face: dict[str, Any], described: tuple[str, ...], texts: tuple[str, ...]) -> SavedFunction:
    return SavedFunction(name, face, described, texts)


class SavedFunction:
    """Serves the signatures that were known when it was pickled. Nothing is compiled, and nothing differentiated."""

    def __init__(self, name: str, face: dict[str, Any], described: tuple[str, ...], texts: tuple[str, ...]):
        self.__dict__.update(face)
        self._name = name
        self._face = face
        self._described = described
        self._texts = texts
        self._modules: list[dict[str, Any]] | None = None
        self._order = list(range(len(texts)))  # that of the last call comes first: most calls are like it
        self._hits = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves: list[Any] = []
        tree = flatten((args, kwargs), leaves)
        given = any(isinstance(x, ArrayLike) for x in leaves)
        if given:
            args, kwargs = unflatten(tree, [self._plain(x) for x in leaves])
        k, result = self._answer(args, kwargs)
        self._order.remove(k)
        self._order.insert(0, k)
        self._hits += 1
        return map_leaves(lambda x: x if x is None else wrap(x), result) if given else result

    def _plain(self, x: Any) -> Any:
        if not isinstance(x, ArrayLike):
            return x
        x = x._tapec_read()
        if recordings(x):
            raise TapecError(
                at_user_line(
                    f"{self._name} was pickled as generated code, which has no derivative, and its argument is "
                    f"recorded. Fix: decorate the function itself here"
                )
            )
        return x._value

    def _answer(self, args: Any, kwargs: Any) -> tuple[int, Any]:
        """Run the first module that serves these arguments; return its number and its result."""
        if self._modules is None:
            self._modules = [_run(text, self._name) for text in self._texts]
        for k in self._order:
            module = self._modules[k]
            try:
                return k, _face(module)(*args, **kwargs)
            except module["Mismatch"]:
                continue
        known = "; ".join(f"({d})" for d in self._described) or "none"
        raise TapecError(
            at_user_line(
                f"{self._name} was pickled as generated code and knows these signatures alone: {known}. "
                f"Fix: call the function with such arguments before it is pickled, or decorate it again here."
            )
        )

    @property
    def __signature__(self) -> inspect.Signature:
        if not self._texts:
            raise AttributeError("__signature__")
        return inspect.signature(_face(_run(self._texts[0], self._name)))

    # -- looking ----------------------------------------------------------------------------------------------------
    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated module that a call with these arguments runs; without arguments, all of them."""
        return Source(self._text(args, kwargs) if args or kwargs else "\n\n".join(self._texts))

    def last_source(self) -> str | None:
        """The module of the last call."""
        return self._texts[self._order[0]] if self._texts else None

    def export(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write the module that serves these arguments to a file."""
        write_text(self._text(args, kwargs), path)

    def _text(self, args: Any, kwargs: Any) -> str:
        return self._texts[self._answer(args, kwargs)[0]]

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """The signatures that it knows, that of a call with these arguments if there are any."""
        out = Explanation(self._name)
        shown = [self._described[self._answer(args, kwargs)[0]]] if args or kwargs else list(self._described)
        out.signature = shown
        out.notes = ["from a pickle: generated code alone, with what the function captured written into it"]
        return out

    def cache_info(self) -> CacheInfo:
        """Return (hits, misses, compilations, size, maxsize): nothing is compiled any more."""
        return CacheInfo(self._hits, 0, 0, len(self._texts), len(self._texts))

    def cache_clear(self) -> None:
        """Set the counter of hits back to zero. The modules stay: what was pickled could not be compiled again."""
        self._hits = 0

    def ir(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: graphs are not pickled."""
        self._not_pickled("its graphs")

    def generated(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: compiled code with its graph is not pickled."""
        self._not_pickled("its compiled code with its graph")

    def locate(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise an error: programs and paths are not pickled."""
        self._not_pickled("its programs and paths")

    def _not_pickled(self, what: str) -> NoReturn:
        raise TapecError(
            at_user_line(
                f"{self._name} was pickled as generated code, without {what}. Fix: source() shows the code; "
                f"decorate the function again here for the rest"
            )
        )

    def __reduce__(self) -> Any:
        return load_saved, (self._name, self._face, self._described, self._texts)

    def __repr__(self) -> str:
        return f"<tapec {self._name}, {len(self._texts)} signatures, from a pickle>"


def _run(text: str, name: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": f"tapec.generated.{name}"}
    exec(compile(text, f"<{name}, from a pickle>", "exec"), space)
    return space


def _face(module: dict[str, Any]) -> Any:
    return module[module["__all__"][0]]
