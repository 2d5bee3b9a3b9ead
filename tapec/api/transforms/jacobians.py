"""Define `jacobian`, `jacrev`, `jacfwd` and `hessian`: all derivatives, as nested as results and arguments are."""

from __future__ import annotations

from typing import Any

from tapec.api.compiled.method_decorators import decorator
from tapec.api.compiled.signature import Arguments, Binder
from tapec.api.compiled.transform import Template, Transform, result_template, rolled_up
from tapec.api.compiled.typed_wrappers import gives_arrays
from tapec.api.transforms.compile_and_grad import Wrt, check_complex, check_loss, compiled, gradient_template, wrt_plan
from tapec.api.transforms.lazy import sparse_hessian, sparse_jacobian
from tapec.api.transforms.result_structure import checked_mode, grafted, hessian_template, numbered, split_aux
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.jacobian.jacobian_graph import hessian_graph, jacobian_graph
from tapec.errors import at_user_line
from tapec.ir import Builder, Graph
from tapec.ir.types import is_differentiable
from tapec.pytree import LEAF, Nested

__all__ = ["hessian", "jacfwd", "jacobian", "jacrev"]


class Jacobian(Transform):
    """Computes the Jacobian of every result leaf with respect to every argument leaf, and the auxiliary results."""

    def __init__(self, name: str, argnums: Any, mode: str, has_aux: bool, holomorphic: bool):
        self.name = name
        self.argnums = argnums
        self.mode = checked_mode(name, mode)
        self.has_aux = has_aux
        self.holomorphic = holomorphic

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Wrt:
        plan = wrt_plan(self.name, self.argnums, binder, info, args, kwargs)
        if self.holomorphic:
            check_complex(self.name, info, plan)
        return plan

    def build(self, forward: Graph, info: Arguments, plan: Wrt) -> tuple[Graph, Template]:
        tree, statics, aux = split_aux(self.name, info, self.has_aux)
        n = sum(s is LEAF for s in statics)
        forward = rolled_up(forward, info)
        ends = Graph(forward.inputs, forward.nodes, forward.outputs[:n], forward.name)
        if not any(is_differentiable(o.type) for o in ends.outputs):
            raise TypeError(at_user_line(_no_result(self.name, ends)))
        whole = jacobian_graph(ends, plan.inputs, self.mode, self.holomorphic)
        parts: list[Template] = []
        k = 0
        outputs = iter(ends.outputs)
        for s in statics:
            if s is LEAF and is_differentiable(next(outputs).type):
                parts.append(gradient_template(info, plan, k))
                k += len(plan.inputs)
            else:
                parts.append((LEAF, [None]))
        template = grafted(tree, parts)
        if aux is None:
            return whole, template
        builder = Builder()
        rest = Graph(forward.inputs, forward.nodes, forward.outputs[n:], forward.name)
        made = [*copy_into(builder, whole, forward.inputs), *copy_into(builder, rest, forward.inputs)]
        leaves = [*template[1], *numbered(info.statics[len(statics) :], k)]
        return builder.graph(forward.inputs, made, forward.name), (Nested(tuple, None, (template[0], aux)), leaves)


def _no_result(what: str, ends: Graph) -> str:
    shown = ", ".join(str(o.type) for o in ends.outputs) or "nothing that is an array"
    return f"{what}: the function returned {shown}, which has no derivative. Fix: return real or complex numbers."


