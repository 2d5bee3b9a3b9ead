"""Clone the user's functions for tracing, so that reads of globals and cells go through `Captures`."""

from __future__ import annotations

import builtins
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from tapec.errors import UnsupportedError, at_user_line, is_installed
from tapec.trace.capture.captured_paths import (
    ATOMS,
    PLAIN,
    SCALARS,
    CapturedPath,
    cell_contents,
    cell_path,
    class_file,
    class_path,
    function_path,
    global_path,
    globals_path,
    holds,
    is_own_class,
    is_own_code,
    is_plain_class,
    module_file,
    strings_of,
    words_of,
)
from tapec.trace.capture.module_stand_ins.class_questions import BUILTINS
from tapec.trace.capture.module_stand_ins.loaded_modules import sys_for
from tapec.trace.capture.module_stand_ins.numpy_view import view_of
from tapec.trace.capture.module_stand_ins.plain_arguments import plain_library
from tapec.trace.capture.unseen_code import spells_unseen
from tapec.trace.escape.bytecode_site import calls_unbound, compared_by_identity

__all__ = ["CACHE_KEY", "Clones", "is_of_a_run", "real_globals"]

CACHE_KEY = "_tapec_compiled"  # where a function keeps what was compiled for it
EXAMPLES = "example_args"  # what the command line traces a function with: no state of the program
_ABSENT = object()

# names of what looks for attributes that may not be there
_LOOKING = frozenset({"getattr", "hasattr", "AttributeError", "Exception"})

# methods by which containers change
_CHANGES = frozenset(
    {
        *(
            "append",
            "appendleft",
            "clear",
            "extend",
            "extendleft",
            "insert",
            "move_to_end",
            "pop",
            "popitem",
            "popleft",
        ),
        *("remove", "reverse", "rotate", "setdefault", "sort", "update"),
        *("__delitem__", "__iadd__", "__imul__", "__ior__", "__setitem__"),
    }
)


