"""Products, factorisations, solutions and norms of matrices."""
