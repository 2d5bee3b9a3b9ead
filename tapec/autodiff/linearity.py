"""Tell in which inputs an op is linear, and how: all together (a + b), or each by itself (a * b)."""

from __future__ import annotations

from tapec.ir import Op, OpTable, ops

__all__ = ["is_multilinear", "linear_inputs"]

_LINEAR_ELEMENTWISE = OpTable(
    {
        **dict.fromkeys(["multiply", "add", "subtract"], (0, 1)),
        **dict.fromkeys(["divide", "negative", "positive", "conjugate", "real", "imag"], (0,)),
    }
)


def linear_inputs(op: Op, count: int) -> tuple[int, ...]:
    """The inputs in which the op is linear; layout ops that take many arrays are so in all of them."""
    if op.linear:
        return tuple(range(count)) if op.kind == "layout" else op.linear
    return _LINEAR_ELEMENTWISE.get(op, ())


def is_multilinear(op: Op) -> bool:
    """Linear in each input while the others stand still, as a product is; otherwise in all of them together."""
    return op.kind == "product" or op in (ops.multiply, ops.divide)
