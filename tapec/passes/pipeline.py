"""The pipeline is one tuple of passes, which `optimize` runs from first to last."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any

from tapec.config import settings
from tapec.ir import Graph, prune, verify
from tapec.ir.checks.step_observer import StepObserver
from tapec.passes.engine.lazy_pass import LazyPass
from tapec.passes.engine.rewrite import Rewrite, RuleSet
from tapec.passes.pass_report import PassReport, Report
from tapec.passes.rules import (
    ALGEBRA,
    BOUNDS_AND_WHERE,
    CHOLESKY_GRADIENT,
    COMMON_FACTORS,
    CONSTANT_FOLDING,
    CONSTANT_SCALES,
    CUMSUM_ENDS,
    DIAGONALS_AND_TRACES,
    FAST_MATH,
    GRAM_PRODUCTS,
    LAYOUT_CHANGES,
    MANY_RIGHT_HAND_SIDES,
    MASKS,
    POWERS_AS_PRODUCTS,
    READ_AFTER_WRITE,
    RECIPROCALS,
    SCALED_MATMUL,
    SCATTER_PRODUCTS,
    SCATTERED_LINES,
    SLICES,
    SMALL_MATRICES,
    SQUARED_EXPONENTIALS,
    STABLE_FORMS,
    SUMS_AS_MATMUL,
    SUMS_OF_MATMUL,
    SUMS_OF_PARTS,
    SUMS_OF_SELECTED,
    SUMS_OF_SUMS,
    SUMS_WITH_OTHER_KEEPDIMS,
    SYMMETRIC_COTANGENTS,
    TRIANGULAR_INVERSES,
    VARIANCES,
    WEIGHTED_PRODUCTS,
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
# tables that several sets of rules have: about shapes and places, and about numbers
SHAPES = (LAYOUT_CHANGES, READ_AFTER_WRITE, SLICES, DIAGONALS_AND_TRACES, SUMS_OF_SUMS, VARIANCES, SYMMETRIC_COTANGENTS)
NUMBERS = (
    ALGEBRA,
    SMALL_MATRICES,
    SUMS_OF_PARTS,
    POWERS_AS_PRODUCTS,
    SQUARED_EXPONENTIALS,
    ZEROS,
    CONSTANT_SCALES,
    SCALED_MATMUL,
    WEIGHTED_PRODUCTS,
    SUMS_OF_MATMUL,
    GRAM_PRODUCTS,
    SUMS_AS_MATMUL,
    COMMON_FACTORS,
    BOUNDS_AND_WHERE,
    FAST_MATH,
)
GUARDS = LazyPass(
    "Keep infinities out of products with nothing.",
    guards,
    " ".join(sorted(SOURCES.names)),
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
    (
        "masks",
        RuleSet(
            "Keep what was not taken or not read out of gradients.",
            MASKS,
            SCATTER_PRODUCTS,
            SCATTERED_LINES,
            ZERO_COTANGENTS,
        ),
    ),
    ("guards", GUARDS),
    ("fold", RuleSet("Compute constants now.", CONSTANT_FOLDING)),
    ("layout", RuleSet("Compose and drop changes of shape; never build what is only spread out.", *SHAPES)),
    ("factors", RuleSet("Gradients of matrix factors in closed form.", CHOLESKY_GRADIENT)),
    ("stability", RuleSet("Use forms that lose fewer digits.", STABLE_FORMS)),
    ("systems", RuleSet("Solve many systems with one matrix by its inverse.", MANY_RIGHT_HAND_SIDES)),
    ("inverses", INVERSES),
    ("triangles", RuleSet("Inverses of and systems with triangular matrices by blocks.", TRIANGULAR_INVERSES)),
    ("sums", RuleSet("Factors, and products of matrices, come after sums.", SUMS_OF_SELECTED, SUMS_OF_MATMUL)),
    (
        "algebra",
        RuleSet(
            "Neutral elements, signs, powers, zeros, constant factors.",
            *NUMBERS,
            *SHAPES,
            SUMS_WITH_OTHER_KEEPDIMS,
            CONSTANT_FOLDING,
        ),
    ),
    ("chains", CHAINED),
    ("rows", ROWS),
    ("multiples", MULTIPLES),
    ("reciprocals", RuleSet("Divide small arrays rather than large ones.", RECIPROCALS)),
    ("ends", RuleSet("Running sums that are read at one place are sums.", CUMSUM_ENDS)),
    ("batched", BATCHED),
)

NEEDED = tuple([(name, run) for name, run in PIPELINE if name in ("transparent", "dce", "masks", "guards")])
"""The passes that run with `settings.optimize=False`, too: without them gradients would not be finite."""


def optimize(graph: Graph, report: Report | None = None, observer: StepObserver | None = None) -> Graph:
    """Return the graph after all passes; `report` is told what they did, `observer` runs each of them."""
    return run_all(PIPELINE if settings.optimize else NEEDED, graph, report, observer)


def run_all(
    passes: Iterable[tuple[str, Pass]], graph: Graph, report: Report | None, observer: StepObserver | None = None
) -> Graph:
    """Run passes one after the other on a copy of the graph that nobody else holds.

    The numbering of its values goes along from pass to pass, and is dropped in the end.
    """
    start = lean = Graph(graph.inputs, graph.nodes, graph.outputs, graph.name)  # passes put their numbering on it
    start.past = graph.past
    for name, run in passes:
        lean = run_pass(name, run, lean, report, observer)
        lean.past = graph.past
    lean._numbering = lean._heads = lean._uses = lean.past = None
    return graph if lean is start else lean


def run_passes(graph: Graph, names: Iterable[str], report: Report | None = None) -> Graph:
    """Return the graph after the passes of these names, in this order; raise KeyError for a name that is no pass."""
    passes = dict(PIPELINE)
    return run_all([(name, passes[name]) for name in names], graph, report)


def run_pass(name: str, run: Pass, graph: Graph, report: Report | None, observer: StepObserver | None = None) -> Graph:
    """Run a pass, report it, and verify the graph if `settings.verify` asks for that."""
    if observer is not None:
        return observer.step(name, lambda before: run_pass(name, run, before, report), graph)
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
