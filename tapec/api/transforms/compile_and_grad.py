"""Define the first decorators: `compile`, `grad`, `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.api.compiled.function import CompiledFunction
from tapec.api.compiled.method_decorators import decorator
from tapec.api.compiled.packing import MISS, Out
from tapec.api.compiled.signature import Arguments, Binder
from tapec.api.compiled.transform import Template, Transform, result_template, rolled_up
from tapec.api.compiled.typed_wrappers import gives_gradient, gives_the_same, gives_value_and_gradient
from tapec.autodiff.mode_choice import goes_forwards, gradient_graph
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.errors import at_user_line
from tapec.ir import CONSTANT, INPUT, Graph, Op, type_of
from tapec.ir.types import is_differentiable
from tapec.op_by_op.eager_gradient import run_one_by_one
from tapec.ops.control.select_and_call import CALL
from tapec.passes.pipeline import has_loops, with_loops
from tapec.pytree import LEAF, Nested, unflatten
from tapec.trace.capture.captured_paths import is_foreign_array
from tapec.trace.function.trace_function import Recorded

__all__ = ["Wrt", "compile", "grad", "value_and_grad", "wrt_plan"]


class Wrt:
    """Says which arguments to differentiate with respect to, by key, and whether the caller gets a tuple of
    gradients."""

    __slots__ = ("keys", "leaves", "many")

    def __init__(self, keys: list[Any], leaves: list[list[int | None]], many: bool):
        self.keys = keys
        self.leaves = leaves  # for each argument, for each of its leaves: its input, None when it has no gradient
        self.many = many

    @property
    def inputs(self) -> list[int]:
        """All inputs to differentiate with respect to, in the order of the gradients."""
        return [i for group in self.leaves for i in group if i is not None]


def wrt_plan(what: str, argnums: Any, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Wrt:
    """Find the leaves to differentiate with respect to; TypeError where an argument has none."""
    many = isinstance(argnums, (tuple, list))
    keys = [binder.resolve(a, len(args), kwargs) for a in (argnums if many else (argnums,))]
    groups: list[list[int | None]] = []
    for key in keys:
        group: list[int | None] = []
        for leaf in info.spans[key]:
            position = info.position[leaf]
            group.append(position if position is not None and is_differentiable(info.types[position]) else None)
        if group and not any(g is not None for g in group):
            name = binder.name_of(key) if isinstance(key, int) else key
            if binder.is_static(key):
                fix = "leave it out of static_argnums and static_argnames, or choose another argument with argnums"
                text = f"{what}: argument {name!r} is static, and has no gradient. Fix: {fix}."
                raise TypeError(at_user_line(text))
            raise TypeError(at_user_line(_no_leaf(what, name, info, key)))
        groups.append(group)
    return Wrt(keys, groups, many)


def _no_leaf(what: str, name: str, info: Arguments, key: Any) -> str:
    kinds = [info.types[p] for leaf in info.spans[key] if (p := info.position[leaf]) is not None]
    one = len(info.spans[key]) == 1 and kinds
    shown = f"is {kinds[0]}, which has" if one else "holds no real or complex number, and has"
    foreign = [type(x).__name__ for k in info.spans[key] if is_foreign_array(x := info.leaves[k])]
    if foreign:
        return f"{what}: argument {name!r} is a {foreign[0]}, no array of NumPy. Fix: np.asarray({name})."
    leaves = [info.leaves[k] for k in info.spans[key]]
    of_objects = any(isinstance(x, np.ndarray) and x.dtype == object for x in leaves)
    if of_objects or any(isinstance(x, np.ndarray) and x.dtype.kind in "iu" for x in leaves):
        fix = f"pass floats, {name}.astype(float)"
    elif leaves and all(isinstance(x, (int, np.integer)) for x in leaves):
        floats = ", ".join([str(float(x)) for x in leaves[:3]]) + ", ..." * (len(leaves) > 3)
        fix = f"pass a float, {name}={floats}" if len(leaves) == 1 else f"pass floats, {floats}"
    else:
        fix = "choose another argument with argnums"
    if not one:
        shown = f"holds {_kinds(leaves)}, no real or complex number, and has"
    return f"{what}: argument {name!r} {shown} no gradient. Fix: {fix}."


def _kinds(leaves: list[Any]) -> str:
    """Tell what an argument holds, by classes."""
    kinds = [f"an array of {x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__ for x in leaves]
    return " and ".join(dict.fromkeys(kinds)) or "nothing"


def _ask_for_arguments(info: Arguments) -> bool:
    """Return whether what a recording's guards ask for is computed of arguments at once."""
    return all([i.op in (INPUT, CONSTANT) for g in info.guards for i in g.node.inputs])


