"""Define `Captures`: the state that a function reads from its closure, its globals and known objects.

A function is traced as a clone whose globals and closure cells answer with stand-ins: arrays, floats and tensors become
tensors of the trace, with the `CapturedPath` at which they were found; helper functions become clones of this kind;
objects and containers get stand-ins that answer reads in the same way. What else was read (ints, strings, functions)
is noted, to be compared at the next call.
"""

from __future__ import annotations

import types
import weakref
from abc import ABCMeta
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, MappingView, MutableMapping, MutableSequence, MutableSet
from contextvars import ContextVar
from enum import Enum, EnumType
from functools import partial
from threading import local
from typing import Any

import numpy as np

from tapec.ops.core.define import as_data
from tapec.pytree import LEAF, STANDS_FOR, Nested
from tapec.trace.capture.captured_inputs import CapturedInputs
from tapec.trace.capture.captured_paths import (
    ATOMS,
    CHECKED,
    PLAIN,
    SCALARS,
    CapturedPath,
    class_file,
    class_path,
    function_path,
    is_foreign_array,
    is_generator,
    is_own_class,
    is_own_code,
    is_plain_class,
    looked_up,
    module_file,
)
from tapec.trace.capture.facts import Facts, is_fact, is_there
from tapec.trace.capture.followed_classes import FollowedClasses
from tapec.trace.capture.function_clones import Clones
from tapec.trace.capture.identities import Identities
from tapec.trace.capture.module_stand_ins.array_makers import making
from tapec.trace.capture.module_stand_ins.cached_functions import CachedFunction, is_cached_function
from tapec.trace.capture.module_stand_ins.loaded_modules import sys_for
from tapec.trace.capture.module_stand_ins.numpy_view import view_of
from tapec.trace.capture.module_stand_ins.pandas_tables import forget_tables, is_frame, is_table, table, watched_table
from tapec.trace.capture.module_stand_ins.plain_arguments import compiled_function, is_compiled_function, plain_library
from tapec.trace.capture.proxies.container_facts import note_keys
from tapec.trace.capture.proxies.container_proxies import container, is_container
from tapec.trace.capture.proxies.object_proxies import module_proxy, object_proxy
from tapec.trace.capture.proxies.sparse_matrices import sparse_stand_in
from tapec.trace.capture.proxies.weak_keys import weak_keys
from tapec.trace.capture.proxies.weak_references import weak_reference
from tapec.trace.capture.random_state import DRAWS
from tapec.trace.capture.stores import Stores
from tapec.trace.capture.unseen_code import lets_code_run
from tapec.trace.capture.untraced_reads import UntracedReads
from tapec.trace.capture.whole_numbers import only_computes
from tapec.trace.recording_stack import READS_AROUND, current, recordings
from tapec.trace.tensor import Tensor

__all__ = ["Captures"]

_UNSEEN: Any = (object(), None, None)
# what has no stand-in, and may hold something else at each call
_CHANGING = (
    *(MutableMapping, MutableSequence, MutableSet, MappingView, memoryview, types.MappingProxyType),
    *(ContextVar, local),
)
# methods of C, and the owners whose state these read or write: `append = log.append`
_BOUND = (types.BuiltinMethodType, types.MethodWrapperType)
_HOLDERS = (list, dict, deque, set, bytearray, np.ndarray, Iterator)
_ENVIRONMENT = {"environ", "getenv"}