class Clones:
    """Holds the functions of one traced run. `codes` are theirs, `words` the names that these spell out.

    `given` are functions that get all of their arguments, `imports` modules that functions import when they run.
    """

    def __init__(self, captures: Any):
        self.captures = captures
        self.codes: set[types.CodeType] = set()
        self.words: set[str] = set()
        self.call_past_us = False  # does one call `list.pop(x)` or its like, which reads stand-ins past their methods?
        self.ask_identity = False  # does one compare by `is` what may be an array or object?
        self.given: list[Any] = []
        self.imports: list[Any] = []
        self._known: dict[int, types.FunctionType] = {}
        self._spaces: dict[int, _Globals] = {}
        self._cells: dict[int, types.CellType] = {}  # a variable of an enclosing function is one for all its functions
        self._real: dict[int, types.CellType] = {}  # the user's own, by those
        self._settled: dict[int, tuple[types.FunctionType, types.FunctionType]] = {}  # functions that are kept
        self._held: list[tuple[str, types.CellType, Any]] = []  # variables of enclosing functions, with what they hold
        self.changed_by_others: str | None = None  # the name of one of these
        self._bound: list[tuple[str, types.CellType, types.CellType, Any]] = []
        self._attributes: list[tuple[types.FunctionType, types.FunctionType, dict[str, Any]]] = []

    def of(self, f: types.FunctionType) -> types.FunctionType:
        """Return the same function, which reads its globals and closure through us."""
        known = self._known.get(id(f))
        if known is not None:
            return known
        cells, unread = [], []
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or ()):
            fresh = self._cells.get(id(cell))
            if fresh is None:
                fresh = self._cells[id(cell)] = types.CellType()
                self._real[id(fresh)] = cell
                unread.append((name, cell, fresh))
            cells.append(fresh)
        space = self.space_of(f.__globals__)
        new = types.FunctionType(f.__code__, space, f.__name__, None, tuple(cells) or None)
        self._known[id(f)] = new  # before anything is read, which may lead back to it
        new.__defaults__ = self._defaults(f)
        new.__kwdefaults__ = self._keyword_defaults(f)
        new.__qualname__ = f.__qualname__
        for name, value in f.__dict__.items():
            if name != CACHE_KEY:
                plain = name.startswith(("__", "_tapec")) or name == EXAMPLES
                new.__dict__[name] = value if plain else self.captures.read(value, function_path(f).attribute(name))
        self._attributes.append((f, new, dict(new.__dict__)))
        if not isinstance(f.__globals__, _Globals):  # of a function that a run around this one has made, that one knows
            self.captures.facts.add(function_path(f).code(), f.__code__)  # a notebook may give it other code
        words = words_of(f.__code__)
        if "random" in words:
            self.captures.trace.watch_draws()
        self.words |= words
        if "__getattribute__" in words:
            self.captures.note_read_past()
        if "type" in words:
            self.captures.note_classes()
        self.codes.add(f.__code__)
        if spells_unseen(words) or calls_unbound(f.__code__):
            self.captures.stores.may_change_unseen()
        if not self.call_past_us and calls_unbound(f.__code__):
            if self.captures.containers and not _CHANGES.isdisjoint(words):
                raise UnsupportedError(
                    at_user_line(
                        f"{f.__qualname__} may change a captured container past its methods, as list.append(log, x) "
                        "does, after the run has used it. Fix: write log.append(x)"
                    )
                )
            self.call_past_us = True
            self.captures.note_containers()
        self.ask_identity = self.ask_identity or _asks_identity(f)
        for name, cell, fresh in unread:
            try:
                value = cell.cell_contents
            except ValueError:  # an empty cell: the name is not bound yet
                continue
            self._held.append((name, cell, value))
            fresh.cell_contents = self.captures.read(value, cell_path(cell, name), f.__code__, "cell")
            self._bound.append((name, cell, fresh, fresh.cell_contents))
        return new

    def space_of(self, real: dict[str, Any]) -> _Globals:
        """Return the global variables of a module as the run sees them."""
        space = self._spaces.get(id(real))
        if space is None:
            space = self._spaces[id(real)] = _Globals(self, real)
        return space

    @property
    def functions(self) -> list[types.FunctionType]:
        """The user's functions of which there are clones."""
        return [f for f, _, _ in self._attributes]

    def add_missing(self) -> None:
        """Note as facts that variables are not there which the run has looked for: a builtin's name may become one."""
        for space in self._spaces.values():
            self.captures.facts.add_missing(globals_path(_own(space)), space.missing)

    def add_missing_attributes(self, classes: Iterable[type]) -> None:
        """Note as facts that functions and classes lack attributes which code spells out that may look for some."""
        if _LOOKING.isdisjoint(self.words):
            return
        spelled = self.words.union(*map(strings_of, self.codes))
        names = {n for n in spelled if n.isidentifier() and n[:2] != "__"}
        for f in self.functions:
            self.captures.facts.add_missing(function_path(f).attribute("__dict__"), names - f.__dict__.keys())
        for kind in classes:
            lacking = {n for n in names if not hasattr(kind, n)}
            for c in [c for c in kind.__mro__ if is_own_code(class_file(c))]:
                self.captures.facts.add_missing(class_path(c).attribute("__dict__"), lacking)

    def _defaults(self, f: types.FunctionType) -> tuple[Any, ...] | None:
        path = function_path(f).attribute("__defaults__")
        found = enumerate(f.__defaults__ or ())
        return tuple([self._default(f, v, path.item(k)) for k, v in found]) or None

    def _keyword_defaults(self, f: types.FunctionType) -> dict[str, Any] | None:
        path = function_path(f).attribute("__kwdefaults__")
        found = (f.__kwdefaults__ or {}).items()
        return {k: self._default(f, v, path.item(k)) for k, v in found} or None

    def _default(self, f: types.FunctionType, value: Any, path: CapturedPath) -> Any:
        """Return a default as a trace reads it: arrays and objects as ever; numbers are constants in code, and facts to
        us."""
        if any(f is g for g in self.given):
            return view_of(value)
        is_atom = type(value) in ATOMS and type(value) is not type
        if is_atom or (isinstance(value, SCALARS) and is_plain_class(type(value))):
            self.captures.facts.add(path, value)
            return view_of(value)
        return self.captures.read(value, path)

    def evaluated(self, run: Any, space: dict[str, Any], source: Any, /, *given: Any, **named: Any) -> Any:
        """Run a text as Python, with the globals and the local variables of the function that asks for it.

        What it reads is not followed. The globals are the real ones: Python looks past ours for names in a text. From
        Python 3.13 on a text sees the variables as they are, and cannot change them.
        """
        self.captures.stores.may_change_unseen()
        self.captures.trace.require_retrace(f"it calls {run.__name__}, whose code is not followed")
        given = tuple([x.real if isinstance(x, _Globals) else x for x in given])
        self._note_text(source, next(iter((*given, *named.values())), space))
        if given or named:
            return run(source, *given, **named)
        variables = sys._getframe(1).f_locals
        return run(source, space, variables if type(variables) is dict else dict(variables))

    def _note_text(self, source: Any, space: dict[str, Any]) -> None:
        """Note that a text runs, or code that was made of one, which finds the user's own global variables."""
        with suppress(SyntaxError, TypeError, ValueError):  # the user gets this error from `eval`
            code = source if isinstance(source, types.CodeType) else compile(source, "<text>", "exec")
            text = types.FunctionType(code, space)
            self.captures.untraced.note_root(text, function_path(text))

    def imported(self, find: Any, *args: Any, **kwargs: Any) -> Any:
        """Import inside a function: the user's own modules are read as captured ones are."""
        self.captures.stores.may_change_unseen()
        module = find(*args, **kwargs)
        self.imports.append(module)
        if not is_own_code(module_file(module)):
            return plain_library(sys_for(self.captures, view_of(self.captures.made(module))))
        key = f"_module_{id(module)}"
        return self.captures.read(module, CapturedPath(module.__name__, key, {key: module}, lambda: module))

    def changed(self) -> str | None:
        """Return the name of a variable, or of a function, that the run has given a new value or attribute."""
        names = [space.labels.get(name, name) for space in self._spaces.values() for name in space.changes()]
        names += [name for name, _, fresh, before in self._bound if _is_other(fresh, before)]
        for f, clone, before in self._attributes:
            names += [f"{f.__name__}.{n}" for n, v in clone.__dict__.items() if _is_set(n, v, before)]
        return names[0] if names else None

    def set_globals(self) -> tuple[str, ...]:
        """Return the texts of paths to the global variables that the run has set."""
        spaces = self._spaces.values()
        return tuple([global_path(space.real, name).source for space in spaces for name in space.changes()])

    def set_variables(self) -> dict[str, str]:
        """Return the names of variables that hold something else than before the run, by the texts of their paths."""
        found = {
            global_path(_own(space), name).source: space.labels.get(name, name)
            for space in self._spaces.values()
            for name in space.changes()
            if not self._is_same(dict.__getitem__(space, name), space.real.get(name, _ABSENT))
            and not _is_harmless(_own(space), _own(space), name, dict.__getitem__(space, name))
        }
        for name, cell, fresh, before in self._bound:
            if _is_other(fresh, before) and not self._is_same(cell_contents(fresh), cell_contents(cell)):
                found[cell_path(cell, name).source] = name
        return found

    def set_attributes(self) -> dict[int, dict[str, str]]:
        """Return which attributes of modules and functions hold something else than before the run: their labels, by
        the `id` of the dict in which the user's own are."""
        found: dict[int, dict[str, str]] = {}
        for space in self._spaces.values():
            own, changes = _own(space), {name: dict.__getitem__(space, name) for name in space.changes()}
            names = [n for n, v in changes.items() if not _is_harmless(own, own, n, v)]
            found[id(own)] = {n: space.labels.get(n, n) for n in names}
        for f, clone, before in self._attributes:
            own, changes = real_globals(f), {n: v for n, v in clone.__dict__.items() if _is_set(n, v, before)}
            names = [n for n, v in changes.items() if not _is_harmless(own, f.__dict__, n, v)]
            found[id(f.__dict__)] = {n: f"{f.__name__}.{n}" for n in names}
        return {key: names for key, names in found.items() if names}

    def _is_same(self, now: Any, before: Any) -> bool:
        """Return whether a value is the one of before, a stand-in for it, or the same number or string."""
        if now is before or self.captures.identities.originals.get(id(now), _ABSENT) is before:
            return True
        return isinstance(before, PLAIN) and holds(now, before)

    def own(self, f: types.FunctionType) -> types.FunctionType:
        """Return the user's own function for a clone of it; any other function as it is."""
        return next((g for g, clone, _ in self._attributes if clone is f), f)

    def settled(self, f: types.FunctionType) -> types.FunctionType:
        """Return a function of the run as it is kept: the user's own for a clone, and one that reads the user's own
        state for a function that was made in a clone."""
        space = f.__globals__
        if not isinstance(space, _Globals) or space.captures is not self.captures:
            return f
        own = self.own(f)
        if own is not f:
            return own
        known = self._settled.get(id(f))
        if known is not None:
            return known[1]
        cells = [self._real.get(id(cell)) or types.CellType() for cell in f.__closure__ or ()]
        new = types.FunctionType(f.__code__, space.real, f.__name__, None, tuple(cells) or None)
        self._settled[id(f)] = f, new  # before anything is stored, which may lead back to it
        new.__defaults__, new.__kwdefaults__ = (
            self.captures.stores.plain(f.__defaults__),
            self.captures.stores.plain(f.__kwdefaults__),
        )
        new.__qualname__, new.__doc__, new.__module__ = f.__qualname__, f.__doc__, f.__module__
        new.__dict__.update(self.captures.stores.plain(f.__dict__))
        self._settle_variables(f, new)
        return new

    def _settle_variables(self, f: types.FunctionType, new: types.FunctionType) -> None:
        """Give a function that is kept the variables of the run around it, with what they hold now."""
        for cell, mine in zip(f.__closure__ or (), new.__closure__ or ()):
            if id(cell) not in self._real:
                with suppress(ValueError):  # not bound yet
                    mine.cell_contents = self.captures.stores.plain(cell.cell_contents)

    def begins(self, path: CapturedPath) -> bool:
        """Return whether a path begins at a variable as the run sees it."""
        ours = {*self._real, *map(id, self._spaces.values())}
        return any([id(x) in ours for x in path.names.values()])

    def release(self) -> None:
        """Let functions that outlive the run read the user's own state from now on."""
        for _, cell, fresh, _ in self._bound:
            with suppress(ValueError):
                fresh.cell_contents = cell.cell_contents

    def written(self) -> Iterator[tuple[Any, str, bool]]:
        """Yield where `write_back` writes: an owner, a name, and whether it is a key of a dict."""
        yield from (
            (cell, "cell_contents", False) for _, cell, fresh, before in self._bound if _is_other(fresh, before)
        )
        yield from ((space.real, name, True) for space in self._spaces.values() for name in space.changes())
        for f, clone, before in self._attributes:
            yield from ((f.__dict__, n, True) for n, v in clone.__dict__.items() if _is_set(n, v, before))

    def write_back(self) -> None:
        """Give variables and attributes of functions that the run changed their new values."""
        for f, new in list(self._settled.values()):
            self._settle_variables(f, new)
        self.changed_by_others = next((name for name, cell, value in self._held if _is_other(cell, value)), None)
        for _, cell, fresh, before in self._bound:
            try:
                after = fresh.cell_contents
            except ValueError:  # the run has deleted it
                continue
            if after is not before:
                cell.cell_contents = self.captures.stores.plain(after)
        for space in self._spaces.values():
            space.write_back()
        for f, clone, before in self._attributes:
            for name, value in clone.__dict__.items():
                if _is_set(name, value, before):
                    f.__dict__[name] = self.captures.stores.plain(value)


