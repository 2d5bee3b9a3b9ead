"""This package answers NumPy calls and operators on tensors: which ops they are, and how they are recorded."""
