"""Programs on Python floats: scalars and tiny arrays, element by element."""
