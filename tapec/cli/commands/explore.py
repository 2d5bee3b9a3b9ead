"""Write one page that shows it all: your source, the graph, the generated code, side by side, through every pass."""

from __future__ import annotations

import argparse
from pathlib import Path

from tapec.cli.inspected_program import add_target, subject_of
from tapec.cli.terminal import show, working
from tapec.report.explore import explore_page

HELP = "write a page with source, graph and generated code"
EXAMPLES = """\
examples:
  tapec explore model.py:loss -o loss.html     then open it in a browser: it needs no network
  tapec explore model.py:loss --no-times       without measuring

On the page, point at a line to see what it became; drag the slider to go through the passes."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("-o", "--output", metavar="FILE", default="explore.html", help="default: explore.html")
    parser.add_argument("--no-times", action="store_true", help="do not measure the lines of the generated code")
    parser.add_argument("--limit", type=int, help="above so many nodes, a line's operations are one box")


def run(options: argparse.Namespace) -> None:
    subject = subject_of(options)
    with working("making the page"):
        generated = None if options.no_times else subject.generated()
        page = explore_page(subject.name, subject.forward, subject.gradient, subject.source, generated, options.limit)
    Path(options.output).write_text(page, encoding="utf-8")
    show(f"wrote {options.output}")