class Hessian(Transform):
    """Computes second derivatives of a loss, with respect to each pair of argument leaves."""

    name = "hessian"

    def __init__(self, argnums: Any, has_aux: bool):
        self.argnums = argnums
        self.has_aux = has_aux

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Wrt:
        plan = wrt_plan("hessian", self.argnums, binder, info, args, kwargs)
        if any(info.types[k].dtype.kind == "c" for k in plan.inputs):
            raise TypeError(
                at_user_line("hessian takes real arguments. Fix: take the real and the imaginary part as arguments.")
            )
        return plan

    def build(self, forward: Graph, info: Arguments, plan: Wrt) -> tuple[Graph, Template]:
        check_loss("hessian", info, self.has_aux, forward)
        forward = rolled_up(forward, info)
        whole = hessian_graph(forward, plan.inputs)
        template = hessian_template(info, plan)
        if not self.has_aux:
            return whole, template
        builder = Builder()
        made = [*copy_into(builder, whole, forward.inputs), *copy_into(builder, forward, forward.inputs)[1:]]
        tree, aux = result_template(info, len(plan.inputs) ** 2 - 1)
        both = Nested(tuple, None, (template[0], tree.children[1]))
        return builder.graph(forward.inputs, made, forward.name), (both, [*template[1], *aux[1:]])


# -- public -----------------------------------------------------------------------------------------------------------
@gives_arrays
def jacobian(
    function: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    mode: str | None = None,
    holomorphic: bool = False,
    sparse: bool = False,
    static_argnums: Any = (),
    static_argnames: Any = (),
) -> Any:
    """Turn a function into its Jacobian: the derivative of each element of the result by each element of the argument.

    Parameters
    ----------
    function : callable, default None
        The function. Without one, `jacobian(...)` gives a decorator that has these options.
    argnums : int, str, or a tuple of these, default 0
        The argument to differentiate with respect to, by position or by name. A tuple asks for a tuple of Jacobians.
    has_aux : bool, default False
        Whether the function returns a pair: the result, and something that is not differentiated.
    mode : str, default None
        "reverse" computes it by rows, all in one batch, "forward" by columns, "auto" by whichever is less work. None
        is "reverse", with `sparse` it is "auto".
    holomorphic : bool, default False
        Whether function and arguments are complex, and the derivative is that of a holomorphic function.
    sparse : bool, default False
        Whether to return `scipy.sparse` CSR matrices, with a row for each element of the result and a column for each
        element of the argument. Rows, or columns, that do not overlap are computed in one product.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and they have no gradient.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    compiled function
        It takes what the function takes, and returns the Jacobian: an array of the shape of the result, followed by
        the shape of the argument. For nested results and arguments it is nested as the result is, each leaf as the
        argument is: `jac[result_leaf][argument_leaf]`. With `has_aux`, it returns `(jacobian, aux)`.

    Raises
    ------
    TypeError
        If `sparse` and `holomorphic` are both asked for. At a call, if result or argument hold no real or complex
        number.
    ValueError
        If the mode is another word. At a call, if there is no argument of that position or name.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> tapec.jacobian(lambda x: x * x, sparse=True)(np.array([1.0, 2.0])).data
    array([2., 4.])

    See Also
    --------
    tapec.jacrev : by rows
    tapec.jacfwd : by columns
    tapec.sparsity : the places that are not zero
    tapec.vjp : products with it from the left
    tapec.jvp : products with it from the right
    """
    if sparse:
        if holomorphic:
            raise TypeError(at_user_line("jacobian: a sparse matrix is of real numbers. Fix: leave sparse=True out"))
        options = (argnums, has_aux, mode or "auto", static_argnums, static_argnames)
        return decorator(function, lambda f: sparse_jacobian(f, *options), "sparse jacobian", *options)
    transform = Jacobian("jacobian", argnums, mode or "reverse", has_aux, holomorphic)
    return compiled(function, transform, static_argnums, static_argnames)