def _start(forward: Graph, program: Graph) -> Graph:
    """Return what is differentiated where derivatives go forwards: the recorded program, round by round, or the one
    with its loops, where these have become arrays."""
    return forward if has_loops(program) else program


class Compile(Transform):
    """The function itself."""

    results_at = 0
    merges = True

    def build(self, forward: Graph, info: Arguments, plan: Any) -> tuple[Graph, Template]:
        return rolled_up(forward, info), result_template(info, 0)


class Grad(Transform):
    """Computes the gradient of a loss, with or without its value."""

    def __init__(self, argnums: Any, has_aux: bool, value: bool, holomorphic: bool = False):
        self.argnums = argnums
        self.holomorphic = holomorphic
        self.has_aux = has_aux
        self.value = value
        self.name = "value_and_grad" if value else "grad"
        self.results_at = 0 if value else -1  # the loss is no output of a gradient alone

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Wrt:
        plan = wrt_plan(self.name, self.argnums, binder, info, args, kwargs)
        if self.holomorphic:
            check_complex(self.name, info, plan)
        return plan

    def build(self, forward: Graph, info: Arguments, plan: Wrt) -> tuple[Graph, Template]:
        check_loss(self.name, info, self.has_aux, forward, "c" if self.holomorphic else "f")
        program = rolled_up(forward, info)
        start = _start(forward, program)
        if self._goes_forwards(start, plan):  # then each round has its derivatives beside its values
            joint = gradient_graph(start, plan.inputs, self.holomorphic)
            if _ask_for_arguments(info):  # else they ask for values of each round
                joint = with_loops(joint, lists=info.lists)
        else:
            joint = value_and_grad_graph(program, plan.inputs, self.holomorphic)
        results = len(forward.outputs)
        if self.value:
            tree, leaves = result_template(info, 0)
            gradient = gradient_template(info, plan, results)
            return joint, (Nested(tuple, None, (tree, gradient[0])), [*leaves, *gradient[1]])
        gradient = gradient_template(info, plan, results - 1)
        if self.has_aux:
            tree, leaves = result_template(info, -1)
            gradient = (Nested(tuple, None, (gradient[0], tree.children[1])), [*gradient[1], *leaves[1:]])
        return Graph(joint.inputs, joint.nodes, joint.outputs[1:], joint.name), gradient

    def gradients_by(self, plan: Wrt) -> list[int]:
        return [] if self.holomorphic else plan.inputs

    def goes_forwards(self, forward: Graph, info: Arguments, plan: Wrt) -> bool:
        return self._goes_forwards(_start(forward, rolled_up(forward, info)), plan)

    def _goes_forwards(self, start: Graph, plan: Wrt) -> bool:
        return not self.holomorphic and goes_forwards(start, plan.inputs)

    def at_first_sight(self, recorded: Recorded, info: Arguments, plan: Wrt) -> tuple[Any, bool]:
        log, is_plain = recorded.trace.log, not (self.has_aux or self.holomorphic)
        slot = log.slot_of(recorded.results[0]) if is_plain and recorded.tree is LEAF else None
        if slot is None or log.type_of(slot).shape or log.type_of(slot).dtype.kind != "f":
            return MISS, False
        by_slot, _, too_new = run_one_by_one(log, (slot,), tuple(plan.inputs), rows=False)  # arguments come first
        if by_slot is None:
            return MISS, too_new

        def of(k: int) -> Any:
            t = info.types[k]
            return by_slot[k]._value if k in by_slot else np.zeros(t.shape, t.dtype)[()]

        leaves = [[None if k is None else of(k) for k in group] for group in plan.leaves]
        trees = [unflatten(info.subtrees[key], group) for key, group in zip(plan.keys, leaves)]
        gradient = tuple(trees) if plan.many else trees[0]
        return (np.asarray(log.values[slot])[()], gradient) if self.value else gradient, False


