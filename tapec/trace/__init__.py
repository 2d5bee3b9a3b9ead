"""Recording: tensors, what is recording, and the graph of what was recorded.

Comes in: NumPy calls on tensors.  Goes out: graphs and the values of their nodes.
Must not be imported here: api, compat, cli, report.
"""

from tapec.trace import tensor  # isort: skip
from tapec.trace.dispatch import getitem, numpy_calls, operators
from tapec.trace.escape import to_plain
from tapec.trace.inplace import assign, views

from tapec.trace.inplace import numpy_writers  # isort: skip  they give Tensor its methods