class Captures:
    """Answers what one traced run reads of captured state, and judges the run when it is over.

    Its parts hold what came of that: `facts`, `identities`, `inputs`, `untraced`, `stores`; `clones` are its functions.
    """

    def __init__(self, trace: Any):
        self.trace = trace
        trace.captures = self
        self.clones = Clones(self)
        self.facts = Facts()
        self.identities = Identities(trace, self.facts)
        self.inputs = CapturedInputs(trace, self.facts, self.identities)
        self.stores = Stores(trace, self.identities, self.clones)
        self.untraced = UntracedReads(trace, self.facts, self.identities, self.clones, self.stores)
        self.followed = FollowedClasses(self)
        self.called: list[Any] = []  # what programs have read that the run has called
        self.open: set[int] = set()  # containers that are being read
        self.containers: list[Any] = []  # stand-ins for some
        self.tables: list[Any] = []  # stand-ins for some
        self.is_for_once = False  # may another run for the same call find other things?
        self.is_taken_back = False  # is what the run has stored undone?
        self.is_judged = False  # then nothing that is read is noted any more
        self.sys: Any = None  # the stand-in for it
        self._seen: dict[str, tuple[Any, Any, CapturedPath]] = {}
        self._made: dict[str, tuple[CapturedPath, Any]] = {}  # where the run found what `made` answers for
        around = [t.captures.stores for t in getattr(current(), "tapes", ()) if t.is_trace and t.captures]
        for stores in [*around, self.stores] if around else ():  # two runs do not hear what the other one writes
            stores.may_change_unseen()

    @property
    def is_over(self) -> bool:
        return not self.trace.token.alive

    def seen(self) -> Iterable[tuple[Any, Any]]:
        """Return what was read, but for what is of `ATOMS`, and what it was answered with."""
        return [(value, stand_in) for value, stand_in, _ in self._seen.values()]

    def reads(self) -> list[tuple[CapturedPath, Any]]:
        """Return where something was read, but for what is of `ATOMS`, and what was there."""
        return [*[(path, value) for value, _, path in self._seen.values()], *self._made.values()]

    # -- what a read answers ----------------------------------------------------------------------------------------
    def read(self, value: Any, path: CapturedPath, reader: Any = None, by: str = "") -> Any:
        """Return the stand-in for a captured value.

        A `reader` is the code that reads a variable or an attribute, `by` which of these it is: a whole number that it
        only computes with is an input.
        """
        kind = type(value)
        if self.stores.sees_all and lets_code_run(value):
            self.stores.may_change_unseen()
        if self.made(value) is not value:
            self._made[path.source] = path, value
            return self.made(value)
        if kind in _BOUND and isinstance(value.__self__, _HOLDERS):
            self.facts.add(path.attribute("__name__"), value.__name__)
            return getattr(self.read(value.__self__, path.attribute("__self__")), value.__name__)
        if kind is types.WrapperDescriptorType and value.__name__ == "__getattribute__":
            self.note_read_past()
        if kind in _BOUND and is_generator(value.__self__):
            self.untraced.watch_generator(value.__self__)
        is_input = kind is int and self._is_input(value, path, reader, by)
        if kind in ATOMS and not is_input:
            self.facts.add(path, value)
            if kind is np.ufunc and getattr(np, value.__name__, None) is not value:  # perhaps of a function of Python's
                self.untraced.note_root(value, path)
            if kind is type and is_own_code(class_file(value)):
                self.untraced.note(value, path)
                if self.trace.making:
                    return self.class_now(value)
            answering = view_of(value)
            if answering is not value or kind is not types.BuiltinFunctionType or not is_compiled_function(value):
                return answering
        if isinstance(value, Tensor) and (self.trace.watches(value) or recordings(value)):
            return value  # made by this run, or given to a body that it records
        known, stand_in, _ = self._seen.get(path.source, _UNSEEN)
        if known is not value:
            stand_in = self._one_stand_in(value, kind, path)
            self._seen[path.source] = value, stand_in, path
        return stand_in

    def _is_input(self, value: int, path: CapturedPath, reader: Any, by: str) -> bool:
        """Return whether a whole number is an input: one that changes, or that code only computes with."""
        if not -(2**63) <= value < 2**63:
            return False
        if path.label in self.trace.changing:
            return True
        name = path.label.rpartition(".")[2]
        if reader is None or not self.trace.takes_numbers or not only_computes(reader, by, name):
            return False
        self.inputs.early.add(path.source)
        return True

    def read_item(self, owner: Any, value: Any, path: CapturedPath) -> Any:
        """Return the stand-in for an item of a container."""
        is_outer = id(owner) not in self.open
        self.open.add(id(owner))
        try:
            return self.read(value, path)
        finally:
            if is_outer:
                self.open.discard(id(owner))

    def _one_stand_in(self, value: Any, kind: type, path: CapturedPath) -> Any:
        """Return the one stand-in of an object, by whatever names it is known. That two names lead to one object is a
        fact. Numbers have no identity: one number for two names may be an accident.
        """
        first, stand_in = self.identities.met(value)
        if first is not None and stand_in is not value:
            self.inputs.has_name(stand_in)
            self.identities.add_same(path, first)
            return stand_in
        stand_in = self._stand_in(value, kind, path)
        if first is not None:
            self.identities.met_again(path, first)
        if stand_in is not value:
            self.identities.stands_for(stand_in, value, path)
        elif not isinstance(value, (*CHECKED, types.FunctionType, types.ModuleType)):
            self.identities.stands_for_itself(value, path)
        return stand_in

    def made(self, value: Any) -> Any:
        """Return the stand-in for NumPy in a run whose arrays are tensors; in other runs the value as it is."""
        return making(value) if self.trace.making else value

    def _stand_in(self, value: Any, kind: type, path: CapturedPath) -> Any:
        """Return what stands in for a value, by its class; the value where it is handed out as it is."""
        answering = plain_library(sys_for(self, view_of(value)))
        if answering is not value:
            if not isinstance(value, types.ModuleType):
                self.facts.add(path, value)
            return answering
        if isinstance(value, PLAIN) and not is_plain_class(kind):
            self.untraced.note(kind, path.kind())
            self.trace.require_retrace(f"{path.label} is a {kind.__name__}, which may have attributes")
            return value
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "fciub":
                return self.inputs.add(as_data(value), path, bool(self.open))
            self.untraced.note_texts(value, path)
            self.stores.holds_plain(value)
            return value
        if isinstance(value, (*SCALARS, Tensor)) or kind is int:  # one that changes, as others are not asked for here
            return self.inputs.add(value, path, bool(self.open))
        if isinstance(value, CHECKED):
            self.facts.add(path, value)
            if isinstance(value, Enum):  # its methods are not followed
                self.untraced.note(kind, path.kind())
            return value
        if isinstance(value, Iterator):
            self.is_for_once = True
            self.trace.require_retrace(f"it takes from {path.label}, which gives something else each time")
        if is_generator(value):
            self.untraced.watch_generator(value)
            return value
        if kind is set or kind is frozenset:
            self.followed.note_given(value)
            self.untraced.note_set(value, path)
            self.stores.holds_plain(value)
            return value
        if isinstance(value, types.FunctionType):
            self.facts.add(path, value)
            found = self.function_of(value)
            if found is value:
                self.untraced.note(value, path)
            return found
        if kind is types.MethodType:
            owner = self.read(value.__self__, path.attribute("__self__"))
            return types.MethodType(self.function_of(value.__func__), owner)
        if kind is partial:
            return self._partial(value, path)
        if kind is weakref.ref or kind is weakref.WeakMethod:
            held = CapturedPath(f"{path.label}()", f"{path.source}()", path.names, lambda: path.get()())
            return weak_reference(value, lambda: self.read(value(), held))
        if isinstance(value, (tuple, list, dict, deque)) and is_container(value):
            is_new = kind is not tuple and kind not in STANDS_FOR and self.identities.met(value)[0] is None
            made = container(self, value, path)
            if is_new:
                self.stores.watch_container(path, value, made)
            return made
        if isinstance(value, types.ModuleType):
            return module_proxy(self, value, path) if is_own_code(module_file(value)) else value
        if is_own_class(kind):
            self.facts.add(path.kind(), kind)
            return object_proxy(self, value, path)
        if isinstance(value, tuple) and (hasattr(kind, "_fields") or is_own_code(class_file(kind))):
            return self._of_tuple_class(value, kind, path)
        return self._as_it_is(value, kind, path)

    def _of_tuple_class(self, value: Any, kind: type, path: CapturedPath) -> Any:
        """Return a tuple of the user's own class with stand-ins for its items. What its class holds, and its
        attributes, are read past us."""
        self.facts.add(path.kind(), kind)
        self.facts.add(path.length(tuple.__len__), tuple.__len__(value))
        self.untraced.note(kind, path.kind())
        items = [self.read_item(value, v, path.item(i)) for i, v in enumerate(tuple.__iter__(value))]
        made: Any = tuple.__new__(self.class_now(kind), items)
        if kind.__dictoffset__:
            attributes, where = vars(value), path.attribute("__dict__")
            self.stores.watch_container(where, attributes)
            self.untraced.note_state(attributes, where)
            object.__setattr__(made, "__dict__", attributes)
        return made

    def _as_it_is(self, value: Any, kind: type, path: CapturedPath) -> Any:
        """Return an object that is not followed, and note what it holds; tables and compiled functions get plain
        values."""
        if (isinstance(value, _CHANGING) and kind not in STANDS_FOR) or type(kind).__module__ == "_ctypes":
            self.is_for_once = True
            self.trace.require_retrace(f"{path.label} is a {kind.__name__}, which may hold something else each time")
        self.facts.add(path, value)  # another object in its place is seen
        self.followed.note_given(value if isinstance(value, EnumType) else () if isinstance(value, type) else (value,))
        if is_cached_function(value):
            return CachedFunction(self, value, path)
        again = getattr(kind, "_tapec_wrap_again", None)
        if again is not None:
            return again(value, self.function_of)
        if is_frame(value):
            self.tables.append(watched_table(value, partial(self._note_table, path)))
            return self.tables[-1]
        self.untraced.note(value, path)
        self.stores.holds_plain(value)
        if kind is weakref.WeakKeyDictionary:
            return weak_keys(value, self.identities.original)
        if isinstance(value, type) and is_own_code(class_file(kind)):
            self.untraced.note(kind, path.kind())
            if any([type(looked_up(kind, name)) is types.FunctionType for name in _ANSWERED_BY_METACLASS]):
                self.trace.require_retrace(f"{path.label} is a class for which its metaclass {kind.__name__} answers")
        if getattr(value, "format", None) in ("csr", "csc"):
            self.untraced.note_sparse(value, path)
            note = partial(self.untraced.note_state, value, path)
            return sparse_stand_in(value, note, self.identities.is_behind)
        if is_foreign_array(value):
            self.untraced.note_foreign(value, path)
            return table(value) if is_table(value) else value
        if not is_own_code(class_file(kind)):
            self.untraced.note_state(value, path)
        if kind is ABCMeta:
            return self.class_now(value)
        return compiled_function(value) if is_compiled_function(value) else value

    def _note_table(self, path: CapturedPath, value: Any, column: str | None) -> None:
        """Note as a fact what a table holds, or a column of it."""
        at = path if column is None else path.item(column)
        self.untraced.note(value, at)
        self.untraced.note_foreign(value, at)

    def _partial(self, value: Any, path: CapturedPath) -> Any:
        """Return a partial function of stand-ins for the function and its arguments."""
        args = [self.read(a, path.attribute("args").item(i)) for i, a in enumerate(value.args)]
        note_keys(self, value.keywords, path.attribute("keywords"))
        keywords = {k: self.read(v, path.attribute("keywords").item(k)) for k, v in value.keywords.items()}
        return partial(self.read(value.func, path.attribute("func")), *args, **keywords)

    def function_of(self, f: Any, is_got: bool = True) -> Any:
        """Return a function that reads its captured state through us; ours that wrap a user's are wrapped anew. One
        that `is_got` goes to the run at once."""
        if type(f) is not types.FunctionType:
            return f
        if self.stores.sees_all and lets_code_run(f):
            self.stores.may_change_unseen()
        wrapped_again = f.__dict__.get("_tapec_wrap_again")
        if wrapped_again is not None:
            return wrapped_again(self.function_of)
        if is_own_code(f.__code__.co_filename):
            return self.clones.of(f)
        if is_got:
            self.untraced.note_root(f, function_path(f))
        return f

    def is_known(self, x: Any) -> bool:
        """Return whether an object is captured state that code gets as it is, or that such code reads."""
        return self.identities.met(x)[0] is not None or self.untraced.has_noted(x) or self.stores.is_held(x)

    def member(self, x: Any) -> Any:
        """Return what code gets for a key that it goes through: for objects that are found by their identity, the
        stand-in."""
        if isinstance(x, type):
            return self.class_now(x)
        if type(x) is tuple:
            self.followed.note_given(x)
        if not is_own_class(type(x)) or type(x).__hash__ is not object.__hash__:
            return x
        name = f"_key_{id(x)}"
        return self.read(x, CapturedPath(f"a key of class {type(x).__name__}", name, {name: x}, lambda: x))

    def argument(self, value: Any, name: str) -> Any:
        """Return the stand-in for a static argument: numbers are what they are, what is in objects is read as captured
        state is."""
        if self.stores.sees_all and lets_code_run(value):
            self.stores.may_change_unseen()
        if _is_fixed(value):
            return _viewed(value)
        if is_foreign_array(value):
            self.trace.require_retrace(
                f"an argument is a {type(value).__name__}, which NumPy reads as it is at each call"
            )
            if is_table(value):
                stand_in = table(value)
                self.identities.is_behind(value, stand_in)
                return stand_in
            return value
        key = f"_{name}_{id(value)}"
        found = self.read(value, CapturedPath(name, key, {key: value}, lambda: value))
        self.facts.checks.pop(key, None)  # which object it is belongs to the signature
        return found

    def structure(self, tree: Any) -> Any:
        """Return the description of a structure of arguments with its classes as the run finds them, and note what
        these hold: methods of the objects in it read that past us."""
        if tree is LEAF:
            return tree
        kind = tree.kind
        if kind is defaultdict:
            self._note_given(tree.meta[0])
        elif is_own_code(class_file(kind)):
            self._note_given(vars(kind).get("_tapec_stands_for", kind))
            kind = self.class_now(kind)
        return Nested(kind, tree.meta, tuple(map(self.structure, tree.children)))

    def _note_given(self, x: Any) -> None:
        """Note what a class or function holds that came with an argument, and belongs to the signature."""
        name = f"_given_{id(x)}"
        self.untraced.note(x, CapturedPath(getattr(x, "__name__", name), name, {name: x}, lambda: x))

    # -- classes ----------------------------------------------------------------------------------------------------
    def class_now(self, kind: type) -> type:
        """Return a class as the run finds it: a copy, where arrays that the run makes are tensors."""
        return self.followed.of(vars(kind).get("_tapec_stands_for", kind)) if self.trace.making else kind

    def class_of(self, x: Any, kind: Any) -> Any:
        """Return the user's class of an object or its stand-in, and note what that class holds."""
        if id(x) not in self.identities.originals or kind in STANDS_FOR.values():
            return self.class_now(kind)
        real: Any = x.__class__  # the stand-in notes what its class holds
        self.stores.watch_class(real)
        return self.class_now(real)

    def note_classes(self) -> None:
        """Note what the classes of objects hold before code runs that spells `type`: `type(x).rate` reads past us."""
        if "type" in self.clones.words:
            for kind in self.stores.classes():
                self.untraced.note(kind, class_path(kind))

    def note_read_past(self) -> None:
        """Note that the run may read attributes past stand-ins: of what is in a `__dict__` nobody hears."""
        self.trace.require_retrace("it reads attributes by object.__getattribute__")

    def note_containers(self) -> None:
        """Read all that containers hold, where the run calls methods of the library's classes past their stand-ins."""
        for stand_in in self.containers if self.clones.call_past_us else ():
            stand_in._tapec_read_all()

    # -- when the run is over ---------------------------------------------------------------------------------------
    def judge(self) -> None:
        """Judge the run when it is over: whether the function must be retraced at each call.

        Draws of random numbers are a reason. A fact that the function itself has changed is no fact, and a run that
        has read it is for single use.
        """
        if self.untraced.has_drawn():
            self.trace.require_retrace(DRAWS)
        self.untraced.note_taken()
        if not _ENVIRONMENT.isdisjoint(self.clones.words):
            self.trace.require_retrace("it reads the environment")
        for path, value in self.inputs.found():
            if self.trace.retrace_reason is None and not is_there(path, value):
                self.trace.require_retrace(f"it changes {path.label}, which it reads")
        used: set[int] = set()
        if self.inputs.arrays or self.untraced.parts:
            used.update([id(x) for entry in self.trace.log.records for x in entry[1]])
        if self.trace.retrace_reason is None:
            self.inputs.add_types(used, self.clones.codes)
        self.untraced.add_contents(used)
        self.untraced.add_others()
        self.untraced.add_states()
        self.clones.add_missing()
        self.clones.add_missing_attributes([x for _, x in self.facts.checks.values() if isinstance(x, type)])
        self.identities.add_facts(self.clones.ask_identity)
        self._judge_facts()
        if self.trace.outer is not None and self.inputs.miss_tensors_around():
            self.trace.require_retrace(READS_AROUND)
        self.stores.judge()
        self.clones.release()
        forget_tables(self.tables)
        self.is_judged = True

    def _judge_facts(self) -> None:
        """Keep those facts that are still so; of those that are counters, how much a call adds."""
        checks = self.facts.checks
        for key, (path, value) in list(checks.items()):
            if self.clones.begins(path):  # noted by a function inside; what the variable stands for is noted as well
                del checks[key]
            elif not is_fact(path, value):
                del checks[key]
                increment = self.stores.counters.increment(path, value)
                if increment is None:
                    self.trace.single_use_reason = f"it changes {path.label}, which it reads"
                else:
                    self.stores.increments.append(increment)
                    checks[path.kind().source] = (path.kind(), int)


# questions about a class that Python asks its metaclass, past what is followed
_ANSWERED_BY_METACLASS = ("__len__", "__getitem__", "__iter__", "__contains__", "__bool__", "__getattr__")


def _is_fixed(value: Any) -> bool:
    """Return whether a value can never be anything else than the signature tells of it."""
    kind = type(value)
    if kind is type:
        return not is_own_code(class_file(value))
    return kind in ATOMS or kind is float or kind is complex or (kind is tuple and all(map(_is_fixed, value)))


def _viewed(value: Any) -> Any:
    """Return an argument with NumPy's functions as the run finds them."""
    if type(value) is not tuple:
        return view_of(value)
    found = tuple(map(_viewed, value))
    return value if all([x is y for x, y in zip(found, value)]) else found