def gradient_template(info: Arguments, plan: Wrt, first: int) -> Template:
    """The structure of the gradients: that of the arguments, None where a leaf has none."""
    leaves: list[Any] = []
    trees = []
    k = first
    for key, group in zip(plan.keys, plan.leaves):
        trees.append(info.subtrees[key])
        for position in group:
            leaves.append(None if position is None else Out(k))
            k += position is not None
    return (Nested(tuple, None, tuple(trees)), leaves) if plan.many else (trees[0], leaves)


def check_complex(what: str, info: Arguments, plan: Wrt) -> None:
    """Check that the arguments of a holomorphic function are complex numbers."""
    if any(info.types[k].dtype.kind != "c" for k in plan.inputs):
        raise TypeError(at_user_line(f"{what} with holomorphic=True is for complex arguments alone"))


def check_loss(what: str, info: Arguments, has_aux: bool, forward: Graph, kind: str = "f") -> None:
    """A loss is one number, a real one unless told otherwise; with aux, the first of a pair."""
    tree = info.result
    if has_aux:
        if tree is LEAF or tree.kind is not tuple or len(tree.children) != 2:
            raise TypeError(at_user_line(f"{what} with has_aux=True: the function must return a pair (loss, aux)"))
        tree = tree.children[0]
    if tree is not LEAF:
        raise TypeError(
            at_user_line(
                f"{what}: the function must return one number, not a {tree.kind.__name__}. "
                f"Fix: return (loss, aux) and say has_aux=True, or use tapec.jacobian or tapec.vjp."
            )
        )
    static = info.statics[0]
    if static is not LEAF and not isinstance(static, (bool, int)):
        said = f"{what}: the function returned {static!r}, which is no number. Fix: return the loss."
        raise TypeError(at_user_line(said))
    t = forward.outputs[0].type if static is LEAF else type_of(static)
    if t.size != 1 or t.dtype.kind != kind:
        by_kind = {"c": "take np.real or np.abs of it", "f": "leave holomorphic=True out"}
        fix = "reduce it (np.sum, np.mean)" if t.size != 1 else by_kind.get(t.dtype.kind, "compute it in floats")
        raise TypeError(
            at_user_line(
                f"{what}: the loss has shape {t.shape} and dtype {t.dtype.name}; "
                f"a loss is one {'real' if kind == 'f' else 'complex'} number. "
                f"Fix: {fix}, or use tapec.jacobian for all derivatives or tapec.vjp for a cotangent of your own."
            )
        )


def compiled(function: Any, transform: Transform, static_argnums: Any, static_argnames: Any, call_op: Op = CALL) -> Any:
    """Return the result of a decorator: the compiled function, or a decorator that makes it."""

    def make(f: Callable[..., Any]) -> CompiledFunction:
        return CompiledFunction(
            f, transform, static_argnums=static_argnums, static_argnames=static_argnames, call_op=call_op
        )

    return decorator(function, make, transform.key, call_op, static_argnums, static_argnames)


@gives_the_same
def compile(function: Any = None, *, static_argnums: Any = (), static_argnames: Any = ()) -> Any:
    """Run a function as generated code.

    The function is traced at the first call for each signature: the types of its arguments and the structure that
    they are nested in. Later calls run the code that was generated then.

    Parameters
    ----------
    function : callable, default None
        The function. Without one, `compile(...)` gives a decorator that has these options.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and they have no gradient.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    compiled function
        It takes and returns what the function does, and has the methods of compiled functions, as `source` and
        `explain`.

    Raises
    ------
    ValueError
        If no argument has one of the static names or positions.
    DetachError
        At a call, if a value leaves NumPy, as in `statistics.fmean`, so that it could not be followed.
    UnsupportedError
        At a call, for a function of NumPy or SciPy that tapec has no op for.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> @tapec.compile
    ... def f(x):
    ...     return np.sin(x) * 2.0
    >>> f(0.0)
    np.float64(0.0)

    See Also
    --------
    tapec.grad : the gradient, as generated code
    tapec.vmap : the function for a batch of arguments
    """
    return compiled(function, Compile(), static_argnums, static_argnames)


