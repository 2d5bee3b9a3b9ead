"""Transforms that keep meaning: fold, simplify, common subexpressions, dead code.

Comes in: a graph.  Goes out: an equal graph that costs less.  Must not be imported here: codegen or anything above.
"""
