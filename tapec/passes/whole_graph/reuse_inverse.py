"""The pass `shared_inverses` uses an inverse that is computed anyway: `solve(a, b)` becomes `inv(a) @ b`.

The gradient of a Cholesky factor needs its inverse; then the systems solved with the factor, and with its transpose,
are products. A solution that the user wrote is changed only where the matrix is such a factor, whose inverse is as
accurate as substitution to the digits that its condition leaves, or where nothing but derivatives reads the solution.
The cofactors in the gradient of a determinant are `det(a) * inv(a).T`, too.
"""

from __future__ import annotations

from tapec.ir import Graph, Node, get_op
from tapec.ops.layout.reshape_and_transpose import TRANSPOSE
from tapec.ops.linalg.cholesky_qr import CHOLESKY
from tapec.ops.linalg.determinants import COFACTORS, DET
from tapec.ops.linalg.solve_and_inv import INV, SOLVE

__all__ = ["shared_inverses"]


def shared_inverses(graph: Graph) -> Graph:
    """Solve systems by the inverses that are in the graph."""
    inverses = {n.inputs[0]: n for n in graph.nodes if n.op is INV and n.type.ndim == 2}
    if not inverses:
        return graph
    values = {*graph.outputs, *[i for n in graph.nodes if n.role is None for i in n.inputs]}
    found = {n for n in graph.nodes if _replaces(n, inverses, values)}
    if not found:
        return graph
    new: dict[Node, Node] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        if node in new:
            continue  # an inverse that a system before it needed, and that was placed there
        inputs = tuple([new.get(i, i) for i in node.inputs])
        if node in found:
            inverse = inverses[_matrix(node)]
            if inverse not in new:
                new[inverse] = inverse.with_inputs((new.get(_matrix(node), _matrix(node)),))
                nodes.append(new[inverse])
            if node.op is COFACTORS:
                made = _cofactors(node, inputs[0], new[inverse])
            else:
                made = _product(node, new[inverse], inputs[1])
            nodes += made
            new[node] = made[-1]
        else:
            made_node = node if inputs == node.inputs else node.with_inputs(inputs)
            new[node] = made_node
            nodes.append(made_node)
    return Graph(graph.inputs, nodes, [new.get(o, o) for o in graph.outputs], graph.name)


def _matrix(node: Node) -> Node:
    """Return the matrix of a system, without a transpose."""
    a = node.inputs[0]
    return a.inputs[0] if node.op is SOLVE and _is_transposed(a) else a


def _is_transposed(a: Node) -> bool:
    return a.op is TRANSPOSE and a.param("axes") == (1, 0)


def _replaces(node: Node, inverses: dict[Node, Node], values: set[Node]) -> bool:
    """Return whether a system, or cofactors, of a matrix whose inverse is there may use that.

    A system whose solution values of the user's program need keeps its form, but for the factor of Cholesky.
    """
    if node.op is COFACTORS:
        return node.inputs[0] in inverses and node.type.dtype.kind == "f"
    if node.op is not SOLVE or _matrix(node) not in inverses or node.inputs[1].type.ndim > 2:
        return False
    ours = node.role is not None or node not in values or _matrix(node).op is CHOLESKY
    return ours and _same_dtypes(node)


def _same_dtypes(node: Node) -> bool:
    return node.type.dtype == node.inputs[0].type.dtype == node.inputs[1].type.dtype


def _product(node: Node, inverse: Node, b: Node) -> list[Node]:
    """Return the nodes of `inverse @ b`, or of `inverse.T @ b`."""
    made = [_transpose(inverse)] if _is_transposed(node.inputs[0]) else []
    left = made[0] if made else inverse
    made.append(Node(get_op("matmul"), (left, b), (), node.type, node.origin, node.name, node.role))
    return made


def _cofactors(node: Node, a: Node, inverse: Node) -> list[Node]:
    """Return the nodes of `det(a) * inverse.T`."""
    det = Node(DET, (a,), (), DET.rule(a.type), node.origin, None, node.role)
    transposed = _transpose(inverse)
    product = Node(get_op("multiply"), (det, transposed), (), node.type, node.origin, node.name, node.role)
    return [det, transposed, product]


def _transpose(a: Node) -> Node:
    return Node(TRANSPOSE, (a,), (("axes", (1, 0)),), a.type, a.origin, None, a.role)
