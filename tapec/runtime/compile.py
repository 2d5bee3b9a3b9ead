"""`compile_graph` makes a function of a graph: through the passes and emission, or from the cache on disk.

It is the one way from a graph to code, for decorated functions, tapes, pullbacks, equations and the command line:
callers say what they want (`Options`), and never how. What is kept on disk is the generated code; graphs and long
source are made anew, and are the same again, when somebody looks.
"""

from __future__ import annotations

from collections.abc import Collection

from tapec.codegen.emit import Compiled
from tapec.codegen.emit import compile_graph as emit
from tapec.config import settings
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, Node
from tapec.ir.dead_code import with_inputs_read
from tapec.ir.decision_tree import Tree
from tapec.passes.pipeline import optimize
from tapec.runtime.disk_cache import load_or_generate
from tapec.runtime.gc_pause import resting_collector
from tapec.runtime.malloc_hint import keep_memory

__all__ = ["CompiledGraph", "Options", "compile_graph", "optimized_graph"]


class Options(NamedTuple):
    """Says what is wanted of a graph's code.

    `name` is the function's. `tree` is the decision tree over the outputs, `silenced` has the kinds of NumPy's floating
    point errors that the code ignores. `donated` are the inputs that the caller needs no more: their memory may be
    written. With `all_inputs` all of them are parameters of the function, otherwise those that are read. Without
    `optimize` code is written for the graph as it stands, and nobody else gets it: no cache, and no watcher.
    """

    name: str = "function"
    tree: Tree | None = None
    silenced: tuple[str, ...] = ()
    donated: Collection[Node] = ()
    all_inputs: bool = True
    optimize: bool = True


class CompiledGraph:
    """Holds a graph and the function generated for it.

    `reads` lists the inputs that are parameters of the function. `entry` is the key of what was loaded from disk, None
    when the code was generated.
    """

    __slots__ = ("_optimized", "code", "entry", "graph", "options", "reads")

    code: Compiled

    def __init__(self, graph: Graph, options: Options):
        self.graph, self.options = graph, options
        self._optimized: Graph | None = None
        self.entry: str | None = None
        if settings.cache_dir and options.optimize:
            load_or_generate(self)
        else:
            self.generate()

    def generate(self) -> None:
        position = {node: k for k, node in enumerate(self.graph.inputs)}
        self.reads = [position[i] for i in self.optimized.inputs]
        self.code = self.emitted(told=self.options.optimize)

    @property
    def optimized(self) -> Graph:
        """The graph after the passes."""
        if self._optimized is None:
            graph = optimized_graph(self.graph) if self.options.optimize else self.graph
            self._optimized = graph if self.options.all_inputs else with_inputs_read(graph)
        return self._optimized

    def emitted(self, told: bool) -> Compiled:
        """Return code for the optimised graph, generated now; watchers may be told of it."""
        options = self.options
        return emit(self.optimized, options.name, options.tree, told, options.silenced, options.donated)

    def renamed(self, name: str) -> Compiled:
        """Return the same code under another name."""
        return compile_graph(self.optimized, self.options._replace(name=name, optimize=False)).code


def compile_graph(graph: Graph, options: Options) -> CompiledGraph:
    """Compile a function of the graph's inputs that returns the tuple of its outputs."""
    with resting_collector():
        found = CompiledGraph(graph, options)
    keep_memory(found.code.cost.peak)
    return found


def optimized_graph(graph: Graph) -> Graph:
    """Return the graph after the passes."""
    return optimize(graph)
