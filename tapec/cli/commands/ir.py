"""Print a graph as text: what was recorded, its gradient, or what code is generated from."""

from __future__ import annotations

import argparse

from tapec.cli.inspected_program import add_target, subject_of
from tapec.cli.terminal import show_code

HELP = "print the graph as text"
EXAMPLES = """\
examples:
  tapec ir model.py:loss                      the gradient, optimised
  tapec ir model.py:loss --stage forward      what was recorded
  tapec ir model.py:loss --stage gradient     what differentiation made of it, before the passes
  tapec ir model.py:loss --stage target       what code is written from: what NumPy's passes made of that
  tapec ir graph.ir --transform grad          the gradient of a graph given as text"""

STAGES = ("forward", "gradient", "optimized", "target")


def add_stage(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument("--stage", choices=STAGES, default=default, help=f"which graph (default: {default})")


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    add_stage(parser, "optimized")


def run(options: argparse.Namespace) -> None:
    show_code(str(subject_of(options).stage(options.stage)), "graph")
