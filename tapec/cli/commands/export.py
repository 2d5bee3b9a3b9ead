"""Write the generated code as a module that needs NumPy alone: no tapec where it runs."""

from __future__ import annotations

import argparse

from tapec.cli.error_messages import Problem
from tapec.cli.inspected_program import FunctionSubject, add_target, add_writer, subject_of
from tapec.cli.terminal import show

HELP = "write a module that needs NumPy alone"
EXAMPLES = """\
examples:
  tapec export model.py:loss -o loss_gradient.py
  tapec export model.py:loss --transform value_and_grad -o loss_gradient.py
  tapec export model.py:loss --target portable -o loss_gradient.py
  python -c 'import loss_gradient'"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    add_writer(parser)
    parser.add_argument("-o", "--output", metavar="MODULE.py", required=True, help="the file to write")


def run(options: argparse.Namespace) -> None:
    subject = subject_of(options, functions=True)
    if not isinstance(subject, FunctionSubject):
        raise Problem(f"there is no module of a {options.transform}: `tapec source` prints its code")
    subject.export(options.output, options.writer)
    show(f"wrote {options.output}")
