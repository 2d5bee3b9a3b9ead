"""Read and fill containers past the methods that a stand-in, or the user's class, has in the place of the library's."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["Items", "copied", "items_in", "keys_in", "put", "refill", "values_in"]

Items = list[tuple[Any, Any]]  # what a container holds, by key or number


def _library_class(container: Any) -> Any:
    """Return the class of the library's that a container is of."""
    return next(kind for kind in (OrderedDict, dict, deque, list) if isinstance(container, kind))


def keys_in(container: Any) -> list[Any]:
    """Return the keys of a dict, or the numbers of the items of a sequence."""
    kind = _library_class(container)
    return [*kind.__iter__(container)] if issubclass(kind, dict) else [*range(kind.__len__(container))]


def values_in(container: Any) -> Iterator[Any]:
    """Go through what a container holds."""
    kind = _library_class(container)
    return iter(kind.values(container)) if issubclass(kind, dict) else kind.__iter__(container)


def items_in(container: Any) -> Items:
    return [*zip(keys_in(container), values_in(container), strict=True)]


def put(container: Any, key: Any, item: Any) -> None:
    """Put an item into a container in the place of the one that is there."""
    _library_class(container).__setitem__(container, key, item)


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
        return kind(items_in(container))
    return deque(container, container.maxlen) if kind is deque else list(container)
