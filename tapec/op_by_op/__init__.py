"""Gradients taken operation by operation, for programs whose structure is new each time."""
