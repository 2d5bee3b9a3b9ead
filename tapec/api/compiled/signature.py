"""Bind the arguments of a call to their names, flatten them into leaves, and sort these into inputs and statics."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from tapec.errors import at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Type, type_of
from tapec.ir.types import WEAK_NUMBERS
from tapec.ops.core.define import as_data
from tapec.pytree import LEAF, Nested, children, flatten, keys_of, orders, paths, unplain_keys
from tapec.trace.capture.captured_paths import has_own_text, is_foreign_array, is_told_by_value
from tapec.trace.classes import READABLE
from tapec.trace.inplace.memory_order import memory_order
from tapec.trace.tensor import Tensor

__all__ = ["Arguments", "Binder", "Call", "is_dynamic", "shared"]


def is_dynamic(x: Any) -> bool:
    """Return whether a leaf is an input. Numbers and numeric arrays are; bools, strings, None and other objects are
    static."""
    kind = type(x)
    if kind is np.ndarray or kind is Tensor or kind in WEAK_NUMBERS or kind in READABLE:
        return kind is not np.ndarray or x.dtype.kind in "fciub"
    if isinstance(x, np.ndarray):
        return as_data(x).dtype.kind in "fciub"
    return (isinstance(x, np.generic) and x.dtype.kind in "fciub") or isinstance(x, float)


class Call(NamedTuple):
    """Holds a call taken apart: structure of (args, kwargs), leaves, which of them are inputs, and the signature's
    key."""

    tree: Any
    leaves: list[Any]
    dynamic: list[bool]
    memory: tuple[Any, ...]  # in which order the axes of each array lie; True for other leaves
    key: Any
    given: tuple[Any, Any] = ((), {})  # the call as it came

    def objects(self) -> list[Any]:
        """The inputs; Variables are read."""
        inputs = [x for x, moving in zip(self.leaves, self.dynamic) if moving]
        return [x._tapec_read() if type(x) in READABLE else x for x in inputs]

    def leaves_with(self, inputs: list[Any]) -> list[Any]:
        """Return the leaves, with these objects in the places of the inputs."""
        it = iter(inputs)
        return [next(it) if moving else x for x, moving in zip(self.leaves, self.dynamic)]


def _like(x: Any) -> Any:
    """Return what may be kept when the call is over: an empty array of the same type."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape) if type(x) is np.ndarray else x


class Arguments(NamedTuple):
    """Holds what a transform may know of a signature: names, leaves by argument, types of the inputs, and the result.

    `spans` maps each argument (position or name) to the range of its leaves; `position[leaf]` is the input that a leaf
    is, None for a static one; `types` and `names` are by input, `labels` the names of all leaves; `result` is the
    structure of the function's result, `statics` its leaves (LEAF for those that are outputs of the graph), `guards`
    the facts that the path relies on, `integers` the values that integer and boolean inputs had when it was traced;
    `lists` are the places of inputs that are all elements of one list or tuple, and of one type.
    """

    tree: Any
    leaves: list[Any]
    spans: dict[Any, range]
    subtrees: dict[Any, Any]
    position: list[int | None]
    types: list[Type]
    names: list[str]
    labels: list[str]
    result: Any = None
    statics: Any = ()
    guards: Any = ()
    integers: Any = None
    lists: tuple[range, ...] = ()


def _static_call(function: Any) -> Any:
    """The `__call__` of an object, if static: before Python 3.13 `inspect` takes its first parameter for `self`."""
    found = inspect.getattr_static(type(function), "__call__", None)
    return found.__func__ if isinstance(found, staticmethod) else None


def _holder_of(function: Any) -> Any:
    """The function that holds the defaults of what is called; None where none does that we know."""
    f = inspect.unwrap(function)
    while isinstance(f, functools.partial):
        f = inspect.unwrap(f.func)
    if not isinstance(f, (types.FunctionType, types.MethodType)):
        f = inspect.getattr_static(type(f), "__call__", None)
    f = getattr(f, "__func__", f)
    return f if isinstance(f, types.FunctionType) else None


