"""The reference interpreter runs a graph node by node with each op's own `run`; tests compare with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.ir.graph import Graph
from tapec.ir.node import CONSTANT, Node, is_literal
from tapec.ir.types import Type

__all__ = ["by_python", "compute", "interpret"]


def interpret(graph: Graph, *values: Any) -> list[Any]:
    """Run a graph node by node, with the function of each op.

    It is what generated code is compared with.

    Parameters
    ----------
    graph : Graph
        The graph.
    *values : array or number
        A value for each input.

    Returns
    -------
    list
        The values of the outputs.

    Raises
    ------
    TypeError
        If there are more or fewer values than inputs.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> graph = tapec.grad(lambda x: np.sum(x**2)).ir(np.ones(3), stage="gradient")
    >>> tapec.ir.interpret(graph, np.ones(3))
    [array([2., 2., 2.])]

    See Also
    --------
    tapec.ir.compute : one node
    """
    if len(values) != len(graph.inputs):
        raise TypeError(f"{graph.name} takes {len(graph.inputs)} inputs, {len(values)} were given")
    known: dict[Any, Any] = dict(zip(graph.inputs, values, strict=True))
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            if node.op is CONSTANT:
                known[node] = node.value
            else:
                known[node] = compute(node, [known[i] for i in node.inputs])
    return [known[o] for o in graph.outputs]


def by_python(node: Node) -> bool:
    """Tell whether a node is an operation between Python's numbers alone, in what the user wrote.

    Those compute as Python does: `1.0 / 0` is an error.

    Parameters
    ----------
    node : Node
        The node.

    Returns
    -------
    bool
        Whether it is.

    Examples
    --------
    >>> import tapec
    >>> tapec.ir.by_python(tapec.compile(lambda x: x * x).ir(3.0).nodes[0])
    True

    See Also
    --------
    tapec.ir.compute : asks it
    """
    if node.role is not None or "python" not in node.op.facts:
        return False
    return node.type.weak or (node.type.dtype.kind == "b" and all([is_literal(i) or i.type.weak for i in node.inputs]))


def compute(node: Node, values: Sequence[Any]) -> Any:
    """Return the value of a node for these values of its operands.

    Parameters
    ----------
    node : Node
        The node.
    values : sequence of arrays or numbers
        The values of its operands.

    Returns
    -------
    array or number
        Its value; a tuple for an op with several results.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.ir.compute(tapec.compile(np.sum).ir(np.ones(3)).nodes[0], [np.arange(3.0)])
    np.float64(3.0)

    See Also
    --------
    tapec.ir.interpret : all nodes
    """
    run = node.op.facts["python"] if by_python(node) else node.op.run
    value = run(*values, **dict(node.given))
    t = node.type
    # NumPy's functions make scalars of Python's numbers, which would count for more where they meet arrays
    return value.tolist() if type(t) is Type and t.weak and isinstance(value, (np.generic, np.ndarray)) else value
