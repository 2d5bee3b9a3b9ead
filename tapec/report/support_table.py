"""Make the support table: what gradients pass through, read off the registry so that it cannot lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapec.fast_namedtuple import NamedTuple
from tapec.ir import Op
from tapec.ops.core.define import Missing
from tapec.ops.special.ufunc_definitions import HOME, define_all, face, takes_tensors
from tapec.report.numpy_coverage import KINDS, Entry, entries

__all__ = ["KINDS", "Row", "matching", "method_named", "rows", "scipy_functions", "special_rows"]


class Row(NamedTuple):
    """Holds the row of one function. A column is empty where it does not apply."""

    name: str
    kind: str
    reverse: str
    forward: str
    order: str
    complex: str
    vmap: str
    note: str


def rows() -> list[Row]:
    """Return the rows of NumPy: every public name."""
    return [row_of(e) for e in entries()]


def special_rows() -> list[Row]:
    """The ufuncs of scipy.special under all their names; SciPy has to be there."""
    from scipy import special

    ops = {op.numpy: op for op in define_all()}
    names = {name: getattr(special, name) for name in dir(special)}
    found = {name: ops[value] for name, value in names.items() if isinstance(value, np.ufunc) and value in ops}
    # of two behind one function, that with more arguments tells which of them have no gradient
    called = {op.name.removeprefix(HOME): op for op in sorted(ops.values(), key=lambda op: op.numpy.nin)}
    found |= {face(name): op for name, op in called.items() if op.name.startswith(HOME) and takes_tensors(name)}
    return [row_of(special_entry(HOME + name, op)) for name, op in sorted(found.items())]


def special_entry(name: str, op: Op) -> Entry:
    fixed = unknown_slopes(op)
    if len(fixed) == len(op.sample):
        return Entry(name, "refused", op, "the gradient alone, of which no closed form is known")
    note = f"refused by argument{'s' * (len(fixed) > 1)} {', '.join(map(str, fixed))}" if fixed else ""
    return Entry(name, "no gradient" if op.gradient == "none" else "differentiable", op, note)


def unknown_slopes(op: Op) -> list[int]:
    """Return the numbers of the arguments whose derivative is refused, as the rule answers in the middle of its
    domain."""
    xs = [(np.int64 if d.kind == "i" else np.float64)((d.low + d.high) / 2) for d in op.sample]
    slopes: Sequence[Any] = ()
    with np.errstate(all="ignore"):
        y = op.run(*xs)
        if op.partials is not None:
            slopes = op.partials(np.asarray(y)[()], *xs)
        elif op.vjp is not None:
            slopes = op.vjp([1.0] * len(y) if op.multi else 1.0, y, *xs)
    return [k for k, slope in enumerate(slopes, 1) if isinstance(slope, Missing)]


def scipy_functions() -> dict[str, list[str]]:
    """Return the functions that `tapec.scipy` has of its own, by module."""
    from importlib import import_module

    import tapec.scipy

    modules = [import_module(f"tapec.scipy.{name}") for name in tapec.scipy.MODULES]
    return {m.__name__: sorted(n for n in m.__all__ if not n.isupper()) for m in modules}


def row_of(entry: Entry) -> Row:
    if not entry.gradient:
        return Row(entry.name, entry.kind, "", "", "", "", entry.batched if entry.op else "", entry.note)
    if entry.op is None:
        return Row(entry.name, entry.kind, "yes", "yes", "any", "", entry.batched, entry.note)
    return Row(
        entry.name,
        entry.kind,
        "yes" if entry.op.gradient == "yes" else "zeros",
        forward_mode(entry.op),
        "any",
        "yes" if entry.complex else "",
        entry.batched,
        entry.note,
    )


def forward_mode(op: Op) -> str:
    """Return where the tangents of an op come from."""
    if op.gradient != "yes":
        return "zeros"
    if op.partials is not None or op.jvp is not None or op.linear:
        return "yes"
    return "transposed" if op.vjp is not None else ""


FUNCTION_OF = {"T": "transpose", "fill": "copyto", "flatten": "ravel", "mT": "matrix_transpose"}


def matching(found: list[Row], word: str | None) -> list[Row]:
    """Return rows of a function's name, or else all whose name holds the word; for `ndarray.sum` those of `np.sum`."""
    if word is None:
        return found
    word = word.removeprefix("numpy.").removeprefix("np.")
    if (method := method_named(word)) is not None:
        return [r for r in found if r.name == f"np.{FUNCTION_OF.get(method, method)}"]
    exact = [r for r in found if word in (r.name, r.name.rpartition(".")[2], r.name.removeprefix("np."))]
    return exact or [r for r in found if word in r.name]


def method_named(word: str) -> str | None:
    """Return the name of a method: `sum`, of `ndarray.sum` or `tapec.Tensor.sum`."""
    owner, _, name = word.rpartition(".")
    return name if owner.rpartition(".")[2] in ("ndarray", "Tensor") else None
