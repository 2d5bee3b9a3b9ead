"""This package prepares a graph for NumPy; each file holds one pass, from graph to graph."""
