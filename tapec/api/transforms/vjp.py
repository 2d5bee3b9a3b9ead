"""Define `vjp`: the value of a function now, and its pullback for as many cotangents as one likes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapec.api.compiled.function import CompiledFunction
from tapec.api.compiled.method_decorators import cached, hashable
from tapec.api.compiled.packing import Out, packer
from tapec.api.compiled.signature import Arguments, Binder, value_of
from tapec.api.compiled.transform import Template, Transform, result_template, rolled_up
from tapec.api.compiled.typed_wrappers import gives_pullback
from tapec.api.transforms.compile_and_grad import Wrt, gradient_template, wrt_plan
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.compose.partition import split
from tapec.autodiff.reverse import vjp_graph
from tapec.errors import at_user_line
from tapec.ir import Builder, Graph, Type
from tapec.ir.types import is_differentiable
from tapec.ops.control.select_and_call import CALL
from tapec.ops.core.define import as_data
from tapec.ops.core.stand_in import ArrayLike
from tapec.pytree import LEAF, Nested, count_leaves, flatten
from tapec.runtime.compile import CompiledGraph, Options
from tapec.trace.classes import wrap
from tapec.trace.function.call_adapter import Adapter, parameter_names
from tapec.trace.perform import record
from tapec.trace.recording_stack import CURRENT
from tapec.trace.tensor import Tensor
from tapec.tracebacks import shortens

__all__ = ["Later", "vjp"]


class Later:
    """Holds a graph that waits for some of its inputs: compiled when first called, then called with what was kept."""

    def __init__(self, graph: Graph, template: Template, types: Sequence[Any]):
        self.graph = graph
        self.template = template
        self.types = types  # of the leaves that come later, None for those that are no inputs
        self._run: Callable[..., Any] | None = None
        self._pack = packer(template)

    @property
    def _tapec_template(self) -> Template:
        """Return the options that tell this transform from others; functions share a stub if these are values alone."""
        return self.template

    def __call__(self, kept: Any, given: list[Any]) -> Any:
        if self._run is None:
            self._run = CompiledGraph(self.graph, Options(self.graph.name)).code.function
        objects = [*kept, *given]
        outputs: Any = self._run(*[value_of(x) for x in objects])
        if any(type(x) is Tensor for x in objects):
            outputs = tuple([wrap(v) for v in outputs])
            rec = CURRENT.get()
            if rec is not None:
                record(rec, CALL, tuple(objects), (("bodies", (self.graph,)),), outputs)
        return self._pack(outputs)


class Vjp(Transform):
    """Computes results and what the pullback needs of them now, and cotangents of the arguments later."""

    name = "vjp"
    results_at = 0

    def __init__(self, has_aux: bool):
        self.has_aux = has_aux

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Wrt:
        primals = [k for k in range(len(args)) if not binder.is_static(k)]
        return wrt_plan("vjp", tuple(primals), binder, info, args, kwargs)

    def build(self, forward: Graph, info: Arguments, plan: Wrt) -> tuple[Graph, Template]:
        tree, leaves = result_template(info, 0)
        ends = forward = rolled_up(forward, info)
        if self.has_aux:
            k = sum(s is LEAF for s in info.statics[: count_leaves(tree.children[0])])
            ends = Graph(forward.inputs, forward.nodes, forward.outputs[:k], forward.name)
        back = vjp_graph(ends, plan.inputs)
        builder = Builder()
        results = copy_into(builder, forward, forward.inputs)
        grads = copy_into(builder, back, back.inputs)
        n = len(results)
        whole = builder.graph(back.inputs, [*results, *grads], f"{forward.name}_pullback")
        seeds = range(len(forward.inputs), len(back.inputs))
        early, late = split(whole, seeds, range(n, n + len(grads)))
        grad_tree, grad_leaves = gradient_template(info, plan, 0)
        if len(plan.keys) == 1:
            grad_tree = grad_tree.children[0]
        ends_leaves = info.statics[: count_leaves(tree.children[0])] if self.has_aux else info.statics
        outputs = iter(ends.outputs)
        types = [next(outputs).type if s is LEAF else None for s in ends_leaves]  # a static leaf has no cotangent
        later = Later(late, (grad_tree, grad_leaves), types)
        kept = [Out(n + k) for k in range(len(early.outputs) - n)]
        template = Nested(tuple, None, (tree, Nested(tuple, None, (LEAF,) * len(kept)), LEAF))
        return early, (template, [*leaves, *kept, later])


class Pullback:
    """Takes a cotangent of the result, in the result's structure, to cotangents of the arguments."""

    def __init__(self, tree: Any, kept: Any, later: Later):
        self._tree = tree
        self._kept = kept
        self._later = later

    @shortens
    def __call__(self, cotangent: Any) -> Any:
        """Return the cotangents of the arguments for a cotangent of the result.

        Parameters
        ----------
        cotangent : array, number, or nested structure
            Of the structure and shapes of the result. It is converted to the dtypes of the result. None in place of an
            array or a number is zero.

        Returns
        -------
        array, number, nested structure, or a tuple of these
            The product of the cotangent and the Jacobian; a tuple where there are several arguments.

        Raises
        ------
        TypeError
            If the cotangent is complex where the result is real.
        ValueError
            If the cotangent has another structure or shape than the result.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> out, pullback = tapec.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), 3.0)
        >>> pullback(np.array([1.0, 0.0]))
        (array([3., 0.]), np.float64(1.0))

        See Also
        --------
        tapec.vjp : makes it
        """
        leaves: list[Any] = []
        tree = flatten(cotangent, leaves)
        if tree != self._tree:
            raise ValueError(at_user_line("the cotangent must have the structure of the function's result"))
        given = []
        for leaf, t in zip(leaves, self._later.types):
            if t is not None and is_differentiable(t):
                given.append(fitted(leaf, t))
        return self._later(self._kept, given)


