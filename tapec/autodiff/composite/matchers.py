"""Recognise values by how they are written: terms of sums, exponents, one plus an exponential."""

from __future__ import annotations

from tapec.autodiff import tuning
from tapec.ir import Node, OpSet, OpTable, is_literal, ops
from tapec.ir.op import OWN_KINDS

__all__ = ["LAYOUT", "SUMS", "exponent_of", "is_one", "is_zero", "one_plus_exp", "same", "signed_terms"]

# results have the elements of the first operand, or some of them
LAYOUT = OpSet("getitem take_along_axis reshape transpose broadcast_to")
SUMS: OpTable[tuple[int, ...]] = OpTable({"add": (1, 1)})
DIFFERENCES = SUMS | OpTable({"subtract": (1, -1), "negative": (-1,)})


def same(a: Node, b: Node) -> bool:
    """Return whether two nodes are the same value, perhaps recorded twice. Two calls may give two values."""
    if a is b:
        return True
    is_equal = bool(a.inputs) and a.op is b.op and a.inputs == b.inputs and a.params == b.params
    return is_equal and a.op.kind not in OWN_KINDS


def one_plus_exp(node: Node) -> Node | None:
    """The exp(u) of 1 + exp(u)."""
    if node.op is not ops.add:
        return None
    for one, e in (node.inputs, node.inputs[::-1]):
        if is_one(one) and e.op is ops.exp:
            return e
    return None


def exponent_of(power: Node) -> float | None:
    """Return the exponent of a power, if it is a real number that the program tells; else None."""
    n = power.inputs[1]
    return n.value if is_literal(n) and type(n.value) in (int, float) else None


def is_one(node: Node) -> bool:
    return is_literal(node) and node.value == 1


def is_zero(node: Node) -> bool:
    return is_literal(node) and node.value == 0


def signed_terms(
    node: Node, within: OpTable[tuple[int, ...]] = DIFFERENCES
) -> tuple[list[Node], list[tuple[int, Node]]]:
    """The sums, differences and negatives within a sum, and its terms with their signs."""
    inner: list[Node] = []
    terms = [(1, node)]
    k = 0
    while k < len(terms) and len(terms) < tuning.SUM_MAX_TERMS:
        sign, term = terms[k]
        signs = within.get(term.op, ())
        if signs and term.type == node.type:
            terms[k : k + 1] = [(sign * s, i) for s, i in zip(signs, term.inputs, strict=True)]
            inner.append(term)
        else:
            k += 1
    return inner[1:], terms
