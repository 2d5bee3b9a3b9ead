"""Captured state: what a function reads from its closure, its globals and the objects it knows.

A function is traced as a clone whose globals and closure cells answer with stand-ins: arrays, floats and tensors become
tensors of the trace, with the `Path` at which they were found; helper functions become clones of the same kind;
instances of the user's classes become proxies that share their `__dict__` and answer attribute reads in the same way.
What else was read (ints, strings, functions) is noted, to be compared at the next call.
"""

from __future__ import annotations

import os
import sys
import types
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tapec.errors import is_user_file
from tapec.trace.tensor import Tensor

__all__ = ["CACHE_KEY", "Captures", "Path"]

CACHE_KEY = "_tapec_compiled"  # where a function keeps what was compiled for it

_SCALARS = (float, complex, np.floating, np.complexfloating)
_DATA = (float, complex, int, str, np.number, np.ndarray, Tensor)
_CHECKED = (int, bool, str, bytes, type(None), np.integer, np.bool_)


class Path:
    """Where a captured value is found: a root and steps from it.

    `source` is Python text over `names`, the objects it starts from; `get()` reads the value that is there now.
    """

    __slots__ = ("get", "label", "names", "source")

    def __init__(self, label: str, source: str, names: dict[str, Any], get: Callable[[], Any]):
        self.label = label
        self.source = source
        self.names = names
        self.get = get

    def attribute(self, name: str) -> Path:
        get = self.get
        return Path(f"{self.label}.{name}", f"{self.source}.{name}", self.names, lambda: getattr(get(), name))

    def item(self, key: Any) -> Path:
        get = self.get
        return Path(f"{self.label}[{key!r}]", f"{self.source}[{key!r}]", self.names, lambda: get()[key])