def fitted(x: Any, t: Type) -> Any:
    """A cotangent or tangent in the dtype of what it belongs to, zeros for None; an error when it does not fit."""
    if x is None:
        return np.zeros(t.shape, t.dtype)[()]
    x = x._tapec_read() if isinstance(x, ArrayLike) else x
    value = as_data(value_of(x))
    shape = np.shape(value)
    if shape != t.shape:
        raise ValueError(at_user_line(f"a cotangent or tangent has shape {shape}; it must have shape {t.shape}"))
    if t.dtype.kind != "c" and np.iscomplexobj(value):
        raise TypeError(at_user_line("a cotangent or tangent of real numbers is complex. Fix: take its real part"))
    if type(x) is Tensor:
        return x if x.dtype == t.dtype else x.astype(t.dtype)
    return np.asarray(value, t.dtype)[()]


@gives_pullback
def vjp(
    function: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    static_argnums: Any = (),
    static_argnames: Any = (),
) -> Any:
    """Return the value of a function at these arguments, and the pullback: a function from cotangents to cotangents.

    A cotangent of the result is a derivative with respect to it, of something that is computed from it later; the
    pullback gives the derivatives with respect to the arguments. It is the product of a vector and the Jacobian.

    Parameters
    ----------
    function : callable
        The function. What is compiled for it is kept with it, for later calls.
    *primals : arrays, numbers, or nested structures of them
        The arguments at which to compute, each of which holds real or complex numbers.
    has_aux : bool, default False
        Whether the function returns a pair: the result, and something that is not differentiated.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and the pullback gives nothing
        for them.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    out : what the function returns
        The value.
    pullback : callable
        It takes a cotangent of the structure, shapes and dtypes of `out`, as often as it is called, and returns that
        of the argument; for several arguments a tuple. None in place of an array or a number is zero.
    aux : object
        The second part of what the function returns, only with `has_aux`.

    Raises
    ------
    TypeError
        If an argument holds no real or complex number, and is not static; from the pullback, if the cotangent is
        complex where the result is real.
    ValueError
        From the pullback, if the cotangent has another structure or shape than the result.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> out, pullback = tapec.vjp(lambda x: x * x, np.array([1.0, 2.0]))
    >>> out, pullback(np.array([1.0, 10.0]))
    (array([1., 4.]), array([ 2., 40.]))

    See Also
    --------
    tapec.jvp : products of the Jacobian and a vector
    tapec.jacobian : the Jacobian itself
    """
    n = len(primals)

    def make(f: Callable[..., Any]) -> CompiledFunction:
        adapter = Adapter(lambda g, *args: g(*args), f, parameters=parameter_names(f, n))
        return CompiledFunction(adapter, Vjp(has_aux), static_argnums=static_argnums, static_argnames=static_argnames)

    compiled = cached(function, ("vjp", n, has_aux, hashable(static_argnums), hashable(static_argnames)), make)
    out, kept, later = compiled(*primals)
    leaves: list[Any] = []
    if has_aux:
        out, aux = out
        return out, Pullback(flatten(out, leaves), kept, later), aux
    return out, Pullback(flatten(out, leaves), kept, later)
