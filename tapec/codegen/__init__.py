"""From a lean graph to Python source, and from source to a function.

Comes in: a graph.  Goes out: a `Compiled` with `function` and `source`.
Must not be imported here: runtime, trace, api.
"""

from tapec.codegen.cost import Cost
from tapec.codegen.emit import Compiled, compile_graph
from tapec.codegen.helpers import helper_text

__all__ = ["Compiled", "Cost", "compile_graph", "helper_text"]
