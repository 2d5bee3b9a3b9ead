"""This package differentiates the ufuncs of scipy.special."""
