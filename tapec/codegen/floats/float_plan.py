"""Plan which numbers get a line of their own, in programs whose values are all Python numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tapec.codegen import tuning
from tapec.codegen.common.expressions import Template
from tapec.codegen.numpy.idioms import template_of
from tapec.codegen.schedule.inlining import Plan
from tapec.ir import CONSTANT, ITEM, Node, Op

__all__ = ["FloatPlan"]


class FloatPlan(Plan):
    """Nests a number when one place reads it and the line stays short; those that are `unnamed` wish for no name."""

    def __init__(self, nodes: Sequence[Node], results: Iterable[Node], unnamed: Collection[Node] = ()):
        self.unnamed = unnamed
        super().__init__(nodes, results)

    def _settle_all(self) -> None:
        wished = [(n, n.name) for n in self.nodes if n.name and n.op is not CONSTANT]
        self.wishes = {n: name for n, name in wished if n not in self.unnamed}
        known: dict[Op, Template | None] = {CONSTANT: None, ITEM: None}
        for node in self.nodes:
            if node.op is ITEM:
                self.parts.setdefault(node.inputs[0], {})[node.param("index")] = node
            if node.op is not ITEM and (node.params or any([i.type.shape for i in node.inputs])):
                self._fill(node, template_of(node))
                continue
            if node.op not in known:  # an op without parameters on floats alone has one template
                known[node.op] = template_of(node)
            self._fill(node, known[node.op])

    def _fill(self, node: Node, template: Template | None) -> None:
        """Decide on the inputs of a node, all of whose own inputs are decided on."""
        leaves: tuple[Node, ...] = ()
        depth, width = 0, 8
        packed = node.op.kind in ("creation", "pack")
        room = tuning.PACKED_MAX_CHARACTERS if packed else tuning.FLOAT_LINE_MAX_CHARACTERS
        if template is not None:
            self.templates[node] = template
            depth, width = 1, template.width if template.compact else template.width - 2 * sum(template.counts)
            for i, count in zip(node.inputs, template.counts):
                if i in self.templates:
                    if count == 1 and self.uses[i] == 1 and i not in self.wishes:
                        w, d = width + self._width[i], depth + self._depth[i]
                        if w <= room and d <= tuning.FLOAT_LINE_MAX_OPS:
                            self.nested.add(i)
                            leaves += self.leaves[i]
                            width, depth = w, d
                            continue
                elif i.op is CONSTANT:
                    continue
                leaves += (i,)
                width += tuning.NAME_CHARACTERS
        self.leaves[node] = leaves
        self._width[node], self._depth[node] = width, depth

    def _may_return(self, node: Node, results: Sequence[Node]) -> bool:
        return node in self.templates and node not in self.wishes
