"""The pages that are tables: `support.md` from the registry of ops, `conventions.md` from the tests.

`python -m docs.tables --write` writes them; the tests tell when they are out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tapec import Tensor
from tapec.ops.classify import KINDS, MODULES, Entry, entries, method_entries
from tapec.ops.special import define_all
from tests.ops.conventions import CONVENTIONS, Row

__all__ = ["PAGES", "conventions", "support"]

DOCS = Path(__file__).resolve().parent

SUPPORT = """\
# Support table

What each public function of NumPy is to tapec. The page is written from the registry of ops by `python -m docs.tables
--write`; `tapec support NAME` shows a row of it. Derivatives exist in both modes and to every order wherever there is a
gradient, for rules are NumPy on tensors themselves. "At once" means that `vmap` has no loop.
"""
SPECIAL = """\
These work through NumPy's protocol as they are, once SciPy is there. What SciPy has no protocol for is in
`tapec.scipy`: `special` (logsumexp, softmax, log_softmax, polygamma, multigammaln), `linalg`, `stats`, `signal` and
`integrate`. Matrices of `scipy.sparse` multiply tensors with `@`."""
CONVENTIONS_HEAD = """\
# Conventions

What gradients are where mathematics leaves a choice, or has no answer: finite where that is possible, TensorFlow's
choice at ties. Each row is a test; gradients are those of the sum, by each variable in turn, and second derivatives are
finite at all of these points. `None` means that no gradient flows. The page is written by `python -m docs.tables
--write`.
"""


def support() -> str:
    parts = [SUPPORT, "| kind | meaning |", "| --- | --- |"]
    parts += [f"| {kind} | {meaning} |" for kind, meaning in KINDS.items()]
    rows = entries()
    for prefix in MODULES:
        found = [e for e in rows if e.name.rpartition(".")[0] == prefix]
        parts += ["", f"## {prefix}", "", *_table(found)]
    parts += ["", "## Methods and properties of arrays", "", *_table(method_entries(Tensor))]
    parts += ["", "## scipy.special", "", SPECIAL, "", *_table(special_entries()), ""]
    return "\n".join(parts)


def special_entries() -> list[Entry]:
    """The ufuncs of scipy.special; those with a leading underscore stand behind a function of their name."""
    found = [(op.name.replace("._", "."), op) for op in define_all() if not op.name.endswith("_riemann_zeta")]
    kinds = {True: "differentiable", False: "no gradient"}
    return [Entry(name, kinds[op.gradient == "yes"], op, _unknown(op)) for name, op in sorted(found)]


def _unknown(op: Any) -> str:
    """Parameters that are drawn as integers have no known derivative."""
    held = [str(k + 1) for k, domain in enumerate(op.sample) if domain.kind == "i"]
    return f"not in argument {' and '.join(held)}" if held and op.gradient == "yes" else ""


def _table(rows: list[Entry]) -> list[str]:
    head = ["| name | kind | op | complex | vmap | note |", "| --- | --- | --- | --- | --- | --- |"]
    return head + [
        f"| `{e.name}` | {e.kind} | {e.op.name if e.op else ''} | {_yes(e.complex)} | {e.batched} | {e.note} |"
        for e in rows
    ]


def _yes(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"


def conventions() -> str:
    parts = [CONVENTIONS_HEAD]
    for title, rows in CONVENTIONS.items():
        parts += [f"## {title}", "", "| expression | at | gradients | why |", "| --- | --- | --- | --- |"]
        parts += [*map(_convention, rows), ""]
    return "\n".join(parts)


def _convention(row: Row) -> str:
    at = ", ".join(f"{name} = {_value(value)}" for name, value in row.at.items())
    return f"| `{row.code}` | {at} | {', '.join(map(_value, row.grads))} | {row.why} |"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return _value(value[0]) if len(value) == 1 else f"[{', '.join(map(_value, value))}]"
    return f"{value:g}" if isinstance(value, (int, float)) else str(value).strip("()")


PAGES = {"support.md": support, "conventions.md": conventions}

if __name__ == "__main__" and "--write" in sys.argv:
    for name, make in PAGES.items():
        (DOCS / name).write_text(make(), encoding="utf-8")
