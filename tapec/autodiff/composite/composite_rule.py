"""A `Shortcut` is the derivative of several operations taken as one; predicates tell which programs may have such."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.autodiff.composite.matchers import exponent_of
from tapec.config import settings
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Node, OpSet, ops

__all__ = [
    "OF_ROOTS",
    "POWERS",
    "Shortcut",
    "may_have_exponentials",
    "may_have_roots",
    "unless_infinite",
]

# of these, or of roots, is all that shortcuts are about: exponentials, what is made of them, and lengths
EXPONENTIALS = OpSet("exp exp2 expm1 cosh sigmoid scipy.special.expit")
ROOTS = OpSet("sqrt cbrt absolute fabs hypot norm std")
OF_ROOTS = OpSet("multiply square")  # what only roots make more of than it is
POWERS = OpSet("power float_power")


class Shortcut(NamedTuple):
    """A shortcut is the derivative of some operations taken as one."""

    inputs: tuple[Node, ...]
    inner: tuple[Node, ...]  # the values between
    vjp: Callable[..., tuple[Any, ...]]  # from ct, y and the inputs
    jvp: Callable[..., Any] | None  # from the tangents, y and the inputs
    flat: Node | None = None  # where this is infinite; tangents are then those of the last operation, without a rule


def may_have_exponentials(nodes: Sequence[Node]) -> bool:
    """Return whether a program may have an exponential, or log(abs(x)) or of a multiple."""
    used = {n.op for n in nodes} if settings.composite else set()
    if not EXPONENTIALS.isdisjoint(used) or ops.log not in used:
        return not EXPONENTIALS.isdisjoint(used)
    return any([n.op is ops.log and n.inputs[0].op in (ops.absolute, ops.multiply) for n in nodes])


def may_have_roots(nodes: Sequence[Node]) -> bool:
    """Return whether a program has a root, a length, or a power whose exponent is no whole number."""
    used = {n.op for n in nodes} if settings.composite else set()
    if not used.isdisjoint(ROOTS):
        return True
    if used.isdisjoint(POWERS):
        return False
    return any([(exponent_of(n) or 0) % 1 for n in nodes if n.op in POWERS])


def unless_infinite(x: Any, t: Any) -> Any:
    """Stop what flows where x is infinite: there t may be no number, and what t meets is flat."""
    return np.where(np.isinf(x), 0, t)
