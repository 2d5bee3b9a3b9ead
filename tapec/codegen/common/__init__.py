"""This package holds what all kinds of generated code share: statements, names, syntax trees, text and loading."""
