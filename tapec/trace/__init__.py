"""This package records: tensors, what is recording, and the graph of what was recorded.

Comes in: NumPy calls on tensors.  Goes out: graphs and the values of their nodes.
Must not be imported here: values, log_gradients, op_by_op, api, compat, cli, report.
"""

from tapec.trace import tensor  # puts the class together, which the files below it find in `tapec.trace.classes`
