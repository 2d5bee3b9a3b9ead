"""This package defines products, factorisations, solutions and norms of matrices."""
