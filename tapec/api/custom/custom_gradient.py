"""Define `custom_gradient`: functions that bring their own gradient function.

On a tape the gradient function runs when the gradient is asked for, on the tensors that are then known; what it
computes is recorded by outer tapes, so every order works. A traced function has no such moment: there the gradient
function is recorded on the spot, as a graph from cotangents that are not known yet.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.api.compiled.method_decorators import decorator
from tapec.api.custom.gradient_watcher import BackwardTrace, VariableWatcher
from tapec.api.tape.tape_arguments import is_tensor, zeros_of
from tapec.errors import TapeTypeError, TapeValueError, at_user_line, place_name, user_frame
from tapec.ops import ArrayLike
from tapec.ops.control.custom_gradients import CUSTOM, CUSTOM_GRAPH
from tapec.ops.layout.copies import COPY
from tapec.pytree import flatten, leaves_of, unflatten
from tapec.trace.classes import plain_value, wrap
from tapec.trace.recording_stack import CURRENT, Mark, Recorder
from tapec.trace.tensor import Tensor
from tapec.tracebacks import shortens
from tapec.values.variable import Variable

__all__ = ["custom_gradient"]


@shortens
def custom_gradient(f: Callable[..., Any]) -> Any:
    """Give a function a gradient of its own, for reverse mode.

    Parameters
    ----------
    f : callable
        A function that returns its result, and a function from the gradient of the result to those of the arguments.
        With several arguments that one returns a sequence of gradients; with several results it takes one argument
        for each.

    Returns
    -------
    callable
        The function, which returns the result alone.

    Raises
    ------
    TapeTypeError
        At a call, if `f` does not return such a pair, or reads Variables and its gradient function does
        not take `variables`.
    TapeValueError
        If the gradient function returns gradients of another number or shape.

    Notes
    -----
    If `f` reads Variables that are no arguments, the gradient function takes a keyword argument `variables` and
    returns `(gradients of the arguments, gradients of the variables)`. Structures count by their leaves: the gradient
    function of a dict of two results takes two arguments, and may return gradients as nested as the arguments are.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> @tapec.custom_gradient
    ... def log1pexp(x):
    ...     e = np.exp(x)
    ...     def gradient(dy):
    ...         return dy * (1 - 1 / (1 + e))
    ...     return np.log(1 + e), gradient
    >>> x = tapec.constant(100.0)
    >>> with tapec.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = log1pexp(x)
    >>> tape.gradient(y, x)
    tapec.Tensor(1.0, shape=(), dtype=float64)

    See Also
    --------
    tapec.custom_jvp : a rule for forward mode, from which both modes come
    tapec.stop_gradient : no gradient at all
    """
    return decorator(f, _with_gradient)


def _with_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    @shortens
    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        arguments = leaves_of(args)
        with VariableWatcher() as watcher:
            result, gradient = _both(f, f(*args, **kwargs))
        variables = [v for v in watcher.variables if all(v is not a for a in arguments)]
        if variables and not _takes_variables(gradient):
            raise TapeTypeError(
                at_user_line(
                    f"the gradient function of {_name(f)} must accept keyword argument 'variables', since the function "
                    f"uses variables: {[v.name for v in variables]}. Fix: def gradient(dy, variables=None), returning "
                    f"(gradients of the arguments, gradients of the variables)"
                )
            )
        leaves: list[Any] = []
        tree = flatten(result, leaves)
        if not any(isinstance(x, ArrayLike) for x in (*arguments, *leaves)):
            return result
        rule = PythonGradient(_name(f), gradient, arguments, variables, leaves)
        rule.has_owner = bool(args) and _is_method(f, args[0])
        return unflatten(tree, rule.outputs())

    call._tapec_wrap_again = lambda follow: _with_gradient(follow(f))  # type: ignore[attr-defined]
    return call


def _is_method(f: Any, owner: Any) -> bool:
    """Return whether a function is a method of this object. In a trace the method is a clone, and the object a
    stand-in."""
    return hasattr(getattr(type(owner), _name(f), None), "_tapec_wrap_again")


def _name(f: Any) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _both(f: Any, returned: Any) -> tuple[Any, Callable[..., Any]]:
    if not isinstance(returned, tuple) or len(returned) != 2 or not callable(returned[1]):
        raise TapeTypeError(
            at_user_line(f"{_name(f)} must return its result and its gradient function, because of custom_gradient")
        )
    return returned


def _takes_variables(gradient: Any) -> bool:
    try:
        parameters = inspect.signature(gradient).parameters
    except (TypeError, ValueError):
        return True
    return "variables" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class PythonGradient:
    """Holds one call of a function with its own gradient: its arguments, its results, and its gradient function."""

    def __init__(self, name: str, gradient: Any, arguments: list[Any], variables: list[Variable], results: list[Any]):
        self.name = name
        self.gradient = gradient
        self.variables = variables
        self.count = len(arguments)
        self.has_owner = False  # a method, whose first argument is the object
        self.given = [_read(x) for x in (*arguments, *variables)]
        self.results = [x._tapec_read() if isinstance(x, ArrayLike) else wrap(plain_value(x)) for x in results]

    def __str__(self) -> str:
        code = getattr(self.gradient, "__code__", None)
        place = f" ({place_name(code.co_filename, code.co_firstlineno)})" if code is not None else ""
        return f"the gradient function of {self.name}{place}"

    # -- forward ------------------------------------------------------------------------------------------------
    def outputs(self) -> list[Tensor]:
        """The results as new tensors, recorded as made from the arguments alone."""
        outputs = [wrap(x._value) for x in self.results]  # values never change
        rec = CURRENT.get()
        if rec is not None:
            for k, recording in enumerate(rec.tapes):
                if _watches(recording, self.given):
                    self._record(rec, k, outputs)
                elif _watches(recording, self.results):  # through what the function captured
                    for x, out in zip(self.results, outputs):
                        recording.log.sink((COPY, (x,), (), out, *_place(), None))
            mark = _mark_of(rec, [*self.given, *self.results])
            for out in outputs:
                out._mark = mark
        return outputs

    def _record(self, rec: Recorder, k: int, outputs: list[Tensor]) -> None:
        recording, results = rec.tapes[k], tuple(outputs)
        params: Any = (("args", len(self.given)), ("results", len(self.results)))
        if recording.is_trace:
            found = BackwardTrace(recording).run(self)
            entry = (CUSTOM_GRAPH, (*self.given, *self.results, *found.captured), (*params, *found.params))
        else:
            entry = (CUSTOM, (*self.given, *self.results), params)
            recording.log.set_rule(results, self)
        recording.log.sink((*entry, results, *_place(), None))

    # -- backward -----------------------------------------------------------------------------------------------
    def cotangents(self, cts: list[Tensor | None]) -> list[Any]:
        """Run the gradient function: for each argument, then each variable, a tensor or None."""
        full = [zeros_of(x) if ct is None else ct for ct, x in zip(cts, self.results)]
        if not self.variables:
            found, more = self.gradient(*full), []
        else:
            both = self.gradient(*full, variables=self.variables)
            if not isinstance(both, tuple) or len(both) != 2:
                raise TapeValueError(
                    at_user_line(
                        f"{self} must return (gradients of the arguments, gradients of the variables), because of its "
                        f"keyword argument 'variables'"
                    )
                )
            found, more = both[0], list(both[1])
        flat = self._flat(found)
        if len(more) != len(self.variables):
            raise TapeValueError(
                at_user_line(
                    f"Must return gradient for each variable from {self}: {len(self.variables)} variables, but "
                    f"{len(more)} gradients"
                )
            )
        return [self._fitted(g, x) for g, x in zip([*flat, *more], self.given)]

    def _flat(self, found: Any) -> list[Any]:
        flat = leaves_of(found)
        if self.has_owner and len(flat) == self.count - 1:  # the object needs no gradient, but may have one
            flat.insert(0, None)
        if len(flat) != self.count:
            raise TapeValueError(
                at_user_line(
                    f"custom_gradient function {self.name} expected to return {self.count} gradients, but {self} "
                    f"returned {len(flat)} instead. Fix: one for each argument, None where there is none"
                )
            )
        return flat

    def _fitted(self, g: Any, x: Any) -> Any:
        """A gradient in the shape and dtype of what it belongs to."""
        if g is None or type(x) is not Tensor or x.dtype.kind not in "fc":
            return None
        g = g._tapec_read() if isinstance(g, ArrayLike) else wrap(plain_value(g))
        if g.dtype != x.dtype:
            g = (np.real(g) if g.dtype.kind == "c" and x.dtype.kind == "f" else g).astype(x.dtype)
        if g.shape == x.shape:
            return g
        try:
            return np.broadcast_to(g, x.shape)
        except ValueError:
            raise TapeValueError(
                at_user_line(
                    f"{self} returned a gradient of shape {g.shape} for an argument of shape {x.shape}. "
                    f"Fix: sum it over the axes that were broadcast"
                )
            ) from None


def _place() -> tuple[Any, int]:
    """The user's line that called the function."""
    frame = user_frame()
    return (frame.f_code, frame.f_lasti) if frame is not None else (_place.__code__, 0)


def _read(x: Any) -> Any:
    """An argument as what a record holds."""
    if is_tensor(x) or isinstance(x, ArrayLike):
        return x._tapec_read()
    if isinstance(x, (np.ndarray, np.generic, int, float, complex)):
        return wrap(plain_value(x))
    return wrap(np.zeros((), bool))  # a string, a function: it takes a place among the gradients


def _watches(recording: Any, tensors: list[Any]) -> bool:
    token = recording.token
    return any(t._mark is not None and token in t._mark.tokens for t in tensors)


def _mark_of(rec: Recorder, tensors: list[Any]) -> Mark | None:
    """The mark of those active recordings that watch any of the tensors."""
    tokens = frozenset([t.token for t in rec.tapes if _watches(t, tensors)])
    if not tokens:
        return None
    return rec.mark if tokens == rec.mark.tokens else Mark(tokens)
