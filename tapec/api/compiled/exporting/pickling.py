"""Pickle compiled functions: generated code is saved, and loaded without the user's function.

A pickle holds the exported module of each signature that was known. Unpickled, it serves those, and needs neither the
user's module nor a trace. Beside them it holds the name by which the function can be imported, if it has one: other
signatures, other paths and derivatives are traced there. Where it cannot be imported, an error says so.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
import types
from typing import Any

from tapec.api.compiled.explain import Explanation
from tapec.api.compiled.exporting.export import module_text, write_text
from tapec.errors import TapecError, at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir.text.notebook_hooks import Source
from tapec.ops import ArrayLike
from tapec.pytree import leaves_of, map_leaves
from tapec.runtime.memory_cache import CacheInfo
from tapec.trace.classes import wrap
from tapec.trace.recording_stack import recordings

__all__ = ["Origin", "SavedFunction", "face_of", "load_saved", "of_method", "origin_of", "saved_state"]


class Origin(NamedTuple):
    """Says how a function is found where it was not pickled: by its name in a module, as it is or to be decorated anew.

    `made` has what decorates the function of that name: the class, the transform and the static arguments.
    """

    module: str
    name: str
    made: tuple[Any, ...] | None = None

    def find(self) -> Any:
        """Import the function; raise what importing raises."""
        found = _named(importlib.import_module(self.module), self.name)
        if self.made is None:
            return found
        kind, transform, (argnums, argnames) = self.made
        return _transformed(kind, found, transform, argnums, argnames)


def origin_of(function: Any) -> Origin | None:
    """Return where another process finds a function; None for one that no module knows by a name."""
    name = _name_in_module(function)
    if name is not None:
        return Origin(_module_of(function), name)
    inner = function._function
    name = _name_in_module(inner) if hasattr(function, "_static") else None
    if name is None:
        return None
    made = type(function), function._transform, function._static
    try:
        pickle.dumps(made)
    except Exception:  # what it is decorated with is known here alone
        return None
    return Origin(_module_of(inner), name, made)


def of_method(function: Any) -> tuple[Any, ...] | None:
    """Return what makes a function of an object's method again; None for a function of anything else.

    As Python's own, it belongs to the object that is unpickled with it: it follows the state of that.
    """
    method = function._function
    if type(method) is not types.MethodType or _name_in_module(type(method.__self__)) is None:
        return None
    found = getattr(method.__self__, method.__name__, None)
    if getattr(found, "_function", None) == method:  # it was decorated in the class
        return getattr, (method.__self__, method.__name__)
    if found != method:
        return None
    kind, transform, (argnums, argnames) = type(function), function._transform, function._static
    return _transformed, (kind, method, transform, argnums, argnames)


def _transformed(kind: Any, function: Any, transform: Any, argnums: Any, argnames: Any) -> Any:
    return kind(function, transform, static_argnums=argnums, static_argnames=argnames)


def _module_of(x: Any) -> str:
    """The module as other processes call it: spawned ones call the script of their parent `__mp_main__`."""
    name = getattr(x, "__module__", None) or ""
    return "__main__" if name == "__mp_main__" else name


def _name_in_module(x: Any) -> str | None:
    """The name of this very object in its module; that of its definition, or one that it was assigned to."""
    module = sys.modules.get(_module_of(x))
    if module is None:
        return None
    try:
        if _named(module, x.__qualname__) is x:
            return str(x.__qualname__)
    except AttributeError:
        pass
    return next((name for name, value in list(vars(module).items()) if value is x), None)


def _named(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def saved_state(function: Any, origin: Origin | None, results: Any = None) -> tuple[Any, ...]:
    """The name of the code, names and docstring of what was compiled, for each known signature its description and its
    module, and the origin. `results` as in `module_text`.

    What cannot be written is traced where it is called, if it can be.
    """
    described, texts = [], []
    function._record_answered()
    for entry in list(function._cache.entries.values()):
        function._join(entry)
        for program in entry.programs[-1:]:  # captured facts are as they were when it was called last
            try:
                text = module_text(function, entry, program, None, results)
            except TapecError:
                if origin is None:
                    raise
                continue
            described.append(", ".join(f"{n}: {t}" for n, t in zip(entry.info.names, entry.info.types)))
            texts.append(text)
    return function._name, face_of(function), tuple(described), tuple(texts), origin


def face_of(function: Any) -> dict[str, Any]:
    """Return the names and the docstring that a pickled function shows: those of the function that was pickled."""
    return {key: getattr(function, key) for key in ("__name__", "__qualname__", "__doc__") if hasattr(function, key)}


def load_saved(
    name: str, face: dict[str, Any], described: tuple[str, ...], texts: tuple[str, ...], origin: Origin | None = None
) -> SavedFunction:
    return SavedFunction(name, face, described, texts, origin)


class _Unknown(Exception):
    """Says what a pickle does not know."""


class SavedFunction:
    """Serves the signatures that were known when it was pickled; what is not known is traced by the function of its
    `origin`."""

    def __init__(
        self, name: str, face: dict[str, Any], described: tuple[str, ...], texts: tuple[str, ...], origin: Origin | None
    ):
        self.__dict__.update(face)
        self._name = name
        self._face = face
        self._described = described
        self._texts = texts
        self._origin = origin
        self._modules: list[dict[str, Any]] | None = None
        self._order = list(range(len(texts)))  # that of the last call comes first: most calls are like it
        self._hits = 0
        self._found: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = leaves_of((args, kwargs))
        given = any(isinstance(x, ArrayLike) for x in leaves)
        if not given:
            return self._answer(args, kwargs)
        if any(isinstance(x, ArrayLike) and recordings(x._tapec_read()) for x in leaves):
            return self._elsewhere("has no derivative, and its argument is recorded")(*args, **kwargs)
        plain = map_leaves(lambda x: x._tapec_read()._value if isinstance(x, ArrayLike) else x, (args, kwargs))
        return map_leaves(lambda x: x if x is None else wrap(x), self._answer(*plain))

    def _answer(self, args: Any, kwargs: Any) -> Any:
        """The result for plain arguments."""
        try:
            k, result = self._served(args, kwargs)
        except _Unknown as error:
            return self._elsewhere(str(error))(*args, **kwargs)
        self._order.remove(k)
        self._order.insert(0, k)
        self._hits += 1
        return result

    def _served(self, args: Any, kwargs: Any) -> tuple[int, Any]:
        """Run the first module that serves these arguments; return its number and its result."""
        if self._modules is None:
            self._modules = [_run(text, self._name) for text in self._texts]
        for k in self._order:
            module = self._modules[k]
            try:
                return k, _face(module)(*args, **kwargs)
            except module["Mismatch"]:
                continue
            except module.get("Untraced", ()) as error:
                raise _Unknown(f"knows the paths alone that were traced: {error}") from None
        known = "; ".join(f"({d})" for d in self._described) or "none"
        raise _Unknown(f"knows these signatures alone: {known}")

    def _elsewhere(self, lack: str) -> Any:
        """The function itself, imported; an error that says what is lacking where it cannot be."""
        if self._found is None:
            self._found = self._import(lack)
        return self._found

    def _import(self, lack: str) -> Any:
        if self._origin is None:
            why = "no module has it by a name, so it cannot be imported"
        else:
            name = f"{self._origin.module}.{self._origin.name}"
            try:
                found = self._origin.find()
            except (ImportError, AttributeError) as error:
                why = f"{name} cannot be imported: {error}"
            else:
                if hasattr(found, "explain") and type(found) is not SavedFunction:
                    return found
                why = f"{name} is no function of tapec's here"
        raise TapecError(
            at_user_line(
                f"{self._name} was pickled as generated code, which {lack}; {why}. Fix: call the function with such "
                f"arguments before it is pickled, or decorate the function again here"
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
        if not args and not kwargs:
            return Source("\n\n".join(self._texts))
        k = self._number(args, kwargs)
        return self._found.source(*args, **kwargs) if k is None else Source(self._texts[k])

    def last_source(self) -> str | None:
        """The module of the last call."""
        return self._texts[self._order[0]] if self._texts else None

    def export(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write the module that serves these arguments to a file."""
        k = self._number(args, kwargs)
        if k is None:
            self._found.export(path, *args, **kwargs)
        else:
            write_text(self._texts[k], path)

    def _number(self, args: Any, kwargs: Any) -> int | None:
        """The number of the module that serves these arguments; None where the imported function serves them."""
        try:
            return self._served(args, kwargs)[0]
        except _Unknown as error:
            self._elsewhere(str(error))
            return None

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """The signatures that it knows, that of a call with these arguments if there are any."""
        k = self._number(args, kwargs) if args or kwargs else None
        if (args or kwargs) and k is None:
            return self._found.explain(*args, **kwargs)
        out = Explanation(self._name)
        out.signature = list(self._described) if k is None else [self._described[k]]
        out.notes = ["from a pickle: generated code alone, with what the function captured written into it"]
        return out

    def cache_info(self) -> CacheInfo:
        """Return (hits, misses, compilations, size, maxsize) of the pickled code, of which nothing is compiled."""
        return CacheInfo(self._hits, 0, 0, len(self._texts), len(self._texts))

    def cache_clear(self) -> None:
        """Set the counter of hits back to zero. The modules stay: what was pickled could not be compiled again."""
        self._hits = 0

    def ir(self, *args: Any, **kwargs: Any) -> Any:
        """The graph of a call, of the imported function: graphs are not pickled."""
        return self._elsewhere("has no graphs").ir(*args, **kwargs)

    def generated(self, *args: Any, **kwargs: Any) -> Any:
        """The compiled code of the imported function: with its graph it is not pickled."""
        return self._elsewhere("has no compiled code with its graph").generated(*args, **kwargs)

    def locate(self, *args: Any, **kwargs: Any) -> Any:
        """Programs and paths of the imported function: they are not pickled."""
        return self._elsewhere("has no programs and paths").locate(*args, **kwargs)

    def __reduce__(self) -> Any:
        return load_saved, (self._name, self._face, self._described, self._texts, self._origin)

    def __repr__(self) -> str:
        return f"<tapec {self._name}, {len(self._texts)} signatures, from a pickle>"


def _run(text: str, name: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": f"tapec.generated.{name}"}
    exec(compile(text, f"<{name}, from a pickle>", "exec"), space)
    return space


def _face(module: dict[str, Any]) -> Any:
    return module[module["__all__"][0]]
