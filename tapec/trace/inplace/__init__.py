"""This package records in-place code on tensors as pure operations."""
