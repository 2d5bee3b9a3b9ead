"""Give scipy.integrate on tensors: `odeint` and `solve_ivp`, differentiated by solving one more differential equation.

The right-hand side is recorded once, as a graph. What it depends on besides state and time may be given as `args`, or
it may close over it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate as _integrate
from scipy.optimize import OptimizeResult

from tapec.api.custom.implicit_solutions import EquationTrace, Plainly, plain, value_in
from tapec.errors import DetachError, UnsupportedError, at_user_line
from tapec.ir.types import is_differentiable, type_of
from tapec.ops import ArrayLike
from tapec.ops.core.define import as_operand
from tapec.ops.core.op_helpers import as_array
from tapec.pytree import leaves_of
from tapec.scipy.ode_solution import solved
from tapec.trace.capture.module_stand_ins.plain_arguments import as_plain
from tapec.trace.classes import wrap
from tapec.trace.recording_stack import CURRENT, recordings, unrecorded
from tapec.trace.tensor import Tensor

__all__ = ["odeint", "solve_ivp"]


def __getattr__(name: str) -> Any:
    return getattr(_integrate, name)


def odeint(func: Callable[..., Any], y0: Any, t: Any, args: tuple[Any, ...] = (), **options: Any) -> Any:
    """Solve the differential equation dy/dt = func(y, t, *args), as scipy.integrate.odeint does.

    It is differentiable in y0, t, args, and what `func` closes over.

    Parameters
    ----------
    func : callable
        The rate of change, of the state y and the time t.
    y0 : array
        The state at the first time.
    t : array
        The times at which the state is wanted.
    args : tuple, default ()
        What else `func` takes.
    **options : object
        Numbers such as `rtol`, `atol` and `mxstep`; `tfirst=True` for a rate of t and y.

    Returns
    -------
    array
        The states, a row for each time.

    Raises
    ------
    UnsupportedError
        While something records, for the options `Dfun` and `full_output`.
    TypeError
        In a function that is traced, if an option depends on its arguments.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import integrate
    >>> def end(k):
    ...     return integrate.odeint(lambda y, t: -k * y, 1.0, np.array([0.0, 2.0]))[-1, 0]
    >>> tapec.grad(end)(0.5).round(4)
    np.float64(-0.7358)

    See Also
    --------
    tapec.scipy.integrate.solve_ivp : with a choice of methods
    """
    args = args if isinstance(args, tuple) else (args,)
    if CURRENT.get() is None:
        return _plain_solution(_integrate.odeint, func, y0, t, args, **options)
    if refused := {"Dfun", "full_output"} & set(options):
        raise UnsupportedError(at_user_line(f"odeint of tensors takes no {', '.join(refused)}. Fix: leave that out."))
    rest = {k: v for k, v in options.items() if k != "tfirst"}
    rate = (lambda y, t, *args: func(t, y, *args)) if options.get("tfirst") else func
    return _states(rate, _double(y0), _double(t), args, rest)


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: str = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Solve the differential equation dy/dt = fun(t, y, *args), as scipy.integrate.solve_ivp does.

    It is differentiable in y0, t_eval, args, the start of t_span, and what `fun` closes over. Without `t_eval` the
    solver chooses the times, which have no derivatives.

    Parameters
    ----------
    fun : callable
        The rate of change, of the time t and the state y.
    t_span : pair of numbers
        The first time and the last.
    y0 : array
        The state at the first time.
    method : str, default 'RK45'
        The name of the solver's method.
    t_eval : array, default None
        The times at which the state is wanted. None is those that the solver takes.
    dense_output : bool, default False
        Must be False while something records.
    events : object, default None
        Must be None while something records.
    vectorized : bool, default False
        Whether `fun` takes several states as columns, which SciPy's implicit methods use.
    args : tuple, default None
        What else `fun` takes.
    **options : object
        Numbers such as `rtol` and `atol`.

    Returns
    -------
    scipy.optimize.OptimizeResult
        `t` has the times, and `y` the states, a column for each.

    Raises
    ------
    UnsupportedError
        While something records, for what it must not be told then, `jac` and `jac_sparsity`, and a method that is no
        name.
    ValueError
        If a time in `t_eval` is outside of `t_span`.
    TypeError
        In a function that is traced, if an option depends on its arguments.
    ArithmeticError
        If the solver fails.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> from tapec.scipy import integrate
    >>> def end(k):
    ...     return integrate.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [1.0], rtol=1e-8, t_eval=[2.0]).y[0, -1]
    >>> tapec.grad(end)(0.5).round(4)
    np.float64(-0.7358)

    See Also
    --------
    tapec.scipy.integrate.odeint : with fewer options
    """
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    whole = {"dense_output": dense_output, "events": events, "vectorized": vectorized}
    if CURRENT.get() is None:
        ready = {"method": method, "t_eval": t_eval, "args": given or None, **whole, **options}
        return _plain_solution(_integrate.solve_ivp, fun, t_span, y0, **ready)
    refused = [name for name in ("dense_output", "events") if whole[name]]
    refused += sorted({"jac", "jac_sparsity"} & set(options))
    if refused or not isinstance(method, str):
        what = f"no {', '.join(refused)}" if refused else "the name of a method"
        raise UnsupportedError(at_user_line(f"solve_ivp of tensors takes {what}. Fix: leave that out."))
    options["method"] = method
    times = _chosen_times(fun, t_span, y0, given, options) if t_eval is None else _double(t_eval)
    _check_within(value_in(times), [value_in(x) for x in t_span])
    start = np.concatenate([np.reshape(_double(t_span[0]), (1,)), times])
    y = _states(lambda y, t, *args: fun(t, y, *args), _double(y0), start, given, options)
    return OptimizeResult(t=times, y=y[1:].T, sol=None, status=0, message="solved", success=True)


