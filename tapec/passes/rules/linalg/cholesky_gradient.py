"""These rules write the gradient of a Cholesky factor in closed form.

In general it is L⁻ᵀ (h + hᵀ) L⁻¹, where h is the lower triangle of Lᵀ ct with half the diagonal. Most cotangents of a
factor come from a likelihood, and are sums of terms for which that is much less:

    diag(w / diagonal(L))      of a log-determinant     L⁻ᵀ diag(w) L⁻¹, and w K⁻¹ when w is one number
    u vᵀ with u = L⁻ᵀ v        of |L⁻¹ b|²              u uᵀ, since Lᵀ u vᵀ = v vᵀ is symmetric
    u vᵀ + s tᵀ with u = L⁻ᵀ t, s = L⁻ᵀ v               u sᵀ + s uᵀ, of what solves with L, and then with Lᵀ
    u vᵀ with u = L⁻ᵀ x        in general               x vᵀ takes the place of the product Lᵀ (u vᵀ)

Sums and differences of such terms are taken apart; terms of no such form go the general way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Builder, Node, ops
from tapec.ir.pattern import variables
from tapec.ops import Symbol
from tapec.ops.linalg.cholesky_qr import CHOLESKY, halved_diagonal
from tapec.passes import tuning
from tapec.passes.engine.node_facts import far_from_overflow, uniform_value
from tapec.passes.engine.rule import Rule

__all__ = ["CHOLESKY_GRADIENT"]

a, ct, l, x = variables("a ct l x")


# -- cotangents as sums -----------------------------------------------------------------------------------------------
class Term(NamedTuple):
    """A summand: number * node, or number * node.T where it is flipped."""

    number: float
    node: Node
    flipped: bool


def terms(node: Node) -> list[Term] | None:
    """Return the summands of a cotangent; None when there are too many."""
    found: list[Term] = []
    stack = [Term(1.0, node, False)]
    while stack:
        factor, node, flipped = stack.pop()
        op, inputs = node.op, node.inputs
        scale, inner = numbered(node)
        if op in (ops.add, ops.subtract) and inputs[0].type == inputs[1].type:
            stack.append(Term(-factor if op is ops.subtract else factor, inputs[1], flipped))
            stack.append(Term(factor, inputs[0], flipped))
        elif op is ops.transpose and node.type.ndim == 2:
            stack.append(Term(factor, inputs[0], not flipped))
        elif inner is not node:
            stack.append(Term(factor * scale, inner, flipped))
        elif bare(node) is not node:
            stack.append(Term(factor, bare(node), flipped))
        else:
            found.append(Term(factor, node, flipped))
        if len(found) + len(stack) > tuning.CHOLESKY_MAX_TERMS:
            return None
    return found


def numbered(node: Node) -> tuple[float, Node]:
    """Return k and x of k * x, where k is a number that may be moved; 1.0 and the node itself for other nodes."""
    if node.op is ops.negative:
        return -1.0, node.inputs[0]
    if node.op is ops.multiply:
        for factor, rest in (node.inputs, node.inputs[::-1]):
            value = uniform_value(factor)
            if value is not None and far_from_overflow(node, value) and rest.type == node.type:
                return value, rest
    return 1.0, node


def without_numbers(node: Node) -> tuple[float, Node]:
    """Return the product of all numbers by which a node is multiplied, and the rest."""
    total = 1.0
    for _ in range(tuning.CHOLESKY_MAX_FACTORS):
        factor, node = numbered(node)
        total *= factor
    return total, node


class Product(NamedTuple):
    """A product number * u vᵀ, of vectors or matrices."""

    number: float
    u: Node
    v: Node


def product(term: Term) -> Product | None:
    """Return a term as a product of two columns, or of a matrix and a transpose; None for another term."""
    node, n = term.node, term.node.type.shape[0]
    if node.op not in (ops.matmul, ops.multiply) or len(node.inputs) != 2:
        return None
    first, second = node.inputs
    if node.op is ops.multiply and first.type.shape != (n, 1):
        first, second = second, first
    if first.type.shape == (n, 1) and second.type.shape in ((n,), (1, n)):
        first, second = bare(first), bare(second)
    elif node.op is ops.matmul and second.op is ops.transpose and second.inputs[0].type == first.type:
        second = second.inputs[0]
    else:
        return None
    if term.flipped:
        first, second = second, first
    (j, u), (k, v) = without_numbers(first), without_numbers(second)
    return Product(term.number * j * k, bare(u), bare(v))


def bare(node: Node) -> Node:
    """Return the vector of which a column or row is a reshape; a matrix stays."""
    while node.op is ops.reshape and max(node.type.shape, default=0) == node.type.size:
        node = node.inputs[0]
    return node


# -- the parts of a gradient ------------------------------------------------------------------------------------------
class Parts(NamedTuple):
    """A cotangent taken apart: vectors on the diagonal, products by what L⁻ᵀ was applied to, and the rest."""

    diagonals: list[Term]
    products: dict[tuple[Node, Node], Product]  # (x, v) of number * u vᵀ with u = L⁻ᵀ x
    rest: list[Term]


def parts(l: Node, ct: Node) -> Parts | None:
    """Return the cotangent of a factor taken apart; None when no term has a known form."""
    found = Parts([], {}, [])
    listed = terms(ct) if l.op is CHOLESKY and not l.params and l.type.ndim == 2 else None
    for term in listed or ():
        node = term.node
        if node.op is ops.diag and not node.param("k"):
            found.diagonals.append(Term(term.number, node.inputs[0], False))
            continue
        made = product(term)
        if made is not None and is_adjoint_solution(made.u, l):
            key = bare(made.u.inputs[1]), made.v
            known = found.products.get(key)
            found.products[key] = made if known is None else made._replace(number=made.number + known.number)
        else:
            found.rest.append(term)
    return found if found.diagonals or found.products else None


def is_adjoint_solution(u: Node, l: Node) -> bool:
    """Return whether u is solve(l.T, x)."""
    return u.op is ops.solve and u.inputs[0].op is ops.transpose and u.inputs[0].inputs[0] is l


def times_diagonal(v: Node, diagonal: Node, builder: Builder) -> Any:
    """Return v * diagonal; where v is a quotient by the diagonal, as it mostly is, the two cancel."""
    factors: list[Any] = []
    node = v
    for _ in range(tuning.CHOLESKY_MAX_FACTORS):
        if node.op is ops.divide and node.inputs[1] is diagonal:
            total: Any = plain(node.inputs[0], builder)
            for factor in factors:
                total = factor * total
            return total
        quotient = next((i for i in node.inputs if i.op in (ops.divide, ops.multiply)), None)
        if node.op is not ops.multiply or quotient is None:
            break
        factors.append(plain(node.inputs[0] if quotient is node.inputs[1] else node.inputs[1], builder))
        node = quotient
    whole: Any = Symbol(v, builder)
    return whole * Symbol(diagonal, builder)


def plain(node: Node, builder: Builder) -> Any:
    """Return a node that is one number everywhere as a number, any other as a symbol."""
    value = uniform_value(node)
    return Symbol(node, builder) if value is None else value


def outer(u: Any, v: Any) -> Any:
    if max(u.shape) == u.size:
        return np.reshape(u, (-1, 1)) * np.reshape(v, (-1,))
    return u @ np.transpose(v)


def scaled(value: Any, factor: float) -> Any:
    return value if factor == 1 else -value if factor == -1 else value * factor


# -- the rules --------------------------------------------------------------------------------------------------------
def _known_parts(y: Node, l: Node, ct: Node) -> Parts | None:
    """Return the parts of a cotangent in the gradient of a Cholesky factor, if its transposes are plain; else None."""
    if y.role is None:
        return None  # the user wrote this product
    swaps = [n for n in (y.inputs[0].inputs[0], *y.inputs[0].inputs[1].inputs) if n.op is ops.transpose]
    return parts(l, ct) if all([n.param("axes") == (1, 0) for n in swaps]) else None


def in_closed_form(y: Symbol, l: Symbol, fact: Parts) -> Any:
    """Write L⁻ᵀ (h + hᵀ) L⁻¹ term by term."""
    builder = y.builder
    summands: list[Any] = [_of_diagonals(l, fact)] if fact.diagonals else []
    left = dict(fact.products)
    rest: list[Any] = []
    for (x, v), (factor, u_node, _) in fact.products.items():
        if (x, v) not in left:
            continue  # an earlier term took this one as its partner
        del left[x, v]
        u = Symbol(u_node, builder)
        partner = left.get((v, x))
        if x is v:
            summands.append(scaled(outer(u, u), factor))
        elif partner is not None and partner.number == factor:
            del left[v, x]
            w = Symbol(partner.u, builder)
            both = outer(u, w)
            summands.append(scaled(both + np.transpose(both), factor))
        else:
            rest.append(scaled(outer(Symbol(x, builder), Symbol(v, builder)), factor))
    if fact.rest:
        rest.append(np.transpose(l) @ total_of([_summand(t, builder) for t in fact.rest]))
    if rest:
        h = halved_diagonal(total_of(rest))
        back = np.linalg.inv(l)
        summands.append(np.transpose(back) @ (h + np.transpose(h)) @ back)
    return total_of(summands)


def _of_diagonals(l: Symbol, fact: Parts) -> Any:
    """Return L⁻ᵀ diag(w) L⁻¹."""
    diagonal: Any = np.diagonal(l)  # Any: NumPy's stubs do not know that a symbol gives a symbol
    w = total_of([scaled(times_diagonal(t.node, diagonal.node, l.builder), t.number) for t in fact.diagonals])
    back = np.linalg.inv(l)
    value = uniform_value(w.node) if isinstance(w, Symbol) else w
    if value is not None:
        return scaled(np.transpose(back) @ back, value)
    return (np.transpose(back) * w) @ back if w.ndim else (np.transpose(back) @ back) * w


def _summand(term: Term, builder: Builder) -> Any:
    value: Any = Symbol(term.node, builder)
    return scaled(np.transpose(value) if term.flipped else value, term.number)


def total_of(summands: list[Any]) -> Any:
    total = summands[0]
    for part in summands[1:]:
        total = total + part
    return total


def multiple(x: Node) -> Term | None:
    """Return a node that is a sum of multiples of one value, as j * v or v + v, as one term; None for others.

    The value itself does not count.
    """
    found = terms(x)
    if not found or any([t.node is not found[0].node or t.flipped for t in found]):
        return None
    total = sum(t.number for t in found)
    return Term(total, found[0].node, False) if found[0].node is not bare(x) and far_from_overflow(x, total) else None


def solve_once(y: Symbol, a: Symbol, x: Symbol, fact: Term) -> Any:
    """Solve for the value of which a right-hand side is a multiple, and scale the solution."""
    v = Symbol(fact.node, y.builder)
    return scaled(np.linalg.solve(a, np.reshape(v, x.shape) if v.shape != x.shape else v), fact.number)


TRIANGLE = np.transpose(l) @ ct
HALF = np.tril(TRIANGLE) - np.diag(0.5 * np.diagonal(TRIANGLE))
BACK = np.linalg.inv(l)

CHOLESKY_GRADIENT = (
    Rule(
        "factor-out-of-solve",
        np.linalg.solve(a, x),
        solve_once,
        lambda x: multiple(x),
        only="cotangents",
        changes="rounding",
    ),
    Rule(
        "cholesky-in-closed-form",
        np.transpose(BACK) @ (HALF + np.transpose(HALF)) @ BACK,
        in_closed_form,
        _known_parts,
        changes="zeros",
    ),
)
