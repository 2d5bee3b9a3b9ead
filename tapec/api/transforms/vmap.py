"""Define `vmap` and `per_example_grad`: a function of one example becomes a function of many, without a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from tapec.api.compiled.method_decorators import decorator
from tapec.api.compiled.signature import Arguments, Binder, value_of
from tapec.api.compiled.transform import Template, Transform, result_template
from tapec.api.compiled.typed_wrappers import takes_batch, takes_others
from tapec.api.transforms.compile_and_grad import compiled, grad
from tapec.api.transforms.directional import ByCount
from tapec.autodiff.batching import batch_into
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.errors import UnsupportedError, at_user_line
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Builder, Graph, Node, Type, input_node
from tapec.ir.source_location import place_of
from tapec.ir.types import normalize_axis
from tapec.ops import ArrayLike, Symbol
from tapec.passes.pipeline import with_loops
from tapec.pytree import LEAF, children, count_leaves
from tapec.trace.capture.random_state import DRAWS, SEEDS
from tapec.trace.function.call_adapter import parameter_names
from tapec.trace.tensor import LAID_OUT

__all__ = ["per_example_grad", "vmap"]


class Axes(NamedTuple):
    """Holds the batch axis of each argument leaf and of each input (None: not batched), and the number of examples."""

    leaves: list[int | None]
    axes: list[int | None]
    size: int


class Vmap(Transform):
    """Computes a function for a whole batch. It is traced with the first example."""

    name = "vmap"
    maps = True

    def __init__(self, in_axes: Any, out_axes: Any):
        self.in_axes = in_axes
        self.out_axes = out_axes

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Axes:
        leaves = self._leaf_axes(info, len(args), defaulted(binder, args, kwargs))
        axes: list[int | None] = [None] * len(info.types)
        sizes: dict[str, int] = {}
        for leaf, position in enumerate(info.position):
            axis = leaves[leaf]
            if position is None or axis is None:
                leaves[leaf] = None
                continue
            t, name = info.types[position], info.names[position]
            if not t.shape:
                raise ValueError(
                    at_user_line(f"vmap: {name} is a number and has no axis to map over. Fix: in_axes=None for it.")
                )
            if not -t.ndim <= axis < t.ndim:
                shown = f"vmap: axis {axis} is out of bounds for {name} of shape {t.shape}"
                raise np.exceptions.AxisError(at_user_line(shown))
            leaves[leaf] = axes[position] = k = normalize_axis(axis, t.ndim)
            sizes[name] = t.shape[k]
        if not sizes:
            raise ValueError(at_user_line("vmap: no argument is mapped. Fix: give at least one of them an axis."))
        if len(set(sizes.values())) > 1:
            shown = ", ".join(f"{name} has {n}" for name, n in sizes.items())
            raise ValueError(at_user_line(f"vmap: the mapped axes differ in length: {shown}"))
        return Axes(leaves, axes, next(iter(sizes.values())))

    def _leaf_axes(self, info: Arguments, n: int, left_out: set[Any]) -> list[int | None]:
        """The axis of every leaf: an int or None stands for a whole structure; keywords are mapped over axis 0.

        Arguments that were left out have their defaults, for all examples.
        """
        spec = self.in_axes
        if isinstance(spec, list):
            spec = tuple(spec)
        if type(spec) is tuple:
            spec += (None,) * sum(k in left_out for k in range(len(spec), n))
        if type(spec) is tuple and len(spec) != n:
            raise ValueError(at_user_line(f"vmap: in_axes has {len(spec)} entries for {n} arguments"))
        axes: list[int | None] = []
        for key, tree in info.subtrees.items():
            own = 0 if isinstance(key, str) else spec[key] if type(spec) is tuple else spec
            own = None if key in left_out else own
            axes += spread_axes("in_axes", own, tree)
        return axes

    def examples(self, values: list[Any], plan: Axes) -> list[Any]:
        return [v if a is None else _first(value_of(v), a) for v, a in zip(values, plan.leaves, strict=True)]

    def batched(self, values: Sequence[Any], plan: Axes) -> Sequence[bool]:
        return [a is not None or b for a, b in zip_longest(plan.leaves, super().batched(values, plan), fillvalue=False)]

    def refuse(self, reason: str) -> None:
        if reason == LAID_OUT:
            return  # the examples are slices of one batch, and lie alike
        if reason in (DRAWS, SEEDS):
            raise UnsupportedError(
                at_user_line(
                    "vmap: the function draws random numbers, and would draw them once for all examples. "
                    "Fix: draw an array of them before, and pass it with a batch axis."
                )
            )
        raise UnsupportedError(
            at_user_line(
                f"vmap: {reason}, which may differ from example to example. "
                f"Fix: compute with the array itself (np.take, np.where), or loop over the examples."
            )
        )

    def build(self, forward: Graph, info: Arguments, plan: Axes) -> tuple[Graph, Template]:
        _check_guards(forward, info, plan)
        example = with_loops(_example_graph(forward, plan), lists=info.lists)
        builder = Builder()
        given: list[Any] = []
        for k, node in enumerate(forward.inputs):
            axis = plan.axes[k] if k < len(plan.axes) else None
            x: Any = Symbol(node, builder)
            given.append((x if not axis else np.moveaxis(x, axis, 0), axis is not None))
        results = batch_into(builder, example, given, plan.size)
        axes = spread_axes("out_axes", self.out_axes, info.result)
        places = [a for a, s in zip(axes, info.statics, strict=True) if s is LEAF]
        outputs = [_placed(x, b, a, plan.size).node for (x, b), a in zip(results, places, strict=True)]
        return builder.graph(forward.inputs, outputs, forward.name), result_template(info, 0)


def defaulted(binder: Binder, args: Any, kwargs: Any) -> set[Any]:
    """The arguments that are the defaults of the function's parameters, where these are no arrays."""
    if binder.signature is None:
        return set()
    defaults = {name: p.default for name, p in binder.signature.parameters.items() if p.default is not p.empty}
    given = {**{k: (binder.name_of(k), a) for k, a in enumerate(args)}, **{k: (k, a) for k, a in kwargs.items()}}
    left_out = {key for key, (name, a) in given.items() if name in defaults and defaults[name] is a}
    return {key for key in left_out if not isinstance(given[key][1], (np.ndarray, ArrayLike))}


