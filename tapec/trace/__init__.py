"""Recording: tensors, what is recording, and the graph of what was recorded.

Comes in: NumPy calls on tensors.  Goes out: graphs and the values of their nodes.
Must not be imported here: values, log_gradients, op_by_op, api, compat, cli, report.
"""

# Each of these files gives `Tensor` methods. Later ones replace what earlier ones give: the order matters.
from tapec.trace import tensor  # isort: skip
from tapec.trace.dispatch import operators, numpy_calls, getitem  # isort: skip
from tapec.trace.escape import to_plain  # isort: skip
from tapec.trace.inplace import views, assign, numpy_writers  # isort: skip
