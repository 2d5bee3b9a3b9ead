"""Calls of NumPy that are no op of their own: ufunc methods and keywords, shape queries, apply_along_axis."""