class Captures:
    """Everything one traced run captured: `arrays` (tensor id -> path and tensor) and `checks` (path, value)."""

    def __init__(self, trace: Any):
        self.trace = trace
        self.arrays: dict[int, tuple[Path, Tensor]] = {}
        self.parts: dict[int, tuple[Path, np.ndarray]] = {}  # arrays inside captured objects
        self.checks: dict[str, tuple[Path, Any]] = {}
        self._seen: dict[str, Any] = {}
        self._clones: dict[int, types.FunctionType] = {}
        self._globals: dict[int, _Globals] = {}
        self._cells: list[tuple[Any, Any, Any]] = []
        self._keep: list[Any] = []
        self.generators: list[tuple[Any, Any]] = []

    # -- what a read answers ----------------------------------------------------------------------------------------
    def read(self, value: Any, path: Path) -> Any:
        """The stand-in for a captured value."""
        kind = type(value)
        if kind in _ATOMS:
            self.checks.setdefault(path.source, (path, value))
            if kind is type:
                self.note_attributes(value, path, vars(value))
            return value
        known = self._seen.get(path.source, _ABSENT)
        if known is not _ABSENT:
            return known
        stand_in = self._stand_in(value, kind, path)
        self._seen[path.source] = stand_in
        return stand_in

    def _stand_in(self, value: Any, kind: type, path: Path) -> Any:
        if isinstance(value, np.ndarray):
            return self._capture(value, path) if value.dtype.kind in "fciub" else value
        if isinstance(value, (*_SCALARS, Tensor)):
            return self._capture(value, path)
        if isinstance(value, _CHECKED):
            self.checks.setdefault(path.source, (path, value))
            return value
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            self.watch_generator(value)
            return value
        if kind is types.FunctionType:
            self.checks.setdefault(path.source, (path, value))
            return self.function_of(value)
        if kind is types.MethodType:
            owner = self.read(value.__self__, path.attribute("__self__"))
            return types.MethodType(self.function_of(value.__func__), owner)
        if kind is dict or kind is list or kind is tuple:
            return _container(self, value, path)
        if kind is types.ModuleType:
            return _module_proxy(self, value, path) if is_own_code(getattr(value, "__file__", None) or "") else value
        if is_own_class(kind):
            type_path = Path(f"type of {path.label}", f"type({path.source})", path.names, lambda: type(path.get()))
            self.checks.setdefault(type_path.source, (type_path, kind))
            return _object_proxy(self, value, path)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return tuple.__new__(kind, [self.read(v, path.item(i)) for i, v in enumerate(value)])
        self.checks.setdefault(path.source, (path, value))  # another object in its place is seen
        if isinstance(value, type):
            self.note_attributes(value, path, vars(value))
        else:
            self._note_parts(value, path)
        if getattr(value, "format", None) in ("csr", "csc"):
            self._note_sparse(value, path)
        return value

    def _note_sparse(self, matrix: Any, path: Path) -> None:
        """The arrays of a matrix of scipy.sparse, for when they turn up in a product."""
        for name in ("data", "indices", "indptr"):
            array = getattr(matrix, name)
            self.parts[id(array)] = (path.attribute(name), array)
        shape = path.attribute("shape")
        self.checks.setdefault(shape.source, (shape, matrix.shape))

    def note_attributes(self, kind: type, path: Path, state: Any) -> None:
        """What a class of the user's holds: scalars are checked, arrays are known when they turn up."""
        if not is_own_code(_file_of(kind)):
            return
        for name, value in state.items():
            if not name.startswith("__"):
                self._note(value, path.attribute(name))

    def _note_parts(self, value: Any, path: Path) -> None:
        """The same for objects that are read as they are: namespaces, objects with slots, any dict or deque."""
        if isinstance(value, (dict, deque)):
            for key, part in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(key, (str, int)):
                    self._note(part, path.item(key))
            return
        if not (is_own_code(_file_of(type(value))) or type(value).__name__ in ("SimpleNamespace", "Namespace")):
            return
        slots = [n for c in type(value).__mro__ for n in _as_names(c.__dict__.get("__slots__", ()))]
        for name in [*getattr(value, "__dict__", ()), *slots]:
            if not name.startswith("__") and hasattr(value, name):
                self._note(getattr(value, name), path.attribute(name))

    def _note(self, value: Any, path: Path) -> None:
        if isinstance(value, (*_SCALARS, *_CHECKED)):
            self.checks.setdefault(path.source, (path, value))
        elif isinstance(value, np.ndarray):
            self.parts[id(value)] = (path, value)

    def _capture(self, value: Any, path: Path) -> Tensor:
        inner = value._value if isinstance(value, Tensor) else value
        tensor = self.trace.input(inner, path.label, moving=type(value) is Tensor)
        self.arrays[id(tensor)] = (path, tensor)
        return tensor

    def argument(self, value: Any) -> Any:
        """The stand-in for a static argument: functions read their captured state through us, draws are noticed."""
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            self.watch_generator(value)
        elif type(value) is types.FunctionType and is_own_code(value.__code__.co_filename):
            return self.clone(value)
        return value

    def watch_generator(self, generator: Any) -> None:
        self.generators.append((generator, generator_state(generator)))

    def settle(self) -> None:
        """After the run: draws make the trace volatile; facts that the function itself changed are no facts."""
        if any(generator_state(g) != before for g, before in self.generators):
            self.trace.volatile = "it draws random numbers"
        for key, (path, value) in list(self.checks.items()):
            try:
                if path.get() is not value and not _same(path.get(), value):
                    del self.checks[key]
            except (AttributeError, KeyError, IndexError, ValueError, NameError):
                del self.checks[key]

    # -- functions --------------------------------------------------------------------------------------------------
    def function_of(self, f: Any) -> Any:
        """A function that reads its captured state through us; ours that wrap a user's are wrapped anew."""
        if type(f) is not types.FunctionType:
            return f
        wrapped_again = f.__dict__.get("_tapec_wrap_again")
        if wrapped_again is not None:
            return wrapped_again(self.function_of)
        return self.clone(f) if is_own_code(f.__code__.co_filename) else f

    def clone(self, f: types.FunctionType) -> types.FunctionType:
        """The same function, reading its globals and closure through us."""
        known = self._clones.get(id(f))
        if known is not None:
            return known
        cells = tuple([types.CellType() for _ in f.__closure__ or ()])
        space = self._globals.get(id(f.__globals__))
        if space is None:
            space = self._globals[id(f.__globals__)] = _Globals(self, f.__globals__)
        new = types.FunctionType(f.__code__, space, f.__name__, f.__defaults__, cells or None)
        new.__kwdefaults__ = f.__kwdefaults__
        new.__qualname__ = f.__qualname__
        new.__dict__.update({k: v for k, v in f.__dict__.items() if k != CACHE_KEY})
        self._clones[id(f)] = new
        self._keep.append(f)
        for name, cell, fresh in zip(f.__code__.co_freevars, f.__closure__ or (), cells):
            try:
                value = cell.cell_contents
            except ValueError:  # an empty cell: the name is not bound yet
                continue
            key = f"cell_{name}_{id(cell)}"
            path = Path(name, f"{key}.cell_contents", {key: cell}, partial(getattr, cell, "cell_contents"))
            fresh.cell_contents = self.read(value, path)
            self._cells.append((cell, fresh, fresh.cell_contents))
        return new

    def write_back(self) -> None:
        """Give cells and globals that the run rebound their new values."""
        for cell, fresh, before in self._cells:
            try:
                after = fresh.cell_contents
            except ValueError:
                continue
            if after is not before:
                cell.cell_contents = plain(after)
        for space in self._globals.values():
            space.write_back()


