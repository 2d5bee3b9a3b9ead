"""Define stand-ins for captured lists, dicts and tuples: each item is read through `Captures`."""

from __future__ import annotations

import copy
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from enum import Enum
from marshal import dumps
from operator import is_
from typing import Any

from tapec.errors import PACKAGE_FOLDER, is_installed
from tapec.locks import computed_once
from tapec.pytree import STANDS_FOR
from tapec.trace import tuning
from tapec.trace.capture.captured_paths import PLAIN, CapturedPath, class_file, class_path, is_own_code, looked_up
from tapec.trace.capture.function_clones import CACHE_KEY
from tapec.trace.tensor import Tensor

__all__ = ["container", "is_container"]


def is_container(x: Any) -> bool:
    """Return whether there is a stand-in for containers of this class."""
    kind = type(x)
    if kind in _LIBRARYS:
        return True
    return isinstance(x, dict) and is_own_code(class_file(kind)) and not _METHODS & _own_names(kind)


_METHODS = {"__getitem__", "__setitem__", "__iter__", "__getattribute__", "__new__", "items", "values", "get", "keys"}
_METHODS |= {"__delitem__", "__ior__", "clear", "move_to_end", "pop", "popitem", "setdefault", "update"}


def _own_names(kind: type) -> set[str]:
    return {name for c in kind.__mro__ if is_own_code(class_file(c)) for name in c.__dict__}


def container(captures: Any, value: Any, path: CapturedPath) -> Any:
    """Return the stand-in for a container; the container itself where all of it is one fact."""
    if id(value) in captures.open:
        captures.trace.require_retrace(f"{path.label} holds itself")
        return value
    kind = type(value)
    parts = list(value.values() if isinstance(value, dict) else value)
    if kind is list and not _HEAP.isdisjoint(captures.clones.words):
        whole = all(map(_is_plain, parts))
    else:
        whole = len(parts) > tuning.CONTAINER_MAX_CAPTURES and all(isinstance(p, PLAIN) for p in parts)
        whole = whole and not (isinstance(value, dict) and any(isinstance(key, _STOOD_FOR) for key in value))
    if _is_read_by_a_package():  # which may hand it to compiled code
        plain_keys = all(map(_is_plain, value)) if isinstance(value, dict) else True
        whole = whole or (kind in (list, tuple, dict) and plain_keys and all(map(_is_plain, parts)))
    captures.facts.add(path.kind(), kind)  # what isinstance is told, and named tuples by their names
    if whole:
        return _as_a_fact(captures, value, path)
    captures.open.add(id(value))
    try:
        if kind is tuple:
            captures.facts.add(path.length(), len(value))
            return tuple([captures.read(v, path.item(i)) for i, v in enumerate(value)])
        return (_mapping if isinstance(value, dict) else _sequence)(captures, value, path)
    finally:
        captures.open.discard(id(value))