def spread_axes(what: str, spec: Any, tree: Any) -> list[int | None]:
    """Return one axis for each leaf of a structure, from a specification that may stop above the leaves."""
    if spec is None or (isinstance(spec, (int, np.integer)) and not isinstance(spec, bool)):
        return [None if spec is None else int(spec)] * count_leaves(tree)
    inner = children(spec)
    if inner is None:
        raise TypeError(at_user_line(f"vmap: {what} holds {spec!r}; an axis is an int or None"))
    if tree is LEAF or len(inner[1]) != len(tree.children) or (type(spec) is dict and inner[0] != tree.meta):
        raise ValueError(at_user_line(f"vmap: {what} {spec!r} does not have the structure of what it describes"))
    return [a for s, c in zip(inner[1], tree.children, strict=True) for a in spread_axes(what, s, c)]


def _first(value: Any, axis: int) -> Any:
    """The first example, or zeros when there is none."""
    if value.shape[axis]:
        return value[(slice(None),) * axis + (0,)]
    return np.zeros(value.shape[:axis] + value.shape[axis + 1 :], value.dtype)[()]


def _example_graph(forward: Graph, plan: Axes) -> Graph:
    """The traced program with inputs of the types it was traced with."""
    inputs: list[Node] = []
    for k, node in enumerate(forward.inputs):
        axis = plan.axes[k] if k < len(plan.axes) else None
        if axis is not None:
            shape = node.type.shape[:axis] + node.type.shape[axis + 1 :]
            node = input_node(node.name or f"x{k}", Type(shape, node.type.dtype), node.origin)
        inputs.append(node)
    builder = Builder()
    outputs = copy_into(builder, forward, tuple(inputs), merge=False)
    return builder.graph(inputs, outputs, forward.name)


def _check_guards(forward: Graph, info: Arguments, plan: Axes) -> None:
    """Check that control flow does not depend on what differs from example to example."""
    moving = {i for i, axis in zip(forward.inputs, plan.axes, strict=False) if axis is not None}
    for node in forward.nodes:
        if any(i in moving for i in node.inputs):
            moving.add(node)
    for guard in info.guards:
        if guard.node in moving:
            raise UnsupportedError(
                f"{_place(guard.origin)}vmap: the program depends on {guard.kind.__name__}() of a value that differs "
                f"from example to example. Fix: {_FIXES.get(guard.kind, _FIXES[bool])}, or loop over the examples."
            )


