"""Tell which NumPy functions gradients pass through, and what else is known of them."""

from __future__ import annotations

import argparse

HELP = "tell which functions are supported"
EXAMPLES = """\
examples:
  tapec support                 the whole table
  tapec support einsum          one function
  tapec support linalg          all whose name holds the word
  tapec support --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="a function, or part of a name")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> int | None:
    raise NotImplementedError
