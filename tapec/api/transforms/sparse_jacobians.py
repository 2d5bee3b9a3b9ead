"""Define `sparsity`, and Jacobians and Hessians as `scipy.sparse` matrices."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from tapec.api.compiled.exporting.export import Text, by_path, module_text, result_text, write_text
from tapec.api.compiled.exporting.pickling import load_saved, origin_of, saved_state
from tapec.api.compiled.exporting.source_literals import constant_text
from tapec.api.compiled.function import CompiledFunction
from tapec.api.compiled.method_decorators import Wrapper, bound, decorator, dress, is_class_method
from tapec.api.compiled.packing import Out
from tapec.api.compiled.signature import Arguments, Binder
from tapec.api.compiled.transform import Template, Transform
from tapec.api.transforms.compile_and_grad import Wrt, check_loss, gradient_template, wrt_plan
from tapec.api.transforms.result_structure import checked_mode, grafted, hessian_template, numbered, split_aux
from tapec.autodiff.compose.inline_graph import copy_into
from tapec.autodiff.reverse import value_and_grad_graph
from tapec.autodiff.sparse.recovery import Compressed, sparse_hessian_graph, sparse_jacobian_graph
from tapec.autodiff.sparse.sparsity_pattern import jacobian_pattern
from tapec.errors import TapecError, at_user_line, warn_user
from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Builder, Graph, Node
from tapec.ir.source_location import place_of
from tapec.ir.types import is_differentiable
from tapec.ops import ArrayLike
from tapec.pytree import LEAF, Nested, unflatten
from tapec.tracebacks import shortens

__all__ = ["SparseFunction", "sparse_hessian", "sparse_jacobian", "sparsity"]


class Layout(NamedTuple):
    """Belongs to a compiled path: the patterns of its blocks, and the structure that these make.

    `integers` are those it relies on, `reasons` what made rows dense, `colors` the products that it takes.
    """

    patterns: list[Any]
    template: Template
    integers: list[Any]
    reasons: list[str]
    colors: int


class Sparse(Transform):
    """Computes the entries of sparse matrices, one for each pair of leaves; the rest is known when the path is
    compiled."""

    def __init__(self, name: str, argnums: Any, mode: str = "auto", has_aux: bool = False):
        self.name = name
        self.argnums = argnums
        self.mode = mode
        self.has_aux = has_aux

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Wrt:
        plan = wrt_plan(self.name, self.argnums, binder, info, args, kwargs)
        if any(info.types[k].dtype.kind == "c" for k in plan.inputs):
            raise TypeError(at_user_line(f"{self.name}: the argument must be real. Fix: leave sparse=True out"))
        return plan

    def build(self, forward: Graph, info: Arguments, plan: Wrt) -> tuple[Graph, Template]:
        known = {node: value for node, value in info.integers.items() if node in forward.inputs}
        template, blocks, aux = self.blocks(forward, info, plan, known)
        reasons = list(dict.fromkeys([_reason(node) for made in blocks for node in made.dense]))
        if reasons:
            warn_user(f"{self.name}: rows of the pattern are dense because of {'; '.join(reasons)}")
        builder = Builder()
        entries = [node for made in blocks for node in copy_into(builder, made.graph, forward.inputs)]
        given = [np.array(v) for v in known.values()]
        layout = Layout([b.pattern for b in blocks], template, given, reasons, sum(b.colors for b in blocks))
        more = [*known, *copy_into(builder, Graph(forward.inputs, forward.nodes, aux.outputs), forward.inputs)]
        graph = builder.graph(forward.inputs, [*entries, *more], forward.name)
        n, k = len(entries), len(known)
        parts = (_row(n), LEAF, _row(k), aux.tree)
        leaves = [*map(Out, range(n)), layout, *[Out(n + j) for j in range(k)], *numbered(aux.statics, n + k)]
        return graph, (Nested(tuple, None, parts), leaves)

    def blocks(
        self, forward: Graph, info: Arguments, plan: Wrt, known: dict[Node, Any]
    ) -> tuple[Template, list[Compressed], Aux]:
        """The structure of the matrices, the matrices, and what is auxiliary."""
        tree, statics, aux = split_aux(self.name, info, self.has_aux)
        n = sum(s is LEAF for s in statics)
        made: list[Compressed] = []
        parts: list[Template] = []
        outputs = iter(forward.outputs[:n])
        for s in statics:
            output = next(outputs) if s is LEAF else None
            if output is None or not is_differentiable(output.type):
                parts.append((LEAF, [None]))
                continue
            if output.type.dtype.kind != "f":
                shown = f"the function returned {output.type}; a sparse matrix is of real numbers"
                raise TypeError(at_user_line(f"{self.name}: {shown}. Fix: leave sparse=True out"))
            parts.append(gradient_template(info, plan, len(made)))
            one = Graph(forward.inputs, forward.nodes, [output], forward.name)
            made += [self.compressed(one, w, known) for w in plan.inputs]
        if not made:
            shown = ", ".join(str(o.type) for o in forward.outputs[:n]) or "nothing that is an array"
            raise TypeError(at_user_line(f"{self.name}: the function returned {shown}, which has no derivative"))
        return grafted(tree, parts), made, Aux(aux or _row(0), info.statics[len(statics) :], forward.outputs[n:])

    def compressed(self, forward: Graph, w: int, known: dict[Node, Any]) -> Compressed:
        return sparse_jacobian_graph(forward, w, self.mode, known)


class Aux(NamedTuple):
    """Holds the auxiliary results: their structure, their leaves, and the outputs among these."""

    tree: Any
    statics: Any
    outputs: Any


def _row(n: int) -> Nested:
    return Nested(tuple, None, (LEAF,) * n)


class SparseHessian(Sparse):
    def blocks(
        self, forward: Graph, info: Arguments, plan: Wrt, known: dict[Node, Any]
    ) -> tuple[Template, list[Compressed], Aux]:
        check_loss(self.name, info, self.has_aux, forward)
        made = [self._block(forward, i, j, known) for i in plan.inputs for j in plan.inputs]
        _, statics, aux = split_aux(self.name, info, self.has_aux)
        more = Aux(aux or _row(0), info.statics[len(statics) :], forward.outputs[1:])
        return hessian_template(info, plan), made, more

    def _block(self, forward: Graph, i: int, j: int, known: dict[Node, Any]) -> Compressed:
        """The derivative with respect to input j of the gradient with respect to input i."""
        if i == j:
            return sparse_hessian_graph(forward, i, known)
        joint = value_and_grad_graph(forward, [i])
        gradient = Graph(joint.inputs, joint.nodes, joint.outputs[-1:], forward.name)
        return sparse_jacobian_graph(gradient, j, "auto", known)


class Sparsity(Sparse):
    """Gives the patterns alone: nothing is computed."""

    def compressed(self, forward: Graph, w: int, known: dict[Node, Any]) -> Compressed:
        (pattern,), dense = jacobian_pattern(forward, [w], known)
        return Compressed(Graph(forward.inputs, (), (), forward.name), pattern, dense, 0, "")


def _reason(node: Node) -> str:
    place = "" if node.origin is None else f" at {place_of(node.origin).short}"
    return f"{node.op.name}{place}"


class SparseFunction(Wrapper):
    """A function that returns a sparse matrix; `source`, `ir` and `explain` are those of the code for its entries."""

    def __init__(self, compiled: CompiledFunction, finish: Callable[[Any, Any], Any]):
        dress(self, compiled._function)
        self._compiled = compiled
        self._function = compiled._function
        self._finish = finish
        self._bound: dict[int, SparseFunction] = {}

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        return bound(
            self, owner, self._bound, lambda: SparseFunction(self._compiled.__get__(owner, kind), self._finish)
        )

    def _like(self, function: Callable[..., Any]) -> SparseFunction:
        return SparseFunction(self._compiled._like(function), self._finish)

    @shortens
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], type) and is_class_method(self, args[0]):
            return self.__get__(args[0])(*args[1:], **kwargs)
        entries, layout, _, aux = self._entries(args, kwargs)
        if any(isinstance(x, ArrayLike) for x in entries):
            raise TypeError(
                at_user_line("a sparse matrix cannot be part of a recording. Fix: products (tapec.jvp, tapec.hvp)")
            )
        tree, leaves = layout.template
        data = iter(entries)
        made = [self._finish(next(data, None), pattern) for pattern in layout.patterns]
        found = unflatten(tree, [None if leaf is None else made[leaf.k] for leaf in leaves])
        return (found, aux) if self._compiled._transform.has_aux else found  # type: ignore[attr-defined]

    def _entries(self, args: Any, kwargs: Any) -> tuple[Any, Layout, Any, Any]:
        """The entries, of a path whose integers are those of now."""
        found = self._compiled(*args, **kwargs)
        if not _hold(found):
            self._compiled.cache_clear()
            found = self._compiled(*args, **kwargs)
            if not _hold(found):
                raise TapecError(f"{self._compiled._name}: index arrays changed while they were read")
        return found

    @shortens
    def reasons(self, *args: Any, **kwargs: Any) -> list[str]:
        """Return the operations for which tapec knows nothing better than dense rows, with the lines of yours.

        Parameters
        ----------
        *args : object
            The arguments of the call.
        **kwargs : object
            Its keyword arguments.

        Returns
        -------
        list of str
            The name of each operation, and the line. The pattern is exact where there are none.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> f = tapec.jacobian(lambda x: x * x, sparse=True)
        >>> f.reasons(np.ones(4))
        []

        See Also
        --------
        tapec.sparsity : the pattern
        """
        return self._entries(args, kwargs)[1].reasons

    @shortens
    def colors(self, *args: Any, **kwargs: Any) -> int:
        """Return how many products with the Jacobian make the matrix.

        Parameters
        ----------
        *args : object
            The arguments of the call.
        **kwargs : object
            Its keyword arguments.

        Returns
        -------
        int
            The number. For a dense matrix it is the smaller of its numbers of rows and columns.

        Examples
        --------
        >>> import numpy as np, tapec
        >>> f = tapec.jacobian(lambda x: x[1:] * x[:-1], sparse=True)
        >>> f.colors(np.ones(1000))
        2

        See Also
        --------
        tapec.jacobian : makes such functions, with `sparse=True`
        """
        return self._entries(args, kwargs)[1].colors

    @shortens
    def source(self, *args: Any, **kwargs: Any) -> str:
        """Return the generated code that computes the entries, as text."""
        return self._compiled.source(*args, **kwargs)

    @shortens
    def ir(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """Return the graph that computes the entries."""
        return self._compiled.ir(*args, stage=stage, **kwargs)

    @shortens
    def export(self, path: Any, *args: Any, **kwargs: Any) -> None:
        """Write a module of its own, for the signature of these arguments, that needs NumPy and SciPy alone."""
        self._entries(args, kwargs)
        entry, program, _ = self._compiled.locate(*args, **kwargs)
        if program is None or program.is_retraced:
            raise TapecError(at_user_line(f"{self._compiled._name} cannot be exported: {entry.why_recorded}"))
        write_text(module_text(self._compiled, entry, program, None, self._results), path)

    def __reduce__(self) -> Any:
        """Pickle the function as generated code, see `CompiledFunction`."""
        return load_saved, saved_state(self._compiled, origin_of(self), self._results)

    def _results(self, program: Any, module: Any) -> list[str]:
        """Return lines of an exported module that make the matrices, if the integers are those the patterns were made
        for."""
        texts, lines = [], []
        for path in program.paths:
            tree, leaves = path.template
            (at,) = [k for k, leaf in enumerate(leaves) if type(leaf) is Layout]
            layout = leaves[at]
            for k, value in enumerate(layout.integers):
                lines.append(f"_require(np.array_equal(r[{at + k}], {constant_text(value)}), 'other integers')")
            if lines and len(program.paths) > 1:
                raise TapecError(f"{self._compiled._name} cannot be exported: its patterns depend on integers")
            made = [self._block(k, p, module) for k, p in enumerate(layout.patterns)]
            inner = [None if leaf is None else made[leaf.k] for leaf in layout.template[1]]
            text = result_text(layout.template[0], inner, module)
            if self._compiled._transform.has_aux:  # type: ignore[attr-defined]
                more = leaves[at + 1 + len(layout.integers) :]
                text = f"({text}, {result_text(tree.children[3], more, module)})"
            texts.append(text)
        return [*lines, *by_path(texts)]

    def _block(self, k: int, pattern: Any, module: Any) -> Text:
        names = []
        for part in ("indices", "indptr"):
            names.append(module.name(part))
            module.constants.append(f"{names[-1]} = {constant_text(getattr(pattern, part))}")
        values = f"np.ones({pattern.nnz}, bool)" if isinstance(self._compiled._transform, Sparsity) else f"r[{k}]"
        where = ", ".join(f"{name}.copy()" for name in names)
        return Text(f"scipy.sparse.csr_matrix(({values}, {where}), shape={pattern.shape})")

    @shortens
    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """Return what tapec knows about a call with these arguments."""
        return self._compiled.explain(*args, **kwargs)

    def cache_info(self) -> Any:
        """Return how often known code answered, and how much is compiled and kept."""
        return self._compiled.cache_info()

    def cache_clear(self) -> None:
        """Forget all code of the function, and start counting anew."""
        self._compiled.cache_clear()

    def __repr__(self) -> str:
        return f"<sparse {self._compiled!r}>"


def _hold(found: Any) -> bool:
    layout, integers = found[1:3]
    return all(np.array_equal(a, b) for a, b in zip(layout.integers, integers, strict=True))


def _matrix(data: Any, pattern: Any) -> Any:
    """A matrix of this pattern, which is one already: making another from its parts would check them again."""
    matrix = copy(pattern)
    matrix.data, matrix.indices, matrix.indptr = data, pattern.indices.copy(), pattern.indptr.copy()
    return matrix


def sparse_jacobian(
    function: Any, argnums: Any, has_aux: bool, mode: str, static_argnums: Any, static_argnames: Any
) -> SparseFunction:
    """Make `tapec.jacobian(f, sparse=True)`."""
    transform = Sparse("jacobian", argnums, checked_mode("jacobian", mode), has_aux)
    return _sparse(function, transform, _matrix, static_argnums, static_argnames)


def sparse_hessian(
    function: Any, argnums: Any, has_aux: bool, static_argnums: Any, static_argnames: Any
) -> SparseFunction:
    """Make `tapec.hessian(f, sparse=True)`."""
    return _sparse(
        function, SparseHessian("hessian", argnums, "auto", has_aux), _matrix, static_argnums, static_argnames
    )


@shortens
def sparsity(function: Any = None, argnums: Any = 0, *, static_argnums: Any = (), static_argnames: Any = ()) -> Any:
    """Turn a function into the pattern of its Jacobian: which elements of the result depend on which of the argument.

    The pattern is found from the operations of the function, and not from values: a place is left out where the
    derivative is zero for all values of the argument.

    Parameters
    ----------
    function : callable, default None
        The function. Without one, `sparsity(...)` gives a decorator that has these options.
    argnums : int, str, or a tuple of these, default 0
        The argument, by position or by name. A tuple asks for a tuple of patterns.
    static_argnums : int or tuple of int, default ()
        Positions of static arguments: code is generated for each value of theirs anew, and they have no gradient.
    static_argnames : str or tuple of str, default ()
        Names of static arguments.

    Returns
    -------
    compiled function
        It takes what the function takes, and returns a boolean `scipy.sparse` CSR matrix, with a row for each element
        of the result and a column for each element of the argument. For nested results and arguments there is a
        matrix for each pair of leaves: `pattern[result_leaf][argument_leaf]`.

    Raises
    ------
    TypeError
        At a call, if result or argument hold no real number.
    ValueError
        At a call, if there is no argument of that position or name.

    Notes
    -----
    Where an operation is known only as a whole, its rows count as dense. A TapecWarning tells which, and so does
    `reasons(*args)` of the function that is returned.

    Examples
    --------
    >>> import numpy as np, tapec
    >>> tapec.sparsity(lambda x: x[1:] * x[:-1])(np.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])

    See Also
    --------
    tapec.jacobian : with `sparse=True`, the values at these places
    tapec.hessian : with `sparse=True`, second derivatives
    """
    transform = Sparsity("sparsity", argnums)

    def pattern(data: Any, found: Any) -> Any:
        return found.copy()

    def make(f: Callable[..., Any]) -> SparseFunction:
        return _sparse(f, transform, pattern, static_argnums, static_argnames)

    return decorator(function, make, transform.key, static_argnums, static_argnames)


def _sparse(
    function: Any, transform: Transform, finish: Any, static_argnums: Any, static_argnames: Any
) -> SparseFunction:
    compiled = CompiledFunction(function, transform, static_argnums=static_argnums, static_argnames=static_argnames)
    return SparseFunction(compiled, finish)
