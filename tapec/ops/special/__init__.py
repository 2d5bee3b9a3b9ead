"""Derivatives of the ufuncs of scipy.special."""
