"""The pipeline is one tuple of passes, which `optimize` runs from first to last."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

from tapec.config import settings
from tapec.ir import Graph, prune, verify
from tapec.passes.engine.lazy_pass import LazyPass
from tapec.passes.engine.rewrite import Rewrite, RuleSet
from tapec.passes.pass_report import PassReport, Report
from tapec.passes.rules import (
    ALGEBRA,
    CHAINS,
    CHOLESKY_GRADIENTS,
    CHOSEN_SUMS,
    CONTRACTIONS,
    DIAGONALS,
    ENDS,
    EXPONENTIALS,
    FACTORS,
    FAST,
    FOLD,
    INDEXING,
    LAYOUT,
    LINES,
    LINES_ADDED,
    MASKS,
    PARTS,
    PLACES,
    POWERS,
    PRODUCTS,
    RECIPROCALS,
    REDUCTIONS,
    SCALES,
    SELECTIONS,
    SINGLES,
    SLICES,
    SPREADS,
    STABILITY,
    SYMMETRIES,
    SYSTEMS,
    TRIANGLES,
    TWINS,
    WEIGHTS,
    ZERO_COTANGENTS,
    ZEROS,
)
from tapec.passes.whole_graph.common_subexpressions import cse
from tapec.passes.whole_graph.conditions import has_steps, is_multiple, is_step, meets_rows, multiplied_products
from tapec.passes.whole_graph.lazy import batched, rows_once, shared_inverses, shared_multiples, shortest_chains
from tapec.passes.whole_graph.strip_markers import transparent
from tapec.passes.zero_safety.lazy import guards
from tapec.passes.zero_safety.placed_cotangents import SOURCES, multiplies_placed_cotangents

__all__ = ["PIPELINE", "optimize", "run_passes"]

Pass = Callable[[Graph], Graph]
SHAPES = (LAYOUT, INDEXING, SLICES, DIAGONALS, REDUCTIONS, SPREADS, SYMMETRIES)
NUMBERS = (
    ALGEBRA,
    SINGLES,
    PARTS,
    POWERS,
    EXPONENTIALS,
    ZEROS,
    SCALES,
    PRODUCTS,
    WEIGHTS,
    LINES_ADDED,
    CHAINS,
    CONTRACTIONS,
    FACTORS,
    SELECTIONS,
    FAST,
)
GUARDS = LazyPass(
    "Keep infinities out of products with nothing.",
    guards,
    " ".join(SOURCES),
    of=multiplies_placed_cotangents,
)
INVERSES = LazyPass("Solve by the inverses that are there.", shared_inverses, "inv")
CHAINED = LazyPass(
    "Multiply chains of matrices in the order that is least work.",
    shortest_chains,
    "matmul",
    of=multiplied_products,
)
ROWS = LazyPass(
    "Multiply rows that repeat before they are taken, and after they are added up.",
    rows_once,
    "matmul scatter",
    on=meets_rows,
)
BATCHED = LazyPass(
    "Do at once what an unrolled loop does step by step with one matrix.",
    batched,
    "add matmul",
    on=is_step,
    of=has_steps,
)
MULTIPLES = LazyPass("Multiply a value, not its products.", shared_multiples, "multiply", on=is_multiple)

PIPELINE: tuple[tuple[str, Pass], ...] = (
    ("transparent", transparent),
    ("dce", prune),
    ("cse", cse),
    ("masks", RuleSet("Keep what was not taken or not read out of gradients.", MASKS, PLACES, LINES, ZERO_COTANGENTS)),
    ("guards", GUARDS),
    ("fold", RuleSet("Compute constants now.", FOLD)),
    ("layout", RuleSet("Compose and drop changes of shape; never build what is only spread out.", *SHAPES)),
    ("factors", RuleSet("Gradients of matrix factors in closed form.", CHOLESKY_GRADIENTS)),
    ("stability", RuleSet("Use forms that lose fewer digits.", STABILITY)),
    ("systems", RuleSet("Solve many systems with one matrix by its inverse.", SYSTEMS)),
    ("inverses", INVERSES),
    ("triangles", RuleSet("Inverses of and systems with triangular matrices by blocks.", TRIANGLES)),
    ("sums", RuleSet("Factors, and products of matrices, come after sums.", CHOSEN_SUMS, LINES_ADDED)),
    ("algebra", RuleSet("Neutral elements, signs, powers, zeros, constant factors.", *NUMBERS, *SHAPES, TWINS, FOLD)),
    ("chains", CHAINED),
    ("rows", ROWS),
    ("multiples", MULTIPLES),
    ("reciprocals", RuleSet("Divide small arrays rather than large ones.", RECIPROCALS)),
    ("ends", RuleSet("Running sums that are read at one place are sums.", ENDS)),
    ("batched", BATCHED),
)

NEEDED = tuple([(name, run) for name, run in PIPELINE if name in ("transparent", "dce", "masks", "guards")])
"""The passes that run with `settings.optimize=False`, too: without them gradients would not be finite."""


def optimize(graph: Graph, report: Report | None = None) -> Graph:
    """Return the graph after all passes; `report` is told what they did.

    With `settings.debug`, a line for the graph, or one for each pass, goes to the standard error.
    """
    if report is None and settings.debug:
        report = Report()
    lean = run_all(PIPELINE if settings.optimize else NEEDED, graph, report)
    if settings.debug and report is not None:
        tell(graph, lean, report)
    return lean


def run_all(passes: Iterable[tuple[str, Pass]], graph: Graph, report: Report | None) -> Graph:
    """Run passes one after the other on a copy of the graph that nobody else holds.

    The numbering of its values goes along from pass to pass, and is dropped in the end.
    """
    start = lean = Graph(graph.inputs, graph.nodes, graph.outputs, graph.name)  # passes put their numbering on it
    start.past = graph.past
    for name, run in passes:
        lean = run_pass(name, run, lean, report)
        lean.past = graph.past
    lean._numbering = lean._heads = lean._uses = lean.past = None
    return graph if lean is start else lean


def tell(before: Graph, after: Graph, report: Report) -> None:
    """Print one line for a graph that was optimised; from level 2 on also one line for each pass."""
    seconds = sum(p.seconds for p in report.passes)
    sizes = f"{len(before.nodes)} -> {len(after.nodes)} nodes"
    print(f"tapec: {after.name}: {sizes}, passes took {1e3 * seconds:.2f} ms", file=sys.stderr)
    if settings.debug > 1:
        print(report, file=sys.stderr)


def run_passes(graph: Graph, names: Iterable[str], report: Report | None = None) -> Graph:
    """Return the graph after the passes of these names, in this order; raise KeyError for a name that is no pass."""
    passes = dict(PIPELINE)
    return run_all([(name, passes[name]) for name in names], graph, report)


def run_pass(name: str, run: Pass, graph: Graph, report: Report | None) -> Graph:
    if report is None:
        new = run(graph)
    else:
        new = reported(name, run, graph, report)
    return verify(new) if settings.verify and new is not graph else new


def reported(name: str, run: Any, graph: Graph, report: Report) -> Graph:
    """Run a pass, and enter what it did in the report."""
    entry = PassReport(name, len(graph.nodes))

    def note(rewrite: Rewrite) -> None:
        entry.hits[rewrite.rule] += 1
        if report.keep:
            entry.rewrites.append(rewrite)

    start = perf_counter()
    new = run(graph, note) if isinstance(run, RuleSet) else run(graph)
    entry.seconds = perf_counter() - start
    entry.after = len(new.nodes)
    report.passes.append(entry)
    return new
