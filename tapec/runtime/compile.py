"""`Build` makes a function of a graph: through the passes and emission, or from the cache on disk.

`Build` is that step for one graph. What is kept on disk is the generated code; graphs and long source are made anew,
and are the same again, when somebody looks.
"""

from __future__ import annotations

from collections.abc import Collection

from tapec.codegen import Compiled, compile_graph
from tapec.config import settings
from tapec.ir import Graph, Node
from tapec.ir.decision_tree import Tree
from tapec.passes.pipeline import optimize
from tapec.runtime.disk_cache import load_or_build
from tapec.runtime.malloc_hint import keep_memory

__all__ = ["Build", "with_inputs_read"]


class Build:
    """Holds a graph and the function generated for it.

    `tree` is its decision tree, `silenced` has the kinds of NumPy's floating point errors that the code ignores.
    `used` lists the inputs that are parameters of the function: all of them, or with `whole=False` those that are read.
    `donated` are those that it may write over.
    `entry` is the key of what was loaded from disk, None when it was generated.
    """

    __slots__ = ("_lean", "compiled", "donated", "entry", "graph", "name", "silenced", "tree", "used", "whole")

    def __init__(
        self,
        graph: Graph,
        name: str,
        tree: Tree | None = None,
        whole: bool = True,
        silenced: tuple[str, ...] = (),
        donated: Collection[Node] = (),
    ):
        self.graph, self.name, self.tree, self.whole, self.silenced = graph, name, tree, whole, silenced
        self.donated = donated
        self._lean: Graph | None = None
        self.entry: str | None = None
        if settings.cache_dir:
            load_or_build(self)
        else:
            self.generate()
        keep_memory(self.compiled.cost.peak)

    def generate(self) -> None:
        position = {node: k for k, node in enumerate(self.graph.inputs)}
        self.used = [position[i] for i in self.lean.inputs]
        self.compiled = self.generated()

    @property
    def lean(self) -> Graph:
        """The graph after the passes."""
        if self._lean is None:
            self._lean = optimize(self.graph)
            if not self.whole:
                self._lean = with_inputs_read(self._lean)
        return self._lean

    def generated(self, told: bool = True) -> Compiled:
        return compile_graph(self.lean, self.name, self.tree, told, self.silenced, self.donated)


def with_inputs_read(graph: Graph) -> Graph:
    """The same graph without inputs that nothing reads."""
    read = {i for n in graph.nodes for i in n.inputs} | set(graph.outputs)
    return Graph([i for i in graph.inputs if i in read], graph.nodes, graph.outputs, graph.name)
