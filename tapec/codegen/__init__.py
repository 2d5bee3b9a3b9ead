"""This package turns a graph into Python source, and source into a function.

Comes in: a graph.  Goes out: a `Compiled` with `function` and `source`. `emit` is where it begins.
Must not be imported here: runtime, trace, api.
"""

from tapec.codegen.emit import Compiled, compile_graph
from tapec.codegen.schedule.emitted_cost import Cost

__all__ = ["Compiled", "Cost", "compile_graph"]
