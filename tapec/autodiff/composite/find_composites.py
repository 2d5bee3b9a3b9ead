"""Find the several operations that are differentiated as one: those of which the last is a given node.

Such are exponentials and their logarithms (`exp_and_log.py`), and roots, powers and lengths (`roots_and_powers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tapec.autodiff.composite.composite_rule import OF_ROOTS, POWERS, Shortcut
from tapec.autodiff.composite.lazy import end_of_exponentials, end_of_roots, is_exponential, root_of_exponentials
from tapec.config import settings
from tapec.ir import Node, OpSet

__all__ = ["shortcut"]

ENDS_OF_ROOTS = OF_ROOTS | POWERS | OpSet("sqrt cbrt")


def shortcut(
    node: Node,
    apart: Collection[Node],
    is_shared: Callable[[Node], bool] | None = None,
    exponentials: bool = True,
) -> Shortcut | None:
    """The shortcut that ends in this node, if there is one that skips none of the nodes in `apart`.

    Where cotangents go back, `is_shared` tells which values have other uses, and gather theirs. `exponentials` tells
    whether there may be some in the program.
    """
    found = _found(node, exponentials)
    if found is None or any([n in apart for n in found.inner]):
        return None
    if found.flat is not None and is_shared is not None:
        return None if any([is_shared(n) for n in found.inner if not is_exponential(n)]) else found
    return found


def _found(node: Node, exponentials: bool) -> Shortcut | None:
    op = node.op
    if node.op.multi or node.type.dtype.kind != "f" or not settings.composite:
        return None
    if op in ENDS_OF_ROOTS:
        return (root_of_exponentials(node) if exponentials else None) or end_of_roots(node)
    if not exponentials:
        return None
    return end_of_exponentials(node)
