"""Selection among cotangents: `where(c, a, 0) * b` becomes `where(c, a * b, 0)`.

Where `c` is false the cotangent is zero because nothing flows there, so an infinity or nan in `b`, which belongs to the
branch that was not taken, must not turn it into nan. The selection moves outwards to the end of each product. These
rules make gradients right, so they run even when nothing else is optimised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ir.index import Slot
from tapec.ops import apply
from tapec.ops.define import reduced_shape
from tapec.passes.facts import is_zero
from tapec.passes.pattern import Pattern, params, variables
from tapec.passes.rule import Rule

__all__ = ["MASKS"]

a, b, c, z = variables("a b c z")

# Operations that map zero to zero, as functions of the selection; they serve as pattern and as replacement.
OUTWARDS: dict[str, Callable[[Any], Any]] = {
    "multiply": lambda s: s * b,
    "divide": lambda s: s / b,
    "negate": lambda s: -s,
    "conjugate": np.conjugate,
    "real": np.real,
    "imag": np.imag,
}
# The same for changes of layout and dtype, which have parameters; the condition goes along with the first four.
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "reshape": lambda s: np.reshape(s, params),
    "transpose": lambda s: np.transpose(s, params),
    "index": lambda s: s[...],
    "broadcast": lambda s: np.broadcast_to(s, params),
    "cast": lambda s: np.astype(s, params),
}
SELECTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "then": lambda c, a, z: np.where(c, a, z),
    "else": lambda c, a, z: np.where(c, z, a),
}


def _rules() -> Iterator[Rule]:
    for side, select in SELECTIONS.items():
        selection = select(c, a, z)
        for what, f in OUTWARDS.items():
            yield _rule(f"select-{side}-{what}", f(selection), select(c, f(a), 0))
        for what, f in LAYOUTS.items():
            yield _rule(f"select-{side}-{what}", f(selection), _outside(select), _fits)
        yield _rule(f"select-{side}-sum", np.sum(selection), _outside_sum(select), _is_same_along_axes)


def _rule(name: str, pattern: Pattern, replacement: Any, fits: Callable[[Node], bool] = lambda y: True) -> Rule:
    guard = lambda y, z: is_zero(z) and fits(y)
    return Rule(name, pattern, replacement, guard, only="cotangents", changes="zeros", kinds="fc")


def _fits(y: Node) -> bool:
    """Can the condition go along? Not when it is smaller than the selection; index arrays would be read twice."""
    selection = y.inputs[0]
    if y.op.name in ("broadcast_to", "cast"):
        return True
    if y.op.name == "getitem" and any(type(p) is Slot for p in y.param("index")):
        return False
    return selection.inputs[0].type.shape == selection.type.shape


def _outside(select: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """The selection of what has gone through the change of layout."""

    def replacement(y: Any, c: Any, a: Any) -> Any:
        node = y.node
        if node.op.name not in ("broadcast_to", "cast"):
            a = np.broadcast_to(a, c.shape)
            c = apply(node.op, (c,), node.params)
        return select(c, apply(node.op, (a,), node.params), 0)

    return replacement


def _padded(x: Any, ndim: int) -> tuple[int, ...]:
    """The shape of x with ones in front."""
    return (1,) * (ndim - len(x.shape)) + x.shape


def _is_same_along_axes(y: Node) -> bool:
    """Is the condition the same for all that is added up? Then it selects sums."""
    selection = y.inputs[0]
    shape = _padded(selection.inputs[0].type, selection.type.ndim)
    return all([shape[k] == 1 for k in y.param("axis")])


def _outside_sum(select: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    def replacement(y: Any, c: Any, a: Any) -> Any:
        axis, keepdims = y.node.param("axis"), y.node.param("keepdims")
        shape = y.node.inputs[0].type.shape
        condition = np.reshape(c, reduced_shape(_padded(c, len(shape)), axis, keepdims))
        return select(condition, np.sum(np.broadcast_to(a, shape), axis=axis, keepdims=keepdims), 0)

    return replacement


MASKS = tuple(_rules())
