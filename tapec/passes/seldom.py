"""Passes that few programs need, each in a module that is imported when a graph has operations that it is about."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tapec.ir import CONSTANT, Graph, Op
from tapec.passes.numbering import heads

__all__ = ["Head", "Seldom", "is_multiple", "is_step"]

Head = tuple[bool, tuple[Op, ...]]  # of cotangents? the op, and those of its operands


class Seldom:
    """The pass called `name` in a module of `tapec.passes`, which leaves graphs without these ops as they are.

    `on` tells more of an operation of these.
    """

    def __init__(self, does: str, module: str, name: str, about: str, on: Callable[[Head], bool] | None = None):
        self.__doc__ = does
        self.module = module
        self.name = name
        self.about = frozenset(about.split())
        self.on = on

    def __call__(self, graph: Graph) -> Graph:
        about, on = self.about, self.on
        if not any([head[1][0].name in about and (on is None or on(head)) for head in heads(graph)]):
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
