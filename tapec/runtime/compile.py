"""`CompiledGraph` makes a function of a graph: through the passes and emission, or from the cache on disk.

It is the one way from a graph to code, for decorated functions, tapes, pullbacks, equations and the command line:
callers say what they want (`Options`), and never how. What is kept on disk is the generated code; graphs and long
source are made anew, and are the same again, when somebody looks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from time import perf_counter

from tapec.codegen import Compiled, compile_graph
from tapec.config import settings
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, Node
from tapec.ir.dead_code import with_inputs_read
from tapec.ir.decision_tree import Tree
from tapec.passes.pass_report import Report
from tapec.passes.pipeline import optimize
from tapec.runtime.disk_cache import load_or_generate
from tapec.runtime.gc_pause import resting_collector
from tapec.runtime.malloc_hint import keep_memory

__all__ = ["WATCHERS", "CompiledGraph", "Options"]

WATCHERS: list[Callable[[Compiled], None]] = []  # told of everything that is compiled: `tapec run` lists it


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
    """Compiles a graph, and holds the function of its inputs that returns the tuple of its outputs.

    `code` has the function and its source. `reads` lists the inputs that are parameters of the function. `entry` is the
    key of what was loaded from disk, None when the code was generated.
    """

    __slots__ = ("_optimized", "code", "entry", "graph", "options", "reads")

    code: Compiled

    def __init__(self, graph: Graph, options: Options):
        self.graph, self.options = graph, options
        self._optimized: Graph | None = None
        self.entry: str | None = None
        start = perf_counter()
        with resting_collector():
            if settings.cache_dir and options.optimize:
                load_or_generate(self)
            else:
                self.generate()
        keep_memory(self.code.cost.peak)
        if options.optimize:
            for watch in WATCHERS:
                watch(self.code)
            if settings.debug:
                print(f"tapec: {options.name}: {self._told(perf_counter() - start)}", file=sys.stderr)

    def generate(self) -> None:
        position = {node: k for k, node in enumerate(self.graph.inputs)}
        self.reads = [position[i] for i in self.optimized.inputs]
        self.code = self.emitted()

    @property
    def optimized(self) -> Graph:
        """The graph after the passes. With `settings.debug=2`, what each of them did goes to the standard error."""
        if self._optimized is None:
            graph, report = self.graph, Report() if settings.debug > 1 else None
            if self.options.optimize:
                graph = optimize(graph, report)
            self._optimized = graph if self.options.all_inputs else with_inputs_read(graph)
            if report is not None:
                print(report, file=sys.stderr)
        return self._optimized

    def emitted(self) -> Compiled:
        """Return code for the optimised graph, generated now."""
        options = self.options
        return compile_graph(self.optimized, options.name, options.tree, options.silenced, options.donated)

    def renamed(self, name: str) -> Compiled:
        """Return the same code under another name."""
        return CompiledGraph(self.optimized, self.options._replace(name=name, optimize=False)).code

    def _told(self, seconds: float) -> str:
        """Return what `settings.debug` tells of the compilation."""
        if self.entry is not None:
            return f"from the cache on disk, entry {self.entry[:12]}"
        return f"{len(self.graph.nodes)} -> {len(self.optimized.nodes)} nodes, compiled in {1e3 * seconds:.2f} ms"
