"""Diagonals and traces of what is computed for them alone: n elements, not n * n.

`np.trace(a @ b)` is `np.sum(a * b.T)`, and `np.trace(v[:, None] * a)`, a divergence, is `v @ np.diagonal(a)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ops import Symbol
from tapec.passes.pattern import Some
from tapec.passes.rule import Rule
from tapec.passes.rules.slices import by_elements, computed_again, for_one_reader

__all__ = ["DIAGONALS"]

MAIN = (("offset", 0), ("axis1", 0), ("axis2", 1))


def _is_main(y: Node) -> bool:
    """Is it the main diagonal of a square matrix, or its trace?"""
    shape = y.inputs[0].type.shape
    return y.params == MAIN and len(shape) == 2 and shape[0] == shape[1] and y.type.dtype == y.inputs[0].type.dtype


def _elementwise(y: Node, uses: Any) -> list[Node] | None:
    whole = y.inputs[0]
    return for_one_reader(whole, uses) if _is_main(y) and by_elements(whole) and uses(whole) == 1 else None


def on_diagonal(y: Symbol, fact: list[Node]) -> Any:
    """The operations on the diagonals of their operands."""
    return computed_again(fact, lambda i, node: _operand(Symbol(i, y.builder), node))


def _operand(x: Symbol, whole: Node) -> Any:
    shape = x.node.type.shape
    return np.diagonal(x) if shape == whole.type.shape else np.reshape(x, (x.node.type.size,)) if shape else x


def _matmul(y: Node, uses: Any) -> bool:
    product = y.inputs[0]
    return _is_main(y) and uses(product) == 1 and all([i.type.ndim == 2 for i in product.inputs])


def of_product(y: Symbol) -> Any:
    """Rows times columns, each of one number with the other."""
    a, b = [Symbol(i, y.builder) for i in y.node.inputs[0].inputs]
    return np.sum(a * np.transpose(b), axis=1)


def _is_computed(y: Node, uses: Any) -> bool:
    whole = y.inputs[0]
    return _is_main(y) and uses(whole) == 1 and (by_elements(whole) or (whole.op.name == "matmul" and _matmul(y, uses)))


DIAGONALS = (
    Rule("diagonal-of-elementwise", Some("diagonal"), on_diagonal, _elementwise, kinds="fc", changes="rounding"),
    Rule("diagonal-of-product", Some("diagonal", of=("matmul",)), of_product, _matmul, kinds="fc", changes="rounding"),
    Rule(
        "trace-of-computed",
        Some("trace"),
        lambda y: np.sum(np.diagonal(Symbol(y.node.inputs[0], y.builder))),
        _is_computed,
        kinds="fc",
        changes="rounding",
    ),
)
