"""Write lines with checks, for `check_nan`."""

from __future__ import annotations

from collections.abc import Sequence

from tapec.codegen.numpy.lowering import Lowering
from tapec.codegen.numpy.nan_checks import check_of, finite
from tapec.ir import Node

__all__ = ["CheckedLowering"]


class CheckedLowering(Lowering):
    """Gives every value a line and an array of its own, and a check after it."""

    def value(self, node: Node, leaves: Sequence[Node]) -> None:
        super().value(node, leaves)
        self.space.helper("finite", finite)
        for part in self.plan.parts.get(node, {}).values() if node.op.multi else (node,):
            check = check_of(part, self.name[part], node.inputs if node.op.multi else part.inputs, self.name)
            if check is not None:
                self.out.append(check)
