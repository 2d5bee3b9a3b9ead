"""Define stand-ins for captured weak references, which give out the stand-in of what they lead to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakMethod, ref

from tapec.pytree import STANDS_FOR

__all__ = ["weak_reference"]


class _Reference:
    """Stands in for a reference. It is equal to what the reference is equal to, and has its hash."""

    def __init__(self, real: Any, read: Callable[[], Any]):
        self._tapec_real, self._tapec_read_now = real, read

    def __call__(self) -> Any:
        return self._tapec_read_now()

    def __eq__(self, other: object) -> bool:
        return bool(self._tapec_real == (other._tapec_real if type(other) is type(self) else other))

    def __hash__(self) -> int:
        return hash(self._tapec_real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tapec_real, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return STANDS_FOR[type(self)]


class _Method(_Reference):
    """Stands in for a `weakref.WeakMethod`."""


STANDS_FOR.update({_Reference: ref, _Method: WeakMethod})


def weak_reference(real: Any, read: Callable[[], Any]) -> Any:
    """Return the stand-in for a weak reference, which answers with what `read` gives."""
    return (_Method if type(real) is WeakMethod else _Reference)(real, read)
