"""This package takes gradients operation by operation, for programs whose structure is new each time."""
