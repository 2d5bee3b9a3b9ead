"""Describe products as sums over named axes: which axis of which operand is which axis of the result."""

from __future__ import annotations

from tapec.ir import Node, OpTable

__all__ = ["axis_names"]

Names = list[str]


def axis_names(node: Node) -> tuple[tuple[Names, Names], Names] | None:
    """Return names for the axes of both operands and of the result; a name that is not in the result is summed over.

    Return None for another op, and for a product that broadcasts axes of length one.
    """
    find = _FINDERS.get(node.op)
    if find is None or len(node.inputs) != 2:
        return None
    names = find(node)
    if names is None:
        return None
    (left, right), out = names
    summed = [n for n in (*left, *right) if n not in out]
    if any(n not in left or n not in right for n in summed):
        return None
    return names


def _matmul(node: Node) -> tuple[tuple[Names, Names], Names] | None:
    a, b = [i.type.shape for i in node.inputs]
    return _stacked(a, b, (["m", "c"] if len(a) > 1 else ["c"]), (["c", "n"] if len(b) > 1 else ["c"]))


def _stacked(
    a: tuple[int, ...], b: tuple[int, ...], left: Names, right: Names
) -> tuple[tuple[Names, Names], Names] | None:
    """Return the names for a product over the last axes; axes before those belong to both operands, or to one only."""
    front_a, front_b = a[: len(a) - len(left)], b[: len(b) - len(right)]
    if front_a and front_b and front_a != front_b:
        return None
    stack = [f"s{k}" for k in range(max(len(front_a), len(front_b)))]
    out = [*stack, *[n for n in left if n not in right], *[n for n in right if n not in left]]
    return ((stack if front_a else []) + left, (stack if front_b else []) + right), out


def _einsum(node: Node) -> tuple[tuple[Names, Names], Names] | None:
    terms, out = node.param("subscripts").split("->")
    left, right = terms.split(",")
    if len(set(left)) != len(left) or len(set(right)) != len(right):
        return None
    return (list(left), list(right)), list(out)


def _tensordot(node: Node) -> tuple[tuple[Names, Names], Names] | None:
    a, b = [i.type.ndim for i in node.inputs]
    left, right = node.param("axes")
    names_a, names_b = [f"a{k}" for k in range(a)], [f"b{k}" for k in range(b)]
    out = [n for k, n in enumerate(names_a) if k not in left] + [n for k, n in enumerate(names_b) if k not in right]
    for i, k in zip(left, right, strict=True):
        names_b[k] = names_a[i]
    return (names_a, names_b), out


_FINDERS = OpTable({"matmul": _matmul, "einsum": _einsum, "tensordot": _tensordot})
