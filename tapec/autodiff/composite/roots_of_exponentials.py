"""Find roots and powers of products with exponentials, which are differentiated along the logarithm of the product.

What of a root has nothing to do with exponentials is in `roots_and_powers.py`: programs without these load that alone.
"""

from __future__ import annotations

from tapec.autodiff.composite.composite_rule import OF_ROOTS, POWERS, Shortcut
from tapec.autodiff.composite.exp_and_log import along_logarithm
from tapec.autodiff.composite.log_of_product import SHARES, SUMS
from tapec.autodiff.composite.roots_and_powers import SLOPES, is_flat, is_whole_power
from tapec.autodiff.composite.sigmoid import logistic
from tapec.ir import Node, is_literal

__all__ = ["root_of_exponentials"]


def root_of_exponentials(node: Node) -> Shortcut | None:
    """The shortcut that ends in this root or power, if it is one of exponentials."""
    op = node.op
    if op in OF_ROOTS or (op in POWERS and is_whole_power(node)):
        return None
    exponent = node.inputs[-1]
    if op in POWERS and is_literal(exponent) and exponent.value == -1:
        found = logistic(node)
        if found is not None:
            return found
    below = len(node.inputs) == 2 and is_literal(exponent) and exponent.value < 0
    also = (SHARES, SUMS) if below else (SHARES,)
    return along_logarithm(node, 0, SLOPES[op], also, split=True, is_flat=is_flat)
