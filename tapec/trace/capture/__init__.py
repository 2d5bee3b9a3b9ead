"""This package captures state: what a function reads from closures, globals, attributes and items."""
