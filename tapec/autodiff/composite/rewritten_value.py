"""Write a value of the user's program out by another program that is better differentiated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapec.autodiff.modes import MODES
from tapec.autodiff.rule_application import fit_signed
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import CT, Builder, Node, input_node, is_literal
from tapec.ops import Symbol

__all__ = ["Writer", "WrittenOut", "back_through", "pushed_through"]


class WrittenOut(NamedTuple):
    """Holds the value of a node by a program of its own."""

    inputs: tuple[Node, ...]  # of the user's program; the last are held, and nothing flows to them
    inner: tuple[Node, ...]  # the values between
    given: tuple[Node, ...]  # what stands for the inputs
    nodes: Sequence[Node]
    result: Node
    held: int


class Writer:
    """Walks a program that is written down."""

    def __init__(self, end: Node):
        self.builder = Builder()
        self.builder.origin = end.origin
        self.builder.role = CT
        self.given: dict[Node, Node] = {}
        self.kept: dict[Node, Node] = {}
        self.inner: dict[Node, None] = {}

    def value(self, node: Node) -> Any:
        """A number, or what stands for a value of the user's program."""
        if is_literal(node):
            return node.value
        return self.symbol(node, self.given)

    def held(self, node: Node) -> Any:
        """Give the symbol of a value that derivatives are made of, but do not flow to."""
        return self.symbol(node, self.kept)

    def symbol(self, node: Node, among: dict[Node, Node]) -> Symbol:
        if node not in among:
            among[node] = input_node(None, node.type)  # with no name, as no cotangent of it is the whole
        return Symbol(among[node], self.builder)

    def written(self, node: Node, result: Any) -> WrittenOut:
        """The program, which gives a result for a node."""
        if result.dtype != node.type.dtype:
            result = result.astype(node.type.dtype)
        inputs, given = (*self.given, *self.kept), (*self.given.values(), *self.kept.values())
        return WrittenOut(inputs, tuple(self.inner), given, self.builder.nodes, result.node, len(self.kept))


def back_through(program: WrittenOut, ct: Any, xs: Sequence[Any]) -> tuple[Any, ...]:
    """Return cotangents of the inputs, whose values are xs.

    The cotangent may come from a node that broadcasts the program's result: it is summed to that, as any other is.
    """
    lift, n = _within(program, xs), len(program.given) - program.held
    ct = fit_signed(xs[0].builder, ct, False, program.result.type)
    found = MODES.backward(xs[0].builder, program.nodes, [program.result], [ct], program.given[:n], lift)
    return (*found, *[None] * program.held)


def pushed_through(program: WrittenOut, ts: Sequence[Any], xs: Sequence[Any]) -> Any:
    """The tangent of the result; None where no input moves."""
    n = len(program.given) - program.held
    moving = {i: t for i, t in zip(program.given[:n], ts[:n], strict=True) if t is not None}
    lift = _within(program, xs)
    for node in program.nodes:
        if any([i in moving for i in node.inputs]):
            MODES.push(xs[0].builder, node, moving, (), lift)
    return moving.get(program.result)


def _within(program: WrittenOut, xs: Sequence[Any]) -> Callable[[Node], Node]:
    """Gives the node that stands for a value of the program where its inputs are these."""
    known = {i: x.node for i, x in zip(program.given, xs, strict=True)}

    def lift(node: Node) -> Node:
        if node not in known:
            known[node] = xs[0].builder.add(node.with_inputs(tuple(map(lift, node.inputs))))
        return known[node]

    return lift
