"""This package compiles gradients of logs: the log as a graph, stretches of it compiled, cached by structure.

Comes in: a log of `tapec.trace`, slots of targets and sources.  Goes out: compiled gradients, by slot.
Must not be imported here: api, op_by_op.
"""
