"""This package makes functions of graphs, caches the functions, and holds the helpers that generated code calls.

Comes in: compiled functions.  Goes out: their results.  Must not be imported here: trace, api.
"""
