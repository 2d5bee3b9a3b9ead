"""scipy.integrate on tensors: `odeint`, differentiated by solving one more differential equation.

The right-hand side is recorded once, as a graph; what it depends on besides state and time is given as `args`.
Backwards the adjoint equation is solved from output time to output time, forwards the equation of the tangents; both
are ODEs of the same kind, so derivatives of every order exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate as _integrate

from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.inline import copy_into
from tapec.autodiff.reverse import vjp_graph
from tapec.codegen import compile_graph
from tapec.errors import UnsupportedError, at_user_line
from tapec.ir import Builder, Graph, Type, input_node
from tapec.ops import ArrayLike, Symbol
from tapec.ops.array import FUNCTIONS, apply
from tapec.ops.define import as_operand, define
from tapec.ops.kit import as_array
from tapec.ops.samples import Case

__all__ = ["ODEINT", "odeint"]


def __getattr__(name: str) -> Any:
    return getattr(_integrate, name)


def odeint(func: Callable[..., Any], y0: Any, t: Any, args: tuple[Any, ...] = (), **options: Any) -> Any:
    """As scipy.integrate.odeint: the states at the times t, one a row; dy/dt = func(y, t, *args).

    Differentiable in y0, t and args. Options are numbers such as `rtol`, `atol`, `mxstep`; `tfirst` as SciPy has it.
    """
    if not isinstance(args, tuple):
        args = (args,)
    operands = [as_array(x) for x in (y0, t, *args)]
    if not any(isinstance(x, ArrayLike) for x in operands):
        return _integrate.odeint(func, y0, t, args, **options)
    if refused := {"Dfun", "full_output"} & set(options):
        raise UnsupportedError(at_user_line(f"odeint of tensors takes no {', '.join(refused)}. Mend: leave that out."))
    operands = [x if x.dtype == np.float64 else x.astype(float) for x in operands]  # SciPy computes in double precision
    time_first = options.pop("tfirst", False)
    rate = (lambda y, t, *args: func(t, y, *args)) if time_first else func
    state = np.reshape(operands[0], (-1,))
    graph = recorded(rate, [Type(x.shape, x.dtype) for x in (state, np.float64(0.0), *operands[2:])])
    return _solve(graph, state, *operands[1:], options=tuple(sorted([(k, _number(v)) for k, v in options.items()])))


def _number(option: Any) -> Any:
    """An option that a function captured is a tensor there; the code is for its value."""
    if not isinstance(option, ArrayLike):
        return option
    return float(option) if option.dtype.kind == "f" else int(option)


def recorded(func: Callable[..., Any], types: list[Type]) -> Graph:
    """The graph of a function of arrays of these types."""
    builder = Builder()
    inputs = [input_node(f"x{k}", t) for k, t in enumerate(types)]
    y = as_operand(func(*[Symbol(i, builder) for i in inputs]))
    if not isinstance(y, Symbol):
        y = Symbol(builder.constant(np.asarray(y, float)), builder)
    y = FUNCTIONS[np.reshape](y, types[0].shape)
    y = y.astype(types[0].dtype)
    return builder.graph(inputs, [y.node], "rate")


# -- the op -------------------------------------------------------------------------------------------------------
_COMPILED: dict[str, Any] = {}


def _run(y0: Any, t: Any, *args: Any, graph: Graph, options: Any) -> Any:
    rate = _COMPILED.get(graph.fingerprint)
    if rate is None:
        rate = _COMPILED[graph.fingerprint] = compile_graph(graph, "rate").function
    return _integrate.odeint(lambda y, s: rate(y, np.float64(s), *args)[0], y0, t, **dict(options))


def _vjp(ct: Any, y: Any, y0: Any, t: Any, *args: Any, graph: Graph, options: Any) -> Any:
    """Backwards from each output time to the one before: state, adjoint, and what the parameters gathered."""
    n, last = y0.shape[0], t.shape[0] - 1
    backwards = _adjoint(graph)
    adjoint = ct[last]
    gathered = [np.zeros_like(a) for a in args]
    ct_t: list[Any] = [np.float64(0.0)] * (last + 1)
    for k in range(last, 0, -1):
        ct_t[k] = np.sum(ct[k] * _rate(graph, y[k], t[k], args))
        start = np.concatenate([y[k], adjoint, *[np.reshape(g, (-1,)) for g in gathered]])
        end = _solve(backwards, start, np.stack([t[k], t[k - 1]]), *args, options=options)[1]
        adjoint = end[n : 2 * n] + ct[k - 1]
        gathered = _split(end[2 * n :], args)
    ct_t[0] = np.sum((ct[0] - adjoint) * _rate(graph, y0, t[0], args))
    return adjoint, np.stack([as_operand(c) + 0 * t[0] for c in ct_t]), *gathered


def _jvp(ts: Any, y: Any, y0: Any, t: Any, *args: Any, graph: Graph, options: Any) -> Any:
    """The equation of the tangents beside that of the state; moving an output time moves the state along its rate."""
    ty, tt, *targs = ts
    start = np.zeros_like(y0) if ty is None else ty
    if tt is not None:
        start = start - _rate(graph, y0, t[0], args) * tt[0]
    given = [np.zeros_like(a) if m is None else m for a, m in zip(args, targs)]
    n = y0.shape[0]
    both = _solve(_tangent(graph), np.concatenate([y0, start]), t, *args, *given, options=options)
    moved = both[:, n:]
    if tt is not None:
        moved = moved + np.stack([_rate(graph, y[k], t[k], args) * tt[k] for k in range(t.shape[0])])
    return moved


def _cases(rng: np.random.Generator) -> list[Case]:
    graph = recorded(
        lambda y, t, a: np.sin(y[::-1]) * a - t * y, [Type((2,), float), Type((), float), Type((2,), float)]
    )
    inputs = (np.array([0.5, -0.3]), np.array([0.0, 0.4, 1.0]), np.array([0.7, 1.1]))
    return [Case(inputs, {"graph": graph, "options": (("atol", 1e-12), ("rtol", 1e-12))})]


ODEINT = define(
    "odeint",
    _run,
    lambda y0, t, *args, graph, options: Type((*t.shape, *y0.shape), np.float64),
    "ode",
    vjp=_vjp,
    jvp=_jvp,
    sample=_cases,
)


def _solve(graph: Graph, y0: Any, t: Any, *args: Any, options: Any) -> Any:
    return apply(ODEINT, (y0, t, *args), (("graph", graph), ("options", options)))


def _rate(graph: Graph, y: Any, t: Any, args: Any) -> Any:
    """The right-hand side at one moment."""
    builder = y.builder
    return Symbol(copy_into(builder, graph, (y.node, t.node, *[a.node for a in args]))[0], builder)


def _split(flat: Any, args: Any) -> list[Any]:
    parts, start = [], 0
    for a in args:
        parts.append(np.reshape(flat[start : start + a.size], a.shape))
        start += a.size
    return parts


# -- the equations of derivatives -----------------------------------------------------------------------------------
def _adjoint(graph: Graph) -> Graph:
    """d/dt (y, a, g) = (f, -a df/dy, -a df/dargs)."""
    state, time, *args = [i.type for i in graph.inputs]
    n = state.shape[0]
    whole = Type((2 * n + sum(a.size for a in args),), state.dtype)
    back = vjp_graph(graph, [0, *range(2, len(graph.inputs))])

    def rate(s: Any, t: Any, *args: Any) -> Any:
        builder, y, a = s.builder, s[:n], s[n : 2 * n]
        inputs = (y.node, t.node, *[x.node for x in args])
        slope = Symbol(copy_into(builder, graph, inputs)[0], builder)
        cts = [Symbol(c, builder) for c in copy_into(builder, back, (*inputs, a.node))]
        return np.concatenate([slope, *[-np.reshape(c, (-1,)) for c in cts]])

    return recorded(rate, [whole, time, *args])


def _tangent(graph: Graph) -> Graph:
    """d/dt (y, s) = (f, df/dy s + df/dargs targs), the tangents of the parameters being parameters too."""
    state, time, *args = [i.type for i in graph.inputs]
    n = state.shape[0]
    ahead = jvp_graph(graph, [0, *range(2, len(graph.inputs))])

    def rate(s: Any, t: Any, *given: Any) -> Any:
        builder, y, moving = s.builder, s[:n], s[n:]
        args, targs = given[: len(given) // 2], given[len(given) // 2 :]
        inputs = (y, t, *args, moving, *targs)
        found = copy_into(builder, ahead, tuple([x.node for x in inputs]))
        return np.concatenate([Symbol(f, builder) for f in found])

    return recorded(rate, [Type((2 * n,), state.dtype), time, *args, *args])
