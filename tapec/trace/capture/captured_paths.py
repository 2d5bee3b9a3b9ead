"""Define `CapturedPath`, where a captured value is found, and tell which code and classes are the user's own.

A fact about captured state is a path and the value that was there; `holds` compares it at the next call. Guards, which
are about values that a run computes, are in `tapec.api.compiled.programs.guarded_paths`.
"""

from __future__ import annotations

import sys
import types
import zlib
from collections.abc import Callable
from enum import Enum
from numbers import Number
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tapec.errors import is_installed, is_user_file
from tapec.trace.inplace.memory_order import memory_order

__all__ = [
    "ATOMS",
    "BY_ANY_NAME",
    "CHECKED",
    "LOST",
    "PLAIN",
    "SCALARS",
    "CapturedPath",
    "cell_contents",
    "cell_path",
    "class_file",
    "class_path",
    "contents",
    "generator_state",
    "function_path",
    "global_path",
    "globals_path",
    "has_own_text",
    "holds",
    "is_foreign_array",
    "is_generator",
    "is_own_class",
    "is_own_code",
    "is_plain_class",
    "is_static",
    "is_told_by_value",
    "looked_up",
    "module_file",
    "strings_of",
    "words_of",
]

SCALARS = (float, complex, np.floating, np.complexfloating)
CHECKED = (int, bool, str, bytes, type(None), np.integer, np.bool_)
PLAIN = (*SCALARS, *CHECKED)
ATOMS = frozenset({int, bool, str, bytes, type(None), types.BuiltinFunctionType, type, np.ufunc})
LOST = (AttributeError, KeyError, IndexError, ValueError, NameError, TypeError)  # of a path that leads nowhere now
_ABSENT = object()
_HEAP_TYPE = 1 << 9
_OWN_CLASS: WeakKeyDictionary[type, bool] = WeakKeyDictionary()  # a class may hold what a function around it captures
_OF_LIBRARIES = {("argparse", "Namespace"), *[("collections", name) for name in ("UserDict", "UserList", "ChainMap")]}


class CapturedPath:
    """Tells where a captured value is found: a root and steps from it.

    `source` is Python text over `names`, the objects it starts from; `get()` reads the value that is there now.
    """

    __slots__ = ("get", "label", "names", "source")

    def __init__(self, label: str, source: str, names: dict[str, Any], get: Callable[[], Any]):
        self.label = label
        self.source = source
        self.names = names
        self.get = get

    def attribute(self, name: str) -> CapturedPath:
        get = self.get
        label = "self" if name == "__self__" else f"{self.label}.{name}"  # as the user's code calls it
        return CapturedPath(label, f"{self.source}.{name}", self.names, lambda: getattr(get(), name))

    def item(self, key: Any) -> CapturedPath:
        """Return the path of an item by its key, of any hashable kind. A key whose text is no literal is found again by
        itself: as in every dict, equal keys are the same."""
        get = self.get
        if _is_literal(key):
            return CapturedPath(f"{self.label}[{key!r}]", f"{self.source}[{key!r}]", self.names, lambda: get()[key])
        name = f"_key_{id(key)}"
        label = f"{self.label}[{_told(key)}]"
        return CapturedPath(label, f"{self.source}[{name}]", {**self.names, name: key}, lambda: get()[key])

    def kind(self) -> CapturedPath:
        get = self.get
        return CapturedPath(f"type of {self.label}", f"type({self.source})", self.names, lambda: type(get()))

    def attribute_names(self) -> CapturedPath:
        """Return the path of which attributes an object or a class has by itself."""
        get, text = self.get, f"tuple({self.source}.__dict__)"
        return CapturedPath(f"attributes of {self.label}", text, self.names, lambda: tuple(get().__dict__))

    def code(self) -> CapturedPath:
        get = self.get
        return CapturedPath(f"code of {self.label}", f"{self.source}.__code__", self.names, lambda: get().__code__)

    def length(self, ask: Callable[[Any], Any] = len) -> CapturedPath:
        """Return the path of how many items a container has; stand-ins are asked otherwise."""
        get = self.get
        return CapturedPath(f"len({self.label})", f"len({self.source})", self.names, lambda: ask(get()))

    def is_filled(self) -> CapturedPath:
        get = self.get
        return CapturedPath(f"bool({self.label})", f"bool({self.source})", self.names, lambda: bool(get()))

    def part_length(self, part: slice) -> CapturedPath:
        """Return the path of how many items a slice has."""
        get = self.get
        shown = ":".join(["" if x is None else str(x) for x in (part.start, part.stop, part.step)]).rstrip(":")
        shown = shown if ":" in shown else f"{shown}:"
        return CapturedPath(
            f"len({self.label}[{shown}])", f"len({self.source}[{shown}])", self.names, lambda: len(get()[part])
        )

    def has(self, key: Any) -> CapturedPath:
        """Return the path of whether there is an item by a key."""
        item, get = self.item(key), self.get
        text = item.source.removeprefix(self.source)[1:-1]
        label = item.label.removeprefix(self.label)[1:-1]
        return CapturedPath(f"{label} in {self.label}", f"({text} in {self.source})", item.names, lambda: key in get())

    def values(self) -> CapturedPath:
        get = self.get
        return CapturedPath(f"values of {self.label}", f"{self.source}.values()", self.names, lambda: get().values())

    def layout(self) -> CapturedPath:
        """Return the path of the shape and dtype of an array."""
        get, text = self.get, f"({self.source}.shape, {self.source}.dtype)"
        return CapturedPath(f"type of {self.label}", text, self.names, lambda: ((x := get()).shape, x.dtype))

    def contents(self) -> CapturedPath:
        """Return the path of all that an array holds."""
        get, text = self.get, f"({self.source}.shape, {self.source}.dtype, {self.source}.tobytes())"
        return CapturedPath(self.label, text, self.names, lambda: ((x := get()).shape, x.dtype, x.tobytes()))

    def memory_order(self) -> CapturedPath:
        """Return the path of the order in which the axes of an array lie in memory."""
        get, label = self.get, f"memory order of {self.label}"
        text = f"({self.source}.flags.c_contiguous or _memory_order({self.source}))"
        return CapturedPath(label, text, {**self.names, "_memory_order": memory_order}, lambda: memory_order(get()))