_FIXES = {
    bool: "choose with np.where",
    int: "keep it an array, np.take and `x[i]` take an index for each example",
    len: "keep all elements, np.where(mask, x, 0.0) in place of x[mask]",
}


def _place(origin: Any) -> str:
    return "" if origin is None else f"{place_of(origin).short}: "


def _placed(x: Any, batched: bool, axis: int | None, size: int) -> Any:
    """A result with its batch axis where it is wanted."""
    if axis is None:
        if batched:
            raise ValueError(at_user_line("vmap: out_axes is None for a result that differs from example to example"))
        return x
    if not batched:
        x = np.broadcast_to(x, (size, *x.shape))
    axis = normalize_axis(axis, len(x.shape))
    return np.moveaxis(x, 0, axis) if axis else x


@takes_batch
def vmap(
    function: Any = None,
    in_axes: Any = 0,
    out_axes: Any = 0,
    *,
    static_argnums: Any = (),
    static_argnames: Any = (),
) -> Any:
    """Turn a function of one example into one of a batch, without a loop.

    Parameters
    ----------
    function : callable, default None
        The function of one example. Without one, `vmap(...)` gives a decorator that has these options.
    in_axes : int, None, or a tuple or nested structure of these, default 0
        The axis along which the examples lie in each argument. An int or None stands for a whole structure, None for
        what all examples share; a tuple has an entry for each argument. Arguments given by keyword have axis 0.
    out_axes : int, None, or a nested structure of these, default 0
        The axis along which the results are to lie. None is for a result that is the same for all examples.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and they have no gradient.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    compiled function
        It takes the arguments with their batch axes, and returns what the function does, with a batch axis more.

    Raises
    ------
    ValueError
        At a call, if no argument is mapped, if the mapped axes differ in length, or if one that is mapped is a
        number.
    numpy.exceptions.AxisError
        At a call, if an argument has no such axis.
    UnsupportedError
        At a call, if control flow depends on a value that differs from example to example, or the function draws
        random numbers.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.vmap(lambda x, w: x @ w, in_axes=(0, None))(np.ones((4, 3)), np.ones(3))
    array([3., 3., 3., 3.])

    See Also
    --------
    tapec.per_example_grad : the gradient of a loss for each example
    """
    return compiled(function, Vmap(in_axes, out_axes), static_argnums, static_argnames)


@takes_others
def per_example_grad(function: Any = None, argnums: Any = 0, in_axes: Any = None) -> Any:
    """Turn a loss into its gradient for each example of a batch.

    The arguments that are differentiated are shared by all examples, the others are batched along their first axis,
    unless `in_axes` says otherwise.

    Parameters
    ----------
    function : callable, default None
        The loss of one example, which returns one real number. Without one, `per_example_grad(...)` gives a
        decorator.
    argnums : int, str, or a tuple of these, default 0
        The argument to differentiate with respect to, by position or by name. A tuple asks for a tuple of gradients.
    in_axes : int, None, or a tuple or nested structure of these, default None
        The batch axis of each argument, as in `tapec.vmap`. None is no axis for the arguments that are
        differentiated, and the first for all others.

    Returns
    -------
    compiled function
        It takes the arguments of the loss, `per_example_grad(loss)(params, *batch)`, and returns the gradients, with
        the examples along the first axis.

    Raises
    ------
    ValueError
        At a call, if there is no argument of that name, or the batch axes differ in length.
    TypeError
        At a call, if the loss does not return one real number.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.per_example_grad(lambda w, x: w * x * x)(2.0, np.array([1.0, 3.0]))
    array([1., 9.])

    See Also
    --------
    tapec.grad : the gradient for one example, or the sum over all
    tapec.vmap : any function, for each example
    """
    shared = argnums if isinstance(argnums, (tuple, list)) else (argnums,)

    def make(f: Callable[..., Any], n: int) -> Any:
        names = parameter_names(f, n)
        unknown = [k for k in shared if isinstance(k, str) and k not in names]
        if unknown:
            shown = f"there is no argument {unknown[0]!r}; the arguments are {', '.join(names)}"
            raise ValueError(at_user_line(f"per_example_grad: {shown}"))
        places = {names.index(k) if k in names else k % n for k in shared}
        axes = tuple([None if k in places else 0 for k in range(n)]) if in_axes is None else in_axes
        return vmap(grad(f, argnums), axes)

    return decorator(
        function, lambda f: ByCount(f, "per_example_grad", make, more=0), "per_example_grad", argnums, in_axes
    )
