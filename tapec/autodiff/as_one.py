"""A derivative of several operations taken as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.tuples import NamedTuple

__all__ = ["Shortcut", "unless_infinite"]


class Shortcut(NamedTuple):
    """Some operations as one."""

    inputs: tuple[Node, ...]
    inner: tuple[Node, ...]  # the values between
    vjp: Callable[..., tuple[Any, ...]]  # from ct, y and the inputs
    jvp: Callable[..., Any] | None  # from the tangents, y and the inputs
    flat: Node | None = None  # where this is infinite; tangents are then those of the last operation, without a rule


def unless_infinite(x: Any, t: Any) -> Any:
    """What flows where x is a number: elsewhere it may be none itself, and what it meets is flat."""
    return np.where(np.isinf(x), 0, t)
