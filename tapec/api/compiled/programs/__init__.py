"""This package holds what was recorded of a function: its paths, and the programs that they are compiled to."""
