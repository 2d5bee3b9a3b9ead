"""This package says whether a graph is right: the verifier, the interpreter, and what compares values."""
