"""This package defines ops that need SciPy: transforms, filters, LU factors, matrix functions, sparse products."""
