"""Passes that look at a whole graph: common subexpressions, hoisting, batching of unrolled loops."""
