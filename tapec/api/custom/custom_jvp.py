"""Define `custom_jvp`: functions that bring their own tangent rule, from which both modes come."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.api import tuning
from tapec.api.compiled.function import CompiledFunction
from tapec.api.compiled.method_decorators import dress
from tapec.api.compiled.packing import Out
from tapec.api.compiled.signature import Arguments, Binder
from tapec.api.compiled.transform import Template, Transform
from tapec.api.custom.custom_gradient import custom_gradient
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.reverse import backward
from tapec.autodiff.rule_application import fit
from tapec.errors import at_user_line
from tapec.ir import Builder, Graph, prune
from tapec.ir.types import is_differentiable
from tapec.ops import ArrayLike, Symbol
from tapec.pytree import LEAF, Nested, count_leaves, map_leaves
from tapec.trace.function.call_adapter import Adapter
from tapec.tracebacks import shortens

__all__ = ["custom_jvp"]


class Transposed(Transform):
    """Holds a tangent rule transposed: from the cotangents of the result to those of the primals.

    The arguments are the primals, the result, tangents of any value, and the cotangents.
    """

    name = "transposed"

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> None:
        return None

    def build(self, forward: Graph, info: Arguments, plan: None) -> tuple[Graph, Template]:
        tree = info.result
        if tree is LEAF or tree.kind not in (tuple, list) or len(tree.children) != 2:
            raise TypeError(at_user_line("a jvp rule returns a pair: the result and its tangent"))
        n = count_leaves(tree.children[0])
        if count_leaves(tree.children[1]) != n:
            raise ValueError(at_user_line("a jvp rule returns a tangent with the structure of the result"))
        results, tangents = _leaf_outputs(forward, info, n)
        builder = Builder()
        outputs = copy_into(builder, forward, forward.inputs)
        targets, seeds = [], []
        for result, tangent, leaf in zip(results, tangents, info.spans[3], strict=True):
            position = info.position[leaf]
            if result is None or tangent is None or position is None:
                continue
            if is_differentiable(outputs[result].type) and is_differentiable(outputs[tangent].type):
                targets.append(outputs[tangent])
                ct = Symbol(forward.inputs[position], builder)
                seeds.append(fit(builder, ct, outputs[tangent].type))
        sources = [info.position[leaf] for leaf in info.spans[2]]
        moving = [forward.inputs[k] for k in sources if k is not None]
        found = backward(builder, tuple(builder.nodes), targets, seeds, moving, lambda node: node)
        made = [c.node for c in found if c is not None]
        graph = prune(builder.graph(forward.inputs, made, forward.name))
        _check_linear(graph, moving)
        given = iter(found)
        places = iter(range(len(made)))
        leaves = [None if k is None or next(given) is None else Out(next(places)) for k in sources]
        return graph, (Nested(tuple, None, (LEAF,) * len(leaves)), leaves)


def _leaf_outputs(forward: Graph, info: Arguments, n: int) -> tuple[list[int | None], list[int | None]]:
    """Return the output that holds each leaf of the result, and each leaf of its tangent; None for a leaf that is no
    array."""
    places = iter(range(len(forward.outputs)))
    all_leaves = [next(places) if s is LEAF else None for s in info.statics]
    return all_leaves[:n], all_leaves[n:]


def _check_linear(graph: Graph, tangents: list[Any]) -> None:
    known = set(tangents)
    if any(i in known for node in graph.nodes for i in node.inputs) or known & set(graph.outputs):
        raise TypeError(at_user_line("a jvp rule must be linear in the tangents: it can then be transposed"))


class custom_jvp:
    """Gives a function a derivative rule of its own, in forward mode; reverse mode comes from the rule's transpose.

    Parameters
    ----------
    function : callable
        The function. `defjvp` of what is made of it sets the rule.

    Raises
    ------
    TypeError
        If it is no function. At a call, if it has no rule yet, or the rule is not linear in the tangents.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> @tapec.custom_jvp
    ... def softplus(x):
    ...     return np.log1p(np.exp(x))
    >>> @softplus.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return softplus(x), dx / (1 + np.exp(-x))
    >>> tapec.grad(softplus)(0.0)
    np.float64(0.5)

    See Also
    --------
    tapec.custom_gradient : a rule for reverse mode
    """

    def __init__(self, function: Callable[..., Any]):
        self._bind = type(function) if isinstance(function, (staticmethod, classmethod)) else None
        function = getattr(function, "__func__", function) if self._bind else function
        if not callable(function):
            raise TypeError(f"custom_jvp takes a function, not {type(function).__name__}")
        dress(self, function)
        self._function = function
        self._pull: CompiledFunction | None = None
        self._known: list[tuple[Any, Any]] = []  # the calls whose rule runs now: a rule may ask for the result itself
        self._call = custom_gradient(self._both)

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Set the rule of the function.

        Parameters
        ----------
        rule : callable
            It takes the arguments and their tangents, as two tuples, and returns the result and its tangent, which is
            linear in the tangents. The tangent of an argument that has none (an integer, a string) is None.

        Returns
        -------
        callable
            The rule itself, so that `defjvp` may decorate it.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> square = tapec.custom_jvp(lambda x: x * x)
        >>> rule = square.defjvp(lambda primals, tangents: (square(*primals), 2.0 * primals[0] * tangents[0]))
        >>> tapec.grad(square)(3.0)
        np.float64(6.0)

        See Also
        --------
        tapec.check_grads : checks the rule
        """

        def call(prepared: Any, primals: Any, result: Any, tangents: Any, cts: Any) -> Any:
            self._known.append((primals, result))
            try:
                return prepared(primals, tangents)
            finally:
                self._known.pop()

        adapter = Adapter(call, rule, parameters=["primals", "result", "tangents", "cotangents"])
        self._pull = CompiledFunction(adapter, Transposed())
        return rule

    def _tapec_wrap_again(self, follow: Callable[[Any], Any]) -> custom_jvp:
        """Return a copy whose function is `follow(function)`: a trace reads through it what the function captures."""
        other = copy.copy(self)
        other._function = lambda *args: follow(self._function)(*args)
        other._call = custom_gradient(other._both)
        return other

    @shortens
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._pull is None:
            name = self._name
            raise TypeError(at_user_line(f"{name} has no rule yet. Fix: define one with @{name}.defjvp"))
        if kwargs:
            args = self._positional(args, kwargs)
        for primals, result in self._known:
            if len(primals) == len(args) and all(a is b for a, b in zip(primals, args, strict=True)):
                return result
        return self._call(*args) if len(self._known) < tuning.RULE_MAX_DEPTH else self._function(*args)

    @property
    def _name(self) -> str:
        return getattr(self, "__name__", "the function")

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """A rule takes its primals by position, so keywords go to theirs."""
        given = inspect.signature(self).bind(*args, **kwargs)
        if given.kwargs:
            names = ", ".join(given.kwargs)
            raise TypeError(
                at_user_line(f"{self._name}: a jvp rule takes all arguments by position, and {names} has none")
            )
        return given.args

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if self._bind is classmethod:
            return functools.partial(self, type(owner) if kind is None else kind)
        return self if owner is None or self._bind is staticmethod else functools.partial(self, owner)

    def _both(self, *args: Any) -> Any:
        result = self._function(*args)

        def gradient(*cts: Any) -> Any:
            assert self._pull is not None
            return self._pull(args, result, map_leaves(_tangent, args), list(cts))

        return result, gradient


def _tangent(x: Any) -> Any:
    """Return something of the type of a tangent of x, None where it has none; nobody reads its value."""
    if isinstance(x, (ArrayLike, np.ndarray, np.generic)):
        return x if x.dtype.kind in "fc" else None
    return x if type(x) in (float, complex) else None