class _Globals(dict):
    """A function's globals, as it sees them while traced."""

    def __init__(self, captures: Captures, real: dict[str, Any]):
        super().__init__()
        self.captures = captures
        self.real = real
        self.name = f"globals_{real.get('__name__', '')}".replace(".", "_")
        for key in _OWN_KEYS:  # the interpreter reads these past __getitem__
            if key in real:
                dict.__setitem__(self, key, real[key])

    def __getitem__(self, name: str) -> Any:
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        value = self.real[name]
        path = Path(name, f"{self.name}[{name!r}]", {self.name: self.real}, lambda: self.real[name])
        return self.captures.read(value, path)

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or name in self.real

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def write_back(self) -> None:
        for name, value in dict.items(self):
            if name not in _OWN_KEYS:
                self.real[name] = plain(value)


_OWN_KEYS = ("__builtins__", "__name__", "__package__", "__spec__", "__file__", "__loader__")


def generator_state(generator: Any) -> str:
    bits = getattr(generator, "bit_generator", None)
    return repr(generator.get_state(legacy=False) if bits is None else bits.state)


def _same(a: Any, b: Any) -> bool:
    try:
        return type(a) is type(b) and bool(a == b)
    except (TypeError, ValueError):
        return False


def plain(value: Any) -> Any:
    """What is left of a stand-in when the trace is over."""
    return value._value if type(value) is Tensor else value


# ---------------------------------------------------------------------------------------------------------------
# objects, modules and containers
# ---------------------------------------------------------------------------------------------------------------
_ABSENT = object()
_ATOMS = frozenset({int, bool, str, bytes, type(None), types.BuiltinFunctionType, type, np.ufunc})
_STANDARD = os.path.dirname(os.__file__) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_OWN_CLASS: dict[type, bool] = {}


def is_own_code(filename: str) -> bool:
    """The user's own file: not the standard library, not an installed package."""
    if not filename or not is_user_file(filename) or filename.startswith(_STANDARD):
        return False
    return not any(folder in filename for folder in _INSTALLED)


def _as_names(slots: Any) -> Any:
    return (slots,) if isinstance(slots, str) else slots


def _file_of(kind: type) -> str:
    module = sys.modules.get(kind.__module__)
    return getattr(module, "__file__", None) or ("<main>" if kind.__module__ == "__main__" else "")


