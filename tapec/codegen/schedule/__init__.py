"""This package chooses the order of nodes, the buffers they are computed in, and what is written inline."""