_LITERALS = frozenset({str, int, bool, bytes, type(None)})


def _is_literal(key: Any) -> bool:
    """Return whether the text of a key is Python for the key itself, as that of a member of an Enum is not."""
    kind = type(key)
    return kind in _LITERALS or (kind is tuple and all(map(_is_literal, key)))


def _told(key: Any) -> str:
    """Return a key as messages and generated code tell it, without the address of an object."""
    if isinstance(key, Enum):
        return f"{type(key).__name__}.{key.name}"
    if isinstance(key, (type, types.FunctionType)):
        return key.__qualname__
    if isinstance(key, PLAIN) or type(key) is frozenset:
        return repr(key)
    return type(key).__name__ if type(key) is not tuple else f"({', '.join(map(_told, key))})"


def globals_path(space: dict[str, Any]) -> CapturedPath:
    """Return the path of all global variables of a module."""
    key = f"_globals_{space.get('__name__', '')}_{id(space)}".replace(".", "_")
    return CapturedPath("the global variables", key, {key: space}, lambda: space)


def global_path(space: dict[str, Any], name: str) -> CapturedPath:
    """Return the path of a global variable of a module."""
    key = globals_path(space).source
    return CapturedPath(name, f"{key}[{name!r}]", {key: space}, lambda: space[name])


def cell_path(cell: types.CellType, name: str) -> CapturedPath:
    """Return the path of a variable of an enclosing function."""
    key = f"_cell_{name}_{id(cell)}"
    return CapturedPath(name, f"{key}.cell_contents", {key: cell}, lambda: cell.cell_contents)


def function_path(f: types.FunctionType) -> CapturedPath:
    """Return the path of a function itself, of which attributes and defaults are read."""
    key = f"_function_{id(f)}"
    return CapturedPath(f.__name__, key, {key: f}, lambda: f)


def class_path(kind: type) -> CapturedPath:
    """Return the path of a class, wherever it was found."""
    key = f"_class_{id(kind)}"
    return CapturedPath(kind.__name__, key, {key: kind}, lambda: kind)


