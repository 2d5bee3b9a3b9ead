"""Find sparsity patterns, colour them, and recover sparse Jacobians."""
