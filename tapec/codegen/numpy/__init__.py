"""Whole functions on arrays, written with NumPy."""
