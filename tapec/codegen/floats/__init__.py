"""This package writes programs on Python floats: on scalars and tiny arrays, element by element."""
