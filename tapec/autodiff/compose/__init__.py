"""Graphs put together and cut: inlining one graph in another, partition by which inputs are known."""
