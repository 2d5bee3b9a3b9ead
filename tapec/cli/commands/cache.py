"""Look at the cache of compiled code on disk (kept where TAPEC_CACHE_DIR says, if it says so)."""

from __future__ import annotations

import argparse

HELP = "list, explain or clear the cache on disk"
EXAMPLES = """\
examples:
  TAPEC_CACHE_DIR=~/.cache/tapec python train.py     opt in
  tapec cache list
  tapec cache explain                                why entries would not be used
  tapec cache clear"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("list", "explain", "clear"))
    parser.add_argument("--dir", help="the folder (default: TAPEC_CACHE_DIR)")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> None:
    raise NotImplementedError
