"""`CompiledGraph` makes a function of a graph: through the passes and emission, or from the cache on disk.

It is the one way from a graph to code, for decorated functions, tapes, pullbacks, equations and the command line:
callers say what they want (`Options`), and never how. What is kept on disk is the generated code; graphs and long
source are made anew, and are the same again, when somebody looks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from time import perf_counter
from typing import Any

from tapec.codegen import Compiled, compile_graph
from tapec.codegen.list_inputs import Lists
from tapec.config import in_force, settings
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, Node
from tapec.ir.checks.step_observer import LastGraph, StepObserver
from tapec.ir.dead_code import with_inputs_read
from tapec.ir.decision_tree import Tree
from tapec.passes.pass_report import Report
from tapec.passes.pipeline import optimize
from tapec.progress import job, logger
from tapec.runtime.disk_cache import load_or_generate
from tapec.runtime.gc_pause import resting_collector
from tapec.runtime.malloc_hint import keep_memory
from tapec.runtime.observed import generate_observed

__all__ = ["WATCHERS", "CompiledGraph", "Options", "code_of", "optimized_code_of"]

WATCHERS: list[Callable[[Compiled], None]] = []  # told of everything that is compiled: `tapec run` lists it


class Options(NamedTuple):
    """Says what is wanted of a graph's code.

    `name` is the function's. `tree` is the decision tree over the outputs, `silenced` has the kinds of NumPy's floating
    point errors that the code ignores. `donated` are the inputs that the caller needs no more: their memory may be
    written. With `all_inputs` all of them are parameters of the function, otherwise those that are read. Without
    `optimize` code is written for the graph as it stands, and nobody else gets it: no cache, and no watcher. `target`
    is the name of what writes the code; None for what runs here. `lists` are inputs that are the elements of lists.
    """

    name: str = "function"
    tree: Tree | None = None
    silenced: tuple[str, ...] = ()
    donated: Collection[Node] = ()
    all_inputs: bool = True
    optimize: bool = True
    target: str | None = None
    lists: Lists = ()


class CompiledGraph:
    """Compiles a graph, and holds the function of its inputs that returns the tuple of its outputs.

    `recorded` is the graph that this one was made of, `at_hand` has values of inputs, as far as they are known: for who
    looks at the compilation (`settings.dump`, `settings.verify="values"`).
    `code` has the function and its source. `reads` lists the inputs that are parameters of the function. `entry` is the
    key of what was loaded from disk, None when the code was generated.
    """

    __slots__ = ("_optimized", "code", "entry", "graph", "options", "reads")

    code: Compiled

    def __init__(
        self,
        graph: Graph,
        options: Options,
        recorded: Graph | None = None,
        at_hand: Mapping[Node, Any] | None = None,
    ):
        self.graph, self.options = graph, options
        self._optimized: Graph | None = None
        self.entry: str | None = None
        start, now = perf_counter(), in_force()
        with resting_collector(), job(options.name):
            if (now.dump or now.verify == "values") and options.optimize:
                generate_observed(self, recorded, at_hand or {})
            elif now.cache_dir and options.optimize:
                load_or_generate(self)
            else:
                self.generate()
        keep_memory(self.code.cost.peak)
        if options.optimize:
            for watch in WATCHERS:
                watch(self.code)
            log = logger("compile")
            if log is not None or settings.debug:
                told = f"{options.name}: {self._told(perf_counter() - start)}"
                if log is not None:
                    log.info("%s", told)
                if settings.debug:
                    print(f"tapec: {told}", file=sys.stderr)

    def generate(self, observer: StepObserver | None = None) -> None:
        """Generate the code; `observer` runs each step."""
        graph = self._optimize(observer)
        position = {node: k for k, node in enumerate(self.graph.inputs)}
        self.reads = [position[i] for i in graph.inputs]
        self.code = self.emitted(observer)

    @property
    def optimized(self) -> Graph:
        """The graph after the passes. With `settings.debug=2`, what each of them did goes to the standard error."""
        return self._optimize(None) if self._optimized is None else self._optimized

    def _optimize(self, observer: StepObserver | None) -> Graph:
        graph, report = self.graph, Report() if settings.debug > 1 else None
        if self.options.optimize:
            graph = lean(graph, report, observer)
        self._optimized = graph = graph if self.options.all_inputs else with_inputs_read(graph)
        if report is not None:
            print(report, file=sys.stderr)
        return graph

    @property
    def written(self) -> Graph:
        """The graph that code is written from: what the passes of the target make of the optimised one."""
        watch = LastGraph(self.optimized)
        self.emitted(watch)
        return watch.graph

    @property
    def is_optimized(self) -> bool:
        """Return whether all passes have run."""
        return self._optimized is not None

    def emitted(self, observer: StepObserver | None = None, graph: Graph | None = None) -> Compiled:
        """Return code for the optimised graph, generated now; `observer` runs each step.

        With `graph`, it is code for another graph as that stands, without the tree, which is about this one.
        """
        options = self.options
        if graph is None or graph is self.optimized:
            graph = self.optimized
        else:
            options = options._replace(tree=None, donated=())
        return code_of(graph, options, observer)

    def renamed(self, name: str | None = None, target: str | None = None) -> Compiled:
        """Return the same code under another name, or as another target writes it."""
        options = self.options._replace(name=name or self.options.name, optimize=False, target=target)
        return CompiledGraph(self.optimized, options).code

    def _told(self, seconds: float) -> str:
        """Return what `settings.debug` tells of the compilation."""
        if self.entry is not None:
            return f"from the cache on disk, entry {self.entry[:12]}"
        return f"{len(self.graph.nodes)} -> {len(self.optimized.nodes)} nodes, compiled in {1e3 * seconds:.2f} ms"


def code_of(graph: Graph, options: Options, observer: StepObserver | None = None) -> Compiled:
    """Return code for a graph as that stands; `observer` runs each step of the target."""
    o = options
    return compile_graph(graph, o.name, o.tree, o.silenced, o.donated, observer, o.target, o.lists)


def optimized_code_of(graph: Graph, options: Options) -> Compiled:
    """Return code for a graph after the passes, of which nobody else hears: no cache, and no watcher."""
    return code_of(lean(graph), options)


def lean(graph: Graph, report: Report | None = None, observer: StepObserver | None = None) -> Graph:
    """Return the graph after the passes."""
    return optimize(graph, report, observer)
