"""Passes that few programs need, each in a module that is imported when a graph has operations that it is about."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tapec.ir import CONSTANT, CT, Graph, Node, Op, is_literal
from tapec.passes.engine.node_facts import unscaled
from tapec.passes.engine.value_numbering import heads

__all__ = [
    "PRODUCTS",
    "SOURCES",
    "Head",
    "Seldom",
    "has_steps",
    "is_multiple",
    "is_step",
    "meets_rows",
    "multiplied_products",
    "multiplies_with_placed",
]

Head = tuple[bool, tuple[Op, ...]]  # of cotangents? the op, and those of its operands
SOURCES = frozenset({"where", "scatter", "tril", "triu", "diag", "eye", "setitem"})  # without these nothing is empty
PRODUCTS = frozenset({"multiply", "divide", "matmul", "einsum", "tensordot"})


class Seldom:
    """The pass called `name` in a module of `tapec.passes`, which leaves graphs without these ops as they are.

    `on` tells more of an operation of these, `of` of a graph that has some.
    """

    def __init__(
        self,
        does: str,
        module: str,
        name: str,
        about: str,
        on: Callable[[Head], bool] | None = None,
        of: Callable[[Graph], Any] | None = None,
    ):
        self.__doc__ = does
        self.module = module
        self.name = name
        self.about = frozenset(about.split())
        self.on = on
        self.of = of

    def __call__(self, graph: Graph) -> Graph:
        about, on = self.about, self.on
        if not any([head[1][0].name in about and (on is None or on(head)) for head in heads(graph)]):
            return graph
        if self.of is not None and not self.of(graph):
            return graph
        result: Graph = getattr(import_module(f"tapec.passes.{self.module}"), self.name)(graph)
        return result


def is_multiple(head: Head) -> bool:
    """Is it a product or a quotient times a constant, among cotangents?"""
    cotangent, (op, *operands) = head
    if not cotangent or op.name != "multiply" or CONSTANT not in operands:
        return False
    return any([o.name in ("multiply", "divide") for o in operands])


def is_step(head: Head) -> bool:
    """Is it a product with a part of an array, or among cotangents a sum of products, as steps of loops are?"""
    cotangent, (op, *operands) = head
    names = [o.name for o in operands]
    return "getitem" in names if op.name == "matmul" else cotangent and "multiply" in names


def has_steps(graph: Graph) -> bool:
    """Is an array multiplied with a part of one, or is there a product that is larger than both its factors?"""
    for node in graph.nodes:
        if node.op.name == "matmul":
            if any([i.op.name == "getitem" for i in node.inputs]):
                return True
        elif node.op.name == "multiply" and node.role is CT and node.type.ndim == 2:
            if all([i.type.size < node.type.size for i in node.inputs]):
                return True
    return False


def multiplied_products(graph: Graph) -> list[Node]:
    """The products of two matrices that are a factor of others, transposed perhaps or times a number, among
    cotangents."""
    products = {n: None for n in graph.nodes if n.op.name == "matmul" and n.role is not None}
    inner = dict.fromkeys([unscaled(i) for n in products for i in n.inputs])
    return [n for n in products if n in inner and all([i.type.ndim == 2 for i in n.inputs])]


def meets_rows(head: Head) -> bool:
    """Are rows taken that are multiplied, or products added up at places?"""
    (op, *operands) = head[1]
    return bool(operands) and operands[0].name == ("getitem" if op.name == "matmul" else "matmul")


def multiplies_with_placed(graph: Graph) -> bool:
    """Is a cotangent that has its values in some places, or what is made of one, multiplied by more than a number?"""
    placed: set[Node] = set()
    are_whole = placed.isdisjoint
    for node in graph.nodes:
        if node.role is CT:
            name = node.op.name
            if are_whole(node.inputs):
                if name in SOURCES:
                    placed.add(node)
            elif name in PRODUCTS and not any([is_literal(i) for i in node.inputs]):
                return True
            else:
                placed.add(node)
    return False
