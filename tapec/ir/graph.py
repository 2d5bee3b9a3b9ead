"""A graph is a whole pure program in SSA form, with its text, its picture, and what the passes keep with it.

Graphs never change once made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tapec.ir.bare_graph import BareGraph
from tapec.ir.node import Node
from tapec.ir.text.notebook_hooks import rich
from tapec.ir.text.printer import print_graph

__all__ = ["Graph"]


class Graph(BareGraph):
    """Holds a pure program: input nodes, all other nodes in an order that can run, output nodes.

    It never changes once it is made. `str` gives its text, which `parse` reads. Graphs of one meaning are equal,
    whatever names they use.

    Parameters
    ----------
    inputs : iterable of Node
        The inputs.
    nodes : sequence of Node
        All other nodes, each after those that it uses.
    outputs : iterable of Node
        The outputs, which are among inputs and nodes.
    name : str, default 'graph'
        Its name, which the generated function gets.

    Attributes
    ----------
    inputs : tuple of Node
        The inputs.
    nodes : tuple of Node
        All other nodes.
    outputs : tuple of Node
        The outputs.
    name : str
        Its name.
    fingerprint : str
        A digest of its meaning: the same for equal graphs, in every process.
    past : Graph or None
        Where inputs are values of another program, a graph whose outputs compute them.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> graph = tapec.grad(lambda x: np.sum(x**2)).ir(np.ones(3))
    >>> print(graph)
    graph function_grad(%x: f64[3]) {
      %d_x: f64[3] = multiply 2, %x !ct
      return %d_x
    }
    >>> tapec.ir.parse(str(graph)) == graph
    True

    See Also
    --------
    tapec.ir.Builder : makes graphs
    tapec.ir.parse : reads them
    """

    __slots__ = ("_heads", "_numbering", "_uses", "past")

    def __init__(self, inputs: Iterable[Node], nodes: Sequence[Node], outputs: Iterable[Node], name: str = "graph"):
        self.inputs = tuple(inputs)  # as `BareGraph` does; a call would cost more, and graphs are made often
        self.nodes = tuple(nodes)
        self.outputs = tuple(outputs)
        self.name = name
        self._fingerprint: str | None = None
        self.past: Graph | None = None
        self._numbering: dict[Any, Node] | None = None  # kept by the passes while they are at work
        self._heads: dict[Any, list[int]] | None = None  # likewise
        self._uses: Any = None  # likewise: `passes.engine.use_counts`

    def __str__(self) -> str:
        return print_graph(self)

    def _repr_svg_(self) -> str:
        return rich("graph_svg", self)

    def __repr__(self) -> str:
        return f"<graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes, {len(self.outputs)} outputs>"