@gives_gradient
def grad(
    function: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
    static_argnums: Any = (),
    static_argnames: Any = (),
) -> Any:
    """Turn a function that returns one real number into its gradient.

    With `holomorphic` it turns one that returns a complex number into its complex derivative.

    Parameters
    ----------
    function : callable, default None
        The function. Without one, `grad(...)` gives a decorator that has these options.
    argnums : int, str, or a tuple of these, default 0
        The argument to differentiate with respect to, by position or by name. A tuple asks for a tuple of gradients.
    has_aux : bool, default False
        Whether the function returns a pair: the number, and something that is not differentiated.
    holomorphic : bool, default False
        Whether function and arguments are complex, and the derivative is that of a holomorphic function.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and they have no gradient.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    compiled function
        It takes what the function takes, and returns the gradient: of the structure, shapes and dtypes of the
        argument, with None in place of what is no real or complex number. With `has_aux`, it returns `(gradient,
        aux)`.

    Raises
    ------
    TypeError
        At a call, if the function does not return one real number, or the argument holds no real or complex number.
    ValueError
        At a call, if there is no argument of that position or name.
    DetachError
        At a call, if a value leaves NumPy, as in `float(x)`, so that its gradient would be lost.
    UnsupportedError
        At a call, for a function of NumPy or SciPy that tapec has no op for.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.grad(lambda x: x * x)(3.0)
    np.float64(6.0)

    As a decorator, for two arguments:

    >>> @tapec.grad(argnums=("w", "b"))
    ... def loss(w, b, x):
    ...     return np.sum(w * x + b)
    >>> loss(np.array([1.0, 2.0]), 0.5, np.array([3.0, 4.0]))
    (array([3., 4.]), np.float64(2.0))

    See Also
    --------
    tapec.value_and_grad : the value with it
    tapec.jacobian : for functions that return more than one number
    tapec.GradientTape : gradients of code that is not a function
    """
    transform = Grad(argnums, has_aux, False, holomorphic)
    return compiled(function, transform, static_argnums, static_argnames)


@gives_value_and_gradient
def value_and_grad(
    function: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
    static_argnums: Any = (),
    static_argnames: Any = (),
) -> Any:
    """Turn a function that returns one real number into its value and its gradient.

    With `holomorphic` it takes a function that returns a complex number.

    Parameters
    ----------
    function : callable, default None
        The function. Without one, `value_and_grad(...)` gives a decorator that has these options.
    argnums : int, str, or a tuple of these, default 0
        The argument to differentiate with respect to, by position or by name. A tuple asks for a tuple of gradients.
    has_aux : bool, default False
        Whether the function returns a pair: the number, and something that is not differentiated.
    holomorphic : bool, default False
        Whether function and arguments are complex, and the derivative is that of a holomorphic function.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and they have no gradient.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    compiled function
        It takes what the function takes, and returns `(value, gradient)`. With `has_aux`, it returns
        `((value, aux), gradient)`.

    Raises
    ------
    TypeError
        At a call, if the function does not return one real number, or the argument holds no real or complex number.
    ValueError
        At a call, if there is no argument of that position or name.
    DetachError
        At a call, if a value leaves NumPy, as in `float(x)`, so that its gradient would be lost.
    UnsupportedError
        At a call, for a function of NumPy or SciPy that tapec has no op for.

    Examples
    --------
    >>> import tapec
    >>> tapec.value_and_grad(lambda x: x * x)(3.0)
    (np.float64(9.0), np.float64(6.0))

    Something more comes along, which is not differentiated:

    >>> tapec.value_and_grad(lambda x: (x * x, {"x": x}), has_aux=True)(3.0)
    ((np.float64(9.0), {'x': np.float64(3.0)}), np.float64(6.0))

    See Also
    --------
    tapec.grad : the gradient alone
    tapec.vjp : the value now, and products with the Jacobian later
    """
    transform = Grad(argnums, has_aux, True, holomorphic)
    return compiled(function, transform, static_argnums, static_argnames)
