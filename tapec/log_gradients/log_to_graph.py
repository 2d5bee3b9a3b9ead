"""Turn a recorded log into a graph, and name its inputs after the user's variables."""

from __future__ import annotations

from typing import Any

from tapec.ir import CONSTANT, INPUT, ITEM, Builder, Node, input_node
from tapec.ir.source_location import variable_of
from tapec.log_gradients.input_names import names_of_leaves
from tapec.ops.control.custom_gradients import CUSTOM

__all__ = ["Forward", "Lifter"]


class Forward:
    """Holds the nodes of a log, in order, and the node of each slot.

    `literals` gives, by slot, the Python numbers that are written into the program; others are inputs.
    """

    def __init__(self, log: Any, literals: dict[int, Any]):
        self.builder = Builder()
        names = names_of_leaves(log.records)

        def leaf(slot: int, x: Any) -> Node:
            if slot in literals:
                return self.builder.constant(literals[slot])
            return input_node(names.get(id(x), f"v{slot}"), log.type_of(slot))

        self.slots: list[Node] = log.graph(self.builder, leaf)

    @property
    def nodes(self) -> list[Node]:
        return self.builder.nodes

    @property
    def leaves(self) -> list[Node]:
        """The inputs of the program."""
        return [node for node in self.slots if node is not None and node.op is INPUT]

    def stretches(self) -> list[list[Node]]:
        """The nodes before, between and after those whose gradient is Python code, which a program is cut at."""
        out: list[list[Node]] = [[]]
        for node in self.nodes:
            if node.op is CUSTOM:
                out.append([])
            elif node.op is not ITEM or node.inputs[0].op is not CUSTOM:
                out[-1].append(node)
        return out

    def name_of(self, slot: int) -> str | None:
        """The user's name for a recorded value, if it has one."""
        node = self.slots[slot]
        return variable_of(node.origin) if node.origin is not None else node.name


class Lifter:
    """Gives the node that stands for a forward value in the gradient graph.

    A recorded value is an input. A value inside a call that was recorded as a whole is computed again. Of an operation
    with several results, those that are recorded are inputs, and the operation is computed again for the others only.
    `inputs` are the inputs made so far, each with its slot.
    """

    def __init__(self, builder: Builder, slots: list[Node]):
        self.builder = builder
        self.known: dict[Node, Node] = {}
        self.inputs: dict[Node, int] = {}
        self.slots: dict[Node, int] = {}
        self.items: dict[Node, list[Node]] = {}
        for k, node in enumerate(slots):
            if node is not None and node not in self.slots:
                self.slots[node] = k
                if node.op is ITEM:
                    self.items.setdefault(node.inputs[0], []).append(node)

    def __call__(self, node: Node) -> Node:
        found = self.known.get(node)
        if found is None:
            stack = [node]
            while stack:
                self._lift(stack)
            found = self.known[node]
        return found

    def _lift(self, stack: list[Node]) -> None:
        """Settle the node on top of the stack, or put what it needs on top of it."""
        node = stack[-1]
        if node in self.known:
            stack.pop()
        elif node.op is CONSTANT:
            self.known[stack.pop()] = self.builder.constant(node.value, node.name)
        elif node in self.slots:
            self.known[stack.pop()] = self._input(node)
        else:
            missing = [i for i in node.inputs if i not in self.known]
            if missing:
                stack.extend(missing)
                return
            inputs = tuple([self.known[i] for i in node.inputs])
            self.known[stack.pop()] = made = self.builder.add(node.with_inputs(inputs))
            for item in self.items.get(node, ()):
                self.builder.know(ITEM, (made,), item.params, self._input(item))

    def _input(self, node: Node) -> Node:
        found = self.known.get(node)
        if found is None:
            found = self.known[node] = input_node(node.name, node.type, node.origin)
            self.inputs[found] = self.slots[node]
        return found