class _Globals(dict):
    """Holds a function's globals, as the function sees them while it is traced."""

    def __init__(self, clones: Clones, real: dict[str, Any]):
        super().__init__()
        self.captures = clones.captures
        self.real = real
        self.labels: dict[str, str] = {}  # of variables that were set as attributes of the module
        self.missing: set[str] = set()  # names that were looked up in vain: mostly those of builtins
        for key in _OWN_KEYS:  # the interpreter reads these past __getitem__
            if key in real:
                dict.__setitem__(self, key, real[key])
        space = real.get("__builtins__", builtins)
        known = space if isinstance(space, dict) else vars(space)
        ours = {**known, **BUILTINS}
        ours |= {name: partial(clones.evaluated, known[name], real) for name in ("eval", "exec") if name in known}
        if "__import__" in known:  # functions that namedtuple makes have no builtins
            ours["__import__"] = partial(clones.imported, known["__import__"])
        dict.__setitem__(self, "__builtins__", ours)

    def changes(self) -> list[str]:
        """Return the names of variables that the run has set."""
        return [name for name in dict.keys(self) if name not in _NOT_THEIRS]

    def __getitem__(self, name: str) -> Any:
        if self.captures.is_over and name in self.real:  # a function that outlives the run
            return self.real[name]
        if dict.__contains__(self, name):
            return dict.__getitem__(self, name)
        if name not in self.real:
            self.missing.add(name)
        value = self.real[name]
        return self.captures.read(value, global_path(self.real, name), sys._getframe(1).f_code, "global")

    def __contains__(self, name: object) -> bool:
        if dict.__contains__(self, name) or name in self.real:
            return True
        if type(name) is str:
            self.missing.add(name)
        return False

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def keys(self) -> Any:
        self.captures.trace.require_retrace("it goes through the global variables")
        return {**dict.fromkeys(self.real), **dict.fromkeys(dict.keys(self))}.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def values(self) -> Any:
        return [self[name] for name in self.keys()]

    def items(self) -> Any:
        return [(name, self[name]) for name in self.keys()]

    def copy(self) -> dict[str, Any]:
        return dict(self.items())

    def setdefault(self, name: str, default: Any = None) -> Any:
        if name not in self:
            self[name] = default
        return self[name]

    def pop(self, name: str, *default: Any) -> Any:
        if name in self.real:
            raise UnsupportedError(at_user_line(f"the global variable {name} is taken out. Fix: set it to None"))
        return dict.pop(self, name, *default)

    def __or__(self, other: Any) -> Any:
        return self.copy() | dict(other)

    def __ror__(self, other: Any) -> Any:
        return dict(other) | self.copy()

    def __eq__(self, other: object) -> bool:
        return self.copy() == other

    def __ne__(self, other: object) -> bool:
        return self.copy() != other

    def write_back(self) -> None:
        for name, value in dict.items(self):
            if name not in _OWN_KEYS:
                self.real[name] = self.captures.stores.plain(value)


