"""Take nested structures of arguments and results apart, put them together, and generate code that does both.

Dicts, lists, tuples, namedtuples and dataclasses are known here; whatever else is registered with optree (in its global
namespace) is taken apart by optree, which is only looked at when the user has imported it. A leaf is anything else;
None is a leaf here.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tapec.fast_namedtuple import NamedTuple

__all__ = [
    "COPY_OF",
    "class_behind",
    "LEAF",
    "Nested",
    "build_text",
    "children",
    "count_leaves",
    "flatten",
    "in_order",
    "is_namedtuple",
    "is_of_dataclass",
    "keys_of",
    "leaves_of",
    "map_leaves",
    "orders",
    "part_texts",
    "paths",
    "refill",
    "unflatten",
    "unplain_keys",
]


class _Leaf:
    """Stands for a leaf in the description of a structure."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "*"

    def __reduce__(self) -> str:
        return "LEAF"


LEAF = _Leaf()


class Nested(NamedTuple):
    """Describes a nested container: its class, what tells it from others of its class (keys, fields), its children."""

    kind: Any
    meta: Any
    children: tuple[Any, ...]


STANDS_FOR: dict[type, type] = {}  # classes of containers that stand in for others while a function is traced


COPY_OF = "_tapec_copy_of"  # under this name a copy of a class, made for one traced run, holds the class


def class_behind(kind: type) -> type:
    """Return the user's class for a copy of it, and any other class as it is."""
    return kind if type(kind) is type else vars(kind).get(COPY_OF, kind)


def kind_of(x: Any) -> Any:
    kind = class_behind(type(x))
    return STANDS_FOR.get(kind, kind) if STANDS_FOR else kind


def count_leaves(tree: Any) -> int:
    return 1 if tree is LEAF else sum(map(count_leaves, tree.children))


def is_namedtuple(x: Any) -> bool:
    return isinstance(x, tuple) and hasattr(type(x), "_fields")


def is_of_dataclass(x: Any) -> bool:
    return hasattr(type(x), "__dataclass_fields__")


def children(x: Any) -> tuple[Any, list[Any], list[Any]] | None:
    """Return (meta, children, their keys) of an inner node; None for a leaf."""
    kind = kind_of(x)
    if kind is tuple or kind is list or kind is deque:
        return (x.maxlen if kind is deque else None), list(x), list(range(len(x)))
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        keys = tuple(map(_plain_key, x)) if kind is OrderedDict else keys_of(x)
        meta = (x.default_factory, keys) if kind is defaultdict else keys
        return meta, [x[k] for k in keys], list(keys)
    if is_namedtuple(x):
        return None, list(tuple.__iter__(x)), list(kind._fields)
    if is_of_dataclass(x):
        from dataclasses import fields  # who has a dataclass has imported this

        names = [f.name for f in fields(x)]
        return tuple(names), [getattr(x, n) for n in names], names
    return _optree_children(x)


class _Keys(tuple):
    """Holds the keys of a dict in their fixed order, equal whatever the `order` was in which they came."""

    order: tuple[Any, ...]


def keys_of(mapping: Any) -> tuple[Any, ...]:
    """The keys of a dict, in a fixed order; with the order in which it has them, where that is another."""
    order = tuple(map(_plain_key, mapping))
    keys = tuple(_sorted(order))
    if keys != order:
        keys = _Keys(keys)
        keys.order = order
    return keys


def in_order(keys: Any, parts: Iterable[Any]) -> list[tuple[Any, Any]]:
    """The items of a dict, as they came."""
    items = zip(keys, parts)
    if type(keys) is not _Keys:
        return list(items)
    found = dict(items)
    return [(k, found[k]) for k in keys.order]


def orders(tree: Any) -> tuple[Any, ...]:
    """The orders of the dicts in a structure that are not the fixed ones. Who goes through them sees the difference."""
    if tree is LEAF:
        return ()
    keys = tree.meta[1] if tree.kind is defaultdict else tree.meta
    own = (keys.order,) if type(keys) is _Keys else ()
    return own + tuple([o for c in tree.children if c is not LEAF for o in orders(c)])


def unplain_keys(tree: Any) -> list[Any]:
    """Return the keys of dicts in a structure that are no strings: code may tell equal ones apart, as 1 and 1.0."""
    if tree is LEAF:
        return []
    keys = tree.meta[1] if tree.kind is defaultdict else tree.meta
    is_dict = isinstance(tree.kind, type) and issubclass(tree.kind, dict)
    own = [k for k in keys if type(k) is not str] if is_dict else []
    return own + [k for c in tree.children if c is not LEAF for k in unplain_keys(c)]


def _plain_key(key: Any) -> Any:
    """Return the number for a tensor that is a key of a dict; structures are told from each other by plain keys."""
    if type(key) is str or type(key) is int:
        return key
    if type(key) is tuple:
        return tuple(map(_plain_key, key))
    plain = getattr(type(key), "_tapec_key", None)
    return key if plain is None else plain(key)


def _sorted(keys: Iterable[Any]) -> list[Any]:
    """Return keys in a fixed order where they have one, as optree has it; else in the order of insertion."""
    try:
        return sorted(keys)
    except TypeError:
        return sorted(keys, key=lambda k: (type(k).__qualname__, str(k)))


