"""`Builder` makes a graph node by node: it computes types, and finds equal nodes again.

Equal operations on equal inputs become one node as they are made (value numbering); this keeps what the derivative
rules produce small.
"""

from __future__ import annotations

from collections.abc import Iterable
from marshal import dumps
from typing import Any

import numpy as np

from tapec.ir import tuning
from tapec.ir.graph import Graph
from tapec.ir.node import CONSTANT, ITEM, Node, Params, constant, parted
from tapec.ir.op import Op
from tapec.ir.sizes import tells_size
from tapec.ir.types import NUMBERS

__all__ = ["Builder"]


class Builder:
    """Makes a graph node by node: it computes types, and finds equal nodes again.

    Attributes
    ----------
    nodes : list of Node
        The nodes so far.
    origin : object
        The instruction of the user's that new nodes come from, while it is set.
    role : str or None
        The role of new nodes, while it is set: `tapec.ir.CT` in derivative rules.

    Examples
    --------
    >>> import tapec
    >>> from tapec.ir import Builder, Type, get_op, input_node
    >>> x, builder = input_node("x", Type((3,), float)), Builder()
    >>> y = builder.emit(get_op("multiply"), (x, x))
    >>> print(builder.graph([x], [y], "square"))
    graph square(%x: f64[3]) {
      %0: f64[3] = multiply %x, %x
      return %0
    }

    See Also
    --------
    tapec.ir.Graph : what it makes
    """

    __slots__ = ("_known", "nodes", "origin", "role")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._known: dict[Any, Node] = {}
        self.origin: Any = None  # given to nodes made while it is set: derivative nodes inherit the forward line
        self.role: str | None = None  # likewise: `CT` while derivative rules run

    def emit(self, op: Op, inputs: tuple[Node, ...], params: Params = (), origin: Any = None) -> Node:
        """Add an operation, or find an equal one that is there.

        Parameters
        ----------
        op : Op
            The op.
        inputs : tuple of Node
            The operands.
        params : tuple of pairs, default ()
            The static parameters: names and values. Bodies are the last of them: `("bodies", (graph,))`.
        origin : object, default None
            The instruction of the user's that it comes from. None is that of the builder.

        Returns
        -------
        Node
            The node. Its type is what the op's rule gives.

        Examples
        --------
        >>> import tapec
        >>> x, builder = tapec.ir.input_node("x", tapec.ir.Type((3,), float)), tapec.ir.Builder()
        >>> sin = tapec.ir.get_op("sin")
        >>> builder.emit(sin, (x,)) is builder.emit(sin, (x,))
        True
        """
        key = (op, inputs, params)
        node = self._known.get(key)
        if node is not None:
            if self.role is None:
                node.role = None  # the user computes it too: it must keep the user's exact values
            return node
        if params:
            result = op.rule(*[i.type for i in inputs], **dict(params))
        elif len(inputs) == 2:  # the commonest
            result = op.rule(inputs[0].type, inputs[1].type)
        else:
            result = op.rule(*[i.type for i in inputs])
        bodies: Any = ()
        if op.bodies:
            params, bodies = parted(params)
        node = Node(op, inputs, params, result, self.origin if origin is None else origin, None, self.role, bodies)
        self._known[key] = node
        self.nodes.append(node)
        return node

    def add(self, node: Node) -> Node:
        """Add a finished node, or find an equal one that is there.

        Parameters
        ----------
        node : Node
            The node; what it uses is here already.

        Returns
        -------
        Node
            The node, or the equal one.

        Examples
        --------
        >>> import tapec
        >>> builder = tapec.ir.Builder()
        >>> builder.add(tapec.ir.constant(2.0)) is builder.constant(2.0)
        True
        """
        if node.op is CONSTANT:
            return self.constant(node.value, node.name)
        key: Any = (node.op, node.inputs, node.given if node.op.bodies else node.params)
        if node.op.kind == "dynamic":  # compiled for one shape among several
            key = (*key, node.type)
        known = self._known.get(key)
        if known is not None:
            if node.role is None:
                known.role = None
            return known
        self._known[key] = node
        self.nodes.append(node)
        return node

    def append(self, node: Node) -> Node:
        """Add a finished node as one of its own, whatever equals it.

        Parameters
        ----------
        node : Node
            The node; what it uses is here already.

        Returns
        -------
        Node
            The node itself.

        Examples
        --------
        >>> import tapec
        >>> builder, node = tapec.ir.Builder(), tapec.ir.constant(2.0)
        >>> builder.append(node) is node
        True
        """
        self.nodes.append(node)
        return node

    def know(self, op: Op, inputs: tuple[Node, ...], params: Params, node: Node) -> None:
        """Let an operation be found as this node, without being done.

        Parameters
        ----------
        op : Op
            The op.
        inputs : tuple of Node
            The operands.
        params : tuple of pairs
            The static parameters: names and values.
        node : Node
            The node that has its value.

        Examples
        --------
        >>> import tapec
        >>> x, builder = tapec.ir.input_node("x", tapec.ir.Type((3,), float)), tapec.ir.Builder()
        >>> negative = tapec.ir.get_op("negative")
        >>> y = builder.emit(negative, (x,))
        >>> builder.know(negative, (y,), (), x)
        >>> builder.emit(negative, (y,)) is x
        True
        """
        self._known[op, inputs, params] = node

    def constant(self, value: Any, name: str | None = None) -> Node:
        """Add a constant, or find an equal one that is there.

        Parameters
        ----------
        value : array or number
            The value. Large arrays are equal only if they are the same object.
        name : str or None, default None
            Its name.

        Returns
        -------
        Node
            The constant.

        Examples
        --------
        >>> import tapec
        >>> builder = tapec.ir.Builder()
        >>> builder.constant(2.0) is builder.constant(2.0)
        True
        """
        key = constant_key(value)
        if name is not None and tells_size(name):  # another number that is equal does not come from the size
            key = (*key, name)
        node = self._known.get(key)
        if node is None:
            node = constant(value, name)
            self._known[key] = node
            self.nodes.append(node)
        return node

    def items(self, node: Node) -> tuple[Node, ...]:
        """Return the results of a node that has several, as a node each.

        Parameters
        ----------
        node : Node
            The node, whose type is a tuple.

        Returns
        -------
        tuple of Node
            Its results.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> graph = tapec.compile(np.linalg.eigh).ir(np.eye(2), stage="forward")
        >>> len(tapec.ir.Builder().items(graph.nodes[0]))
        2
        """
        return tuple(self.emit(ITEM, (node,), (("index", i),), node.origin) for i in range(len(node.type)))

    def graph(self, inputs: Iterable[Node], outputs: Iterable[Node], name: str = "graph") -> Graph:
        """Return the graph of all nodes so far.

        Parameters
        ----------
        inputs : iterable of Node
            The inputs.
        outputs : iterable of Node
            The outputs.
        name : str, default 'graph'
            Its name.

        Returns
        -------
        Graph
            The graph.

        Examples
        --------
        >>> import tapec
        >>> x = tapec.ir.input_node("x", tapec.ir.Type((3,), float))
        >>> tapec.ir.Builder().graph([x], [x])
        <graph graph: 1 inputs, 0 nodes, 1 outputs>
        """
        return Graph(inputs, self.nodes, outputs, name)


def constant_key(value: Any) -> Any:
    """Return a key equal for constants that are the same to the last bit and of the same type; big arrays go by
    identity."""
    if type(value) in NUMBERS:
        return (CONSTANT, dumps(value, 2))  # this version of `marshal` knows no references: equal bytes, equal numbers
    if isinstance(value, np.ndarray):
        if value.nbytes > tuning.COMPARED_CONSTANT_MAX_BYTES:
            return (CONSTANT, id(value))
        return (CONSTANT, value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, np.generic):
        return (CONSTANT, value.dtype.str, value.tobytes())
    return (CONSTANT, type(value), repr(value))
