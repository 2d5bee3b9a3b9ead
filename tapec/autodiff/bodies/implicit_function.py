"""Make solutions of equations operations, and differentiate these by the implicit function theorem.

    F(y, c) = 0      dy = -(∂F/∂y)⁻¹ (∂F/∂c dc)
    A(c) y = b       dy = A⁻¹ (db - (dA) y)

The equation is the body of the op: a graph of the unknown and of what it captured. The solver is anything that can be
called; recorded values that it has around it are operands as well, which the equation does not read, and have no
derivative. Rules are graphs again, in which the solution is one more value, so every order follows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.jacobian.jacobian_graph import jacobian_graph
from tapec.autodiff.reverse import vjp_graph
from tapec.errors import GraphError, at_user_line
from tapec.ir import Builder, Graph, Node, Op, prune
from tapec.ir.param_types import OBJECT
from tapec.ir.types import is_differentiable
from tapec.ops import ArrayLike, Symbol, apply
from tapec.ops.control.select_and_call import CALL
from tapec.ops.core.define import define

__all__ = ["LINEAR_SOLVE", "ROOT", "Solver", "answer", "solver_of_linear_systems", "transposed_system"]


class Solver:
    """Solves equations by `solve(function, start, values)`, where `function` takes and returns plain numbers.

    The `values` are those around the solver: `count` operands of the op, with `behind` others behind them. `key` tells
    solvers apart, `what` is the function that they were given to, and `compile` makes a function of a graph.
    Derivatives of the solution solve linear systems: by the solver `linear`, or with a dense matrix where that is None.
    """

    def __init__(
        self,
        what: str,
        solve: Callable[..., Any],
        key: Any,
        compile: Callable[[Graph], Callable[..., Any]],
        count: int = 0,
        linear: Solver | None = None,
    ):
        self.what = what
        self.solve = solve
        self.key = key
        self.compile = compile
        self.count = count
        self.behind = 0 if linear is None else linear.count
        self.linear = linear
        self._compiled: dict[Graph, Callable[..., Any]] = {}
        self._transposed: Solver | None = None

    def solution(self, graph: Graph, start: Any, captured: tuple[Any, ...]) -> Any:
        """Return the unknown, the first input of the graph, for which the equation holds."""
        run = self._compiled.get(graph)
        if run is None:
            run = self._compiled[graph] = self.compile(graph)
        t, end = graph.inputs[0].type, len(captured) - self.behind
        given = np.array(start, t.dtype)[()]  # of its own: solvers may write into it
        found = self.solve(Equation(graph, run, captured), given, captured[end - self.count : end])
        return answer(self.what, found, t.shape, t.dtype)

    @property
    def transposed(self) -> Solver:
        """The same way of solving, for transposed systems."""
        if self._transposed is None:
            solve = _checked(self.solve, "custom_linear_solve")
            self._transposed = Solver(self.what, solve, (self.key, "T"), self.compile, self.count)
            self._transposed._transposed = self
        return self._transposed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Solver) and self.key == other.key and self.linear == other.linear

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<solver {self.key}>"


def solver_of_linear_systems(
    solve: Callable[..., Any], key: Any, compile: Callable[[Graph], Callable[..., Any]], count: int = 0
) -> Solver:
    """Return the solver that derivatives of a root use: `solve(matvec, b, values)`, checked."""
    return Solver("custom_root", _checked(solve, "custom_root"), key, compile, count)


def answer(what: str, found: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return what a solver has found in the shape of where it started: its array, or that in the attribute `x`."""
    value = np.asarray(_x_of(found), dtype)
    if value.size != math.prod(shape):
        raise ValueError(at_user_line(f"{what}: the solver returned shape {value.shape} for a start of {shape}"))
    return np.reshape(value, shape).copy()[()]


def _x_of(found: Any) -> Any:
    return getattr(found, "x", found) if not isinstance(found, (np.ndarray, np.generic, float, complex)) else found


