"""This module lists, for each analysis of graphs, the ops for which it has no rule, and what it assumes of these.

The list stands in ops_without_rules.txt, so that a new op, or a lost rule, is a line in a diff that somebody reads.
"""

from __future__ import annotations

import importlib
import pkgutil
import textwrap
from collections.abc import Callable
from pathlib import Path

import tapec
from tapec.autodiff.composite import stabilising_shift
from tapec.autodiff.composite.singular_powers import order_of_zero
from tapec.autodiff.eigen import eigen_axes
from tapec.autodiff.jacobian import banded, basis_rules
from tapec.autodiff.sparse import sparsity_rules
from tapec.codegen.floats import elementwise_expansion
from tapec.ir import OPS, Op
from tapec.ops.core.lazy import import_all
from tapec.passes.engine import axis_symmetry, may_be_nonfinite
from tapec.passes.zero_safety import structural_zeros
from tapec.runtime.disk_cache.key import is_ours

PATH = Path(__file__).with_suffix(".txt")
NO_VALUES = ("input", "constant", "guard")  # kinds that compute nothing
# what programs on Python's floats are made of, by kind and by name: no analysis meets it, and some of it comes with use
ON_FLOATS = ("float", "unpack", "pack", "pack_again")
NEWER = ("matvec", "vecmat")  # ops of functions that NumPy 2.0 and 2.1 lack; they have rules where `vecdot` has

# what is analysed, whether there is a rule for an op, and what holds of the others
ANALYSES: dict[str, tuple[Callable[[Op], bool], str]] = {
    "sparsity of Jacobians (autodiff/sparse)": (
        lambda op: op in sparsity_rules.RULES or op.kind in sparsity_rules.KINDS,
        "each element may depend on each element of the operands",
    ),
    "products with a basis of unit vectors (autodiff/jacobian/basis_rules)": (
        lambda op: op in basis_rules.RULES,
        "the op's batching rule, on arrays with all their zeros",
    ),
    "banded Jacobians (autodiff/jacobian/banded)": (
        lambda op: op in banded.RULES,
        "the Jacobian has no bands",
    ),
    "axes along which eigenvectors depend on an array (autodiff/eigen)": (
        lambda op: op in eigen_axes._RULES or op.kind in eigen_axes._KINDS,
        "a result depends on its operands everywhere",
    ),
    "shifts that cancel (autodiff/composite/stabilising_shift)": (
        lambda op: op in stabilising_shift._RULES,
        "a result may depend on the shift, which is then differentiated",
    ),
    "orders of zeros under roots (autodiff/composite/singular_powers)": (
        lambda op: op in order_of_zero._ORDERS,
        "the order of the zero is not known",
    ),
    "symmetric matrices (passes/engine/axis_symmetry)": (
        lambda op: op in axis_symmetry._RULES or op.kind == "elementwise",
        "a result need not be symmetric",
    ),
    "structural zeros (passes/zero_safety/structural_zeros)": (
        lambda op: op in structural_zeros._RULES,
        "a result may have such zeros anywhere, if an operand in which it is linear has some",
    ),
    "finite results of finite operands (passes/engine/may_be_nonfinite), elementwise ops alone": (
        lambda op: (
            op.kind != "elementwise"
            or op in may_be_nonfinite._FINITE_FOR_FINITE
            or op in may_be_nonfinite._NONFINITE_FOR_FINITE
        ),
        "a result may be inf or nan",
    ),
    "elements as Python floats (codegen/floats)": (
        lambda op: elementwise_expansion.rule_of(op) is not None,
        "the op is done on arrays",
    ),
}


def define_all() -> None:
    """Import all modules but those of other libraries' names, and all families: each op is defined then."""
    for module in pkgutil.walk_packages(tapec.__path__, "tapec."):
        if not module.name.startswith(("tapec.compat", "tapec.__main__")):
            importlib.import_module(module.name)
    import_all()


def listing() -> str:
    """Return the whole list as text."""
    define_all()
    ours = {name: op for name, op in OPS.items() if is_ours(op)}  # pages of the documentation define others
    named = {name: op for name, op in ours.items() if name.isidentifier() and name not in NEWER}
    left_out = {*NO_VALUES, *ON_FLOATS}
    ops = [op for name, op in sorted(named.items()) if left_out.isdisjoint((name, op.kind))]
    parts = []
    for name, (has_rule, default) in ANALYSES.items():
        without = [op.name for op in ops if not has_rule(op)]
        words = textwrap.fill(" ".join(without), 116, initial_indent="    ", subsequent_indent="    ")
        parts.append(f"{name}\n  {len(without)} of {len(ops)} ops have no rule: {default}\n{words}\n")
    return "\n".join(parts)


def write() -> bool:
    """Write the list; return whether it changed."""
    text = listing()
    changed = not PATH.exists() or PATH.read_text() != text
    if changed:
        PATH.write_text(text)
    return changed
