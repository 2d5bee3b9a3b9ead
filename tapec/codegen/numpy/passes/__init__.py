"""Graph-to-graph steps that prepare a graph for NumPy."""