def _is_read_by_a_package() -> bool:
    """Return whether the code that reads a container is that of an installed package."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        frame = frame.f_back
    return frame is not None and is_installed(frame.f_code.co_filename)


_STOOD_FOR = (types.FunctionType, types.MethodType)  # objects with stand-ins that are other keys than they themselves
_HEAP = {"heapify", "heappop", "heappush", "heappushpop", "heapreplace"}  # they change lists past all methods
_MADE = frozenset({list, tuple, dict})  # those that a run makes


def _is_plain(x: Any) -> bool:
    """Return whether x is a number or string, or a tuple of these: then equality with another one says that both mean
    the same."""
    return isinstance(x, PLAIN) or (type(x) is tuple and all(map(_is_plain, x)))


def _as_a_fact(captures: Any, value: Any, path: CapturedPath) -> Any:
    """Note many numbers or strings as one fact, to be compared as a whole."""
    if isinstance(value, dict):
        _note_keys(captures, value, path)
        _note_exactly(captures, path.values())
    else:
        _note_exactly(captures, path)
    return value


def _note_exactly(captures: Any, path: CapturedPath) -> None:
    names = {**path.names, "_exactly": _Exactly}
    text = f"_exactly({path.source})"
    captures.facts.add_present(CapturedPath(path.label, text, names, lambda: _Exactly(path.get())))


def _note_keys(captures: Any, value: Any, path: CapturedPath) -> None:
    """Note the keys of a dict as a fact, with their order. What a key that is an object holds is one, too."""
    label, source, get = f"keys of {path.label}", path.source, path.get
    if all(type(key) is str for key in value):
        keys = CapturedPath(label, f"tuple({source})", path.names, lambda: tuple(get()))
    elif tuple in map(type, value) and all(map(_is_plain, value)):
        return _note_exactly(captures, CapturedPath(label, source, path.names, get))
    else:
        text = f"(tuple({source}), tuple(map(type, {source})))"
        keys = CapturedPath(label, text, path.names, lambda: (tuple(get()), tuple(map(type, get()))))
    captures.facts.add_present(keys)
    for key in value:
        if not _is_plain(key) and not isinstance(key, Enum):
            captures.untraced.note_member(key, f"a key of {path.label}")
    return None


class _Exactly(tuple[Any, ...]):
    """Compares numbers and strings by type and sign too: 2 and 2.0 are equal in Python, and so are 0.0 and -0.0."""

    @computed_once
    def told(self) -> bytes | str:
        try:
            return dumps([*self], 2)  # in this version of `marshal` types and signs of zeros are told apart
        except ValueError:  # numbers and strings of classes of one's own
            return repr(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exactly) and self.told == other.told

    def __ne__(self, other: object) -> bool:
        return not self == other


def _sequence(captures: Any, real: Any, path: CapturedPath) -> Any:
    made: Any = _List() if type(real) is list else _Deque((), real.maxlen)
    made._stand_for(captures, real, path)
    captures.facts.add(path.length(), len(real))
    super(_Writes, made).extend([captures.read(v, path.item(i)) for i, v in enumerate(real)])
    return made


def _both(name: str, moves: bool = True) -> Any:
    """Make a method that changes the stand-in and the real container alike. What it `moves` or takes out is taken at
    each call, be it a number or a fact, as integers and functions are.
    """

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if moves:
            self._captures.trace.require_retrace(
                f"it takes items out of a {STANDS_FOR[type(self)].__name__}, or moves them"
            )
        self._look_again()
        self._note(args)
        stored = [self._captures.stores.plain(a) for a in args]
        getattr(self._real, name)(*stored, **kwargs)
        if moves:
            self._mirror = _copied(self._real)
        else:
            getattr(self._mirror, name)(*stored, **kwargs)
        return getattr(super(_Writes, self), name)(*args, **kwargs)

    return method


def _read_whole(name: str, items: bool = True) -> Any:
    """Make a method that may read all `items` of the stand-in, or its keys alone."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._look_again()
        if items:
            self._captures.stores.counters.exposes(self._real)
        return getattr(super(_Writes, self), name)(*args, **kwargs)

    return method


def _parts(container: Any) -> Iterator[Any]:
    """Go through what a container holds; past the methods of a stand-in."""
    kind: Any = next(k for k in (OrderedDict, dict, deque, list) if isinstance(container, k))
    return iter(kind.values(container)) if issubclass(kind, dict) else kind.__iter__(container)


def _keys(container: Any) -> list[Any]:
    """Return the keys of a dict, past the methods of a stand-in; none of a sequence."""
    kind = OrderedDict if isinstance(container, OrderedDict) else dict
    return [*kind.__iter__(container)] if isinstance(container, dict) else []


def _holding(container: Any, keys: list[Any], parts: Any) -> Any:
    """Give a plain container these parts, and a dict these keys, in the place of its own."""
    parts = [*parts]
    container.clear()
    if isinstance(container, dict):
        container.update(zip(keys, parts, strict=True))
    else:
        container.extend(parts)
    return container