def _own(space: dict[str, Any]) -> dict[str, Any]:
    """Return the user's own global variables."""
    while isinstance(space, _Globals):  # of this run, and of those around it
        space = space.real
    return space


def real_globals(f: types.FunctionType) -> dict[str, Any]:
    """Return the user's own globals that a function reads, or one like it outside of a traced run."""
    return _own(f.__globals__)


def is_of_a_run(f: types.FunctionType) -> bool:
    """Return whether a function is a clone, or was made by one."""
    return isinstance(f.__globals__, _Globals)


_OWN_KEYS = ("__builtins__", "__name__", "__package__", "__spec__", "__file__", "__loader__")


_NOT_THEIRS = {*_OWN_KEYS, "__warningregistry__"}  # where `warnings.warn` notes what it has said


def _asks_identity(f: types.FunctionType) -> bool:
    """Return whether a function asks by `is` for more than classes, functions and members of an Enum."""
    return any([not _is_constant(names, f.__globals__) for names in compared_by_identity(f.__code__)])


def _is_constant(names: tuple[str, ...], space: dict[str, Any]) -> bool:
    if not names:
        return False
    found = space.get(names[0], getattr(builtins, names[0], None))
    for name in names[1:]:
        if not isinstance(found, (type, types.ModuleType)):
            return False
        found = getattr(found, name, None)
    return isinstance(found, (type, types.FunctionType, types.BuiltinFunctionType, np.ufunc, Enum))


def _is_harmless(variables: dict[str, Any], space: dict[str, Any], name: str, now: Any) -> bool:
    """Return whether an installed package has set a variable or attribute which other code of it may find as before.

    It has made an object of a class of its own for the first one who asked, and has made or makes another one for
    whoever finds none; or it is a package that shows things, and with which nobody computes. Neither is taken for
    granted of the user's modules, nor of numbers, arrays and containers, which may be what the run has computed.
    """
    if not is_installed(variables.get("__file__") or ""):
        return False
    if variables.get("__name__", "").partition(".")[0] in _SHOWING:
        return True
    return is_own_class(type(now)) and type(space.get(name)) in (types.NoneType, type(now))


_SHOWING = frozenset({"matplotlib", "rich", "seaborn", "tqdm"})


def _is_set(name: str, value: Any, before: dict[str, Any]) -> bool:
    """Return whether an attribute of a function is one that the run has set."""
    return value is not before.get(name, _ABSENT) and name != CACHE_KEY


def _is_other(cell: types.CellType, before: Any) -> bool:
    """Return whether a cell holds another value now, or none."""
    try:
        return cell.cell_contents is not before
    except ValueError:
        return True
