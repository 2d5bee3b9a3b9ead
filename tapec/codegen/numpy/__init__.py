"""This package writes whole functions on arrays with NumPy."""
