"""From a lean graph to Python source, and from source to a function.

Comes in: a graph.  Goes out: a `Compiled` with `function` and `source`.
Must not be imported here: runtime, trace, api.

`emit` is where it begins. From there, in the order of the way:
  on arrays     arrays. The graph, made ready: flattened, contract, wrapped, expand, spread, axes, large, products,
                regions, placing, blocks, schedule, small_parts, unpacked. Its lines: plan, buffers, lower, loops,
                scatter, writes, strides, results, checked, checks
  on numbers    worth, floats, islands, elements, element_rules, float_lines; rolled for a loop over a small vector
  found loops   repeats, growing, lifted, joined, pattern; then arrange, order, feeds, counting, collected; and their
                lines: repeat_lines, array_loops, array_steps
  decisions     branches
  source        items, names, constants, idioms, sums, templates, expressions, statements, syntax; module, page,
                text, helpers, load
  cost          what all of it will need
"""

from tapec.codegen.emit import Compiled, compile_graph
from tapec.codegen.schedule.emitted_cost import Cost

__all__ = ["Compiled", "Cost", "compile_graph"]