def _of_copy(name: str) -> Any:
    """A method that makes another container, as the user's own: a second stand-in would write where this one does."""

    def method(self: Any, *args: Any) -> Any:
        return getattr(self._of_the_run(), name)(*args)

    return method


def _is_same(a: Any, b: Any) -> bool:
    """Return whether two containers hold the same objects, by the same keys."""
    same_keys = all(map(is_, a, b)) if isinstance(a, dict) else True
    return len(a) == len(b) and same_keys and all(map(is_, _parts(a), _parts(b)))


def _has_same(a: Any, b: Any, key: Any) -> bool:
    """Return whether two containers hold the same object by this key, and as many."""
    if len(a) != len(b):
        return False
    if isinstance(a, dict):
        return dict.get(a, key, _ABSENT) is dict.get(b, key, _ABSENT)
    return key >= len(a) or a[key] is b[key]


_ABSENT = object()
_LIBRARYS = frozenset({list, tuple, dict, OrderedDict, defaultdict, deque})
_OF_STAND_INS = frozenset({"_real", "_mirror", "_captures", "_path", "_attributes", "_has_objects"})


def _copied(container: Any) -> Any:
    """Return a plain container of the same objects."""
    kind = OrderedDict if isinstance(container, OrderedDict) else dict if isinstance(container, dict) else None
    if kind is not None:
        return kind(container.items())
    return deque(container, container.maxlen) if isinstance(container, deque) else list(container)


class _Writes:
    """Writes to the real container what is written to its stand-in.

    Code that tapec does not see, as constructors of classes, may change the real one past the stand-in: `_mirror` is
    what it holds otherwise, and each reading compares the two first.

    Readings are told to `Counters`, which has to know who reads an integer that the run changes.
    """

    _real: Any
    _mirror: Any
    _captures: Any
    _path: Any
    _attributes: Any = None  # those that the run has set, where this is the `__dict__` of an object

    def _stand_for(self, captures: Any, real: Any, path: CapturedPath) -> None:
        """Begin to stand for a container; before anything in it is read, which may lead back to it."""
        self._real, self._mirror, self._captures, self._path = real, _copied(real), captures, path
        captures.identities.stands_for(self, real, path)

    def _set_attributes(self, written: dict[str, bool]) -> None:
        """Note that this is the `__dict__` of an object, and which attributes the run sets."""
        self._attributes = written

    def _look_again(self: Any) -> None:
        """Take over what others have changed in the real container."""
        real, mirror = self._real, self._mirror
        if self._attributes is not None or _is_same(real, mirror):
            return
        self._captures.trace.require_retrace(f"{self._path.label} is changed by code that cannot be followed")
        known = {id(theirs): ours for theirs, ours in zip(_parts(mirror), _parts(self), strict=True)}
        items = [known.get(id(x), x) for x in _parts(real)]
        super().clear()  # type: ignore[misc]
        if isinstance(real, dict):
            for key, item in zip([*real], items, strict=True):
                super().__setitem__(key, item)  # type: ignore[misc]
        else:
            super().extend(items)  # type: ignore[misc]
        self._mirror = _copied(real)

    def __len__(self: Any) -> int:
        self._look_again()
        return super().__len__()  # type: ignore[misc]

    def __getitem__(self, key: Any) -> Any:
        key = self._real_key(key)
        if not (self._names_item(key) and _has_same(self._real, self._mirror, key)):
            self._look_again()
        item = super().__getitem__(key)  # type: ignore[misc]
        counters = self._captures.stores.counters
        if self._attributes is not None or not self._names_item(key):
            counters.exposes(self._real)
        elif type(item) is int:
            counters.reads(self._real, key, self._path.item(key), item, sys._getframe(1))
        return item

    def _real_key(self, key: Any) -> Any:
        """Return the key or index by which the real container knows an item."""
        return key

    def _names_item(self, key: Any) -> bool:
        """Return whether this key stands for one item, and no other key for the same one."""
        return True

    def __setitem__(self, key: Any, item: Any) -> None:
        key = self._real_key(key)
        self._look_again()
        super().__setitem__(key, item)  # type: ignore[misc]
        self._captures.stores.counters.writes(self._real, key, item, sys._getframe(1))
        if self._attributes is None:
            self._real[key] = self._mirror[key] = self._captures.stores.plain(item)
            self._note((item,))
        else:
            self._real[key] = item
            self._attributes[key] = True

    def _note(self, items: tuple[Any, ...]) -> None:
        """Note this container if the run has put something into it that may go on changing until the run ends."""
        if not _MADE.isdisjoint(map(type, items)):
            self._captures.stores.is_filled(self)

    def _write_back(self: Any) -> None:
        for key, item in self.items() if isinstance(self, dict) else enumerate(self):
            if type(item) in _MADE and id(item) not in self._captures.identities.originals:
                self._real[key] = self._captures.stores.plain(item)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # which code calls to make another one
        return STANDS_FOR[type(self)]

    def _of_the_run(self: Any) -> Any:
        """Return a container of the user's own class that holds the same items. Writes to it stay in the run."""
        self._look_again()
        self._captures.stores.counters.exposes(self._real)
        if STANDS_FOR[type(self)] not in _LIBRARYS:
            self._captures.trace.require_retrace(f"it copies {self._path.label}, which may have attributes of its own")
        return _holding(copy.copy(self._real), _keys(self), _parts(self))

    def __copy__(self) -> Any:
        return self._of_the_run()

    def __deepcopy__(self, memo: Any) -> Any:
        memo[id(self)] = made = self._of_the_run()
        keys, parts = _keys(made), [copy.deepcopy(x, memo) for x in _parts(made)]
        return _holding(made, [copy.deepcopy(key, memo) for key in keys], parts)

    __delitem__, pop, clear = _both("__delitem__"), _both("pop"), _both("clear")


