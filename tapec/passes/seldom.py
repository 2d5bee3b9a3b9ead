"""Passes that few programs need, each in a module that is imported when a graph has an op that it is about."""

from __future__ import annotations

from importlib import import_module

from tapec.ir import Graph
from tapec.passes.numbering import heads

__all__ = ["Seldom"]


class Seldom:
    """The pass called `name` in a module of `tapec.passes`, which leaves graphs without these ops as they are."""

    def __init__(self, does: str, module: str, name: str, about: str):
        self.__doc__ = does
        self.module = module
        self.name = name
        self.about = frozenset(about.split())

    def __call__(self, graph: Graph) -> Graph:
        if self.about.isdisjoint([ops[0].name for _, ops in heads(graph)]):
            return graph
        result: Graph = getattr(import_module(f"tapec.passes.{self.module}"), self.name)(graph)
        return result
