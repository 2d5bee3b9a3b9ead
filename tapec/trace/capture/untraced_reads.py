"""Define `UntracedReads`: what code reads of captured state past the run, or gets from it as plain values.

Such code does not know tensors: installed packages, pandas, SciPy, constructors, objects that are handed out as they
are. What it reads is a fact, or makes the function be recorded anew at each call.
"""

from __future__ import annotations

import io
import itertools
import math
import types
from collections import deque
from collections.abc import Iterator, MappingView, MutableMapping, MutableSequence, MutableSet
from contextvars import ContextVar
from enum import Enum
from functools import partial
from threading import local
from typing import Any

import numpy as np

from tapec.errors import warn_user
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import (
    BY_ANY_NAME,
    LOST,
    PLAIN,
    CapturedPath,
    class_file,
    class_path,
    contents,
    generator_state,
    is_generator,
    is_own_class,
    is_own_code,
    strings_of,
    words_of,
)
from tapec.trace.capture.facts import Facts
from tapec.trace.capture.function_clones import Clones
from tapec.trace.capture.held_state import HeldState, is_logger, is_of_a_module, keeps_state
from tapec.trace.capture.identities import Identities
from tapec.trace.capture.proxies.container_facts import note_keys
from tapec.trace.capture.proxies.opaque_objects import depth_in_packages, is_code, parts_of
from tapec.trace.capture.random_state import place_of, put_back
from tapec.trace.capture.stores import Stores
from tapec.trace.tensor import Tensor

__all__ = ["UntracedReads"]

_LOOKED_INTO = (list, tuple, dict, deque, set, frozenset, type, types.ModuleType, types.FunctionType, Enum)
# what may hold something else at each call
_CHANGING = (Iterator, MutableMapping, MutableSequence, MutableSet, MappingView, memoryview, ContextVar, local)
_NUMBERS = "fciub"  # the kinds of dtypes of which arrays are compared, or found again