def _optree_children(x: Any) -> tuple[Any, list[Any], list[Any]] | None:
    optree = sys.modules.get("optree")
    if optree is None or x is None or isinstance(x, (str, bytes, int, float, complex)):
        return None
    kind = type(x)
    if kind.__module__ in ("numpy", "builtins", "tapec") or optree.tree_is_leaf(x, none_is_leaf=True):
        return None
    flat, meta, entries, rebuild = optree.tree_flatten_one_level(x, none_is_leaf=True)
    return _Registered(meta, rebuild), list(flat), list(entries)


class _Registered(NamedTuple):
    """Has what optree needs to put a registered node together again."""

    metadata: Any
    rebuild: Callable[..., Any]


def build(kind: Any, meta: Any, parts: list[Any]) -> Any:
    """Put an inner node together from its children."""
    if kind is tuple:
        return tuple(parts)
    if kind is list:
        return parts
    if kind is deque:
        return deque(parts, meta)
    if kind is dict:
        return dict(in_order(meta, parts))
    if kind is OrderedDict:
        return OrderedDict(zip(meta, parts))
    if kind is defaultdict:
        return defaultdict(meta[0], in_order(meta[1], parts))
    if type(meta) is _Registered:
        return meta.rebuild(meta.metadata, parts)
    if hasattr(kind, "_fields"):
        return tuple.__new__(kind, parts)  # as `_make` does: a constructor of the user's may compute
    return _build_dataclass(kind, meta, parts)


def _build_dataclass(kind: Any, names: tuple[str, ...], parts: list[Any]) -> Any:
    new = object.__new__(vars(kind).get("_tapec_stands_for", kind))  # for a captured object that a traced function sees
    for name, part in zip(names, parts):
        object.__setattr__(new, name, part)
    return new


def flatten(x: Any, leaves: list[Any], whole: Callable[[Any], bool] | None = None) -> Any:
    """Append the leaves of a structure to the list; gives the description of the structure, which is hashable.

    What is `whole` is a leaf, whatever it holds.
    """
    parts = children(x) if whole is None or not whole(x) else None
    if parts is None:
        leaves.append(x)
        return LEAF
    return Nested(kind_of(x), parts[0], tuple([flatten(c, leaves, whole) for c in parts[1]]))


def leaves_of(x: Any) -> list[Any]:
    """Return the leaves of a structure."""
    found: list[Any] = []
    flatten(x, found)
    return found


def unflatten(tree: Any, leaves: Any) -> Any:
    """The structure with these leaves (an iterator is used up as far as needed)."""
    return _made(tree, iter(leaves))


def _made(tree: Any, leaves: Iterator[Any]) -> Any:
    if tree is LEAF:
        return next(leaves)
    return build(tree.kind, tree.meta, [_made(c, leaves) for c in tree.children])


def refill(x: Any, leaves: Any) -> Any:
    """The same structure with these leaves."""
    return unflatten(flatten(x, []), leaves)


def map_leaves(function: Callable[[Any], Any], x: Any) -> Any:
    leaves: list[Any] = []
    tree = flatten(x, leaves)
    return unflatten(tree, [function(leaf) for leaf in leaves])


# -- generated code ---------------------------------------------------------------------------------------------------
def build_text(
    tree: Any, leaves: Iterable[str], key: Callable[[Any], str], other: Callable[[Nested, list[str]], str]
) -> str:
    """Return an expression that puts a structure together from the expressions of its leaves.

    `key` gives that of a key of a dict, `other` that of a container of any other class from those of its children.
    """
    texts = iter(leaves)

    def text(t: Any) -> str:
        if t is LEAF:
            return next(texts)
        parts = [text(c) for c in t.children]
        if t.kind is tuple:
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if t.kind is list:
            return f"[{', '.join(parts)}]"
        if t.kind is dict:
            return f"{{{', '.join([f'{key(k)}: {p}' for k, p in in_order(t.meta, parts)])}}}"
        return other(t, parts)

    return text(tree)


_GETTER: Any = type(vars(Nested)["kind"])  # of a field of a named tuple: the user's class may have a property instead


def part_texts(tree: Nested, key: Callable[[Any], str]) -> list[str] | None:
    """Return how code reads each child of a container: `[0]`, `['w']`, `.x`; None for classes that have no such way.

    `key` gives the expression of a key of a dict.
    """
    kind = tree.kind
    if kind is tuple or kind is list:
        return [f"[{k}]" for k in range(len(tree.children))]
    if kind is dict:
        return [f"[{key(k)}]" for k in tree.meta]
    if hasattr(kind, "_fields"):
        return [f".{f}" if type(getattr(kind, f, None)) is _GETTER else f"[{k}]" for k, f in enumerate(kind._fields)]
    return [f".{name}" for name in tree.meta] if hasattr(kind, "__dataclass_fields__") else None


def paths(x: Any, prefix: str = "") -> list[str]:
    """Return how a user would write each leaf: `params['w']`, `state.x`, `xs[0]`."""
    parts = children(x)
    if parts is None:
        return [prefix]
    named = is_namedtuple(x) or is_of_dataclass(x)
    return [
        path
        for key, child in zip(parts[2], parts[1])
        for path in paths(child, f"{prefix}.{key}" if named else f"{prefix}[{key!r}]")
    ]