class Equation:
    """Computes an equation for a solver: plain values of plain ones, and tensors where the solver differentiates it."""

    _tapec_holds = "arrays"

    def __init__(self, graph: Graph, run: Callable[..., Any], captured: tuple[Any, ...]):
        self.graph = graph
        self.run = run
        self.captured = captured
        self.__name__ = "equation"

    def __call__(self, x: Any) -> Any:
        t = self.graph.inputs[0].type
        if isinstance(x, ArrayLike):
            x = np.reshape(x if x.dtype == t.dtype else x.astype(t.dtype), t.shape)
            return apply(CALL, (x, *self.captured), (("bodies", (self.graph,)),))[0]
        return self.run(np.reshape(np.asarray(x, t.dtype), t.shape)[()], *self.captured)[0]


def _checked(solve: Callable[..., Any], what: str) -> Callable[..., Any]:
    """A solver that must have used the function it was given: one that knows the matrix would ignore the transpose."""

    def checked(matvec: Callable[..., Any], b: Any, values: Any) -> Any:
        x = answer(what, solve(matvec, b, values), np.shape(b), np.result_type(b))
        left = np.linalg.norm(np.ravel(matvec(x) - b))
        if not left <= 1e-3 * np.linalg.norm(np.ravel(b)):
            raise ValueError(
                f"{what}: the solver did not solve the {'linear' if what == 'custom_root' else 'transposed'} system, "
                f"which gradients need. Fix: let it use the matvec it is given, and nothing else that it knows of the "
                f"matrix; or let it go on until the residual is small"
            )
        return x

    return checked


def linear_system(graph: Graph) -> Graph:
    """Turn a graph (y, captured) -> F into (v, y, captured) -> (∂F/∂y) v."""
    moved = jvp_graph(graph, [0])
    *given, v = moved.inputs
    return prune(Graph([v, *given], moved.nodes, moved.outputs[len(graph.outputs) :], graph.name))


def transposed_system(graph: Graph) -> Graph:
    """Turn a graph (x, captured) -> A x into (ct, captured) -> Aᵀ ct."""
    back = vjp_graph(graph, [0])
    x, *captured, ct = back.inputs
    found = prune(Graph([ct, *captured], back.nodes, back.outputs, graph.name))
    if x in found.outputs or any(i is x for n in found.nodes for i in n.inputs):
        raise GraphError("custom_linear_solve: matvec is not linear in its argument. Fix: tapec.custom_root")
    return found


def _moving(graph: Graph) -> list[int]:
    """Return the inputs after the first by which the equation can have a derivative."""
    read = {i for n in graph.nodes for i in n.inputs}.union(graph.outputs)
    return [k for k, i in enumerate(graph.inputs) if k and i in read and is_differentiable(i.type)]


def _nodes(xs: Sequence[Any]) -> list[Node]:
    return [x.node for x in xs]


# ---------------------------------------------------------------------------------------------------------------
# roots
# ---------------------------------------------------------------------------------------------------------------
def _root_vjp(ct: Any, y: Any, x0: Any, *captured: Any, solver: Solver, bodies: tuple[Graph]) -> Any:
    """Solve u = (∂F/∂y)⁻ᵀ ct, and return -uᵀ ∂F/∂c for what is captured."""
    builder: Builder = y.builder
    (graph,) = bodies
    if not _moving(graph):
        return (None,) * (1 + len(captured))
    u: Any
    if solver.linear is None:
        u = _divided(np.conj(_matrix(builder, graph, y, captured)).T, ct)
    else:
        u = _solved(solver.linear.transposed, transposed_system(linear_system(graph)), ct, (y, *captured))
    return (None, *_pulled(builder, graph, y, captured, -np.reshape(u, graph.outputs[0].type.shape)))


def _root_jvp(ts: Any, y: Any, x0: Any, *captured: Any, solver: Solver, bodies: tuple[Graph]) -> Any:
    builder: Builder = y.builder
    (graph,) = bodies
    pushed = _pushed(builder, graph, y, captured, ts[1:])
    if pushed is None:
        return None
    if solver.linear is not None:
        return _solved(solver.linear, linear_system(graph), np.reshape(-pushed, y.shape), (y, *captured))
    return np.reshape(_divided(_matrix(builder, graph, y, captured), -pushed), y.shape)


