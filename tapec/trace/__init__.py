"""Recording: tensors, what is recording, and the graph of what was recorded.

Comes in: NumPy calls on tensors.  Goes out: graphs and the values of their nodes.
Must not be imported here: api, compat, cli, report.
"""