@gives_arrays
def jacrev(
    function: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
    static_argnums: Any = (),
    static_argnames: Any = (),
) -> Any:
    """Turn a function into its Jacobian, in reverse mode: one pullback a row, all in one batch.

    It is the better choice where a function has more inputs than outputs.

    Parameters
    ----------
    function : callable, default None
        The function. Without one, `jacrev(...)` gives a decorator that has these options.
    argnums : int, str, or a tuple of these, default 0
        The argument to differentiate with respect to, by position or by name. A tuple asks for a tuple of Jacobians.
    has_aux : bool, default False
        Whether the function returns a pair: the result, and something that is not differentiated.
    holomorphic : bool, default False
        Whether function and arguments are complex, and the derivative is that of a holomorphic function.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and they have no gradient.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    compiled function
        It takes what the function takes, and returns what `tapec.jacobian` does.

    Raises
    ------
    TypeError
        At a call, if result or argument hold no real or complex number.
    ValueError
        At a call, if there is no argument of that position or name.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.jacrev(lambda x: np.sum(x * x))(np.array([1.0, 2.0]))
    array([2., 4.])

    See Also
    --------
    tapec.jacfwd : for functions with more outputs than inputs
    tapec.jacobian : either, and sparse ones
    """
    transform = Jacobian("jacrev", argnums, "reverse", has_aux, holomorphic)
    return compiled(function, transform, static_argnums, static_argnames)


@gives_arrays
def jacfwd(
    function: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    holomorphic: bool = False,
    static_argnums: Any = (),
    static_argnames: Any = (),
) -> Any:
    """Turn a function into its Jacobian, in forward mode: one tangent a column, all in one batch.

    It is the better choice where a function has more outputs than inputs.

    Parameters
    ----------
    function : callable, default None
        The function. Without one, `jacfwd(...)` gives a decorator that has these options.
    argnums : int, str, or a tuple of these, default 0
        The argument to differentiate with respect to, by position or by name. A tuple asks for a tuple of Jacobians.
    has_aux : bool, default False
        Whether the function returns a pair: the result, and something that is not differentiated.
    holomorphic : bool, default False
        Whether function and arguments are complex, and the derivative is that of a holomorphic function.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and they have no gradient.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    compiled function
        It takes what the function takes, and returns what `tapec.jacobian` does.

    Raises
    ------
    TypeError
        At a call, if result or argument hold no real or complex number.
    ValueError
        At a call, if there is no argument of that position or name.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.jacfwd(lambda x: np.array([x, x * x, x**3]))(2.0)
    array([ 1.,  4., 12.])

    See Also
    --------
    tapec.jacrev : for functions with more inputs than outputs
    tapec.jacobian : either, and sparse ones
    """
    transform = Jacobian("jacfwd", argnums, "forward", has_aux, holomorphic)
    return compiled(function, transform, static_argnums, static_argnames)


@gives_arrays
def hessian(
    function: Any = None,
    argnums: Any = 0,
    has_aux: bool = False,
    *,
    sparse: bool = False,
    static_argnums: Any = (),
    static_argnames: Any = (),
) -> Any:
    """Turn a function that returns one real number into its Hessian: the matrix of its second derivatives.

    Parameters
    ----------
    function : callable, default None
        The function. Without one, `hessian(...)` gives a decorator that has these options.
    argnums : int, str, or a tuple of these, default 0
        The argument to differentiate with respect to, by position or by name. For a tuple, the Hessian has a block
        for each pair of arguments: `hess[i][j]`.
    has_aux : bool, default False
        Whether the function returns a pair: the number, and something that is not differentiated.
    sparse : bool, default False
        Whether to return `scipy.sparse` CSR matrices, with a row and a column for each element of the argument.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and they have no gradient.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    compiled function
        It takes what the function takes, and returns the Hessian: an array of the shape of the argument, twice. For a
        nested argument it is nested twice: `hess[leaf][leaf]`. With `has_aux`, it returns `(hessian, aux)`.

    Raises
    ------
    TypeError
        At a call, if the function does not return one real number, or the argument is complex or holds no real
        number.
    ValueError
        At a call, if there is no argument of that position or name.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.hessian(lambda x: np.sum(x ** 3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])

    See Also
    --------
    tapec.hvp : its product with a vector, without the matrix
    tapec.ggn_vp : products with the Gauss-Newton matrix
    """
    if sparse:
        options = (argnums, has_aux, static_argnums, static_argnames)
        return decorator(function, lambda f: sparse_hessian(f, *options), "sparse hessian", *options)
    return compiled(function, Hessian(argnums, has_aux), static_argnums, static_argnames)