def _pushed(builder: Builder, graph: Graph, y: Any, captured: Any, ts: Any) -> Any:
    """The tangent of the equation, the solution standing still."""
    moving = [k for k in _moving(graph) if ts[k - 1] is not None]
    if not moving:
        return None
    given = (*_nodes((y, *captured)), *[ts[k - 1].node for k in moving])
    return Symbol(copy_into(builder, jvp_graph(graph, moving), given)[-1], builder)


def _pulled(builder: Builder, graph: Graph, y: Any, captured: Any, ct: Any) -> list[Any]:
    """The cotangents of what the equation captured, from one of its result."""
    moving = _moving(graph)
    if not moving:
        return [None] * len(captured)
    found = copy_into(builder, vjp_graph(graph, moving), (*_nodes((y, *captured)), ct.node))
    cts = dict(zip(moving, found, strict=True))
    return [Symbol(cts[k], builder) if k in cts else None for k in range(1, len(graph.inputs))]


def _matrix(builder: Builder, graph: Graph, y: Any, captured: Any) -> Any:
    """Return ∂F/∂y as a matrix."""
    whole = jacobian_graph(graph, [0], "auto", holomorphic=graph.inputs[0].type.dtype.kind == "c")
    (node,) = copy_into(builder, whole, tuple(_nodes((y, *captured))))
    n = math.prod(graph.inputs[0].type.shape)
    return np.reshape(Symbol(node, builder), (n, n))


def _divided(matrix: Any, b: Any) -> Any:
    """The solution of a dense system; a quotient for one unknown."""
    if matrix.shape == (1, 1):
        return np.reshape(b, (1,)) / np.reshape(matrix, (1,))
    return np.linalg.solve(matrix, np.reshape(b, (-1,)))


def _solution(name: str, vjp: Callable[..., Any], jvp: Callable[..., Any]) -> Op:
    """Return an op whose body is an equation of an unknown and of what it captured; a solver finds the unknown.

    Its operands are where the solver starts, or the right-hand side, what the equation captured, and the values around
    the solver.
    """
    return define(
        name,
        lambda start, *captured, solver, bodies: solver.solution(bodies[0], start, captured),
        lambda start, *captured, solver, bodies: bodies[0].inputs[0].type,
        "implicit",
        params={"solver": OBJECT},
        bodies=(1,),
        vjp=vjp,
        jvp=jvp,
    )


ROOT = _solution("root", _root_vjp, _root_jvp)


# ---------------------------------------------------------------------------------------------------------------
# linear systems
# ---------------------------------------------------------------------------------------------------------------
def _linear_vjp(ct: Any, y: Any, b: Any, *captured: Any, solver: Solver, bodies: tuple[Graph]) -> Any:
    """Solve u = A⁻ᵀ ct, the cotangent of b; the matrix gets -u yᵀ, in whatever form it is captured."""
    builder: Builder = y.builder
    (graph,) = bodies
    u = _solved(solver.transposed, transposed_system(graph), ct, captured)
    return (u, *_pulled(builder, graph, y, captured, -u))


def _linear_jvp(ts: Any, y: Any, b: Any, *captured: Any, solver: Solver, bodies: tuple[Graph]) -> Any:
    builder: Builder = y.builder
    (graph,) = bodies
    pushed = _pushed(builder, graph, y, captured, ts[1:])
    right = ts[0] if pushed is None else -pushed if ts[0] is None else ts[0] - pushed
    return None if right is None else _solved(solver, graph, right, captured)


LINEAR_SOLVE = _solution("linear_solve", _linear_vjp, _linear_jvp)


def _solved(solver: Solver, system: Graph, right: Any, captured: Sequence[Any]) -> Any:
    """The solution of a linear system, as an operation."""
    return apply(LINEAR_SOLVE, (right, *captured), (("solver", solver), ("bodies", (system,))))
