"""Differentiate densities: exponentials of sums with xlogy(k, x), or xlog1py(k, x), among the terms.

Such a term makes the whole a multiple of x ** k, of which the slope is k * x ** (k - 1): an exponential of the same
form, finite at zero wherever that power is. By way of the logarithm it would be nothing times infinity there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tapec.autodiff.composite.composite_rule import Shortcut
from tapec.autodiff.composite.matchers import signed_terms
from tapec.ir import CT, Node, ops
from tapec.ops import apply
from tapec.ops.elementwise.powers import number_of

__all__ = ["density"]


def _is_power(term: Node) -> bool:
    """Return whether a term is the logarithm of a power."""
    return term.op in (ops.scipy_special_xlogy, ops.scipy_special_xlog1py)


class Density:
    """Describes the exponential of some terms, each with its sign."""

    def __init__(self, terms: Sequence[tuple[int, Node]]):
        above = [sign == 1 and _is_power(term) for sign, term in terms]
        self.powers = [term for (_, term), power in zip(terms, above, strict=True) if power]
        self.others = [term for term, power in zip(terms, above, strict=True) if not power]
        self.inputs = (*[i for term in self.powers for i in term.inputs], *[term for _, term in self.others])

    def slopes(self, y: Any, xs: Sequence[Any]) -> Iterator[Any]:
        """Yield the slopes along each of the inputs, which have these values; None for what is to no power."""
        n = 2 * len(self.powers)
        powers = [(term.op, k, x) for term, k, x in zip(self.powers, xs[:n:2], xs[1:n:2], strict=True)]
        others = [x if sign == 1 else -x for (sign, _), x in zip(self.others, xs[n:], strict=True)]
        for op, k, x in powers:
            rest = [apply(o, (i, j)) for o, i, j in powers if j is not x or i is not k] + others
            yield y * op.partials(y, k, x)[0]  # type: ignore[misc]  # both have partials
            yield None if number_of(k) == 0 else k * np.exp(sum(rest, apply(op, (_one_less(k), x))))
        for sign, _ in self.others:
            yield y if sign == 1 else -y


def _one_less(k: Any) -> Any:
    return np.where(k == 0, 0, k - 1) if number_of(k) is None else k - 1


def density(node: Node) -> Shortcut | None:
    """Return the composite rule of a density that a rule has made.

    The user's own densities are differentiated by their logarithm, with one exponential.
    """
    if node.role is not CT:
        return None
    inner, terms = signed_terms(node.inputs[0])
    if not any([sign == 1 and _is_power(term) for sign, term in terms]):
        return None
    whole = Density(terms)

    def vjp(ct: Any, y: Any, *xs: Any) -> tuple[Any, ...]:
        return tuple([None if slope is None else ct * slope for slope in whole.slopes(y, xs)])

    def jvp(ts: Any, y: Any, *xs: Any) -> Any:
        slopes = zip(ts, whole.slopes(y, xs), strict=True)
        moved = [t * slope for t, slope in slopes if t is not None and slope is not None]
        return sum(moved[1:], moved[0]) if moved else None

    return Shortcut(whole.inputs, (node.inputs[0], *inner, *whole.powers), vjp, jvp)
