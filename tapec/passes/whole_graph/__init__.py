"""These passes look at a whole graph: they merge common subexpressions, hoist factors, batch unrolled loops."""