class _Sequence(_Writes):
    append, insert, remove = _both("append", moves=False), _both("insert"), _both("remove")
    reverse, __imul__ = _both("reverse"), _both("__imul__")

    def _names_item(self, key: Any) -> bool:
        return type(key) is int and key >= 0

    def __radd__(self: Any, other: Any) -> Any:
        self._captures.stores.counters.exposes(self._real)
        return NotImplemented  # Python asks the other one next

    def extend(self, items: Any) -> None:
        for item in list(items):
            self.append(item)

    def __iadd__(self, items: Any) -> Any:
        self.extend(items)
        return self


class _List(_Sequence, list):
    sort = _both("sort")


class _Deque(_Sequence, deque):
    appendleft, popleft, rotate = _both("appendleft"), _both("popleft"), _both("rotate")

    def extendleft(self, items: Any) -> None:
        for item in list(items):
            self.appendleft(item)


class _Mapping(_Writes):
    """Stands in for a captured dict of any kind that does as dicts do. A stand-in is no key: the object that it stands
    for is."""

    popitem = _both("popitem")
    _has_objects = False  # are there objects among the keys?

    def _real_key(self, key: Any) -> Any:
        if type(key) is str or type(key) is int:
            return key
        if isinstance(key, Tensor):
            return self._captures.inputs.as_a_fact(key)
        if type(key) is tuple:
            return tuple(map(self._real_key, key))
        return self._captures.identities.original(key)

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(self._real_key(key))

    def __contains__(self, key: Any) -> bool:
        self._look_again()
        return super().__contains__(self._real_key(key))  # type: ignore[misc]

    def get(self, key: Any, default: Any = None) -> Any:
        self._look_again()
        self._captures.stores.counters.exposes(self._real)
        return super().get(self._real_key(key), default)  # type: ignore[misc]

    def pop(self, key: Any, *default: Any) -> Any:
        return super().pop(self._real_key(key), *default)

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, item in dict(*args, **kwargs).items():
            self[key] = item

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def __setattr__(self: Any, name: str, value: Any) -> None:
        """Set an attribute, which instances of a class of the user's may have, of the real one too."""
        if name not in _OF_STAND_INS and not hasattr(type(looked_up(type(self), name)), "__set__"):
            setattr(self._real, name, self._captures.stores.plain(value))
            self._captures.trace.require_retrace(f"it sets the attribute {name} of a {STANDS_FOR[type(self)].__name__}")
        object.__setattr__(self, name, value)


