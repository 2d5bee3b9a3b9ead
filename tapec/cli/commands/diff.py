"""Tell what changed between two versions of a gradient: in what it computes, not in how it is written."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import numpy as np

from tapec.cli import tuning
from tapec.cli.compared_versions import Snapshot, parse_version, snapshot
from tapec.cli.terminal import show, show_json, styled, table, working
from tapec.cli.transform_options import TRANSFORMS
from tapec.ir import CONSTANT, Graph, Type
from tapec.ir.checks.interpreter import interpret
from tapec.ir.checks.sample_values import sample_value
from tapec.report.graph_cost import cost_of
from tapec.report.units import bytes_text, count_text

HELP = "tell what changed between two versions"
EXAMPLES = """\
examples:
  tapec diff model.py:loss other.py:loss             two files
  tapec diff HEAD~1 model.py:loss                    the file as it was in git, and as it is
  tapec diff v1.0:model.py:loss main:model.py:loss   two revisions

Exit code 0 when both compute the same (to rounding), 1 when they do not. Where the programs differ, both are run on the
arguments and on random ones of both signs; they count as the same when all results agree to 1e-9 (single precision:
1e-4). Of functions that branch, the path that the arguments take is compared."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help="TARGET, REVISION:TARGET, or a git revision of B's file")
    parser.add_argument("b", metavar="B", help="TARGET, REVISION:TARGET, or a git revision of A's file")
    parser.add_argument("--args", nargs="*", metavar="WORD", help="arguments, as for other commands")
    wrt = "arguments to differentiate with respect to: names or positions (default: 0)"
    parser.add_argument("--wrt", metavar="W,B", help=wrt)
    parser.add_argument("--transform", metavar="NAME", choices=TRANSFORMS, help="what to compare (default: grad)")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int:
    a, b = parse_version(options.a, options.b), parse_version(options.b, options.a)
    with working("tracing both versions"):
        old, new = snapshot(a, options), snapshot(b, options)
    (forward_a, grad_a), (forward_b, grad_b) = old.graphs(), new.graphs()
    found = {"function": compare(forward_a, forward_b, old, new), "gradient": compare(grad_a, grad_b, old, new)}
    if old.branches or new.branches:
        for f in found.values():
            f["why"] = f"{f['why']}. " * bool(f["why"]) + "Compared on the path that the arguments take"
    same = all(f["verdict"] != "differs" for f in found.values())
    if options.json:
        show_json({"same": same, **found})
    else:
        for what, f in found.items():
            report(what, f)
    return 0 if same else 1


def report(what: str, found: dict[str, Any]) -> None:
    style = "bad" if found["verdict"] == "differs" else "good"
    show(f"{what}: {styled(found['verdict'], style)}{'. ' + found['why'] if found['why'] else ''}")
    for sign, counts in (("-", found["gone"]), ("+", found["new"])):
        if counts:
            listed = ", ".join(f"{name} × {n}" if n > 1 else name for name, n in counts.items())
            show(styled(f"  {sign} {listed}", "bad" if sign == "-" else "good"))
    if found["cost"][0] != found["cost"][1]:
        rows = [[f"  {w}", count_text(c[0]), count_text(c[1]), bytes_text(c[2])] for w, c in zip("AB", found["cost"])]
        show(table(rows, ("", "nodes", "flops", "moved"), " rrr"))


def compare(a: Graph, b: Graph, old: Snapshot, new: Snapshot) -> dict[str, Any]:
    """Compare two graphs: are they the same program on the same captured values, or do they give the same results?"""
    before, after = Counter(kinds(a)), Counter(kinds(b))
    found: dict[str, Any] = {
        "verdict": "same",
        "why": "",
        "gone": dict(before - after),
        "new": dict(after - before),
        "cost": [list(cost_of(a)), list(cost_of(b))],
    }
    if a == b and not any(map(apart, old.values[old.given :], new.values[new.given :])):
        return found
    given = [g.inputs[: s.given] for g, s in ((a, old), (b, new))]
    signatures = [", ".join(f"{i.name}: {i.type}" for i in inputs) for inputs in given]
    types = [", ".join(str(o.type) for o in g.outputs) for g in (a, b)]
    if [i.type for i in given[0]] != [i.type for i in given[1]]:
        found.update(verdict="differs", why=f"It takes {signatures[1]}; it took {signatures[0]}")
    elif types[0] != types[1]:
        found.update(verdict="differs", why=f"It gives {types[1]}; it gave {types[0]}")
    else:
        found.update(by_values(a, b, old, new))
    return found


def kinds(graph: Graph) -> list[str]:
    return [n.op.name for n in graph.nodes if n.op is not CONSTANT]


def by_values(a: Graph, b: Graph, old: Snapshot, new: Snapshot) -> dict[str, str]:
    """Run both on the given arguments and on random ones, each with what it captured."""
    rng = np.random.default_rng(0)
    worst = [0.0] * len(b.outputs)
    for k in range(tuning.DIFF_RUNS):
        sampled = _of_both_signs if k % 2 else sample_value
        given = new.values[: new.given] if k == 0 else [sampled(i.type, rng) for i in b.inputs[: new.given]]
        with np.errstate(all="ignore"):  # outside the domain of a function both are nan
            before = interpret(a, *given, *old.values[old.given : len(a.inputs)])
            after = interpret(b, *given, *new.values[new.given : len(b.inputs)])
        for n, (x, y) in enumerate(zip(before, after)):
            worst[n] = max(worst[n], apart(x, y))
    limits = [1e-4 if o.type.dtype.itemsize <= (8 if o.type.dtype.kind == "c" else 4) else 1e-9 for o in b.outputs]
    wrong = [n for n, limit in enumerate(limits) if not worst[n] <= limit]
    if not wrong:
        return {"verdict": "same values", "why": f"Computed in another way; results agree to {max(worst):.1e}"}
    listed = ", ".join(f"output {n} by {worst[n]:.2g}" if len(limits) > 1 else f"by {worst[n]:.2g}" for n in wrong)
    return {"verdict": "differs", "why": f"Results differ relative to their size: {listed}"}


def _of_both_signs(t: Type, rng: np.random.Generator) -> Any:
    """A value of a type: reals are drawn around zero, about as large as 2."""
    is_real = t.dtype.kind == "f" and not t.weak
    return (2.0 * np.asarray(rng.standard_normal(t.shape))).astype(t.dtype)[()] if is_real else sample_value(t, rng)


def apart(x: Any, y: Any) -> float:
    """The largest difference relative to the largest number; nan and inf must stand in the same places."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype.kind not in "fc":
        return 0.0 if np.array_equal(x, y) else np.inf
    finite = np.isfinite(x)
    if not np.array_equal(finite, np.isfinite(y)) or not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return np.inf
    size = max(np.max(np.abs(x[finite]), initial=0.0), np.max(np.abs(y[finite]), initial=0.0))
    return float(np.max(np.abs(x[finite] - y[finite]), initial=0.0) / size) if size else 0.0