def holds(now: Any, value: Any) -> bool:
    """Return whether the value that is there now is the one that was there when the function was traced.

    Objects of the user's classes are told by who they are: what they equal may leave out attributes that code reads.
    """
    kind = type(value)
    if now is value or type(now) is not kind:
        return now is value
    if kind.__eq__ in _OF_ITEMS:  # code may go through these
        return len(now) == len(value) and all(map(holds, now, value))
    if kind is types.MethodType:
        return now.__self__ is value.__self__ and now.__func__ is value.__func__
    if not is_told_by_value(kind):
        return False
    try:
        return bool(now == value) and (not has_own_text(value) or repr(now) == repr(value))
    except (TypeError, ValueError):
        return False


# ---------------------------------------------------------------------------------------------------------------
# whose code
# ---------------------------------------------------------------------------------------------------------------
def is_own_code(filename: str) -> bool:
    """Return whether code may read what changes: all but the standard library, NumPy, SciPy, pandas and tapec.

    Where a file lies says nothing: the user's own package may be installed.
    """
    return bool(filename) and is_user_file(filename)


def module_file(module: Any) -> str:
    """Return the file of a module; `<made>` where there is none, since it was typed in, or made by hand."""
    return getattr(module, "__file__", None) or ("" if getattr(module, "__spec__", None) else _MADE)


_MADE = "<made>"


def class_file(kind: type) -> str:
    """Return the file that a class comes from; `<made>` where it was typed in, or `exec` has run it.

    Then it is of no module, or is said to be of `builtins`. So are some of compiled extensions, which are told by what
    their objects hold beside a `__dict__`, without functions of Python.
    """
    file = module_file(sys.modules.get(kind.__module__))
    if kind.__module__ != "builtins" and (file != _MADE or kind.__module__ == "__main__"):
        return file
    own = _layout(kind) == _layout(_Plain) or any(isinstance(v, types.FunctionType) for v in vars(kind).values())
    return _MADE if own else ""


class _Plain:
    """Shows how a class is laid out that one writes."""


def _layout(kind: type) -> tuple[int, int, int]:
    return kind.__basicsize__, kind.__dictoffset__, kind.__weakrefoffset__


def is_own_class(kind: type) -> bool:
    """Return whether a user wrote a class whose instances keep their state in a `__dict__` or in slots alone.

    One of ours that holds the user's arrays says by `_tapec_holds` that its instances are read in the same way.
    """
    own = _OWN_CLASS.get(kind)
    if own is None:
        known = (kind.__module__, kind.__name__) in _OF_LIBRARIES or hasattr(kind, "_tapec_holds")
        behind = vars(kind).get("_tapec_stands_for")  # that of a stand-in
        own = _OWN_CLASS[kind] = kind is types.SimpleNamespace or (
            (known or is_own_code(class_file(kind)))
            and not any(_is_compiled(c) for c in kind.__mro__[:-1])
            and not issubclass(kind, Enum)
            and not _answers_numpy(kind)
            if behind is None
            else is_own_class(behind)
        )
    return own


def _is_compiled(kind: type) -> bool:
    """Return whether a class comes from C, so that its instances may keep their state where Python does not see it."""
    held = [v for name, v in vars(kind).items() if name not in ("__dict__", "__weakref__")]
    return is_static(kind) or any(getattr(v, "__objclass__", None) is kind for v in held if isinstance(v, _COMPILED))


def is_static(kind: type) -> bool:
    """Return whether a class was compiled into the interpreter or an extension, and lives for good."""
    return not kind.__flags__ & _HEAP_TYPE


def has_own_text(x: Any) -> bool:
    """Return whether numbers that are equal to this one may be another one: 0.0 and -0.0, `Decimal("0.50")`."""
    return isinstance(x, Number) and not isinstance(x, int)


_OF_ITEMS = (tuple.__eq__, set.__eq__, frozenset.__eq__)


def is_told_by_value(kind: type) -> bool:
    """Return whether equal objects of a class are the same to all code: those of the user's may have attributes."""
    return is_static(kind) or not is_own_code(class_file(kind))


def is_plain_class(kind: type) -> bool:
    """Return whether a class is one of numbers or strings whose objects are told by what they equal: of Python, NumPy
    or an Enum. Those of a class of the user's may have attributes, and a text of their own."""
    known = is_static(kind) or kind.__module__ == np.__name__ or issubclass(kind, Enum)
    return known and issubclass(kind, PLAIN)


_COMPILED = (types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType)


def looked_up(kind: type, name: str) -> Any:
    """Return what a class, or one that it inherits from, has under a name."""
    for c in kind.__mro__:
        if name in c.__dict__:
            return c.__dict__[name]
    return _ABSENT


