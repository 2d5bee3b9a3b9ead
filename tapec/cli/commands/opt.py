"""Run passes on graph text, and print what comes out."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from itertools import groupby

from tapec.cli.argument_parsing import pass_names
from tapec.cli.target import read_graph
from tapec.cli.terminal import show, show_code
from tapec.codegen.numpy import pipeline as of_numpy
from tapec.ir.checks.verifier import verify
from tapec.passes.listed_pass import Pass
from tapec.passes.pipeline import PIPELINE, RECORDED, run_passes

HELP = "run passes on graph text"
EXAMPLES = """\
examples:
  tapec opt graph.ir                      the whole pipeline
  tapec opt --passes fold,cse graph.ir    two passes, in this order
  tapec ir model.py:loss --stage gradient | tapec opt -
  tapec opt --passes sums-of-products -   one of NumPy's
  tapec opt --list                        the names of all passes, in their order"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-", help="a file with graph text; - (or nothing) reads stdin")
    parser.add_argument(
        "--passes", metavar="A,B", help="the passes to run, in this order (default: all but NumPy's own)"
    )
    parser.add_argument(
        "--list", action="store_true", help="list the passes and stop; those with a star run with optimize=False"
    )


def run(options: argparse.Namespace) -> None:
    if options.list:
        show(listed(PIPELINE))
        show(f"\nBefore a program is differentiated:\n{listed(RECORDED)}")
        show(f"\nNumPy's, after these:\n{listed(of_numpy.PIPELINE)}")
        return
    names = pass_names(options.passes) if options.passes is not None else [p.name for p in PIPELINE]
    graph = read_graph(options.file)
    known = {p.name for p in PIPELINE}
    for is_common, group in groupby(names, known.__contains__):
        run_them = run_passes if is_common else of_numpy.run_passes
        graph = run_them(graph, group)
    show_code(str(verify(graph)), "graph")


def listed(passes: Iterable[Pass]) -> str:
    """Return a line for each pass; those with a star run with `settings.optimize=False`, too."""
    return "\n".join([f"{p.name + '*' * p.is_needed:<18} {p.does}" for p in passes])
