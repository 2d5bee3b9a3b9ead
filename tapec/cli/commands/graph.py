"""Draw the graph: forward operations on the left, their derivatives on the right, one frame for each of your lines."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from tapec.cli.commands.ir import add_stage
from tapec.cli.inspected_program import add_target, subject_of
from tapec.cli.terminal import is_terminal, open_file, show, styled
from tapec.report.graph_picture.dot import dot
from tapec.report.graph_picture.picture_file import save_picture
from tapec.report.graph_picture.text_rails import RailLine, text_rails

HELP = "draw the graph"
EXAMPLES = """\
examples:
  tapec graph model.py:loss -o loss.svg                     no other program is needed
  tapec graph model.py:loss -o loss.png                     with CairoSVG or Graphviz installed
  tapec graph model.py:loss --stage optimized -o lean.svg
  tapec graph model.py:loss                                 as text: an operation a line, rails for values
  tapec graph model.py:loss --open                          in the browser
  tapec graph model.py:loss --dot | dot -Tx11               for Graphviz"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    add_stage(parser, "gradient")
    parser.add_argument("-o", "--output", metavar="FILE", help="a file that ends in .svg, .dot, .png or .pdf")
    parser.add_argument(
        "--open", action="store_true", help="open the picture: in a browser, or what is set for its kind"
    )
    parser.add_argument("--dot", action="store_true", help="print it in the DOT language")
    parser.add_argument("--limit", type=int, default=400, help="above so many nodes, a line's operations are one box")


def run(options: argparse.Namespace) -> None:
    graph = subject_of(options).stage(options.stage)
    if options.output or options.open:
        path = options.output or str(Path(tempfile.mkdtemp()) / f"{graph.name}.svg")
        save_picture(graph, path, options.limit)
        show(f"wrote {path}")
        if options.open:
            open_file(path)
    elif options.dot:
        show(dot(graph, options.limit).rstrip("\n"))
    else:
        show_rails(text_rails(graph, options.limit))


_STYLES = {"input": "good", "forward": "note", "derivative": "warm"}


def show_rails(lines: list[RailLine]) -> None:
    """Print a drawing. On a terminal each line is cut where that ends."""
    rails = max([len(line.rails) for line in lines], default=0)
    labels = max([len(line.label) for line in lines], default=0)
    width = shutil.get_terminal_size().columns if is_terminal() else None
    for line in lines:
        text = f"{line.rails:{rails}}  {line.label}"
        place = f"{'':{labels - len(line.label)}}  {line.place}" if line.place else ""
        cut = f"{text}{place}"[:width]
        show(styled(cut[: len(text)], _STYLES[line.kind]) + styled(cut[len(text) :], "dim"))
