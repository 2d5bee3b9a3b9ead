"""Print the generated code: by default the gradient, as it runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from tapec.cli.inspected_program import add_target, add_writer, subject_of
from tapec.cli.runnable_text import runnable
from tapec.cli.terminal import is_terminal, show_code

HELP = "print the generated gradient"
EXAMPLES = """\
examples:
  tapec source model.py:loss                         arguments from loss.example_args
  tapec source model.py:loss --args 'f64[10]' 2.0    arguments by type and by value
  tapec source model.py:loss --forward               the function itself, without a derivative
  tapec source model.py:loss --transform hessian
  tapec source model.py:loss --target portable       for JAX, PyTorch, CuPy, dask: any library of the array API
  tapec source model.py:loss --lines                 your lines, quoted beside what computes them
  tapec source model.py:loss --wrt w,b > gradient.py

A file, or another program, gets the imports as well, so that the code runs. `tapec export` writes a module to ship: it
checks its arguments, and takes them as the function does."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--forward", action="store_true", help="the function itself (as --transform compile)")
    add_writer(parser)
    parser.add_argument("--lines", action="store_true", help="quote your lines beside what computes them")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file")


def run(options: argparse.Namespace) -> None:
    subject = subject_of(options, "compile" if options.forward else None)
    text = subject.text(options.writer, options.lines)
    if options.output:
        Path(options.output).write_text(runnable(subject.written(options.writer), text), encoding="utf-8")
    else:
        show_code(text if is_terminal() else runnable(subject.written(options.writer), text))
