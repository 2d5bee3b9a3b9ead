"""A node is one operation of a program and at the same time its value.

An op with several results has a tuple type, and `item` nodes take such a tuple apart. Nodes never change once made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapec.ir.op import Op, register
from tapec.ir.param_types import SIZE, VALUE
from tapec.ir.types import NUMBERS, Type, type_of

if TYPE_CHECKING:
    from tapec.ir.graph import Graph

__all__ = ["CONSTANT", "CT", "INPUT", "ITEM", "Node", "Params", "constant", "input_node", "is_literal", "parted"]

Params = tuple[tuple[str, Any], ...]
CT = "ct"  # the role of nodes made by derivative rules


class Node:
    """Describes one operation of a graph, and stands for its value.

    It never changes once it is in a graph. Nodes are compared by identity.

    Parameters
    ----------
    op : Op
        The op.
    inputs : tuple of Node
        The operands.
    params : tuple of pairs
        The static parameters: names and values, such as `(("axis", (0,)),)`.
    type : Type or tuple of Type
        The type of the value; a tuple for an op with several results.
    origin : object, default None
        The instruction of the user's that it comes from.
    name : str or None, default None
        The name of the user's variable.
    role : str or None, default None
        `tapec.ir.CT` for a node that a derivative rule made: cotangents, tangents, partials. None for all others.
    bodies : tuple of Graph, default ()
        The closed graphs that the op carries: what a body reads from outside is an operand.

    Attributes
    ----------
    op : Op
        The op; and so for the other parameters.
    shape : tuple of int
        The shape of its type.
    dtype : numpy.dtype
        The dtype of its type.
    value : array or number
        The value of a constant.
    given : tuple of pairs
        The parameters as the functions of the op take them: the bodies, where the op has some, come last as `bodies`.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> graph = tapec.compile(np.sin).ir(1.0)
    >>> graph.nodes[0].op, graph.nodes[0].inputs == graph.inputs
    (<op sin>, True)

    See Also
    --------
    tapec.ir.Builder : makes nodes
    tapec.ir.Graph : holds them
    """

    __slots__ = ("bodies", "inputs", "name", "of", "op", "origin", "params", "role", "type")

    def __init__(
        self,
        op: Op,
        inputs: tuple[Node, ...],
        params: Params,
        type: Any,
        origin: Any = None,
        name: str | None = None,
        role: str | None = None,
        bodies: tuple[Graph, ...] = (),
    ):
        self.op = op
        self.inputs = inputs
        self.params = params
        self.type = type
        self.origin = origin
        self.name = name
        self.role = role
        self.bodies = bodies
        self.of: Node | None = None

    @property
    def given(self) -> Params:
        """The parameters as the functions of the op take them: the bodies, if it may have some, come last.

        So they go through calls of `Builder.emit`, through records, and to `run`, `rule` and derivatives.
        """
        return (*self.params, ("bodies", self.bodies)) if self.op.bodies else self.params

    def param(self, key: str) -> Any:
        """Return a static parameter.

        Parameters
        ----------
        key : str
            Its name.

        Returns
        -------
        object
            Its value.

        Raises
        ------
        KeyError
            If there is none of this name.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> tapec.compile(np.sum).ir(np.ones((2, 3))).nodes[0].param("axis")
        (0, 1)
        """
        for k, v in self.params:
            if k == key:
                return v
        raise KeyError(key)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Node:
        """Return a node of the same operation, with all that is known of it, on other operands.

        Parameters
        ----------
        inputs : tuple of Node
            The operands, of the same types.

        Returns
        -------
        Node
            The node.

        Examples
        --------
        >>> import tapec
        >>> x, y = [tapec.ir.input_node(name, tapec.ir.Type((3,), float)) for name in "xy"]
        >>> node = tapec.ir.Builder().emit(tapec.ir.get_op("sin"), (x,))
        >>> node.with_inputs((y,)).inputs == (y,)
        True
        """
        made = Node(self.op, inputs, self.params, self.type, self.origin, self.name, self.role, self.bodies)
        made.of = self.of
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype

    @property
    def value(self) -> Any:
        """The value of a constant."""
        return self.params[0][1]

    def __repr__(self) -> str:
        return f"<{self.op.name} {self.type}>"


def parted(given: Params) -> tuple[Params, tuple[Graph, ...]]:
    """Part what the functions of an op take into parameters and bodies, as a node holds them."""
    return (given[:-1], given[-1][1]) if given and given[-1][0] == "bodies" else (given, ())


def _no_run(*values: Any, **params: Any) -> Any:
    raise TypeError("inputs have no computation")


INPUT = register(Op(name="input", run=_no_run, rule=_no_run, kind="input", source="{name}"))
CONSTANT = register(
    Op(
        name="constant",
        run=lambda value: value,
        rule=lambda value: type_of(value),
        kind="constant",
        params={"value": VALUE},
    )
)
ITEM = register(
    Op(
        name="item",
        run=lambda values, index: values[index],
        rule=lambda types, index: types[index],
        kind="item",
        params={"index": SIZE},
        source="{0}[{index}]",
    )
)


def input_node(name: str | None, type: Type, origin: Any = None) -> Node:
    """Make an input of a graph.

    Parameters
    ----------
    name : str or None
        Its name.
    type : Type
        Its type.
    origin : object, default None
        The instruction of the user's that it comes from.

    Returns
    -------
    Node
        The node.

    Examples
    --------
    >>> import tapec
    >>> tapec.ir.input_node("x", tapec.ir.Type((3,), float))
    <input f64[3]>

    See Also
    --------
    tapec.ir.constant : makes a constant
    """
    return Node(INPUT, (), (), type, origin, name)


def constant(value: Any, name: str | None = None, origin: Any = None) -> Node:
    """Make a node that stands for a constant.

    Parameters
    ----------
    value : array or number
        The value. A Python number stays weak, an array without axes becomes a NumPy scalar.
    name : str or None, default None
        Its name.
    origin : object, default None
        The instruction of the user's that it comes from.

    Returns
    -------
    Node
        The node.

    Examples
    --------
    >>> import tapec
    >>> tapec.ir.constant(2.0)
    <constant float>

    See Also
    --------
    tapec.ir.input_node : makes an input
    tapec.ir.is_literal : whether it is a Python number
    """
    if type(value) not in NUMBERS:
        value = np.asarray(value)
        if value.ndim == 0:
            value = value[()]
    return Node(CONSTANT, (), (("value", value),), type_of(value), origin, name)


def is_literal(node: Node) -> bool:
    """Tell whether a node is a Python number that is written into the program.

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
    >>> import numpy as np, tapec
    >>> tapec.ir.is_literal(tapec.ir.constant(2.0)), tapec.ir.is_literal(tapec.ir.constant(np.ones(2)))
    (True, False)

    See Also
    --------
    tapec.ir.constant : makes constants
    """
    return node.op is CONSTANT and type(node.params[0][1]) in NUMBERS
