"""Draw the graph: forward operations on the left, their derivatives on the right, one frame for each of your lines."""

from __future__ import annotations

import argparse

from tapec.cli.commands.ir import add_stage
from tapec.cli.inspected_program import add_target, subject_of
from tapec.cli.terminal import show
from tapec.report.graph_picture.dot import dot
from tapec.report.graph_picture.picture_file import save_picture

HELP = "draw the graph"
EXAMPLES = """\
examples:
  tapec graph model.py:loss -o loss.svg                     no other program is needed
  tapec graph model.py:loss -o loss.png                     with CairoSVG or Graphviz installed
  tapec graph model.py:loss --stage optimized -o lean.svg
  tapec graph model.py:loss                                 DOT on the terminal"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    add_stage(parser, "gradient")
    parser.add_argument("-o", "--output", metavar="FILE", help="a file that ends in .svg, .dot, .png or .pdf")
    parser.add_argument("--limit", type=int, default=400, help="above so many nodes, a line's operations are one box")


def run(options: argparse.Namespace) -> None:
    graph = subject_of(options).stage(options.stage)
    if options.output:
        save_picture(graph, options.output, options.limit)
        show(f"wrote {options.output}")
    else:
        show(dot(graph, options.limit).rstrip("\n"))