def _are_same(now: dict[str, Any], before: dict[str, Any]) -> bool:
    return now.keys() == before.keys() and all([x is before[k] for k, x in now.items()])


def _name(function: Any) -> str:
    name = getattr(inspect.unwrap(function), "__name__", type(function).__name__)
    return "function" if name == "<lambda>" else name


class Binder:
    """Binds calls of one function to canonical (args, kwargs)."""

    def __init__(self, function: Callable[..., Any], static_argnums: Any = (), static_argnames: Any = ()):
        self.function = function
        self._asked = _static_call(function) or function
        self._holder = _holder_of(function)
        self._read_defaults()
        try:
            self.signature: inspect.Signature | None = inspect.signature(self._asked)
        except (TypeError, ValueError):
            self.signature = None
        parameters = list(self.signature.parameters.values()) if self.signature else []
        inner = inspect.unwrap(function)
        while isinstance(inner, functools.partial):
            inner = inspect.unwrap(inner.func)
        if isinstance(inner, np.ufunc) or (getattr(inner, "__module__", None) or "").startswith("numpy"):
            self.signature = None  # its defaults are not to be given: np.sum tells them from what a caller gives
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.names = [p.name for p in positional]
        self.variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        numbers = {n + len(self.names) if isinstance(n, int) and n < 0 else n for n in _as_tuple(static_argnums)}
        self.static = numbers | set(_as_tuple(static_argnames))
        takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
        unknown: set[Any] = set() if takes_any else {n for n in self.static if isinstance(n, str)}
        unknown -= {p.name for p in parameters}
        if not self.variadic:
            count = len(self.names)
            unknown |= {n for n in _as_tuple(static_argnums) if isinstance(n, int) and not -count <= n < count}
        if unknown and parameters:
            missing, names = min(unknown, key=str), ", ".join(p.name for p in parameters)
            raise ValueError(at_user_line(f"there is no argument {missing!r} to be static; the arguments are {names}"))
        self.shown = f"{_name(function)}({', '.join([p.name for p in parameters])})"
        self.plain = all(p in positional or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
        self.simple = len(self.names) if self.plain and self.signature is not None else -1

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Bind arguments, with defaults filled in and keywords in their positions."""
        if self.signature is None or (not kwargs and len(args) == self.simple):
            return args, kwargs
        if not kwargs and self.variadic and self.plain and len(args) >= len(self.names):
            return args, kwargs
        self.follow_defaults()
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(at_user_line(f"{self.shown}: {error}")) from None
        bound.apply_defaults()
        return bound.args, bound.kwargs

    def left_out(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int | str, tuple[str, Any]]:
        """Return the containers that are defaults in a call, with their names, by the places or names of arguments."""
        if self.signature is None or (not kwargs and len(args) == self.simple):
            return {}
        bound = self.signature.bind(*args, **kwargs)
        given = set(bound.arguments)
        bound.apply_defaults()
        items: list[tuple[int | str, str, Any]] = [(k, *x) for k, x in enumerate(zip(self.names, bound.args))]
        items += [(name, name, x) for name, x in bound.kwargs.items()]
        known = self.signature.parameters.keys() - given
        return {k: (name, x) for k, name, x in items if name in known and children(x)}

    def _read_defaults(self) -> None:
        """Remember the defaults of the function as they are now."""
        self._defaults = getattr(self._holder, "__defaults__", None)
        self._by_keyword = dict(getattr(self._holder, "__kwdefaults__", None) or {})

    def follow_defaults(self) -> None:
        """Take over the defaults of the function if somebody has put others in their place."""
        f = self._holder
        if f is None or self.signature is None:
            return
        by_keyword = f.__kwdefaults__
        if f.__defaults__ is self._defaults and (
            not (by_keyword or self._by_keyword) or _are_same(by_keyword or {}, self._by_keyword)
        ):
            return
        self._read_defaults()
        self.signature = inspect.signature(self._asked)

    def default(self, name: str) -> Any:
        """Return the default of a parameter as it is now."""
        self.follow_defaults()
        found = self.signature.parameters[name].default  # type: ignore[union-attr]
        if found is inspect.Parameter.empty:
            raise TypeError(at_user_line(f"missing a required argument: {name!r}"))
        return found

    def resolve(self, which: int | str, n_args: int, kwargs: dict[str, Any]) -> int | str:
        """A position or a name as the key of an argument: its position when it has one."""
        if isinstance(which, str):
            if which in self.names:
                return self.names.index(which)
            if which in kwargs:
                return which
            known = f"the arguments are {', '.join(self.names)}"
            raise ValueError(at_user_line(f"{self.shown}: there is no argument {which!r}; {known}"))
        if isinstance(which, bool) or not isinstance(which, (int, np.integer)):
            raise TypeError(at_user_line(f"argnums is a position, a name, or a tuple of these, not {which!r}"))
        k = which + n_args if which < 0 else which
        if not 0 <= k < n_args:
            found = f"only {n_args} came by position"
            fix = "argnums=0, or a name"
            raise ValueError(
                at_user_line(f"{self.shown}: argument {which} was asked for (the first is 0), but {found}. Fix: {fix}")
            )
        return k

    def is_static(self, key: int | str) -> bool:
        if not self.static:
            return False
        name = self.names[key] if isinstance(key, int) and key < len(self.names) else key
        return key in self.static or name in self.static

    def name_of(self, k: int) -> str:
        if k < len(self.names):
            return self.names[k]
        return f"{self.variadic or 'arg'}{k - len(self.names)}"

    def take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        leaves: list[Any] = []
        fixed: list[bool] = []
        trees = []
        items: list[tuple[Any, Any]] = [*enumerate(args), *sorted(kwargs.items())]
        for k, value in items:
            start = len(leaves)
            static = self.static and self.is_static(k)
            if static:
                leaves.append(value)
                trees.append(_STATIC)
            else:
                trees.append(flatten(value, leaves))
            fixed.extend([bool(static)] * (len(leaves) - start))
        tree = Nested(
            tuple,
            None,
            (
                Nested(tuple, None, tuple(trees[: len(args)])),
                Nested(dict, keys_of(kwargs), tuple(trees[len(args) :])),
            ),
        )
        dynamic = [not f and is_dynamic(x) for x, f in zip(leaves, fixed)]
        kinds = [leaf_key(x, d) for x, d in zip(leaves, dynamic)]
        for first, k in shared(leaves, dynamic):
            kinds[k] = first
        memory = tuple([_order(x) if moving else True for x, moving in zip(leaves, dynamic)])
        key = (tree, orders(tree), tuple(kinds), memory, tuple(map(_static_key, unplain_keys(tree))))
        return Call(tree, leaves, dynamic, memory, key)

    def describe(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        spans: dict[Any, range] = {}
        subtrees: dict[Any, Any] = {}
        labels: list[str] = []
        start = 0
        branches = [*call.tree.children[0].children, *call.tree.children[1].children]
        items: list[tuple[Any, Any]] = [*enumerate(args), *sorted(kwargs.items())]
        for (k, value), tree in zip(items, branches):
            name = self.name_of(k) if isinstance(k, int) else k
            here = [name] if self.is_static(k) else paths(value, name)
            labels += here
            spans[k] = range(start, start + len(here))
            subtrees[k] = tree
            start += len(here)
        made: dict[int, Any] = {}  # one array for two parameters stays one
        leaves = [made.setdefault(id(x), _like(x)) if moving else x for x, moving in zip(call.leaves, call.dynamic)]
        position: list[int | None] = []
        types: list[Type] = []
        names: list[str] = []
        for leaf, moving, label in zip(call.leaves, call.dynamic, labels):
            position.append(len(types) if moving else None)
            if moving:
                types.append(type_of(value_of(leaf)))
                names.append(label)
        places = iter(position)
        lists = tuple([found for branch in branches for found in _lists(branch, places, types)])
        return Arguments(call.tree, leaves, spans, subtrees, position, types, names, labels, lists=lists)


from tapec.pytree import LEAF as _STATIC  # noqa: E402  # a static argument is one leaf, whatever it is


def _lists(tree: Any, position: Iterator[int | None], types: Sequence[Type]) -> Iterator[range]:
    """Go through the lists and tuples in a structure that have inputs of one type as elements, and nothing else.

    `position` has the places of the leaves that are still to come.
    """
    if tree is LEAF:
        next(position)
    elif not all([child is LEAF for child in tree.children]):
        for child in tree.children:
            yield from _lists(child, position, types)
    else:
        found = [k for k in islice(position, len(tree.children)) if k is not None]
        is_whole = tree.kind in (list, tuple) and len(found) == len(tree.children) > 1
        if is_whole and len({types[k] for k in found}) == 1:
            yield range(found[0], found[-1] + 1)


def value_of(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x._value
    return x._tensor._value if type(x) in READABLE else x


def shared(leaves: Sequence[Any], dynamic: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the places of arrays and tensors that were given before, each behind the first place: `x is y` may ask."""
    known: dict[int, int] = {}
    found = []
    for k, (x, moving) in enumerate(zip(leaves, dynamic)):
        if moving and type(x) not in WEAK_NUMBERS:
            first = known.setdefault(id(x), k)
            if first != k:
                found.append((first, k))
    return found


def leaf_key(x: Any, dynamic: bool) -> Any:
    """Return the part of a leaf that belongs to the signature: the type of an input, or else the leaf itself."""
    if dynamic:
        if type(x) in WEAK_NUMBERS:
            return type(x)
        value = value_of(x)
        if type(value) in WEAK_NUMBERS:
            return type(value)
        has_class = type(value) is not np.ndarray  # that of a number, or one that may compute by rules of its own
        return (type(value), value.shape, value.dtype) if has_class else (value.shape, value.dtype)
    return type(x) if is_foreign_array(x) else _static_key(x)  # what such an array holds is recorded at each call


def _order(x: Any) -> Any:
    value = value_of(x)
    return memory_order(value) if isinstance(value, np.ndarray) else True


def _static_key(x: Any) -> Any:
    """Return a key that tells static values apart which Python takes for equal: 1 and 1.0, 0.0 and -0.0, and objects
    whose class says that they are equal, since code may read what that leaves out."""
    kind = type(x)
    if isinstance(x, (tuple, frozenset)):
        if getattr(x, "__dict__", None):  # attributes beside its items
            return _ById(x)
        return (kind, tuple(map(_static_key, x)))  # code may go through a set in its order
    if has_own_text(x) and is_told_by_value(kind):
        return (kind, repr(x))
    if not is_told_by_value(kind):
        if _is_frozen(kind):
            return (kind, tuple([_static_key(getattr(x, f.name)) for f in dataclasses.fields(x)]))
        return _ById(x)
    try:
        hash(x)
    except TypeError:
        return _ById(x)
    return (kind, x)


def _is_frozen(kind: Any) -> bool:
    """Return whether the objects of a class are told by their fields: nobody gives them other ones, or more."""
    parameters = getattr(kind, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return False
    return not any([name in vars(c) for c in kind.__mro__[:-1] for name in ("__post_init__", "__getattr__")])


class _ById:
    """Holds a static object, told by identity and kept alive."""

    __slots__ = ("x",)

    def __init__(self, x: Any):
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.x is self.x

    def __hash__(self) -> int:
        return id(self.x)


def _as_tuple(x: Any) -> Sequence[Any]:
    return tuple(x) if isinstance(x, (tuple, list, set, frozenset)) else (x,)
