"""Derivatives of eigenvectors where eigenvalues coincide."""
