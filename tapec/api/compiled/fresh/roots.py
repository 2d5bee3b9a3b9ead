"""Find, from the function of a call, what an earlier function of the same code has captured.

A captured path begins at an object of the run: a cell, a function, the globals of a module. `Roots` writes each as text
that begins at `_f`, the function of the call: a cell is `_f.__closure__[0]`. So the text reads what that function has
captured, and names nothing that the earlier one had. What a run takes to be the same without noting it is tested: code,
modules, classes, the number of defaults, which functions share a variable. Where something is found on no such text, or
could be another without that being seen, nothing is shared (`NotShared`).
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Collection
from enum import Enum
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from tapec.api.compiled.fresh.reads import Kind, Reads, is_of_library, kind_of
from tapec.trace.capture.captured_paths import (
    SCALARS,
    CapturedPath,
    is_own_class,
    is_own_code,
    is_plain_class,
    is_static,
    looked_up,
)
from tapec.trace.capture.function_clones import CACHE_KEY
from tapec.trace.function.call_adapter import Adapter

__all__ = ["NotShared", "Roots", "are_options", "is_compiled", "is_inner", "is_value"]

_AROUND: dict[type, str] = {property: "fget", classmethod: "__func__", staticmethod: "__func__"}  # what is held weakly
_NAMES = re.compile(r"\b_\w+\b")
# of functions: two of the same code may have others
_OWN_TO_FUNCTIONS = {"__name__", "__qualname__", "__doc__", "__module__", "__annotations__", "__closure__", "__code__"}
_OWN_TO_FUNCTIONS |= {"__defaults__", "__kwdefaults__", "__globals__", "__type_params__", "__wrapped__", "__func__"}


class NotShared(Exception):
    """Says why a stub cannot be shared."""


class Roots:
    """Writes the tests of a shared stub into `w`, the writer of the stub, and the texts of captured paths.

    `function` is the one that was recorded, `reads` are its runs' reads.
    """

    def __init__(self, function: Any, reads: Reads, w: Any):
        self._w = w
        self._reads = reads
        self._texts: dict[int, str] = {}  # by the `id` of objects: those that belong to the function of the call
        self._others: dict[int, str] = {}  # and those that any function finds
        self._of_code: dict[types.CodeType, list[str]] = {}  # texts of functions, by their code
        self._held: list[Any] = [function]  # so long ids are theirs
        self._defaults: list[tuple[str, Any]] = []  # where defaults of parameters are found: a text, and the holder
        self._given: set[str] = set()  # sources of facts about functions that the function of the call was given
        w.about = "what is called"
        if not reads.words.isdisjoint(_OWN_TO_FUNCTIONS):
            raise NotShared("it may ask functions for what is their own")
        w.lines.append("_f = own._function")
        self._root(function, "_f")

    # -- functions -----------------------------------------------------------------------------------------------------
    def _root(self, function: Any, text: str) -> None:
        """Begin at the function of the call, and at what partial functions, methods, adapters and compiled functions
        hold."""
        self._texts[id(function)] = text
        kind = type(function)
        if kind is types.FunctionType:
            del self._texts[id(function)]
            self._function(function, text)
            while "__wrapped__" in function.__dict__:  # whose signature it has
                function, text = function.__wrapped__, f"{text}.__wrapped__"
            self._defaults.append((text, function))
        elif kind is types.MethodType and type(function.__func__) is types.FunctionType:
            self._is_of_class(text, kind)
            self._root(function.__func__, f"{text}.__func__")
        elif kind is partial:
            self._is_partial(text, *kind_of(function).what)
            self._defaults.append((text, function))
            self._root(function.func, f"{text}.func")
        elif kind is Adapter:
            self._is_of_class(text, kind)
            self._adapter(function, text)
        elif is_compiled(function):
            self._is_of_class(text, kind)
            self._root(function._function, f"{text}._function")
        elif is_own_class(kind) and type(looked_up(kind, "__call__")) is types.FunctionType:
            self._is_of_class(text, kind)
            if hasattr(function, "__wrapped__") or hasattr(function, "__signature__"):
                raise NotShared("an object says itself which arguments it takes")
            self._w.test(f"hasattr({text}, '__wrapped__') or hasattr({text}, '__signature__')")
        else:
            raise NotShared(f"it is a {kind.__name__}")

    def _adapter(self, adapter: Adapter, text: str) -> None:
        call: Any = adapter.call
        self._is_code(f"{text}.call.__code__", call.__code__)
        for k, cell in enumerate(call.__closure__ or ()):
            self._is_value(f"{text}.call.__closure__[{k}].cell_contents", cell.cell_contents)
        self._w.test(f"len({text}.functions) != {len(adapter.functions)}")
        for k, f in enumerate(adapter.functions):
            self._root(f, f"{text}.functions[{k}]")

    def _is_partial(self, text: str, arguments: int, keywords: tuple[str, ...], has_attributes: bool) -> None:
        if has_attributes:
            raise NotShared("a partial function has attributes")
        self._is_of_class(text, partial)
        self._has_no_attributes(text)
        names = self._w.name(keywords, "keywords")
        self._w.test(f"len({text}.args) != {arguments} or tuple({text}.keywords) != {names}")

    def _function(self, f: types.FunctionType, text: str) -> None:
        """Test that a function has this code, and name it and its variables of enclosing functions."""
        if id(f) in self._texts:
            return self._w.test(f"{text} is not {self._texts[id(f)]}")
        if id(f) in self._others:
            raise NotShared("a function is given, and found elsewhere as well")
        if not is_own_code(f.__code__.co_filename):
            raise NotShared(f"{f.__name__} is of a library")
        wrapped = f.__dict__.get("__wrapped__")
        if not _is_plain(f):
            raise NotShared(f"{f.__name__} has attributes")
        name = self._named(text, "f")
        self._texts[id(f)] = name
        self._held.append(f)
        w = self._w
        for other in self._of_code.setdefault(f.__code__, []):  # it may be asked whether they are one
            w.test(f"{name} is {other}")
        self._of_code[f.__code__].append(name)
        self._is_of_class(name, types.FunctionType)
        self._is_code(f"{name}.__code__", f.__code__)
        w.test(f"{name}.__globals__ is not {self._globals(f.__globals__)}")
        self._has_no_attributes(name, wraps=wrapped is not None)
        w.test(f"len({name}.__defaults__ or ()) != {len(f.__defaults__ or ())}")
        w.test(f"tuple({name}.__kwdefaults__ or ()) != {w.name(tuple(f.__kwdefaults__ or ()), 'keywords')}")
        for k, cell in enumerate(f.__closure__ or ()):
            self._cell(cell, f"{name}.__closure__[{k}]")
        if wrapped is not None:
            self._function(wrapped, f"{name}.__wrapped__")
        return None

    def _has_no_attributes(self, text: str, wraps: bool = False) -> None:
        """Test that a function has no attributes, such as a signature of its own, but for the function that it wraps
        by `functools.wraps`."""
        self._w.test(f"len({text}.__dict__) != ({CACHE_KEY!r} in {text}.__dict__) + {int(wraps)}")
        if wraps:
            self._w.test(f"'__wrapped__' not in {text}.__dict__")

    def _cell(self, cell: types.CellType, text: str) -> None:
        """Name a variable of an enclosing function; two functions that shared one must share it again."""
        try:
            cell.cell_contents  # noqa: B018
        except ValueError:
            raise NotShared("a variable of an enclosing function is not bound yet") from None
        known = self._texts.get(id(cell))
        if known is not None:
            self._w.test(f"{text} is not {known}")
        else:
            self._texts[id(cell)] = self._named(text, "cell")

    def default(self, name: str) -> str:
        """Return the text of the default of a parameter."""
        for text, holder in self._defaults:
            if type(holder) is partial:
                if name in holder.keywords:
                    return f"{text}.keywords[{name!r}]"
                continue
            code = holder.__code__
            if name in code.co_varnames[: code.co_argcount] and holder.__defaults__:
                return f"{text}.__defaults__[{code.co_varnames.index(name) - code.co_argcount}]"
            if name in (holder.__kwdefaults__ or ()):
                return f"{text}.__kwdefaults__[{name!r}]"
        raise NotShared(f"the default of {name} is nowhere")

    # -- texts of paths ------------------------------------------------------------------------------------------------
    def at(self, path: CapturedPath) -> CapturedPath:
        """Return a path as it begins at the function of the call."""
        names = {name: self._text_of(name, x) for name, x in path.names.items()}
        source = _NAMES.sub(lambda m: names.get(m[0], m[0]), path.source)
        return CapturedPath(path.label, source, {}, path.get)

    def _text_of(self, name: str, x: Any) -> str:
        text = self._texts.get(id(x)) or self._others.get(id(x))
        if name.startswith("_which_") and id(x) in self._texts:  # which one it is, not that another one is there now
            return self._named(f"{self._w.name(ref(x), 'which')}()", "which")
        if text is not None:
            return text
        if name.startswith("_static"):
            raise NotShared("an argument is an object")
        if type(x) is dict:
            return self._globals(x)
        if type(x) is types.CellType:
            owner, k = self._owner(x)
            return f"{self._text_of('', owner)}.__closure__[{k}]"
        if isinstance(x, (types.FunctionType, type, types.ModuleType)):
            return self._other(x)
        if name.startswith("_key_") and is_value(x):
            return self._w.name(x, "key")
        raise NotShared(f"a path begins at {name}")

    def _owner(self, cell: types.CellType) -> tuple[types.FunctionType, int]:
        for f in self._reads.functions:
            for k, c in enumerate(f.__closure__ or ()):
                if c is cell:
                    return f, k
        raise NotShared("a variable is of no function of the run")

    def _globals(self, space: dict[str, Any]) -> str:
        """Return the text of the globals of a module that is loaded."""
        text = self._others.get(id(space))
        if text is None:
            module = _module_of(space)
            if module is None:
                raise NotShared("its globals are of no module that is loaded")
            text = self._others[id(space)] = self._named(f"{self._w.name(ref(module), 'module')}().__dict__", "globals")
        return text

    def _other(self, x: Any) -> str:
        """Return the text of a function, class or module that is no part of the function of the call.

        It is held weakly, but for what is ours and lives for good. Facts pin which one it is.
        """
        if str(getattr(x, "__module__", "")).startswith("tapec."):
            text = self._w.name(x, "ours")
        else:
            text = self._named(f"{self._w.name(ref(x), 'other')}()", "at")
        self._held.append(x)
        self._others[id(x)] = text
        return text

    def _is_relative(self, path: CapturedPath) -> bool:
        """Return whether a path begins at what belongs to the function of the call."""
        return any([id(x) in self._texts for x in path.names.values()])

    def _named(self, text: str, stem: str) -> str:
        self._w.flush()
        name = f"_{stem}_{len(self._w.lines)}"
        self._w.lines.append(f"{name} = {text}")
        return name

    # -- what must be the same -----------------------------------------------------------------------------------------
    def test_functions(self, checks: Collection[tuple[CapturedPath, Any]]) -> None:
        """Test that functions have the same code which the function of the call was given, or finds in its module:
        they may be made anew, or defined again. This comes before anything else is named.

        Which of them are one function is tested too: functions are compared, and are keys of dicts.
        """
        found: list[tuple[str, Any]] = []
        for path, value in checks:
            if self._may_be_another(path, value):
                if self._reads.asks_identity:
                    raise NotShared("it asks whether objects are the same")
                self._given.add(path.source)
                self._w.about = path.label
                source = self.at(path).source
                if type(value) is types.FunctionType:
                    self._function(value, source)
                else:
                    self._compiled(value, source)
                for other, known in found:
                    self._w.test(f"{source} is {'not ' if value is known else ''}{other}")
                found.append((source, value))

    def _may_be_another(self, path: CapturedPath, f: Any) -> bool:
        """Return whether a function at a path is told by its code, not by which it is."""
        at_a_name = all([type(x) is dict for x in path.names.values()]) and not self._reads.asks_identity
        if is_compiled(f):
            is_made_anew = type(f._function) is types.FunctionType and is_inner(f._function)
            return self._is_relative(path) or (at_a_name and is_made_anew)
        if type(f) is not types.FunctionType:
            return False
        if is_inner(f) and self._is_relative(path):
            return True
        may_be = at_a_name and _is_plain(f)
        return may_be and is_own_code(f.__code__.co_filename) and _module_of(f.__globals__) is not None

    def _compiled(self, compiled: Any, text: str) -> None:
        """Test that a compiled function that was captured computes the same of a function of this code."""
        if not are_options(compiled._options) or type(compiled._function) is not types.FunctionType:
            raise NotShared("it captures a compiled function")
        name = self._named(text, "compiled")
        self._is_of_class(name, type(compiled))
        self._w.test(f"{name}._options != {self._w.name(compiled._options, 'options')}")
        self._function(compiled._function, f"{name}._function")

    def test_facts(self, checks: Collection[tuple[CapturedPath, Any]]) -> None:
        """Test the facts that the run relies on, but for those about functions that are tested already."""
        for path, value in checks:
            if path.source not in self._given:
                self._w.about = path.label
                self._is_value(self.at(path).source, value)
        pinned = {id(value) for path, value in checks if path.source not in self._given}
        for x in self._held:
            if type(x) is types.FunctionType and is_inner(x) and id(x) not in self._texts and id(x) not in pinned:
                raise NotShared(f"no fact tells which function {x.__name__} is")

    def test_reads(self, tested: set[str]) -> None:
        """Test the kinds of what the runs have read beside the paths that are `tested`."""
        for path, kind in self._reads.kinds.values():
            if path.source not in tested and self._is_relative(path):
                self._w.about = path.label
                self._is_alike(self.at(path).source, kind)

    def _is_alike(self, text: str, kind: Kind) -> None:
        how, what = kind
        if how == "array":
            self._is_of_class(text, np.ndarray)
            self._w.test(f"{text}.shape != {what[0]!r} or {text}.dtype != {self._w.name(what[1], 'dtype')}")
        elif how == "class":
            self._is_of_class(text, what)
        elif how == "module":
            self._is_same(text, what)
        elif how == "known":
            self._w.test(f"{text} is not {self._w.name(what, 'known')}")
        elif how == "method":
            self._is_of_class(text, types.MethodType)
            self._is_same(f"{text}.__func__", what)
        elif how == "partial":
            self._is_partial(text, *what)
        elif how != "function":  # of which a fact says that it is the one at another path
            raise NotShared(f"it captures a {what.__name__}")

    def _is_value(self, text: str, value: Any) -> None:
        """Test that a value is at a path, or this very object, which is held weakly."""
        w, kind = self._w, type(value)
        if value is None or kind is bool:
            w.test(f"{text} is not {value!r}")
        elif kind is types.CodeType:
            self._is_code(text, value)
        elif is_value(value):
            name, of = w.name(value, "fact"), w.name(kind, "kind")
            if isinstance(value, (tuple, set, frozenset)):
                w.test(f"not {w.same_items(text, value)}")
            elif isinstance(value, SCALARS):  # 0.0 and -0.0 are equal
                w.test(f"type(_x := {text}) is not {of} or repr(_x) != {repr(value)!r}")
            else:
                w.test(f"(_x := {text}) is not {name} and (type(_x) is not {of} or _x != {name})")
        elif is_of_library(value):
            w.test(f"{text} is not {w.name(value, 'fact')}")
        elif kind in _AROUND:
            self._is_of_class(text, kind)
            self._is_same(f"{text}.{_AROUND[kind]}", getattr(value, _AROUND[kind]))
        else:
            self._is_same(text, value)

    def _is_same(self, text: str, value: Any) -> None:
        """Test that an object that outlives the function of a call is at a path."""
        try:
            held = self._w.name(ref(value), "same")
        except TypeError:
            raise NotShared(f"which {type(value).__name__} it is cannot be told without keeping it") from None
        self._w.test(f"(_x := {text}) is None or _x is not {held}()")

    def _is_of_class(self, text: str, kind: type) -> None:
        if is_static(kind):
            self._w.test(f"type({text}) is not {self._w.name(kind, 'kind')}")
        else:
            self._w.test(f"type({text}) is not {self._w.name(ref(kind), 'kind')}()")

    def _is_code(self, text: str, code: types.CodeType) -> None:
        name = self._w.name(code, "code")
        self._w.test(f"(_x := {text}) is not {name} and _x != {name}")


def _is_plain(f: types.FunctionType) -> bool:
    """Return whether a function has no attributes, but for what it wraps."""
    wrapped = f.__dict__.get("__wrapped__")
    return not f.__dict__.keys() - {CACHE_KEY, "__wrapped__"} and (
        wrapped is None or type(wrapped) is types.FunctionType
    )


def _module_of(space: dict[str, Any]) -> types.ModuleType | None:
    """Return the loaded module that has these globals."""
    module = sys.modules.get(space.get("__name__", ""))
    return module if module is not None and module.__dict__ is space else None


def is_inner(f: Any) -> bool:
    """Return whether a function or class is made anew whenever the function around it runs."""
    return "<" in (f.__code__.co_qualname if type(f) is types.FunctionType else f.__qualname__)


def is_compiled(x: Any) -> bool:
    """Return whether x is a compiled function: a run calls it, and does not look into it."""
    return hasattr(type(x), "_tapec_answers")


def are_options(options: tuple[Any, ...]) -> bool:
    """Return whether the options of a transform are told by what they are."""
    return all([x.__module__.startswith("tapec.") if isinstance(x, type) else is_value(x) for x in options])


def is_value(x: Any) -> bool:
    """Return whether a value is told by what it is, and holds nothing of the user's."""
    if isinstance(x, (tuple, frozenset)):
        of_ours = type(x) in (tuple, frozenset) or type(x).__module__.startswith("tapec.")
        return of_ours and all(map(is_value, x))
    if isinstance(x, slice):
        return all(map(is_value, (x.start, x.stop, x.step)))
    if isinstance(x, type):
        return is_static(x)
    kind = type(x)
    return (is_plain_class(kind) and not isinstance(x, Enum)) or isinstance(x, np.dtype)
