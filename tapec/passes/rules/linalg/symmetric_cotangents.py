"""These rules drop transposes of, and second sums along axes of, symmetric and antisymmetric cotangents."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.ir import Node
from tapec.ir.pattern import variables
from tapec.passes.engine.axis_symmetry import swap_parity
from tapec.passes.engine.rule import Rule

__all__ = ["SYMMETRIC_COTANGENTS"]

(x,) = variables("x")


def _parity_of_transpose(y: Node, x: Node) -> int:
    return swap_parity(x) if y.param("axes") == (1, 0) else 0


def _parity_of_sum(y: Node, x: Node, uses: Any) -> int:
    """Return the parity of a value that is summed along its second axis, if it seems to be summed along the first, too.

    That it has another use is enough: gradients of symmetric values sum along both axes.
    """
    return swap_parity(x) if y.param("axis") == (1,) and uses(x) > 1 else 0


def signed(x: Any, fact: int) -> Any:
    return x if fact > 0 else -x


def sum_along_first(y: Any, x: Any, fact: int) -> Any:
    return signed(np.reshape(np.sum(x, axis=0), y.shape), fact)


SYMMETRIC_COTANGENTS = (
    Rule("transpose-of-symmetric", np.transpose(x), signed, _parity_of_transpose, only="cotangents", changes="zeros"),
    Rule("sum-of-symmetric", np.sum(x), sum_along_first, _parity_of_sum, only="cotangents", changes="zeros"),
)
