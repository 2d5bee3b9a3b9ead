"""Define `custom_root`, `fixed_point`, `custom_linear_solve`: solutions found by any solver, with exact derivatives."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.api.custom.gradient_watcher import UnknownsTrace
from tapec.api.custom.settled_solver import settled
from tapec.autodiff.bodies.implicit_function import LINEAR_SOLVE, ROOT, Solver, answer, solver_of_linear_systems
from tapec.errors import DetachError, TapecError, at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Graph, input_node
from tapec.ir.types import type_of
from tapec.ops import ArrayLike
from tapec.pytree import LEAF, flatten, leaves_of, unflatten
from tapec.runtime.compile import CompiledGraph, Options
from tapec.trace.classes import wrap
from tapec.trace.perform import record
from tapec.trace.recording_stack import CURRENT, recordings, unrecorded
from tapec.trace.tensor import Tensor
from tapec.tracebacks import shortens

__all__ = ["custom_linear_solve", "custom_root", "fixed_point"]


@shortens
def custom_root(
    f: Callable[..., Any], x0: Any, solve: Callable[..., Any], linear_solve: Callable[..., Any] | None = None
) -> Any:
    """Return the x with f(x) = 0, found by a solver of yours, with the derivatives of the solution.

    Derivatives with respect to everything that `f` closes over come from the implicit function theorem; how the
    solver got there does not matter.

    Parameters
    ----------
    f : callable
        A function of x that returns as many numbers as x has.
    x0 : array, number, or nested structure
        Where the solver starts. It has no gradient. For a structure, `f` takes and returns one like it, and the
        solver sees one vector.
    solve : callable
        It takes `f` and `x0`, with plain numbers, and returns x; or an object that has it as its attribute `x`, as
        SciPy's solvers do.
    linear_solve : callable, default None
        It takes a function `matvec` and a vector b, and returns the v with matvec(v) = b: so derivatives solve their
        linear system. None makes a dense matrix of it.

    Returns
    -------
    array, number, or nested structure
        The solution, of the structure of `x0`.

    Raises
    ------
    TypeError
        If `f` does not return one array, made from its argument.
    ValueError
        If `f` or the solver return another number of elements than x has.
    DetachError
        In a function that is traced, if `f` looks at the value of x, as `if x > 0` does.

    Notes
    -----
    A solver is Python that generated code calls: what it reads, and what is around it, is that of the call. It may
    depend on arguments, by which it has no derivative: a bracket, say.

    Examples
    --------
    >>> import tapec
    >>> from scipy.optimize import brentq
    >>> def cube_root(c):
    ...     return tapec.custom_root(lambda x: x**3 - c, 1.0, lambda f, x0: brentq(f, 0.0, 10.0))
    >>> tapec.grad(cube_root)(8.0)
    np.float64(0.0833333333)

    See Also
    --------
    tapec.fixed_point : x = step(x), by iteration
    tapec.custom_linear_solve : linear equations
    """
    layout = Layout.of(x0)
    if layout is None:
        return _solution("custom_root", f, x0, solve, ROOT, linear_solve)
    found = _solution("custom_root", layout.flat(f), layout.vector(x0), solve, ROOT, linear_solve)
    return layout.structure(found)


@shortens
def fixed_point(
    step: Callable[..., Any],
    x0: Any,
    tol: float = 1e-10,
    max_steps: int = 10_000,
    linear_solve: Callable[..., Any] | None = None,
) -> Any:
    """Return the x with step(x) = x, found by iteration, with the derivatives of the solution.

    Derivatives with respect to everything that `step` closes over come from the implicit function theorem, and not
    from the steps.

    Parameters
    ----------
    step : callable
        A function of x that returns the next one.
    x0 : array, number, or nested structure
        Where the iteration starts. It has no gradient.
    tol : float, default 1e-10
        How little must move at last, relative to the size of x where that is above one.
    max_steps : int, default 10000
        How many steps there are at most.
    linear_solve : callable, default None
        As in `tapec.custom_root`: how derivatives solve their linear system. None makes a dense matrix of it.

    Returns
    -------
    array, number, or nested structure
        The solution, of the structure of `x0`.

    Raises
    ------
    TapecError
        If the iteration does not settle.
    TypeError
        If `tol` depends on what is differentiated.
    ValueError
        If the step returns another structure than it takes.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> def golden(a):
    ...     return tapec.fixed_point(lambda x: a + 1 / x, 1.0)
    >>> golden(1.0), tapec.grad(golden)(1.0)
    (np.float64(1.6180339887), np.float64(0.7236067977))

    See Also
    --------
    tapec.custom_root : with a solver of yours
    """
    max_steps = operator.index(max_steps)
    try:
        tol = float(tol)
    except DetachError:
        fix = "Fix: a number from a closure, or static_argnames='tol'"
        raise TypeError(at_user_line(f"fixed_point: tol is how exactly to solve, and no argument. {fix}")) from None
    return custom_root(lambda x: _difference(step(x), x), x0, _Iteration(tol, max_steps), linear_solve)


def _difference(a: Any, b: Any) -> Any:
    ends: list[Any] = []
    starts: list[Any] = []
    tree = flatten(a, ends)
    if tree != flatten(b, starts):
        raise ValueError(at_user_line("fixed_point: the step must return the structure that it takes"))
    return unflatten(tree, [x - y for x, y in zip(ends, starts, strict=True)])


class Layout(NamedTuple):
    """Describes a structure of arrays as one vector: its form, and the shape of each leaf."""

    tree: Any
    shapes: list[tuple[int, ...]]

    @staticmethod
    def of(x: Any) -> Layout | None:
        """None for a single array."""
        leaves: list[Any] = []
        tree = flatten(x, leaves)
        return None if tree is LEAF else Layout(tree, [np.shape(plain(leaf)) for leaf in leaves])

    def vector(self, x: Any) -> Any:
        leaves: list[Any] = []
        if flatten(x, leaves) != self.tree:
            raise ValueError(at_user_line("custom_root: the function must return the structure that it takes"))
        return np.concatenate([np.reshape(leaf, (-1,)) for leaf in leaves] or [np.zeros(0)])

    def structure(self, v: Any) -> Any:
        ends = np.cumsum([math.prod(s) for s in self.shapes]).tolist()
        starts = [0, *ends]
        leaves = [np.reshape(v[a:b], s) if s else v[a] for a, b, s in zip(starts, ends, self.shapes)]
        return unflatten(self.tree, leaves)

    def flat(self, f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda v: self.vector(f(self.structure(v)))


class _Iteration:
    """Iterates plainly; equal to other iterations that stop in the same way."""

    _tapec_is_value = True

    def __init__(self, tol: float, max_steps: int):
        self.tol = tol
        self.max_steps = max_steps

    def __call__(self, residual: Callable[..., Any], x: Any) -> Any:
        for _ in range(self.max_steps):
            move = residual(x)
            x = x + move
            if not np.all(np.isfinite(x)):
                break
            if np.max(np.abs(move), initial=0.0) <= self.tol * max(1.0, float(np.max(np.abs(x), initial=0.0))):
                return x
        raise TapecError(
            at_user_line(
                f"fixed_point: the iteration did not settle within {self.max_steps} steps to {self.tol}. "
                f"Fix: start nearer, damp the step, or use tapec.custom_root with a solver"
            )
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Iteration) and (self.tol, self.max_steps) == (other.tol, other.max_steps)

    def __hash__(self) -> int:
        return hash((self.tol, self.max_steps))

    def __repr__(self) -> str:
        return f"iteration to {self.tol} in {self.max_steps}"


@shortens
def custom_linear_solve(matvec: Callable[..., Any], b: Any, solve: Callable[..., Any]) -> Any:
    """Return the x with matvec(x) = b, found by a solver of yours, with the derivatives of the solution.

    Gradients solve the transposed system in the same way.

    Parameters
    ----------
    matvec : callable
        A linear function of x, of which no matrix is needed.
    b : array or number
        The right-hand side.
    solve : callable
        It takes a function and a right-hand side, with plain numbers, and returns x; or an object that has it as its
        attribute `x`. It may use only the function that it is given: by conjugate gradients for symmetric systems, by
        GMRES for others.

    Returns
    -------
    array or number
        The solution, of the shape of `b`.

    Raises
    ------
    TypeError
        If `matvec` does not return one array, made from its argument.
    ValueError
        If `matvec` or the solver return another number of elements than `b` has.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from scipy.sparse.linalg import LinearOperator, cg
    >>> def solve(matvec, b):
    ...     return cg(LinearOperator((b.size, b.size), matvec), b, rtol=1e-12)[0]
    >>> def f(k, b):
    ...     return np.sum(tapec.custom_linear_solve(lambda x: k * x, b, solve))
    >>> tapec.grad(f, argnums=(0, 1))(2.0, np.array([1.0, 3.0]))
    (np.float64(-1.0), array([0.5, 0.5]))

    See Also
    --------
    tapec.custom_root : equations that are not linear
    """
    return _solution("custom_linear_solve", matvec, b, solve, LINEAR_SOLVE)


def _solution(
    what: str, f: Callable[..., Any], given: Any, solve: Callable[..., Any], op: Any, linear_solve: Any = None
) -> Any:
    """Solve with plain numbers, and record the solution as one operation."""
    start, rec = plain(given), CURRENT.get()
    if rec is None:
        x = _result(what, solve, f, start)
        return wrap(x) if isinstance(given, Tensor) else x
    solver, values, now = settled(solve)
    linear = None
    if linear_solve is not None:
        by_linear, more, _ = settled(linear_solve)
        linear = solver_of_linear_systems(by_linear, by_linear.key, _compiled, len(more))
        values = [*values, *more]
    count = len(values) - (0 if linear is None else linear.count)
    x = _result(what, now, f, start)
    found = EquationTrace(rec.tapes[-1], rec.trace is not None).run(_Equation(what, f, x))
    graph = _named(dict(found.params)["bodies"][0], values)
    first = given._tapec_read() if isinstance(given, ArrayLike) else wrap(start)
    way = Solver(what, solver, solver.key, _compiled, count, linear)
    out = wrap(x)
    record(rec, op, (first, *found.captured, *values), (("solver", way), ("bodies", (graph,))), out)
    return out


def _named(recorded: Graph, values: list[Tensor]) -> Graph:
    """Return a recorded equation by names of its own: the unknown is x. It does not read the values around solvers."""
    unknown, *captured = recorded.inputs
    unknown.name = "x"
    for i in captured:
        i.name = None
    inputs = [*recorded.inputs, *[input_node(None, type_of(v._value)) for v in values]]
    return Graph(inputs, recorded.nodes, recorded.outputs, "equation")


# ---------------------------------------------------------------------------------------------------------------
# plain numbers for solvers
# ---------------------------------------------------------------------------------------------------------------
def value_in(x: Any) -> Any:
    """Return the value of a tensor or a Variable; anything else as it is."""
    return x._tapec_read()._value if isinstance(x, ArrayLike) else x


def plain(x: Any) -> Any:
    """The value, as an array of its own or a NumPy scalar."""
    value = np.array(value_in(x))
    if value.dtype.kind in "iub":
        value = value.astype(float)
    return value[()]


class Plainly:
    """A function as solvers see it: nothing is recorded, and what it returns is a plain number or array.

    Where a solver differentiates it, by `tapec.jacobian(f)(x)` or on a tape, it is recorded by that alone.
    """

    _tapec_holds = "a function"

    def __init__(self, f: Callable[..., Any]):
        self.f = f
        self.__name__ = getattr(f, "__name__", type(f).__name__)

    def __call__(self, *args: Any) -> Any:
        if any([isinstance(x, ArrayLike) and recordings(x._tapec_read()) for x in leaves_of(args)]):
            return self.f(*args)
        return value_in(unrecorded(self.f, *args))


def _result(what: str, solve: Callable[..., Any], f: Callable[..., Any], start: Any) -> Any:
    """Return what a solver finds while nothing is recorded, in the shape of where it started."""
    return answer(what, unrecorded(solve, Plainly(f), start), np.shape(start), np.result_type(start))


# ---------------------------------------------------------------------------------------------------------------
# recording
# ---------------------------------------------------------------------------------------------------------------
class EquationTrace(UnknownsTrace):
    """Records what an equation does with the unknown; of other tensors it knows that they were captured."""

    refusal = (
        "an equation looks at the value of its unknown, which is another one at each step of the solver. "
        "Fix: np.where instead of `if`; on a GradientTape, outside compiled functions, it may look"
    )

    def __init__(self, outer: Any, traced: bool):
        super().__init__(outer)
        self.is_trace = traced  # on a tape values may be looked at: nothing is solved again


class _Equation:
    """Gives an equation the interface of a gradient function for `BackwardTrace`: an argument, and the result there."""

    def __init__(self, what: str, f: Callable[..., Any], x: Any):
        self.name = what
        self.f = f
        self.results = [wrap(x)]

    def cotangents(self, unknown: list[Tensor]) -> list[Any]:
        y = self.f(unknown[0])
        if not isinstance(y, ArrayLike):
            raise TypeError(at_user_line(f"{self.name}: the function must return one array, made from its argument"))
        y = y._tapec_read()
        if y.size != unknown[0].size:
            raise ValueError(
                at_user_line(f"{self.name}: {unknown[0].size} unknowns, but the function returns {y.size} values")
            )
        return [y if y.shape == unknown[0].shape else np.reshape(y, unknown[0].shape)]


def _compiled(graph: Graph) -> Callable[..., Any]:
    return CompiledGraph(graph, Options("equation")).code.function
