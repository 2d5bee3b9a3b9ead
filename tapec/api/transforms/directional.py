"""Define derivatives along given directions: `jvp`, `linearize`, `hvp`, `ggn_vp`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any

from tapec.api.compiled.exporting.pickling import face_of, load_saved, origin_of, saved_state
from tapec.api.compiled.function import CompiledFunction
from tapec.api.compiled.method_decorators import Wrapper, bound, cached, decorator, dress, is_class_method
from tapec.api.compiled.packing import Out
from tapec.api.compiled.signature import Arguments, Binder
from tapec.api.compiled.transform import Template, Transform, result_template, rolled_up
from tapec.api.compiled.typed_wrappers import gives_product, gives_tangent, gives_tangent_map
from tapec.api.transforms.compile_and_grad import Wrt, check_loss, gradient_template, wrt_plan
from tapec.api.transforms.result_structure import split_aux
from tapec.api.transforms.vjp import Later, fitted
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.compose.partition import split
from tapec.autodiff.forward import jvp_graph
from tapec.autodiff.reverse import value_and_grad_graph, vjp_graph
from tapec.autodiff.rule_application import fit, plain
from tapec.autodiff.symbolic.symbolic_zeros import Zero
from tapec.config import settings
from tapec.errors import at_user_line
from tapec.ir import Builder, Graph, Node, input_node, prune
from tapec.ir.types import is_differentiable
from tapec.locks import computed_once
from tapec.ops import Symbol
from tapec.pytree import LEAF, Nested, count_leaves, flatten
from tapec.runtime.memory_cache import CacheInfo
from tapec.trace.function.call_adapter import Adapter, parameter_names, with_other
from tapec.tracebacks import shorten, shortens

__all__ = ["ByCount", "ggn_vp", "hvp", "jvp", "linearize"]


# -- arguments --------------------------------------------------------------------------------------------------------
def _called(function: Any, *args: Any) -> Any:
    return function(*args)


_ANY_ARGUMENTS = inspect.signature(lambda *args, **kwargs: None)


class ByCount(Wrapper):
    """Holds a transform of a function that is compiled for each number of positional arguments.

    `more` is how many of them, the last ones, are for the transform, and none of the function's.
    """

    def __init__(
        self, function: Callable[..., Any], name: str, make: Callable[[Any, int], CompiledFunction], more: int
    ):
        if not callable(function):
            raise TypeError(f"{name} takes a function, not {type(function).__name__}")
        dress(self, function)
        self.__signature__ = _ANY_ARGUMENTS  # not the function's: a vector comes after its arguments
        self._function = function
        self._transform = name
        self._made: dict[int, CompiledFunction] = {}
        self._make = make
        self._more = more
        self._bound: dict[int, ByCount] = {}

    def compiled(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[CompiledFunction, tuple[Any, ...], dict[str, Any]]:
        """Return the compiled function that answers a call, and the arguments that it takes.

        Arguments given by keyword come in their positions, with those that they leave out.
        """
        n = len(args) - self._more
        if kwargs and n >= 0:
            own, kwargs = self._binder.bind(args[:n], kwargs)
            args = (*own, *args[n:])
        found = self._made.get(len(args))
        if found is None:
            found = self._made[len(args)] = self._make(self._function, len(args))
        return found, args, kwargs

    @computed_once
    def _binder(self) -> Binder:
        return Binder(self._function)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        method = MethodType(self._function, owner)
        return bound(self, owner, self._bound, lambda: self._like(method))

    def _like(self, function: Callable[..., Any]) -> ByCount:
        return ByCount(function, self._transform, self._make, self._more)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            if args and isinstance(args[0], type) and is_class_method(self, args[0]):
                return self.__get__(args[0])(*args[1:], **kwargs)
            function, args, kwargs = self.compiled(args, kwargs)
            return function(*args, **kwargs)
        except BaseException as error:
            shorten(error)
            raise

    @shortens
    def locate(self, *args: Any, **kwargs: Any) -> Any:
        """Return the signature, the program and the path that a call with these arguments takes."""
        function, args, kwargs = self.compiled(args, kwargs)
        return function.locate(*args, **kwargs)

    @shortens
    def generated(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        """Return the compiled code that a call with these arguments runs, and the values that it is called with."""
        function, args, kwargs = self.compiled(args, kwargs)
        return function.generated(*args, **kwargs)

    @shortens
    def source(self, *args: Any, target: str | None = None, lines: bool = False, **kwargs: Any) -> str:
        """Return the generated code that a call with these arguments runs, as text, or as a target writes it."""
        function, args, kwargs = self.compiled(args, kwargs)
        return function.source(*args, target=target, lines=lines, **kwargs)

    @shortens
    def ir(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """Return the graph of a call with these arguments."""
        function, args, kwargs = self.compiled(args, kwargs)
        return function.ir(*args, stage=stage, **kwargs)

    @shortens
    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """Return what tapec knows about a call with these arguments."""
        function, args, kwargs = self.compiled(args, kwargs)
        return function.explain(*args, **kwargs)

    @shortens
    def export(self, path: Any, *args: Any, target: str | None = None, **kwargs: Any) -> None:
        """Write a module of its own, for the signature of these arguments, that needs NumPy (and `math`) alone."""
        function, args, kwargs = self.compiled(args, kwargs)
        function.export(path, *args, target=target, **kwargs)

    def cache_info(self) -> CacheInfo:
        """Return (hits, misses, compilations, size, maxsize), of all numbers of arguments together."""
        parts = [f.cache_info() for f in self._made.values()]
        hits, misses, compilations, size = [sum(p[k] for p in parts) for k in range(4)]
        return CacheInfo(hits, misses, compilations, size, settings.cache_size)

    def cache_clear(self) -> None:
        """Forget all code of the function."""
        self._made.clear()

    def __reduce__(self) -> Any:
        """Pickle the function as generated code, see `CompiledFunction`."""
        origin = origin_of(self)
        parts = [saved_state(f, origin) for f in self._made.values()]
        name = parts[0][0] if parts else f"{getattr(self, '__name__', 'function')}_{self._transform}"
        described = tuple([x for p in parts for x in p[2]])
        return load_saved, (name, face_of(self), described, tuple([x for p in parts for x in p[3]]), origin)

    def __repr__(self) -> str:
        return f"<tapec {self._transform} of {getattr(self, '__qualname__', self._function)}>"


class Moves:
    """Says which arguments move, and which input is the tangent of each input (None: the input stands still)."""

    def __init__(self, wrt: Wrt, tangents: list[int | None]):
        self.wrt = wrt
        self.tangents = tangents
        self.inputs = wrt.inputs

    def pushed(self, builder: Builder, graph: Graph, given: tuple[Node, ...]) -> list[Node]:
        """Copy a graph that takes tangents of all moving inputs after its own inputs."""
        tangents = []
        for k, t in zip(self.inputs, self.tangents, strict=True):
            node = given[k]
            if t is None:
                tangents.append(Zero(plain(node.type), builder).node)
            else:
                tangents.append(fit(builder, Symbol(given[t], builder), node.type).node)
        return copy_into(builder, graph, (*given, *tangents))


def moves(what: str, wrt: Wrt, keys: list[Any], info: Arguments) -> Moves:
    """Pair each argument leaf with the leaf of its direction; errors when they do not fit."""
    if len(keys) != len(wrt.keys):
        raise ValueError(at_user_line(f"{what}: {len(wrt.keys)} arguments move, but {len(keys)} directions were given"))
    tangents: list[int | None] = []
    for key, direction, group in zip(wrt.keys, keys, wrt.leaves, strict=True):
        spots = info.spans[direction]
        if len(spots) != len(group) or info.subtrees[direction] != info.subtrees[key]:
            raise ValueError(at_user_line(f"{what}: a direction must have the structure of its argument"))
        for position, leaf in zip(group, spots, strict=True):
            if position is not None:
                tangents.append(_direction(what, info, position, leaf))
    return Moves(wrt, tangents)


def _direction(what: str, info: Arguments, position: int, leaf: int) -> int | None:
    t = info.position[leaf]
    if t is None and info.leaves[leaf] is None:
        return None
    if t is None or info.types[t].shape != info.types[position].shape:
        shown = repr(info.leaves[leaf]) if t is None else f"shape {info.types[t].shape}"
        raise ValueError(
            at_user_line(
                f"{what}: the direction of {info.names[position]} has {shown}; "
                f"it must have shape {info.types[position].shape}"
            )
        )
    if info.types[t].dtype.kind == "c" and info.types[position].dtype.kind != "c":
        raise TypeError(at_user_line(f"{what}: the direction of the real {info.names[position]} is complex"))
    return t


# -- jvp --------------------------------------------------------------------------------------------------------------
class Jvp(Transform):
    """Computes results and their tangents. The arguments are followed by as many tangents."""

    name = "jvp"
    results_at = 0

    def __init__(self, n: int, has_aux: bool = False):
        self.n = n
        self.has_aux = has_aux

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Moves:
        wrt = wrt_plan("jvp", tuple(range(self.n)), binder, info, args, kwargs)
        return moves("jvp", wrt, list(range(self.n, 2 * self.n)), info)

    def build(self, forward: Graph, info: Arguments, plan: Moves) -> tuple[Graph, Template]:
        ends_tree, statics, aux = split_aux("jvp", info, self.has_aux)
        forward, builder = rolled_up(forward, info), Builder()
        outputs = plan.pushed(builder, jvp_graph(forward, plan.inputs), forward.inputs)
        n = len(forward.outputs)
        tree, leaves = result_template(info, 0)
        tangents = tangent_leaves(forward, statics, n)
        graph = builder.graph(forward.inputs, outputs, forward.name)
        if aux is None:
            return graph, (Nested(tuple, None, (tree, tree)), [*leaves, *tangents])
        k = len(statics)
        triple = Nested(tuple, None, (ends_tree, ends_tree, aux))
        return graph, (triple, [*leaves[:k], *tangents, *leaves[k:]])


def tangent_leaves(forward: Graph, statics: Any, first: int) -> list[Any]:
    """The tangent of each result leaf, None where it has none."""
    leaves: list[Any] = []
    outputs = iter(forward.outputs)
    k = first
    for s in statics:
        moving = s is LEAF and is_differentiable(next(outputs).type)
        leaves.append(Out(k) if moving else None)
        k += moving
    return leaves


@gives_tangent
def jvp(function: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Return the value of a function, and its derivative along the tangents: forward mode.

    The derivative is the product of the Jacobian and a vector. No Jacobian is made.

    Parameters
    ----------
    function : callable
        The function. What is compiled for it is kept with it, for later calls.
    primals : tuple or list
        The arguments at which to compute, each of which holds real or complex numbers.
    tangents : tuple or list
        For each argument the direction in which it moves, of its structure and shapes. None in place of an array is
        zero.
    has_aux : bool, default False
        Whether the function returns a pair: the result, and something that is not differentiated.

    Returns
    -------
    out : what the function returns
        The value.
    tangent : array, number, or nested structure
        Its derivative along the tangents, of the structure of `out`, with None in place of what has no derivative.
    aux : object
        The second part of what the function returns, only with `has_aux`.

    Raises
    ------
    TypeError
        If primals or tangents are no tuple or list, or an argument holds no real or complex number.
    ValueError
        If the tangents do not fit the primals: in number, structure, or shape.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))

    See Also
    --------
    tapec.linearize : for many tangents at one place
    tapec.vjp : products from the left
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(at_user_line("jvp takes the primals and the tangents as two tuples"))
    if len(primals) != len(tangents):
        raise ValueError(at_user_line(f"jvp: {len(primals)} primals, but {len(tangents)} tangents"))
    n = len(primals)

    def make(f: Callable[..., Any]) -> CompiledFunction:
        names = parameter_names(f, n)
        adapter = Adapter(
            lambda g, *args: g(*args[:n]), f, parameters=with_other(names, *[f"d_{name}" for name in names])
        )
        return CompiledFunction(adapter, Jvp(n, has_aux))

    return cached(function, ("jvp", n, has_aux), make)(*primals, *tangents)


# -- linearize --------------------------------------------------------------------------------------------------------
class Linearize(Transform):
    """Computes results and what the tangent map needs of them now, and tangents of the results later."""

    name = "linearize"
    results_at = 0

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Wrt:
        return wrt_plan("linearize", tuple(range(len(args))), binder, info, args, kwargs)

    def build(self, forward: Graph, info: Arguments, plan: Wrt) -> tuple[Graph, Template]:
        moved = jvp_graph(forward, plan.inputs)
        n = len(forward.outputs)
        late = range(len(forward.inputs), len(moved.inputs))
        early, later = split(moved, late, range(n, len(moved.outputs)))
        tree, leaves = result_template(info, 0)
        types = [moved.inputs[k].type for k in late]
        tangents = Later(later, (tree, tangent_leaves(forward, info.statics, 0)), types)
        kept = [Out(n + k) for k in range(len(early.outputs) - n)]
        trees = Nested(tuple, None, tuple([info.subtrees[key] for key in plan.keys]))
        moving = [position is not None for group in plan.leaves for position in group]
        template = Nested(tuple, None, (tree, Nested(tuple, None, (LEAF,) * len(kept)), LEAF, LEAF))
        return early, (template, [*leaves, *kept, tangents, (trees, moving)])


class TangentMap:
    """Takes tangents of the arguments, in their structure, to tangents of the result."""

    def __init__(self, kept: Any, later: Later, expected: tuple[Any, list[bool]]):
        self._kept = kept
        self._later = later
        self._tree, self._moving = expected

    @shortens
    def __call__(self, *tangents: Any) -> Any:
        """Return the derivative of the result along tangents of the arguments.

        Parameters
        ----------
        *tangents : array, number, or nested structure
            One for each argument, of its structure and shapes. They are converted to the dtypes of the arguments.
            None in place of an array or a number is zero.

        Returns
        -------
        array, number, or nested structure
            The product of the Jacobian and the tangents, of the structure of the result.

        Raises
        ------
        TypeError
            If a tangent is complex where the argument is real.
        ValueError
            If the tangents have another structure or shape than the arguments.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> out, push = tapec.linearize(lambda x, y: x * y, 2.0, 3.0)
        >>> push(1.0, 0.0), push(0.0, 1.0)
        (np.float64(3.0), np.float64(2.0))

        See Also
        --------
        tapec.linearize : makes it
        """
        leaves: list[Any] = []
        if flatten(tangents, leaves) != self._tree:
            raise ValueError(at_user_line("the tangents must have the structure of the arguments"))
        moving = [leaf for leaf, m in zip(leaves, self._moving, strict=True) if m]
        return self._later(self._kept, [fitted(x, t) for x, t in zip(moving, self._later.types, strict=True)])


@gives_tangent_map
def linearize(function: Callable[..., Any], *primals: Any) -> Any:
    """Return the value of a function, and its derivative there as a function of tangents.

    What does not depend on the tangents is computed once. So it is for many directions at one place.

    Parameters
    ----------
    function : callable
        The function. What is compiled for it is kept with it, for later calls.
    *primals : arrays, numbers, or nested structures of them
        The arguments at which to compute, each of which holds real or complex numbers.

    Returns
    -------
    out : what the function returns
        The value.
    tangent_map : callable
        It takes a tangent for each argument, of its structure and shapes, and returns the derivative of `out` along
        them. None in place of an array or a number is zero.

    Raises
    ------
    TypeError
        If an argument holds no real or complex number; from the map of tangents, if one is complex where the argument
        is real.
    ValueError
        From the map of tangents, if they have another structure or shape than the arguments.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> out, push = tapec.linearize(np.sin, 0.0)
    >>> out, push(1.0), push(2.0)
    (np.float64(0.0), np.float64(1.0), np.float64(2.0))

    See Also
    --------
    tapec.jvp : for one direction
    tapec.vjp : the map in the other direction
    """
    n = len(primals)

    def make(f: Callable[..., Any]) -> CompiledFunction:
        return CompiledFunction(Adapter(_called, f, parameters=parameter_names(f, n)), Linearize())

    compiled = cached(function, ("linearize", n), make)
    out, kept, later, expected = compiled(*primals)
    return out, TangentMap(kept, later, expected)


# -- second order -----------------------------------------------------------------------------------------------------
_NO_VECTOR = "hvp(f) takes the arguments of f and then the vector"


class Hvp(Transform):
    """Computes the Hessian of a loss times a vector: the tangent of the gradient. The last argument is the vector."""

    name = "hvp"

    def __init__(self, argnums: Any):
        self.argnums = argnums

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Moves:
        n = len(args) - 1
        if not n and not kwargs:
            raise TypeError(at_user_line(_NO_VECTOR))
        wrt = wrt_plan("hvp", self.argnums, binder, info, args[:n], kwargs)
        if not wrt.many:
            return moves("hvp", wrt, [n], info)
        return moves("hvp", wrt, *_parts_of(info, n, wrt))

    def build(self, forward: Graph, info: Arguments, plan: Moves) -> tuple[Graph, Template]:
        check_loss("hvp", info, False, forward)
        forward = rolled_up(forward, info)
        joint = value_and_grad_graph(forward, plan.inputs)
        gradient = Graph(joint.inputs, joint.nodes, joint.outputs[1:], joint.name)
        builder = Builder()
        outputs = plan.pushed(builder, jvp_graph(gradient, plan.inputs), forward.inputs)
        found = builder.graph(forward.inputs, outputs[len(gradient.outputs) :], forward.name)
        return prune(found), gradient_template(info, plan.wrt, 0)


def _parts_of(info: Arguments, key: int, wrt: Wrt) -> tuple[list[Any], Arguments]:
    """A tuple argument as several: their keys, and the arguments with these among them."""
    tree = info.subtrees[key]
    if tree is LEAF or tree.kind not in (tuple, list) or len(tree.children) != len(wrt.keys):
        raise ValueError(at_user_line(f"hvp by {len(wrt.keys)} arguments takes a tuple of as many vectors"))
    spans, subtrees = dict(info.spans), dict(info.subtrees)
    start = info.spans[key].start
    keys = []
    for k, child in enumerate(tree.children):
        part = (key, k)
        keys.append(part)
        spans[part] = range(start, start + count_leaves(child))
        subtrees[part] = child
        start += count_leaves(child)
    return keys, info._replace(spans=spans, subtrees=subtrees)


@gives_product
def hvp(function: Any = None, argnums: Any = 0) -> Any:
    """Turn a loss into the product of its Hessian and a vector. The Hessian itself is never made.

    Parameters
    ----------
    function : callable, default None
        The loss, which returns one real number. Without one, `hvp(...)` gives a decorator that has these options.
    argnums : int, str, or a tuple of these, default 0
        The argument to differentiate with respect to, by position or by name. For a tuple, the vector is a tuple too.

    Returns
    -------
    compiled function
        It takes the arguments of the function and, as the last one by position, the vector, of the structure and
        shapes of the argument: `hvp(f)(*args, v, **kwargs)`. It returns the product, of the same structure.

    Raises
    ------
    TypeError
        At a call, if the function does not return one real number, or there is no vector behind the arguments.
    ValueError
        At a call, if the vector has another structure or shape than the argument.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.hvp(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    array([ 6., 12.])

    See Also
    --------
    tapec.hessian : the whole matrix
    tapec.ggn_vp : products with the Gauss-Newton matrix
    """

    def make(f: Callable[..., Any], n: int) -> CompiledFunction:
        if not n:
            raise TypeError(at_user_line(_NO_VECTOR))
        *names, keywords = with_other(parameter_names(f, n - 1), "v", "keywords", function=f)

        def call(g: Any, *args: Any, **kwargs: Any) -> Any:
            return g(*args[:-1], **kwargs)

        return CompiledFunction(Adapter(call, f, parameters=names, keywords=keywords), Hvp(argnums))

    return decorator(function, lambda f: ByCount(f, "hvp", make, more=1), "hvp", argnums)


class GaussNewton(Transform):
    """Computes Jᵀ H J v, with J the Jacobian of f at x and H the Hessian of the loss at f(x)."""

    name = "ggn_vp"

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Moves:
        return moves("ggn_vp", wrt_plan("ggn_vp", 0, binder, info, args, kwargs), [1], info)

    def build(self, forward: Graph, info: Arguments, plan: Moves) -> tuple[Graph, Template]:
        n = len(forward.outputs) - 1
        loss = forward.outputs[n]
        if loss.type.size != 1 or loss.type.dtype.kind != "f":
            raise TypeError(at_user_line(f"ggn_vp: the loss is {loss.type}; it must be one real number"))
        forward = rolled_up(forward, info)
        f = Graph(forward.inputs, forward.nodes, forward.outputs[:n], forward.name)
        outer = _after(forward, n)
        at = [k for k, o in enumerate(f.outputs, len(forward.inputs)) if is_differentiable(o.type)]
        gradient = value_and_grad_graph(outer, at)
        gradient = Graph(gradient.inputs, gradient.nodes, gradient.outputs[1:], forward.name)

        builder = Builder()
        pushed = plan.pushed(builder, jvp_graph(f, plan.inputs), forward.inputs)  # f(x), J v
        turned = copy_into(builder, jvp_graph(gradient, at), (*forward.inputs, *pushed))[len(at) :]  # H J v
        pulled = copy_into(builder, vjp_graph(f, plan.inputs), (*forward.inputs, *turned))
        return prune(builder.graph(forward.inputs, pulled, forward.name)), gradient_template(info, plan.wrt, 0)


def _after(forward: Graph, n: int) -> Graph:
    """The last output as a function of the n first: these become inputs wherever they are used."""
    cuts = {o: input_node(f"z{k}", plain(o.type)) for k, o in enumerate(forward.outputs[:n])}
    known: dict[Node, Node] = {i: cuts.get(i, i) for i in forward.inputs}
    nodes = []
    for node in forward.nodes:
        inputs = tuple([known[i] for i in node.inputs])
        new = node if inputs == node.inputs else node.with_inputs(inputs)
        nodes.append(new)
        known[node] = cuts.get(node, new)
    return prune(Graph([*forward.inputs, *cuts.values()], nodes, [known[forward.outputs[n]]], forward.name))


@shortens
def ggn_vp(function: Callable[..., Any], loss: Callable[..., Any]) -> Any:
    """Turn a model and a loss into products of the generalised Gauss-Newton matrix and a vector.

    The matrix is Jᵀ H J, with the Jacobian J of the model, and the Hessian H of the loss with respect to what the
    model returns. Unlike the Hessian of `loss(function(x))` it has no negative eigenvalues where the loss is convex.

    Parameters
    ----------
    function : callable
        The model: a function of one argument.
    loss : callable
        The loss: a function of what the model returns, which returns one real number.

    Returns
    -------
    compiled function
        It takes the argument x and a vector v of its structure and shapes, and returns the product:
        `ggn_vp(function, loss)(x, v)`.

    Raises
    ------
    TypeError
        At a call, if the loss does not return one real number.
    ValueError
        At a call, if the vector has another structure or shape than the argument.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> product = tapec.ggn_vp(lambda x: x * x, lambda z: 0.5 * np.sum(z * z))
    >>> product(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    array([ 4., 36.])

    See Also
    --------
    tapec.hvp : products with the Hessian
    """

    def call(f: Any, outer: Any, x: Any, v: Any) -> Any:
        z = f(x)
        return z, outer(z)

    names = with_other(parameter_names(function, 1), "v")
    return CompiledFunction(Adapter(call, function, loss, parameters=names), GaussNewton())
