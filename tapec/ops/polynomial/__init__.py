"""Polynomials by their coefficients."""