class UntracedReads:
    """Holds what the run has not seen read: `parts` are arrays inside objects that were handed out as they are.

    `roots` are these objects, and functions that run as they are: from there code reaches the user's own state.
    """

    def __init__(self, trace: Any, facts: Facts, identities: Identities, clones: Clones, stores: Stores):
        self.parts: dict[int, tuple[CapturedPath, np.ndarray]] = {}
        self.handed: set[str] = set()  # checks of arrays that code got which does not know tensors
        self.compared = False  # are there arrays of other packages among the checks?
        self.roots: dict[int, tuple[Any, CapturedPath]] = {}
        self._trace = trace
        self._facts = facts
        self._identities = identities
        self._clones = clones
        self._stores = stores
        self._noted: dict[int, Any] = {}  # objects whose parts are noted
        self._made_up: set[int] = set()  # those of them whose make-up is noted, too
        self._states: dict[int, tuple[CapturedPath, HeldState]] = {}  # of objects that answer past us, as they were
        self._by_functions: set[int] = set()  # those of `parts` that functions read which run as they are
        self._spelled: set[str] = set()  # names and strings in functions that run as they are
        self._others: list[tuple[str | None, CapturedPath, Any, HeldState | None]] = []  # by names, if they have some
        self._given: list[tuple[Tensor, bytes]] = []  # tensors whose values code got, with what was in them
        self._iterators: list[tuple[Any, CapturedPath, Any]] = []  # each with how far it was
        self._generators: list[tuple[Any, Any, Any]] = []  # each with its state, and with where it stood

    # -- what objects hold ------------------------------------------------------------------------------------------
    def note(self, value: Any, path: CapturedPath) -> None:
        """Note what an object holds that is handed out as it is, and what the objects in it hold.

        Of what functions read that are not followed, as constructors are, and of what classes hold, the make-up is
        noted, too.
        """
        self._stores.may_change_unseen()
        self.note_root(value, path)
        todo = [(value, path, 0, False)]
        while todo:
            whole, at, depth, is_read = todo.pop()
            if id(whole) in (self._made_up if is_read else self._noted):
                continue
            self._noted[id(whole)] = whole
            if isinstance(whole, (list, dict, deque)):
                self._stores.watch_container(at, whole)
            if not depth and self._is_too_much(whole, at):
                self._trace.require_retrace(f"{at.label} leads to too much to be compared at each call")
                return
            if is_read:
                self._made_up.add(id(whole))
                self._note_make_up(whole, at)
            if isinstance(whole, type):
                self._note_class(whole)
            elif isinstance(whole, types.FunctionType):
                self._spelled |= words_of(whole.__code__) | strings_of(whole.__code__)
            is_read = is_read or isinstance(whole, (types.FunctionType, type))
            for part, where in parts_of(whole, at, self._clones.words):
                if isinstance(part, PLAIN):
                    self._facts.add(where, part)
                elif isinstance(part, np.ndarray):
                    self._note_array(part, where)
                    if is_read and part.dtype.kind not in _NUMBERS:
                        self.note_texts(part, where)
                    if isinstance(whole, types.FunctionType):
                        self._by_functions.add(id(part))
                elif is_generator(part):
                    self.watch_generator(part)
                elif isinstance(part, Iterator) and not depth:
                    self._watch_iterator(part, where, whole)
                elif (inside := depth_in_packages(part, depth)) <= tuning.OPAQUE_MAX_DEPTH:
                    if is_code(part):
                        self._facts.add(where, part)
                    elif is_read and not inside:
                        self._note_other(part, where, whole)
                    todo.append((part, where, inside, is_read))

    def _note_other(self, x: Any, path: CapturedPath, owner: Any) -> None:
        """Note what an object holds that is no container, and of no class of the user's: it answers past us, where
        somebody asks for it."""
        kind = type(x)
        is_looked_into = isinstance(x, _LOOKED_INTO) or is_own_class(kind)
        if is_looked_into or hasattr(kind, "__get__") or kind.__module__.startswith("tapec."):
            return
        name = path.label.rpartition(".")[2].partition("[")[0]
        is_told = name.isidentifier() and name[:2] != "__" and not isinstance(owner, types.FunctionType)
        state = HeldState(x) if keeps_state(x) and not is_of_a_module(x) else None
        for generator in () if state is None else state.generators:
            self.watch_generator(generator)
        self._others.append((name if is_told else None, path, x, state))

    def add_others(self) -> None:
        """Note as facts which objects those are that somebody may have asked for, and what they hold."""
        codes = self._clones.codes
        spelled = self._spelled.union(self._clones.words, *map(strings_of, codes)) if self._others else frozenset()
        for name, path, x, state in self._others:
            if not (name is None or name in spelled or not BY_ANY_NAME.isdisjoint(spelled)):
                continue
            self._facts.add(path, x)
            if isinstance(x, _CHANGING) and not isinstance(x, types.MappingProxyType):
                self._trace.require_retrace(
                    f"{path.label} is a {type(x).__name__}, which may hold something else each time"
                )
            elif state is not None:
                self._states.setdefault(id(x), (path, state))

    def _note_class(self, kind: type) -> None:
        """Note which attributes a class has, and those that it inherits from: what is set on one of these later hides
        what it has inherited, and answers who has asked in vain."""
        for c in [c for c in kind.__mro__ if is_own_code(class_file(c))]:
            self._facts.add_present(class_path(c).attribute_names())
            self._stores.watch_class(c)

    def _note_array(self, array: np.ndarray, path: CapturedPath) -> None:
        """Note where an array is found, and that another place holds the same."""
        first, _ = self.parts.setdefault(id(array), (path, array))
        if first.source != path.source:
            self._identities.add_same(path, first)

    def _watch_iterator(self, iterator: Any, path: CapturedPath, owner: Any) -> None:
        """Note an iterator that code may take from which is not followed. Of most nobody can tell whether it has: then
        it is taken to have, of an iterator in a class where somebody spells its name."""
        if isinstance(iterator, (itertools.count, itertools.repeat, io.IOBase)):
            self._iterators.append((iterator, path, _place_in(iterator)))
        elif isinstance(owner, type):
            self._trace.captures.is_for_once = True
            self._note_other(iterator, path, owner)
        else:
            self._takes_from(path)

    def note_taken(self) -> None:
        """Note which iterators code has taken from, as a constructor does that numbers its objects."""
        for iterator, path, before in self._iterators:
            if _place_in(iterator) != before:
                self._takes_from(path)

    def _takes_from(self, path: CapturedPath) -> None:
        self._trace.captures.is_for_once = True
        self._trace.require_retrace(f"it takes from {path.label}, which gives something else each time")

    def _is_too_much(self, whole: Any, at: CapturedPath) -> bool:
        """Return whether a container, or all that was looked into, has too many parts for each to be a fact, or the
        text of a path is too long."""
        if isinstance(whole, (list, tuple, dict, deque)) and len(whole) > tuning.OPAQUE_CONTAINER_MAX_PARTS:
            return True
        return len(at.source) > tuning.OPAQUE_PATH_MAX_CHARACTERS or len(self._noted) > tuning.OPAQUE_MAX_PARTS

    def has_noted(self, x: Any) -> bool:
        """Return whether the parts of an object are noted."""
        return id(x) in self._noted

    def note_root(self, value: Any, path: CapturedPath) -> None:
        """Note that code may run as it is which an object holds, or which a function is."""
        self.roots.setdefault(id(value), (value, path))

    def _note_make_up(self, x: Any, path: CapturedPath) -> None:
        """Note of which class a container is, how many items it has, or by which keys, and which attributes an object
        has."""
        if isinstance(x, (list, tuple, dict, deque)):
            self._facts.add(path.kind(), type(x))
        if isinstance(x, (list, tuple, deque)):
            length = path.length()
            self._facts.add_present(CapturedPath(path.label, length.source, length.names, length.get))
        elif isinstance(x, dict):
            note_keys(self._trace.captures, x, path)
        elif isinstance(x, (set, frozenset)):
            self.note_set(x, path)
        elif is_own_class(type(x)) and isinstance(getattr(x, "__dict__", None), dict):
            self._facts.add_present(path.attribute_names())

    def note_member(self, x: Any, label: str) -> None:
        """Note a member of a set, or a key: it is handed out as it is, since it is found by what it is."""
        name = f"_key_{id(x)}"
        self.note(x, CapturedPath(label, name, {name: x}, lambda: x))
        self._identities.is_member(type(x))

    def note_set(self, value: Any, path: CapturedPath) -> None:
        """Note as a fact what a set holds."""
        text, get = f"(type({path.source}), frozenset({path.source}))", path.get
        self._facts.add_present(CapturedPath(path.label, text, path.names, lambda: (type(get()), frozenset(get()))))
        for member in value:
            if not isinstance(member, PLAIN):
                self.note_member(member, f"a member of {path.label}")

    def note_texts(self, value: np.ndarray, path: CapturedPath) -> None:
        """Note as a fact what an array of strings or objects holds, and which array it is when it holds many strings or
        numbers."""
        if value.dtype.hasobject and not all([isinstance(x, PLAIN) for x in value.ravel().tolist()]):
            self.note_state(value, path)
            for k, x in enumerate(value.ravel().tolist()[: tuning.OPAQUE_CONTAINER_MAX_PARTS]):
                self.note_root(x, path.attribute("flat").item(k))
        elif value.size > tuning.TEXTS_MAX_ELEMENTS:
            self._facts.add(path, value)
        else:
            text = f"tuple({path.source}.ravel().tolist())"
            self._facts.add_present(
                CapturedPath(path.label, text, path.names, lambda: tuple(path.get().ravel().tolist()))
            )

    def note_foreign(self, value: Any, path: CapturedPath) -> None:
        """Note as a fact the contents of an array of another package, which NumPy reads past us, unless it is large."""
        if math.prod(np.shape(value)) > tuning.COMPARED_MAX_ELEMENTS:
            self._trace.require_retrace(
                f"{path.label} is a {type(value).__name__}, too large to be compared at each call"
            )
            return
        text, names = f"_contents({path.source})", {**path.names, "_contents": contents}
        whole = CapturedPath(f"contents of {path.label}", text, names, lambda: contents(path.get()))
        try:
            self._facts.add(whole, whole.get())
        except (TypeError, ValueError):  # on a GPU, say: NumPy will not read it either
            return
        self.compared = True

    def note_state(self, value: Any, path: CapturedPath) -> None:
        """Note what an object of another package holds, from which it answers past us."""
        if is_logger(value):
            get = path.get
            text = f"({path.source}.getEffectiveLevel(), {path.source}.disabled)"
            level = lambda: ((log := get()).getEffectiveLevel(), log.disabled)
            self._facts.add_present(CapturedPath(f"level of {path.label}", text, path.names, level))
        if id(value) in self._states or not keeps_state(value):
            return
        state = HeldState(value)
        for generator in state.generators:
            self.watch_generator(generator)
        if not is_of_a_module(value):
            self._states[id(value)] = path, state

    def add_states(self) -> None:
        """Note as facts what objects hold. One that has worked something out and kept it is as good as before."""
        for path, before in self._states.values():
            try:
                now = path.get()
            except LOST:  # that is judged by itself
                continue
            state = HeldState(now) if before.is_held_by(now, may_have_more=True) else before
            if state.is_too_much:
                self._trace.require_retrace(f"{path.label} holds too much to be compared at each call")
                continue
            key = f"_state_{id(state)}"
            source, names = f"{key}.is_held_by({path.source})", {**path.names, key: state}
            holds = partial(_still_holds, state, path)
            self._facts.add(CapturedPath(f"whether {path.label} holds the same", source, names, holds), True)

    def note_sparse(self, matrix: Any, path: CapturedPath) -> None:
        """Note the arrays of a matrix of scipy.sparse, for when they turn up in a product."""
        for name in ("data", "indices", "indptr"):
            array = getattr(matrix, name)
            self.parts[id(array)] = (path.attribute(name), array)
        self._facts.add(path.attribute("shape"), matrix.shape)

    def watch_generator(self, generator: Any) -> None:
        """Note the state of a random generator, from which somebody may draw."""
        self._generators.append((generator, generator_state(generator), place_of(generator)))

    def generators(self) -> list[Any]:
        """Return the random generators that were met."""
        return [g for g, _, _ in self._generators]

    def has_drawn(self) -> bool:
        """Return whether anybody has drawn from a generator since it was met."""
        return any(generator_state(g) != before for g, before, _ in self._generators)

    def rewind(self) -> bool:
        """Take generators back to where they stood when they were met first; return whether that could be done."""
        met = {id(g): (g, before) for g, before, _ in reversed(self._generators)}
        for generator, before, place in reversed(self._generators):
            if generator_state(generator) != before:
                put_back(generator, place)
        return all(generator_state(g) == before for g, before in met.values())  # but those that have spawned others

    # -- what code gets ---------------------------------------------------------------------------------------------
    def hand_out(self, tensor: Tensor, sources: list[tuple[CapturedPath, Tensor]]) -> None:
        """Note as facts what captured numbers and arrays are, of which code gets a value that does not know tensors."""
        if tensor.shape:
            self._given.append((tensor, tensor._value.tobytes()))
        for path, source in sources:
            value = self._identities.originals[id(source)]
            if not isinstance(value, np.ndarray):
                kind = complex if isinstance(value, (complex, np.complexfloating)) else float
                self._trace.guard(kind, source, kind(value))
            else:
                self.parts.setdefault(id(value), (path, value))  # it may come back, and meet a tensor
                self._compare(path, value)

    def changed_array(self, results: list[Any]) -> Tensor | None:
        """Return a tensor that something was computed with, or that is a result, and whose array was changed by code
        that does not know tensors."""
        if not self._given:
            return None
        used = {id(x) for entry in self._trace.log.records for x in entry[1]}.union(map(id, results))
        for tensor, before in self._given:
            if not used.isdisjoint((id(tensor), id(self._trace.log.known_as(tensor)))):
                if tensor._value.tobytes() != before:
                    return tensor
        return None

    def add_contents(self, used: set[int]) -> None:
        """Note as facts the contents of arrays that functions spell out and that NumPy computed with past us."""
        for path, array in self.parts.values():
            if array.dtype.kind not in _NUMBERS:
                continue
            if id(array) in self._by_functions:
                self._compare(path, array)
                continue
            named = path.label.rpartition(".")[2].partition("[")[0] in self._clones.words
            if not named or id(array) in used:
                continue
            if array.size <= tuning.COMPARED_MAX_ELEMENTS:
                self._facts.add_present(path.contents())
                continue
            self._facts.add(path, array)
            warn_user(
                f"NumPy computed with {path.label}, an array of shape {array.shape}, before tapec saw it: another one "
                f"in its place is seen, changes in place are not. Fix: pass it as an argument"
            )

    def _compare(self, path: CapturedPath, array: np.ndarray) -> None:
        """Note as a fact what an array holds that code computes with which does not know tensors."""
        if array.size > tuning.COMPARED_MAX_ELEMENTS:
            self._trace.require_retrace(
                f"code that does not know tensors reads {path.label}, too large to be compared at each call"
            )
            return
        whole = path.contents()
        self._facts.add_present(whole)
        self.handed.add(whole.source)


def _still_holds(state: HeldState, path: CapturedPath) -> bool:
    return state.is_held_by(path.get())


def _place_in(iterator: Any) -> Any:
    """Return how far a count, a repetition or a file has come. A file that lines are taken from does not say; one that
    is only written to, or that nobody can go back in, as a terminal, has no place."""
    if not isinstance(iterator, io.IOBase):
        return repr(iterator)
    try:
        return iterator.tell() if iterator.readable() and iterator.seekable() else None
    except (OSError, ValueError):
        return "lines are taken from it, or it is closed"
