"""The pipeline is one tuple of passes, which `optimize` runs from first to last; others come before differentiation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from tapec.ir import Graph, Node, ops, prune
from tapec.ir.checks.step_observer import StepObserver
from tapec.ops.control.loop import LOOP
from tapec.passes.engine.lazy_pass import LazyPass
from tapec.passes.engine.rewrite import RuleSet
from tapec.passes.listed_pass import Pass, in_force, named, run_all
from tapec.passes.pass_report import Report
from tapec.passes.rules import (
    ALGEBRA,
    BOUNDS_AND_WHERE,
    CHOLESKY_GRADIENT,
    CLEARED_PARTS,
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
    PART_UPDATES,
    POWERS_AS_PRODUCTS,
    READ_AFTER_WRITE,
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
from tapec.passes.whole_graph.lazy import (
    batched,
    computed_ahead,
    lean_bodies,
    rows_once,
    shared_inverses,
    shared_multiples,
    shortest_chains,
    vectorized,
)
from tapec.passes.whole_graph.roll_loops import rolled
from tapec.passes.whole_graph.spell_numbers import with_numbers_spelled
from tapec.passes.whole_graph.strip_markers import transparent
from tapec.passes.whole_graph.written_order import in_written_order
from tapec.passes.whole_graph.written_rows import with_values_read
from tapec.passes.zero_safety.lazy import guards
from tapec.passes.zero_safety.placed_cotangents import SOURCES, multiplies_placed_cotangents

__all__ = ["PIPELINE", "RECORDED", "has_loops", "optimize", "run_passes", "spelled", "with_loops"]

# tables that several sets of rules have: about shapes and places, and about numbers
SHAPES = (LAYOUT_CHANGES, READ_AFTER_WRITE, SLICES, DIAGONALS_AND_TRACES, SUMS_OF_SUMS, VARIANCES, SYMMETRIC_COTANGENTS)
NUMBERS = (
    ALGEBRA,
    SMALL_MATRICES,
    SUMS_OF_PARTS,
    PART_UPDATES,
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

BODIES = LazyPass(
    "Share, shrink and optimise the bodies of loops, conditions, calls and equations.",
    lambda graph: lean_bodies(graph, optimize),
    "call cond loop region root linear_solve",
)


def loops(graph: Graph, apart: Collection[Node], lists: Sequence[range], recorded: Collection[Node]) -> Graph:
    """Find the loops that tracing has unrolled; what they read of an array that they write is the value written."""
    if not any([n.op is ops.setitem for n in graph.nodes]):
        return rolled(graph, apart, lists, recorded)
    read, new = with_values_read(graph)
    made = rolled(read, {new.get(n, n) for n in apart}, lists, recorded)
    return graph if made is read else made


def at_once(graph: Graph, apart: Collection[Node], lists: Sequence[range], recorded: Collection[Node]) -> Graph:
    """Compute with whole arrays what loops compute row by row, where no turn needs another's result."""
    if not has_loops(graph):
        return graph
    made = vectorized(graph)
    if made is graph or apart:
        return made
    inner = vectorized(graph, keeps_zero=True)
    outer = loops(inner, apart, lists, recorded)  # around those that are arrays now
    return vectorized(outer) if outer is not inner else made


def ahead(graph: Graph, *_: Any) -> Graph:
    """Compute before loops, at once, what products give of their rows and constants alone."""
    return computed_ahead(graph) if has_loops(graph) else graph


def has_loops(graph: Graph) -> bool:
    """Return whether a graph has a loop outside of bodies."""
    return any([n.op is LOOP for n in graph.nodes])


RECORDED: tuple[Pass, ...] = (Pass("rolled", loops), Pass("vectorized", at_once), Pass("ahead", ahead))

PIPELINE: tuple[Pass, ...] = (
    Pass("transparent", transparent, is_needed=True),
    Pass("dce", prune, is_needed=True),
    Pass("cse", cse),
    Pass("bodies", BODIES, is_needed=True),
    Pass(
        "masks",
        RuleSet(
            "Keep what was not taken or not read out of gradients.",
            MASKS,
            SCATTER_PRODUCTS,
            SCATTERED_LINES,
            ZERO_COTANGENTS,
        ),
        is_needed=True,
    ),
    Pass("guards", GUARDS, is_needed=True),
    Pass("fold", RuleSet("Compute constants now.", CONSTANT_FOLDING)),
    Pass("layout", RuleSet("Compose and drop changes of shape; never build what is only spread out.", *SHAPES)),
    Pass("factors", RuleSet("Gradients of matrix factors in closed form.", CHOLESKY_GRADIENT)),
    Pass("stability", RuleSet("Use forms that lose fewer digits.", STABLE_FORMS)),
    Pass("systems", RuleSet("Solve many systems with one matrix by its inverse.", MANY_RIGHT_HAND_SIDES)),
    Pass("inverses", INVERSES),
    Pass("triangles", RuleSet("Inverses of and systems with triangular matrices by blocks.", TRIANGULAR_INVERSES)),
    Pass("sums", RuleSet("Factors, and products of matrices, come after sums.", SUMS_OF_SELECTED, SUMS_OF_MATMUL)),
    Pass(
        "algebra",
        RuleSet(
            "Neutral elements, signs, powers, zeros, constant factors.",
            *NUMBERS,
            *SHAPES,
            SUMS_WITH_OTHER_KEEPDIMS,
            CONSTANT_FOLDING,
        ),
    ),
    Pass("chains", CHAINED),
    Pass("rows", ROWS),
    Pass("multiples", MULTIPLES),
    Pass("ends", RuleSet("Running sums that are read at one place are sums.", CUMSUM_ENDS)),
    Pass("cleared", RuleSet("Parts are cleared when they have been read.", CLEARED_PARTS)),
    Pass("batched", BATCHED),
    Pass("order", in_written_order),  # when numbers have their expressions: these stand elsewhere in a product
)


def with_loops(
    graph: Graph, apart: Collection[Node] = (), lists: Sequence[range] = (), recorded: Collection[Node] = ()
) -> Graph:
    """Return a recorded program with its loops, to be differentiated; values `apart` are in none of them.

    `lists` are the places of inputs that are the elements of one list each; of inputs that are `recorded` any may be
    the elements of one list.
    """
    return run_all(in_force(RECORDED), graph, about=(apart, lists, recorded))


def optimize(graph: Graph, report: Report | None = None, observer: StepObserver | None = None) -> Graph:
    """Return the graph after all passes; `report` is told what they did, `observer` runs each of them."""
    passes = in_force(PIPELINE)
    last = [p for p in passes if p.run is in_written_order]
    changing: list[Pass] = []
    lean = run_all([p for p in passes if p not in last], graph, report, observer, changing=changing)
    return run_all(last, spelled(lean, graph, changing), report, observer)


def spelled(lean: Graph, graph: Graph, changing: Sequence[Pass]) -> Graph:
    """Return what passes have made of a graph, with its numbers as they came about; then the last pass may run.

    `changing` are the passes that have changed the graph: no other has made a number.
    """
    return with_numbers_spelled(lean, graph, lambda other: run_all(changing, other))


def run_passes(graph: Graph, names: Iterable[str], report: Report | None = None) -> Graph:
    """Return the graph after the passes of these names, in this order; raise KeyError for a name that is no pass."""
    return run_all(named(PIPELINE, names), graph, report)