# names by which code finds attributes that it does not spell
BY_ANY_NAME = frozenset(
    {"__dict__", "__getattribute__", "attrgetter", "eval", "exec", "getattr", "getmembers", "methodcaller", "vars"}
)
_WORDS: WeakKeyDictionary[types.CodeType, frozenset[str]] = WeakKeyDictionary()  # code comes and goes
_STRINGS: WeakKeyDictionary[types.CodeType, frozenset[str]] = WeakKeyDictionary()


def words_of(code: types.CodeType) -> frozenset[str]:
    """Return the names of globals and attributes that a function's code and its inner functions spell out."""
    known = _WORDS.get(code)
    if known is None:
        inner = [words_of(c) for c in code.co_consts if isinstance(c, types.CodeType)]
        known = _WORDS[code] = frozenset(code.co_names).union(*inner)
    return known


def strings_of(code: types.CodeType) -> frozenset[str]:
    """Return the strings and local names that a function's code and its inner functions spell out: keys of
    mappings."""
    known = _STRINGS.get(code)
    if known is None:
        inner = [strings_of(c) for c in code.co_consts if isinstance(c, types.CodeType)]
        strings = [c for c in code.co_consts if type(c) is str]
        known = _STRINGS[code] = frozenset(strings).union(code.co_varnames, *inner)
    return known


# ---------------------------------------------------------------------------------------------------------------
# arrays of other packages
# ---------------------------------------------------------------------------------------------------------------
def is_foreign_array(x: Any) -> bool:
    """Return whether NumPy makes an array of an installed package's object: a pandas Series, a DataFrame, a torch
    tensor."""
    kind = type(x)
    known = _FOREIGN.get(kind)
    if known is None:
        known = _FOREIGN[kind] = _answers_numpy(kind)
    return known


def _answers_numpy(kind: type) -> bool:
    return (
        (hasattr(kind, "__array__") or hasattr(kind, "__array_interface__"))
        and not issubclass(kind, (np.ndarray, np.generic, type))
        and not kind.__module__.startswith("tapec.")
        and is_installed(class_file(kind))
    )


_FOREIGN: WeakKeyDictionary[type, bool] = WeakKeyDictionary()


class Contents(tuple):
    """Holds the contents of a foreign object, to be compared; shown as a checksum, which differs where the contents
    do."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<contents {zlib.crc32(tuple.__repr__(self).encode()):08x}>"


def contents(x: Any) -> Contents:
    """Return the contents of a table column by column, and of a column with its labels."""
    if hasattr(x, "columns") and hasattr(x, "items"):
        return Contents([(name, contents(column)) for name, column in x.items()])
    index = getattr(x, "index", None)
    labels = () if not is_foreign_array(index) else _labels(index)
    array = np.asarray(x)
    held = tuple(array.ravel().tolist()) if array.dtype.kind == "O" else array.tobytes()
    return Contents((array.shape, array.dtype, held, labels))


def _labels(index: Any) -> Any:
    """Return what the labels of a column are; those that count the rows say so shortly."""
    if hasattr(index, "step"):
        return type(index), index.start, index.stop, index.step, index.name
    return contents(index)


# ---------------------------------------------------------------------------------------------------------------
# generators
# ---------------------------------------------------------------------------------------------------------------
def cell_contents(cell: types.CellType) -> Any:
    """Return what a variable of an enclosing function holds; None where it is not bound yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def is_generator(x: Any) -> bool:
    """Return whether random numbers or seeds are drawn from an object. Nobody has any whose module is not imported."""
    if "numpy.random" in sys.modules:
        kinds = np.random.Generator, np.random.RandomState, np.random.BitGenerator, np.random.SeedSequence
        if isinstance(x, kinds):
            return True
    return "random" in sys.modules and isinstance(x, sys.modules["random"].Random)


def generator_state(x: Any) -> Any:
    import random  # who has a generator, has this

    if isinstance(x, random.Random):
        return None if isinstance(x, random.SystemRandom) else x.getstate()
    if isinstance(x, np.random.RandomState):
        return repr(x.get_state(legacy=False))
    if isinstance(x, np.random.SeedSequence):
        return x.n_children_spawned
    bits = getattr(x, "bit_generator", x)
    return repr(bits.state), getattr(bits.seed_seq, "n_children_spawned", 0)