def is_own_class(kind: type) -> bool:
    """A class that the user wrote, whose instances keep their state in a `__dict__` and nowhere else."""
    own = _OWN_CLASS.get(kind)
    if own is None:
        own = (
            is_own_code(_file_of(kind))
            and kind.__flags__ & (1 << 9) != 0  # a heap type
            and kind.__new__ is object.__new__
            and kind.__dictoffset__ != 0
            and kind.__getattribute__ is object.__getattribute__
            and not any("__slots__" in c.__dict__ for c in kind.__mro__[:-1])
        )
        _OWN_CLASS[kind] = own
    return own


def _object_proxy(captures: Captures, value: Any, path: Path) -> Any:
    """An instance of a subclass that shares the object's `__dict__` and answers reads of it through us."""
    kind = type(value)
    state = value.__dict__

    def __getattribute__(self: Any, name: str) -> Any:
        if name in state and name != "__dict__":
            return captures.read(state[name], path.attribute(name))
        found = object.__getattribute__(self, name)
        if isinstance(found, _DATA) and any(name in c.__dict__ and found is c.__dict__[name] for c in kind.__mro__):
            return captures.read(found, path.attribute(name))  # an attribute of the class
        return found

    proxy_class = type(kind.__name__, (kind,), {"__getattribute__": __getattribute__, "__module__": kind.__module__})
    proxy: Any = object.__new__(proxy_class)
    object.__setattr__(proxy, "__dict__", state)
    return proxy


def _module_proxy(captures: Captures, module: types.ModuleType, path: Path) -> types.ModuleType:
    proxy = types.ModuleType(module.__name__)

    def __getattr__(name: str) -> Any:
        return captures.read(getattr(module, name), path.attribute(name))

    proxy.__dict__.clear()
    proxy.__dict__["__getattr__"] = __getattr__
    return proxy


def _container(captures: Captures, value: Any, path: Path) -> Any:
    if not _worth_following(value):
        return value
    if type(value) is tuple:
        return tuple([captures.read(v, path.item(i)) for i, v in enumerate(value)])
    if type(value) is list:
        return _List(captures, value, path)
    return _Dict(captures, value, path)


def _worth_following(value: Any, depth: int = 3) -> bool:
    """Does a container hold anything that a gradient or a fresh value could hang on?"""
    if isinstance(value, (np.ndarray, *_SCALARS)) or type(value) is Tensor:
        return True
    if type(value) in (int, bool, str, bytes, type(None)):
        return depth < 3
    if type(value) in (list, tuple):
        return depth > 0 and any(_worth_following(v, depth - 1) for v in value[:1000])
    if type(value) is dict:
        return depth > 0 and any(_worth_following(v, depth - 1) for v in value.values())
    return type(value) is types.FunctionType or is_own_class(type(value))


class _List(list):
    """A list read through us; writes go to the real one too."""

    def __init__(self, captures: Captures, real: list[Any], path: Path):
        super().__init__(captures.read(v, path.item(i)) for i, v in enumerate(real))
        self._real = real
        if len(real):
            length = Path(f"len({path.label})", f"len({path.source})", path.names, lambda: len(path.get()))
            captures.checks.setdefault(length.source, (length, len(real)))

    def append(self, item: Any) -> None:
        super().append(item)
        self._real.append(plain(item))

    def extend(self, items: Any) -> None:
        for item in items:
            self.append(item)

    def __setitem__(self, index: Any, item: Any) -> None:
        super().__setitem__(index, item)
        self._real[index] = plain(item)


class _Dict(dict):
    """A dict read through us; writes go to the real one too."""

    def __init__(self, captures: Captures, real: dict[Any, Any], path: Path):
        super().__init__()
        self._real = real
        for key, v in real.items():
            simple = isinstance(key, (str, int, bool, bytes, tuple, float, type(None)))
            super().__setitem__(key, captures.read(v, path.item(key)) if simple else v)
        keys = Path(f"keys of {path.label}", f"tuple({path.source})", path.names, lambda: tuple(path.get()))
        captures.checks.setdefault(keys.source, (keys, tuple(real)))

    def __setitem__(self, key: Any, item: Any) -> None:
        super().__setitem__(key, item)
        self._real[key] = plain(item)
