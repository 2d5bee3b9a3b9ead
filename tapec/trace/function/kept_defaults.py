"""Define `KeptDefaults`: containers that nobody has passed, which a function keeps from call to call: its defaults.

A run gets copies of all containers among its arguments. What it stores in the copy of a default, of the function or of
`functools.partial`, goes to the default when the run is over, as plain values.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from tapec.errors import UnsupportedError, at_user_line
from tapec.pytree import children, is_of_dataclass
from tapec.trace.capture.container_contents import Items, copied, is_same, items_in, refill
from tapec.trace.capture.held_state import attributes_of

__all__ = ["KeptDefaults"]

_CONTAINERS = (list, dict, deque)


class KeptDefaults:
    """Holds the defaults among the arguments of one run, with their copies. `left_out` are the names of the
    arguments and the defaults, by the place or name by which `args` and `kwargs` hold the copies."""

    def __init__(self, left_out: Mapping[int | str, tuple[str, Any]], args: tuple[Any, ...], kwargs: dict[str, Any]):
        self._copies: list[tuple[str, Any, Any, Any]] = []  # names, defaults, copies, and what these held at first
        self._known: dict[int, tuple[Any, Any]] = {}  # what defaults hold, by the `id` of what the copy has for it
        self._left: list[tuple[Any, Items]] = []
        for key, (name, default) in left_out.items():
            self._pair(name, default, args[key] if isinstance(key, int) else kwargs[key])

    def _pair(self, name: str, default: Any, copy: Any) -> None:
        """Note a default, or what it holds, with what the run gets for it."""
        self._known[id(copy)] = copy, default
        parts, others = (None, None) if default is copy else (children(default), children(copy))
        if parts is None or others is None:
            return
        if isinstance(copy, _CONTAINERS) or is_of_dataclass(copy):
            self._copies.append((name, default, copy, _held(copy)))
        for part, other in zip(parts[1], others[1]):
            self._pair(name, part, other)

    def judge(self, captures: Any) -> None:
        """Note what the run has stored in defaults: it must be recorded at each call then."""
        for name, default, copy, before in self._copies:
            now = _held(copy)
            is_changed = not is_same(now, before)
            if is_changed:
                if captures.identities.met(default)[0] is not None:
                    raise UnsupportedError(
                        at_user_line(
                            f"the function stores something in the default of {name}, which it also reads in another "
                            f"way. Fix: keep it in a variable, and read it by that alone"
                        )
                    )
                captures.trace.require_retrace(f"it stores something in the default of {name}")
                captures.trace.single_use_reason = captures.trace.single_use_reason or "it changes a default"
                plain = self._plain(captures.stores.plain)
                self._left.append((default, [(key, plain(item)) for key, item in items_in(now)]))

    def _plain(self, plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function that gives what stays of an item: what was there before, or a plain value."""

        def left(x: Any) -> Any:
            if id(x) in self._known:
                return self._known[id(x)][1]
            if type(x) is list or type(x) is tuple:
                return type(x)(map(left, x))
            return {k: left(v) for k, v in x.items()} if type(x) is dict else plain(x)

        return left

    def write_back(self) -> None:
        """Give the defaults what the run has stored in their copies."""
        for default, items in self._left:
            if isinstance(default, _CONTAINERS):
                refill(default, items)
            else:
                for name, item in items:
                    object.__setattr__(default, name, item)


def _held(x: Any) -> Any:
    """Return a container of what a container or an object holds."""
    return copied(x) if isinstance(x, _CONTAINERS) else dict(attributes_of(x) or {})
