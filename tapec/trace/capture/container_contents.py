"""Read and fill containers past the methods that a stand-in, or the user's class, has in the place of the library's."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from operator import is_
from typing import Any

__all__ = [
    "Items",
    "copied",
    "fill",
    "is_same",
    "item_of",
    "items_in",
    "keys_in",
    "put",
    "refill",
    "size_of",
    "values_in",
]

Items = list[tuple[Any, Any]]  # what a container holds, by key or number


def _library_class(container: Any) -> Any:
    """Return the class of the library's that a container is of."""
    return next(kind for kind in (OrderedDict, dict, deque, list) if isinstance(container, kind))


def keys_in(container: Any) -> Sequence[Any]:
    """Return the keys of a dict, or the numbers of the items of a sequence."""
    kind = _library_class(container)
    return [*kind.__iter__(container)] if issubclass(kind, dict) else range(kind.__len__(container))


def values_in(container: Any) -> Iterator[Any]:
    """Go through what a container holds."""
    kind = _library_class(container)
    return iter(kind.values(container)) if issubclass(kind, dict) else kind.__iter__(container)


def size_of(container: Any) -> int:
    """Return how many items a container holds."""
    return _library_class(container).__len__(container)


def items_in(container: Any) -> Items:
    return [*zip(keys_in(container), values_in(container), strict=True)]


def is_same(a: Any, b: Any, of_both: bool = False) -> bool:
    """Return whether two containers hold the same objects, by the same keys; or as far as there are some `of_both`."""
    if size_of(a) != size_of(b) and not of_both:
        return False
    same_keys = all(map(is_, keys_in(a), keys_in(b))) if isinstance(a, dict) else True
    return same_keys and all(map(is_, values_in(a), values_in(b)))


def item_of(container: Any, key: Any) -> Any:
    """Return an item by its key or number."""
    return _library_class(container).__getitem__(container, key)


def put(container: Any, key: Any, item: Any) -> None:
    """Put an item into a container in the place of the one that is there."""
    _library_class(container).__setitem__(container, key, item)


def fill(container: Any, like: Any, item: Any) -> None:
    """Give an empty container as many items as another one has, all of them this one."""
    kind = _library_class(container)
    if issubclass(kind, dict):
        made = dict.fromkeys(like if type(like) is kind else kind.__iter__(like), item)
        if kind is dict:
            dict.update(container, made)
        else:
            for key in made:
                kind.__setitem__(container, key, item)
    else:
        kind.append(container, item)
        kind.__imul__(container, kind.__len__(like))


def refill(container: Any, items: Iterable[tuple[Any, Any]]) -> Any:
    """Give a container these items in the place of its own, and return it."""
    kind, items = _library_class(container), [*items]
    kind.clear(container)
    if issubclass(kind, dict):
        for key, item in items:
            kind.__setitem__(container, key, item)
    else:
        kind.extend(container, [item for _, item in items])
    return container


def copied(container: Any) -> Any:
    """Return a plain container of the same objects."""
    kind = _library_class(container)
    if issubclass(kind, dict):
        return container.copy() if type(container) is kind else kind(items_in(container))
    return deque(container, container.maxlen) if kind is deque else list(container)
