"""Differentiate eigenvectors where eigenvalues coincide."""
