"""A pass makes of a graph an equal one that costs less: it folds, simplifies, merges and drops operations.

Comes in: a graph.  Goes out: an equal graph that costs less.  Must not be imported here: codegen or anything above.
"""
