"""Derivatives and batching of ops that carry graphs: checkpoints, implicit solutions, mapped bodies."""