class _Dict(_Mapping, dict):
    pass


def _attribute(self: Any, name: str) -> Any:
    """Read an attribute of the user's own dict, which their methods set beside its items."""
    return self._captures.read(getattr(self._real, name), self._path.attribute(name))


def _note_attributes(captures: Any, made: Any, real: Any, path: CapturedPath) -> None:
    """Note as facts which attributes a dict of the user's has beside its items, and what its class holds: that one is
    read past us. Attributes in whose place the class has others are read at once.
    """
    kind = type(real)
    captures.untraced.note(kind, class_path(kind))
    attributes = getattr(real, "__dict__", real)
    if attributes is not real:
        _note_keys(captures, attributes, path.attribute("__dict__"))
    for name in attributes if attributes is not real else ():
        if hasattr(kind, name):
            vars(made)[name] = _attribute(made, name)


_BOTH = "__iter__ __reversed__ __repr__ __eq__ __ne__"
_SEQUENCE = "__contains__ __lt__ __le__ __gt__ __ge__ count index"
for _kind, _names in ((_Writes, _BOTH), (_Sequence, _SEQUENCE), (_Mapping, "values")):
    for _name in _names.split():
        setattr(_kind, _name, _read_whole(_name))
for _kind, _names in (
    (_Writes, "__reduce_ex__ copy"),
    (_Sequence, "__add__ __mul__ __rmul__"),
    (_Mapping, "__or__ __ror__ fromkeys"),
):
    for _name in _names.split():
        setattr(_kind, _name, _of_copy(_name))


def _read_keys(name: str) -> Any:
    """Make a method that gives out the keys of the stand-in, with stand-ins for objects."""
    plain = _read_whole(name, items=name == "items")

    def method(self: Any) -> Any:
        if not self._has_objects:
            return plain(self)
        self._look_again()
        self._captures.stores.counters.exposes(self._real)
        items = super(_Writes, self).items()
        return getattr({self._captures.member(key): item for key, item in items}, name)()

    return method


for _name in ("__iter__", "keys", "items"):
    setattr(_Mapping, _name, _read_keys(_name))

_KINDS: dict[type, Any] = {dict: _Dict}
STANDS_FOR.update({_List: list, _Deque: deque, _Dict: dict})


def _mapping(captures: Any, real: Any, path: CapturedPath) -> Any:
    kind = type(real)
    if kind not in _KINDS:
        space: dict[str, Any] = {"__module__": kind.__module__}
        if kind not in _LIBRARYS:
            space["__getattr__"] = _attribute
        if issubclass(kind, OrderedDict):
            space["move_to_end"] = _both("move_to_end")
        made = type.__new__(type(kind), kind.__name__, (_Mapping, kind), space)
        _KINDS[kind], STANDS_FOR[made] = made, kind
    made = _KINDS[kind].__new__(_KINDS[kind])
    if kind is defaultdict:
        made.default_factory = real.default_factory
    made._stand_for(captures, real, path)
    put = OrderedDict.__setitem__ if isinstance(real, OrderedDict) else dict.__setitem__
    made._has_objects = not all(map(_is_plain, real))
    for key, v in real.items():
        if key == CACHE_KEY:  # among the attributes of an object, of which it is none
            continue
        put(made, key, captures.read(v, path.item(key)))
    _note_keys(captures, real, path)
    if kind not in _LIBRARYS:
        _note_attributes(captures, made, real, path)
    return made
