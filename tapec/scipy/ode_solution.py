"""Solve ordinary differential equations as one operation, differentiated by solving one more equation.

The right-hand side is a graph of state, time and parameters. Backwards the adjoint equation is solved from output time
to output time, forwards the equation of the tangents; both are ODEs of the same kind, so derivatives of every order
exist. Which solver of SciPy's does it, and how exactly, are options.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import integrate

from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.reverse import vjp_graph
from tapec.config import code_settings, in_force
from tapec.ir import Builder, Graph, Type, input_node
from tapec.ir.param_types import INTEGERS, NUMBER, TEXT, either, keywords, optional, tuple_of
from tapec.ops import Symbol
from tapec.ops.core.define import as_operand, define
from tapec.ops.core.sample_domains import Case
from tapec.ops.core.stand_in import FUNCTIONS, apply
from tapec.runtime.compile import CompiledGraph, Options

__all__ = ["ODE", "solved"]


def solved(graph: Graph, y0: Any, t: Any, *args: Any, moving: tuple[int, ...], options: Any) -> Any:
    """Return the states at the times t, one a row. Of args only the `moving` ones have derivatives."""
    return apply(ODE, (y0, t, *args), (("moving", moving), ("options", options), ("bodies", (graph,))))


def graph_of(func: Callable[..., Any], types: list[Type]) -> Graph:
    """The graph of a function of symbols of these types."""
    builder = Builder()
    inputs = [input_node(f"x{k}", t) for k, t in enumerate(types)]
    y = as_operand(func(*[Symbol(i, builder) for i in inputs]))
    if not isinstance(y, Symbol):
        y = Symbol(builder.constant(np.asarray(y, float)), builder)
    y = FUNCTIONS[np.reshape](y, types[0].shape)
    y = y.astype(types[0].dtype)
    return builder.graph(inputs, [y.node], "rate")


# -- the op -------------------------------------------------------------------------------------------------------
_NUMBERS = optional(either(NUMBER, tuple_of(NUMBER)))
_OF_ODEINT = ("rtol", "atol", "h0", "hmax", "hmin", "ixpr", "mxstep", "mxhnil", "mxordn", "mxords", "tcrit", "ml", "mu")
_OF_SOLVE_IVP = ("first_step", "max_step", "min_step", "lband", "uband", "vectorized", "dense_output")
ODE_OPTIONS = keywords(**dict.fromkeys((*_OF_ODEINT, "printmessg", *_OF_SOLVE_IVP), _NUMBERS), method=TEXT)


@lru_cache(maxsize=1024)
def _compiled(graph: Graph, settings: Any) -> Callable[..., Any]:
    return CompiledGraph(graph, Options("rate")).code.function


def _run(y0: Any, t: Any, *args: Any, bodies: tuple[Graph], moving: Any, options: Any) -> Any:
    rate = _compiled(bodies[0], code_settings(in_force()))
    given = dict(options)
    if "method" not in given:
        return integrate.odeint(lambda y, s: rate(y, np.float64(s), *args)[0], y0, t, **given)
    if t[0] == t[-1]:
        return np.repeat(y0[None], len(t), axis=0)
    ends = (t[0], t[-1])
    found = integrate.solve_ivp(lambda s, y: rate(y, np.float64(s), *args)[0], ends, y0, t_eval=t[1:], **given)
    if not found.success:
        raise ArithmeticError(f"solve_ivp: {found.message}")
    return np.concatenate([y0[None], found.y.T])


def _rule(y0: Type, t: Type, *args: Type, bodies: tuple[Graph], moving: tuple[int, ...], options: Any) -> Type:
    (graph,) = bodies
    fits = [i.type.shape for i in graph.inputs] == [y0.shape, (), *[a.shape for a in args]]
    if not fits or t.ndim != 1 or not set(moving) <= set(range(len(args))):
        raise ValueError(f"graph {graph.name} is no right-hand side for these")
    return Type((*t.shape, *y0.shape), np.float64)


def _vjp(ct: Any, y: Any, y0: Any, t: Any, *args: Any, bodies: tuple[Graph], moving: Any, options: Any) -> Any:
    """Go backwards from each output time to the one before: state, adjoint, and what the parameters gathered."""
    (graph,), n, last = bodies, y0.shape[0], t.shape[0] - 1
    backwards, options = _adjoint(graph, moving), _of_any_size(options)
    sources = [args[k] for k in moving]
    adjoint = ct[last]
    gathered = [np.zeros_like(a, float) for a in sources]
    ct_t: list[Any] = [np.float64(0.0)] * (last + 1)
    for k in range(last, 0, -1):
        ct_t[k] = np.sum(ct[k] * _rate(graph, y[k], t[k], args))
        start = np.concatenate([y[k], adjoint, *[np.reshape(g, (-1,)) for g in gathered]])
        end = solved(backwards, start, np.stack([t[k], t[k - 1]]), *args, moving=moving, options=options)[1]
        adjoint = end[n : 2 * n] + ct[k - 1]
        gathered = _split(end[2 * n :], sources)
    ct_t[0] = np.sum((ct[0] - adjoint) * _rate(graph, y0, t[0], args))
    of_args = dict(zip(moving, gathered))
    return adjoint, np.stack([as_operand(c) + 0 * t[0] for c in ct_t]), *[of_args.get(k) for k in range(len(args))]


def _jvp(ts: Any, y: Any, y0: Any, t: Any, *args: Any, bodies: tuple[Graph], moving: Any, options: Any) -> Any:
    """The equation of the tangents beside that of the state; moving an output time moves the state along its rate."""
    (graph,) = bodies
    ty, tt, *targs = ts
    start = np.zeros_like(y0) if ty is None else ty
    if tt is not None:
        start = start - _rate(graph, y0, t[0], args) * tt[0]
    given = [np.zeros_like(args[k]) if targs[k] is None else targs[k] for k in moving]
    places = (*moving, *range(len(args), len(args) + len(given)))
    n, both = y0.shape[0], np.concatenate([y0, start])
    both = solved(_tangent(graph, moving), both, t, *args, *given, moving=places, options=_of_any_size(options))
    moved = both[:, n:]
    if tt is not None:
        moved = moved + np.stack([_rate(graph, y[k], t[k], args) * tt[k] for k in range(t.shape[0])])
    return moved


def _cases(rng: np.random.Generator) -> list[Case]:
    graph = graph_of(
        lambda y, t, a: np.sin(y[::-1]) * a - t * y, [Type((2,), float), Type((), float), Type((2,), float)]
    )
    inputs = (np.array([0.5, -0.3]), np.array([0.0, 0.4, 1.0]), np.array([0.7, 1.1]))
    tight = (("atol", 1e-12), ("rtol", 1e-12))
    return [
        Case(inputs, {"moving": (0,), "options": tight, "bodies": (graph,)}),
        Case(inputs, {"moving": (0,), "options": (*tight, ("method", "DOP853")), "bodies": (graph,)}),
    ]


ODE = define(
    "odeint",
    _run,
    _rule,
    "ode",
    params={"moving": INTEGERS, "options": ODE_OPTIONS},
    bodies=(1,),
    vjp=_vjp,
    jvp=_jvp,
    sample=_cases,
)


def _rate(graph: Graph, y: Any, t: Any, args: Any) -> Any:
    """The right-hand side at one moment."""
    builder = y.builder
    return Symbol(copy_into(builder, graph, (y.node, t.node, *[a.node for a in args]))[0], builder)


def _split(flat: Any, args: Any) -> list[Any]:
    parts, start = [], 0
    for a in args:
        parts.append(np.reshape(flat[start : start + a.size], a.shape).astype(a.dtype))
        start += a.size
    return parts


def _of_any_size(options: Any) -> Any:
    """The equations of derivatives have more states: of a tolerance for each state the least is taken."""
    return tuple([(k, min(v) if isinstance(v, tuple) else v) for k, v in options])


# -- the equations of derivatives -----------------------------------------------------------------------------------
def _adjoint(graph: Graph, moving: tuple[int, ...]) -> Graph:
    """Return the graph of d/dt (y, a, g) = (f, -a df/dy, -a df/dargs)."""
    state, time, *args = [i.type for i in graph.inputs]
    n = state.shape[0]
    whole = Type((2 * n + sum(args[k].size for k in moving),), state.dtype)
    back = vjp_graph(graph, [0, *[k + 2 for k in moving]])

    def rate(s: Any, t: Any, *args: Any) -> Any:
        builder, y, a = s.builder, s[:n], s[n : 2 * n]
        inputs = (y.node, t.node, *[x.node for x in args])
        slope = Symbol(copy_into(builder, graph, inputs)[0], builder)
        cts = [Symbol(c, builder) for c in copy_into(builder, back, (*inputs, a.node))]
        return np.concatenate([slope, *[-np.reshape(c, (-1,)) for c in cts]])

    return graph_of(rate, [whole, time, *args])


def _tangent(graph: Graph, moving: tuple[int, ...]) -> Graph:
    """Return the graph of d/dt (y, s) = (f, df/dy s + df/dargs targs).

    The tangents of the parameters are parameters, too.
    """
    state, time, *args = [i.type for i in graph.inputs]
    n = state.shape[0]
    ahead = jvp_graph(graph, [0, *[k + 2 for k in moving]])

    def rate(s: Any, t: Any, *given: Any) -> Any:
        builder, y, ty = s.builder, s[:n], s[n:]
        inputs = (y, t, *given[: len(args)], ty, *given[len(args) :])
        found = copy_into(builder, ahead, tuple([x.node for x in inputs]))
        return np.concatenate([Symbol(f, builder) for f in found])

    return graph_of(rate, [Type((2 * n,), state.dtype), time, *args, *[args[k] for k in moving]])
