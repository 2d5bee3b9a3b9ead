"""Run passes on graph text, and print what comes out."""

from __future__ import annotations

import argparse

from tapec.cli.argument_parsing import pass_names
from tapec.cli.target import read_graph
from tapec.cli.terminal import show_code
from tapec.ir.checks.verifier import verify
from tapec.passes.pipeline import PIPELINE, run_passes

HELP = "run passes on graph text"
EXAMPLES = """\
examples:
  tapec opt graph.ir                      the whole pipeline
  tapec opt --passes fold,cse graph.ir    two passes, in this order
  tapec ir model.py:loss --stage gradient | tapec opt -
  tapec opt --list                        the names of the passes, in their order"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="-", help="a file with graph text; - (or nothing) reads stdin")
    parser.add_argument("--passes", metavar="A,B", help="the passes to run, in this order (default: all)")
    parser.add_argument("--list", action="store_true", help="list the passes and stop")


def run(options: argparse.Namespace) -> None:
    if options.list:
        for one in PIPELINE:
            print(f"{one.name:<14} {one.does}")
        return
    names = pass_names(options.passes) if options.passes is not None else [p.name for p in PIPELINE]
    graph = run_passes(read_graph(options.file), names)
    show_code(str(verify(graph)), "graph")
