"""`sparsity`, and Jacobians and Hessians as `scipy.sparse` matrices."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapec.api.dispatch import Out
from tapec.api.functions import CompiledFunction, Template, Transform
from tapec.api.methods import bound, decorator, is_class_method
from tapec.api.signature import Arguments, Binder
from tapec.api.transforms import Wrt, check_loss, wrt_plan
from tapec.autodiff.compressed import Compressed, sparse_hessian_graph, sparse_jacobian_graph
from tapec.autodiff.sparsity import jacobian_pattern
from tapec.errors import TapecError, TapecWarning, at_user_line
from tapec.ir import Graph, Node
from tapec.ir.origin import place_of
from tapec.ops import ArrayLike
from tapec.trace.structure import LEAF, Branch

__all__ = ["SparseFunction", "sparse_hessian", "sparse_jacobian", "sparsity"]


class Layout(NamedTuple):
    """What belongs to a compiled path: the pattern, the integers it relies on, what made rows dense, the colours."""

    pattern: Any
    integers: list[Any]
    reasons: list[str]
    colors: int
    mode: str


class Sparse(Transform):
    """The entries of a sparse matrix; the rest of it is known when the path is compiled."""

    def __init__(self, name: str, argnums: Any, mode: str = "auto"):
        self.name = name
        self.argnums = argnums
        self.mode = mode

    def prepare(self, binder: Binder, info: Arguments, args: Any, kwargs: Any) -> Wrt:
        if isinstance(self.argnums, (tuple, list)):
            raise TypeError(at_user_line(f"{self.name}: a sparse matrix is by one argument; argnums is {self.argnums}"))
        plan = wrt_plan(self.name, self.argnums, binder, info, args, kwargs)
        if len(plan.leaves[0]) != 1:
            raise TypeError(at_user_line(f"{self.name}: the argument must be one array, not a structure of arrays"))
        if info.types[plan.inputs[0]].dtype.kind == "c":
            raise TypeError(at_user_line(f"{self.name}: the argument must be real. Mend: leave sparse=True out"))
        return plan

    def build(self, forward: Graph, info: Arguments, plan: Wrt) -> tuple[Graph, Template]:
        self.check(forward, info)
        known = {node: value for node, value in info.integers.items() if node in forward.inputs}
        made = self.compressed(forward, plan.inputs[0], known)
        reasons = [_reason(node) for node in made.dense]
        if reasons:
            warnings.warn(
                f"{self.name}: rows of the pattern are dense because of {'; '.join(dict.fromkeys(reasons))}",
                TapecWarning,
                stacklevel=2,
            )
        layout = Layout(made.pattern, [np.array(v) for v in known.values()], reasons, made.colors, made.mode)
        outputs = [*made.graph.outputs, *known]
        graph = Graph(forward.inputs, made.graph.nodes, outputs, forward.name)
        entries = len(made.graph.outputs)
        tree = Branch(tuple, None, (LEAF, LEAF, Branch(tuple, None, (LEAF,) * len(known))))
        return graph, (tree, [Out(0) if entries else None, layout, *[Out(entries + k) for k in range(len(known))]])

    def check(self, forward: Graph, info: Arguments) -> None:
        if info.result is not LEAF or info.statics[0] is not LEAF:
            raise TypeError(at_user_line(f"{self.name}: the function must return one array"))
        t = forward.outputs[0].type
        if t.dtype.kind != "f":
            raise TypeError(at_user_line(f"{self.name}: the function returned {t}; a sparse matrix is of real numbers"))

    def compressed(self, forward: Graph, w: int, known: dict[Node, Any]) -> Compressed:
        return sparse_jacobian_graph(forward, w, self.mode, known)


class SparseHessian(Sparse):
    def check(self, forward: Graph, info: Arguments) -> None:
        check_loss(self.name, info, False, forward)

    def compressed(self, forward: Graph, w: int, known: dict[Node, Any]) -> Compressed:
        return sparse_hessian_graph(forward, w, known)


class Sparsity(Sparse):
    """The pattern alone: nothing is computed."""

    def compressed(self, forward: Graph, w: int, known: dict[Node, Any]) -> Compressed:
        (pattern,), dense = jacobian_pattern(forward, [w], known)
        return Compressed(Graph(forward.inputs, (), (), forward.name), pattern, dense, 0, "")


def _reason(node: Node) -> str:
    place = "" if node.origin is None else f" at {place_of(node.origin).short}"
    return f"{node.op.name}{place}"


class SparseFunction:
    """A function that returns a sparse matrix; `source`, `ir` and `explain` are those of the code for its entries."""

    def __init__(self, compiled: CompiledFunction, finish: Callable[[Any, Layout], Any]):
        self._compiled = compiled
        self._function = compiled._function
        self._finish = finish
        self._bound: dict[str, SparseFunction] = {}
        self.__name__ = getattr(compiled, "__name__", "function")
        self.__doc__ = compiled.__doc__

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        if owner is None:
            return self
        return bound(
            self, owner, self._bound, lambda: SparseFunction(self._compiled.__get__(owner, kind), self._finish)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], type) and is_class_method(self, args[0]):
            return self.__get__(args[0])(*args[1:], **kwargs)
        data, layout, _ = self._entries(args, kwargs)
        if isinstance(data, ArrayLike):
            raise TypeError(
                at_user_line("a sparse matrix cannot be part of a recording. Mend: products (tapec.jvp, tapec.hvp)")
            )
        return self._finish(data, layout)

    def _entries(self, args: Any, kwargs: Any) -> tuple[Any, Layout, Any]:
        """The entries, of a path whose integers are those of now."""
        found = self._compiled(*args, **kwargs)
        if not _hold(found):
            self._compiled.cache_clear()
            found = self._compiled(*args, **kwargs)
            if not _hold(found):
                raise TapecError(f"{self.__name__}: index arrays changed while they were read")
        return found

    def reasons(self, *args: Any, **kwargs: Any) -> list[str]:
        """The operations, with the user's lines, for which nothing better than dense rows is known."""
        return self._entries(args, kwargs)[1].reasons

    def colors(self, *args: Any, **kwargs: Any) -> int:
        """How many products make the matrix."""
        return self._entries(args, kwargs)[1].colors

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated code that computes the entries."""
        return self._compiled.source(*args, **kwargs)

    def ir(self, *args: Any, stage: str = "optimized", **kwargs: Any) -> Graph:
        """The graph that computes the entries."""
        return self._compiled.ir(*args, stage=stage, **kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> Any:
        """What tapec knows about a call with these arguments."""
        return self._compiled.explain(*args, **kwargs)

    def cache_info(self) -> Any:
        return self._compiled.cache_info()

    def cache_clear(self) -> None:
        self._compiled.cache_clear()

    def __repr__(self) -> str:
        return f"<sparse {self._compiled!r}>"


def _hold(found: Any) -> bool:
    _, layout, integers = found
    return all(np.array_equal(a, b) for a, b in zip(layout.integers, integers, strict=True))


def _matrix(data: Any, layout: Layout) -> Any:
    from scipy.sparse import csr_matrix

    p = layout.pattern
    return csr_matrix((data, p.indices.copy(), p.indptr.copy()), shape=p.shape)


def sparse_jacobian(
    function: Any, argnums: Any, mode: str, static_argnums: Any, static_argnames: Any
) -> SparseFunction:
    """`tapec.jacobian(f, sparse=True)`."""
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(at_user_line(f"jacobian: mode must be 'reverse', 'forward' or 'auto', not {mode!r}"))
    return _sparse(function, Sparse("jacobian", argnums, mode), _matrix, static_argnums, static_argnames)


def sparse_hessian(function: Any, argnums: Any, static_argnums: Any, static_argnames: Any) -> SparseFunction:
    """`tapec.hessian(f, sparse=True)`."""
    return _sparse(function, SparseHessian("hessian", argnums), _matrix, static_argnums, static_argnames)


def sparsity(function: Any = None, argnums: Any = 0, *, static_argnums: Any = (), static_argnames: Any = ()) -> Any:
    """The pattern of a function's Jacobian, worked out from its graph: a boolean `scipy.sparse` CSR matrix.

    A row for each element of the result, a column for each element of the argument.

    >>> import numpy as np, tapec
    >>> tapec.sparsity(lambda x: x[1:] * x[:-1])(np.ones(4)).toarray().astype(int)
    array([[1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    transform = Sparsity("sparsity", argnums)

    def pattern(data: Any, layout: Layout) -> Any:
        return layout.pattern.copy()

    return decorator(function, lambda f: _sparse(f, transform, pattern, static_argnums, static_argnames))


def _sparse(
    function: Any, transform: Transform, finish: Any, static_argnums: Any, static_argnames: Any
) -> SparseFunction:
    compiled = CompiledFunction(function, transform, static_argnums=static_argnums, static_argnames=static_argnames)
    return SparseFunction(compiled, finish)