# -- values -------------------------------------------------------------------------------------------------------
def _double(x: Any) -> Any:
    """Cast to double precision, in which SciPy computes."""
    x = as_array(x)
    if x.dtype.kind == "c":
        raise UnsupportedError(at_user_line("a differential equation of tensors is real. Fix: two states, x and y"))
    return x if x.dtype == np.float64 else x.astype(float)


def _plain_solution(solver: Any, func: Any, *args: Any, **options: Any) -> Any:
    """Return SciPy's own answer, as tensors where it was given some."""
    given = [*args, *options.values()]
    given += [part for x in given if isinstance(x, (tuple, list)) for part in x]
    if not any([isinstance(x, ArrayLike) for x in given]):
        return solver(func, *args, **options)
    args = tuple([_values_in(x) for x in args])
    found = solver(Plainly(func), *args, **{k: _values_in(v) for k, v in options.items()})
    if isinstance(found, np.ndarray):
        return wrap(found)
    found.y = wrap(found.y)
    return found


def _values_in(x: Any) -> Any:
    return type(x)(map(_values_in, x)) if isinstance(x, (tuple, list)) else value_in(x)


def _check_within(times: Any, t_span: Any) -> None:
    """Check that the times of the recorded run are within t_span: no result depends on that."""
    if np.any(times < min(t_span)) or np.any(times > max(t_span)):
        raise ValueError(at_user_line("values in t_eval are not within t_span"))


def _chosen_times(fun: Any, t_span: Any, y0: Any, args: Any, options: Any) -> Any:
    """The times that the solver takes for itself."""
    if any([isinstance(x, Tensor) and recordings(x) for x in map(as_operand, t_span)]):
        raise DetachError(
            at_user_line("solve_ivp chooses the times between recorded ones. Fix: t_eval=, the times that you want")
        )
    rec = CURRENT.get()
    if rec is not None and rec.trace is not None:
        rec.trace.require_retrace("the times that solve_ivp chooses depend on values")
    ends = tuple([float(value_in(x)) for x in t_span])
    start, args = plain(_double(y0)), _values_in(args) or None
    return unrecorded(_integrate.solve_ivp, Plainly(fun), ends, start, args=args, **options).t


# -- the right-hand side ------------------------------------------------------------------------------------------
def _states(rate: Callable[..., Any], y0: Any, t: Any, args: Any, options: dict[str, Any]) -> Any:
    """Record the right-hand side as a graph of state, time, args, and what it closes over; and solve."""
    y0 = np.reshape(y0, (-1,))
    args = [as_array(x) for x in args]
    rec: Any = CURRENT.get()
    rule = _Rate(rate, [np.array(value_in(x))[()] for x in (y0, 0.0, *args)])
    found = RateTrace(rec.tapes[-1]).run(rule)
    operands = [*args, *found.captured]
    moving = tuple([k for k, x in enumerate(operands) if _moves(rec, x)])
    settings = tuple(sorted([(k, _setting(k, v)) for k, v in options.items()]))
    return solved(dict(found.params)["bodies"][0], y0, t, *operands, moving=moving, options=settings)


def _moves(rec: Any, x: Any) -> bool:
    """Return whether somebody may differentiate with respect to x.

    Nobody does with respect to integers, nor to arrays that were captured as plain ones.
    """
    if not isinstance(x, Tensor) or not recordings(x) or not is_differentiable(type_of(x._value)):
        return False
    return rec.trace is None or not rec.trace.is_fixed(x)


def _setting(name: str, option: Any) -> Any:
    """Return an option as a number, for which the code is. One that a function captured is a fact from then on."""
    if isinstance(option, str):
        return option
    rec = CURRENT.get()
    if rec is not None and rec.trace is not None:
        option = as_plain(option)
        if any([isinstance(x, Tensor) and recordings(x) for x in leaves_of(option)]):
            fix = f"Fix: a number from a closure, or static_argnames='{name}'"
            raise TypeError(at_user_line(f"{name} says how exactly to solve, and is no argument. {fix}"))
    value = np.asarray(value_in(option))
    return tuple(value.tolist()) if value.ndim else value.item()


class RateTrace(EquationTrace):
    """Records a right-hand side, from a state and a time whose values nobody knows yet."""

    refusal = (
        "the right-hand side of a differential equation looks at the value of its state or its time, which is another "
        "one at each step. Fix: np.where instead of `if`"
    )

    def __init__(self, outer: Any):
        super().__init__(outer, traced=True)
        if not outer.is_trace:  # a tape does not know of what a trace is asked for
            self.captures = None
            self.repeated = ""
            self.pending: list[Any] = []
            self.is_fixed = lambda tensor: False
            self.require_retrace = lambda why: None

    def guard(self, kind: type, tensor: Tensor, value: Any, origin: Any = None) -> Any:
        """Guard a value, unless it is one that a tape may look at: then it is the same at each step."""
        asked = self.watches(tensor) or self.outer.is_trace
        return super().guard(kind, tensor, value, origin) if asked else value


class _Rate:
    """Gives a right-hand side the interface of a gradient function for `BackwardTrace`: its arguments."""

    name = "rate"

    def __init__(self, rate: Callable[..., Any], values: list[Any]):
        self.rate = rate
        self.results = [wrap(v) for v in values]

    def cotangents(self, unknown: list[Tensor]) -> list[Any]:
        y = _double(self.rate(*unknown))
        state = unknown[0]
        if y.size != state.size:
            raise ValueError(at_user_line(f"the state has {state.size} elements, its rate of change has {y.size}"))
        return [np.reshape(y if isinstance(y, Tensor) else wrap(y), state.shape)]
