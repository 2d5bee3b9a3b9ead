"""This package defines polynomials by their coefficients."""
