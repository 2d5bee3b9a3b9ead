"""Look at compiled code that is kept on disk."""

from __future__ import annotations

import argparse

from tapec.cli.problem import Problem

HELP = "list, explain or clear the cache on disk"
EXAMPLES = """\
examples:
  tapec cache list
  tapec cache explain     which entries would not be used, and why
  tapec cache clear

Within a process, tapec.cache_info() and f.cache_info() tell what is kept in memory."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "explain", "clear"))


def run(options: argparse.Namespace) -> None:
    raise Problem("this version of tapec keeps compiled code in memory only: there is nothing on disk")
