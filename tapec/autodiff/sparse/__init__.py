"""Sparsity patterns, colouring, and recovery of sparse Jacobians."""
