"""Tell which NumPy and SciPy functions gradients pass through, and what else is known of them."""

from __future__ import annotations

import argparse
import difflib
from collections import Counter
from pkgutil import resolve_name

from tapec.cli.error_messages import Problem
from tapec.cli.terminal import show, show_json, styled, table
from tapec.extras import install_hint, is_missing
from tapec.report.support_table import KINDS, Row, matching, method_named, rows, scipy_functions, special_rows
from tapec.trace.tensor import Tensor

HELP = "tell which functions are supported"
EXAMPLES = """\
examples:
  tapec support                 the whole table
  tapec support einsum          one function
  tapec support linalg          all whose name holds the word
  tapec support ndarray.sum     a method of arrays
  tapec support --json"""

_HEAD = ("function", "gradient", "reverse", "forward", "complex", "vmap", "note")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="a function, or part of a name")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> None:
    known = [*rows(), *scipy_rows()]
    found = matching(known, options.name)
    note = "takes tensors where SciPy's own does not"
    own = [] if found else counterparts(options.name)
    if not found and hasattr(Tensor, method_named(options.name) or ""):
        own, note = [options.name], "is the same on tensors"
    if own:
        if options.json:
            show_json([{"name": name, "note": note} for name in own])
        else:
            show("\n".join([f"{name} {note}" for name in own]))
        return
    if not found:
        if is_missing("scipy"):
            hint = f"and SciPy is not installed: {install_hint('scipy')}"
            raise Problem(f"no public function of NumPy is called {options.name}, {hint}")
        close = difflib.get_close_matches(options.name, [r.name.rpartition(".")[2] for r in known], n=3)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise Problem(f"no public function of NumPy or scipy.special is called {options.name}{hint}")
    if options.json:
        show_json([r._asdict() for r in found])
        return
    show(table([[r.name, r.kind, r.reverse, r.forward, r.complex, r.vmap, r.note] for r in found], _HEAD))
    if len(found) > 20:
        counts = Counter(r.kind for r in found)
        show()
        show(table([[kind, str(counts[kind]), about] for kind, about in KINDS.items() if counts[kind]], right=" r"))
    if is_missing("scipy"):
        show(f"SciPy is not installed, so its functions are not listed: {install_hint('scipy')}")
    show(styled("every derivative can be differentiated again; reverse and forward mode in any order", "dim"))


def counterparts(name: str) -> list[str]:
    """Return the names in tapec.scipy that equal this one, or end with it, or whose module does; also `norm.logpdf`."""
    name = "tapec." * name.startswith("scipy.") + name
    try:
        known = [(module, f"{module}.{n}") for module, names in scipy_functions().items() for n in names]
    except ImportError:
        return []
    own = [full for module, full in known if full.endswith("." + name) or name in (full, module)]
    if own or "." not in name:
        return own
    whole, _, part = name.rpartition(".")
    owners = [full for _, full in known if full.endswith("." + whole) or full == whole]
    return [f"{full}.{part}" for full in owners if part in dir(resolve_name(full))]


def scipy_rows() -> list[Row]:
    """Return the rows of scipy.special; none where SciPy is not installed."""
    try:
        return special_rows()
    except ImportError:
        return []
