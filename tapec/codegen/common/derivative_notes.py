"""Say the mathematics of a line where a derivative does not look like one: `tanh' = 1 - tanh^2`."""

from __future__ import annotations

from collections.abc import Callable

from tapec.codegen import tuning
from tapec.ir import Node, OpSet, OpTable, is_literal, ops

__all__ = ["derivative_note"]


def kind_of(node: Node) -> str:
    """Return the name of an operation, the same for arrays and for floats."""
    return node.op.name.removeprefix("float_")


def squared(node: Node) -> Node | None:
    """Return the value whose square a node is."""
    kind = kind_of(node)
    twice = kind == "multiply" and node.inputs[0] is node.inputs[1]
    return node.inputs[0] if twice or kind == "square" else None


def of_subtract(node: Node) -> str:
    one, root = node.inputs[0], squared(node.inputs[1])
    if root is not None and kind_of(root) == "tanh" and is_literal(one) and one.value == 1:
        return "tanh' = 1 - tanh^2"
    return ""


def of_multiply(node: Node) -> str:
    for s, rest in (node.inputs, node.inputs[::-1]):
        if (
            kind_of(s) == "sigmoid"
            and kind_of(rest) == "subtract"
            and rest.inputs[1] is s
            and is_literal(rest.inputs[0])
        ):
            return "sigmoid' = sigmoid (1 - sigmoid)"
    return of_softmax(node)


def of_softmax(node: Node) -> str:
    """Find exponentials divided by their sum."""
    for exponentials, rest in (node.inputs, node.inputs[::-1]):
        if kind_of(exponentials) == "exp" and exponentials.type.shape and exponentials.role is None:
            for _ in range(tuning.SOFTMAX_MAX_OPS):
                if kind_of(rest) == "sum" and rest.inputs[0] is exponentials:
                    return "d log(sum(exp(z))) = softmax(z)"
                if not rest.inputs:
                    break
                rest = rest.inputs[-1 if kind_of(rest) == "divide" else 0]
    return ""


def of_expm1(node: Node) -> str:
    x = node.inputs[0]
    sum_of_exp = x.inputs[0] if kind_of(x) == "negative" else x
    return "d log(1 + exp(z)) = sigmoid(z)" if kind_of(sum_of_exp) in ("logaddexp", "softplus") else ""


INVERSES = OpSet("inv inv_lower")


def of_matmul(node: Node) -> str:
    a, b = [i.inputs[0] if i.op is ops.transpose else i for i in node.inputs]
    if a is b and a.op in INVERSES and a.inputs[0].op is ops.cholesky:
        return "the inverse, from the Cholesky factor"
    return ""


NOTES: OpTable[Callable[[Node], str]] = OpTable(
    {
        "subtract float_subtract": of_subtract,
        "multiply float_multiply": of_multiply,
        "divide": of_softmax,
        "expm1": of_expm1,
        "matmul": of_matmul,
    }
)


def derivative_note(node: Node) -> str:
    """Return what a node of a derivative comes to in mathematics, where that is not plain; empty where it is."""
    write = NOTES.get(node.op) if node.role is not None else None
    return "" if write is None else write(node)
