"""Write a graph with the functions of the array API, whose namespace is an argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapec.codegen import tuning
from tapec.codegen.common.decompose import decomposed
from tapec.codegen.common.explicit_dtypes import with_explicit_dtypes
from tapec.codegen.common.expressions import Expr, Expression, parse_template
from tapec.codegen.common.module_constants import is_eye, is_range
from tapec.codegen.common.module_layout import Function
from tapec.codegen.common.naming import identifier
from tapec.codegen.portable.forms import OPERATORS, REASONS, array_text, dtype_text, form, number_text
from tapec.codegen.portable.helpers import added_at, cholesky_of
from tapec.codegen.pure_lines import BODIES, PureLines
from tapec.codegen.target import Job, Lowered, Target
from tapec.ir import Graph, Node, ops
from tapec.ir.types import Type
from tapec.passes.listed_pass import Pass

__all__ = ["PORTABLE", "Portable"]

DOC = "xp: the array API of the arrays, such as numpy, jax.numpy or array_api_compat.torch"


def known_ops(graph: Graph) -> Graph:
    """Make what the array API has no function for of what it has."""
    return decomposed(graph, lambda node: node.op in BODIES or form(node) is not None)


def explicit_dtypes(graph: Graph) -> Graph:
    """Convert operands where NumPy promotes: the array API leaves much of that to its libraries."""
    return with_explicit_dtypes(graph, OPERATORS)


class Portable(Target):
    """A host target that writes `f(xp, *args)`: each function is looked up in the namespace `xp` of the array API."""

    name = "portable"
    passes = (
        Pass("known-ops", known_ops, is_needed=True),
        Pass("explicit-dtypes", explicit_dtypes, is_needed=True),
    )

    def refusal(self, node: Node) -> str | None:
        if node.op in BODIES or form(node) is not None:
            return None
        kinds = [i.type for i in node.inputs] + list(node.type if node.op.multi else (node.type,))
        odd = [t.dtype.name for t in kinds if t.dtype.kind not in "biufc" or t.dtype.name in ("float16", "longdouble")]
        return f"the array API has no {odd[0]}" if odd else REASONS.get(node.op, "the array API has no such function")

    def lower(self, job: Job) -> Lowered:
        lines = Lines(self.prepared(job.graph, job.observer), job)
        params, body = ("xp", *lines.params), lines.body()
        function = Function(job.name, params, body, lines.constants, lines.cost(job.graph), doc=DOC)
        return Lowered(self.name, function)


class Lines(PureLines):
    """Spells ops, numbers and constants with the functions of the namespace `xp`."""

    def __init__(self, graph: Graph, job: Job):
        super().__init__(graph, job.tree, (job.name, "xp", "added_at", "cholesky_of"))
        self.space = job.space
        self.constants: dict[str, Any] = {}

    def text(self, node: Node) -> str | None:
        helper = added_at if node.op is ops.scatter else cholesky_of if node.op is ops.cholesky else None
        if helper is not None:
            self.space.helper(helper.__name__, helper)
        return form(node)

    def number(self, value: Any) -> Expression:
        text = number_text(value)
        return Expr(parse_template(text, 0), ()) if "n" in text else value

    def row(self, t: Type) -> str:
        return "_0[_1, ...]"

    def rows(self, t: Type) -> str:
        return "xp.stack(_0)" if t.shape[0] else array_text(t.shape, 0, t.dtype)

    def constant(self, node: Node) -> Expression:
        """Write an array from its elements, or from a list that is a constant of the module."""
        value: Any = np.asarray(node.value)
        dtype = dtype_text(value.dtype)
        text = repr(value.tolist()) if value.ndim else number_text(value)
        if is_range(value) or is_eye(value):
            text = f"xp.{'eye' if value.ndim == 2 else 'arange'}({len(value)}, dtype={dtype})"
        elif not value.size:
            text = array_text(value.shape, 0, value.dtype)
        elif value.size > 1 and np.array_equal(value, np.broadcast_to(value.flat[0], value.shape), equal_nan=True):
            text = array_text(value.shape, value.flat[0], value.dtype)
        elif value.ndim and (value.size > tuning.SHOWN_MAX_ELEMENTS or "n" in text):
            name = self.names.fix(identifier(node.name or "c").upper())
            self.constants[name] = self.space.constants[name] = self.space.names[name] = value.tolist()
            text = f"xp.asarray({name}, dtype={dtype})"
        else:
            text = f"xp.asarray({text}, dtype={dtype})"
        return Expr(parse_template(text, 0), ())


PORTABLE = Portable()
