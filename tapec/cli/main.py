"""Lead from words to a command, and from its result or error to an exit code."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from tapec import __version__
from tapec.cli.error_messages import Problem, describe
from tapec.cli.terminal import use_color
from tapec.config import settings

__all__ = ["COMMANDS", "build_parser", "main"]

# as they are listed by --help; each is a module of tapec.cli.commands
COMMANDS = (
    ("look at one function", ("source", "explain", "ir", "passes", "graph", "explore")),
    ("measure and check it", ("check", "bisect", "bench", "profile")),
    ("keep it", ("export", "diff")),
    ("everything else", ("run", "opt", "support", "cache")),
)

_DESCRIPTION = """\
Turns NumPy code into the NumPy code of its gradient, and shows every step of it."""

_EPILOG = """\
TARGET is what most commands look at:
  model.py:loss          a function in a file
  package.module:loss    a function that can be imported
  graph.ir               a file with graph text; `-` reads it from stdin

Arguments to trace it with come from --args, or from the function's attribute `example_args`:
  tapec source model.py:loss --args 'f64[10]' 'np.ones((32, 10))' 0.1

Exit codes: 0; 1 when a check fails, a step is wrong, versions differ or a script fails; 2 when the call is wrong.
`tapec COMMAND --help` tells more."""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tapec",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    parser.usage = "tapec COMMAND ..."
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", prog="tapec")
    for _title, names in COMMANDS:
        for name in names:
            module = importlib.import_module(f"tapec.cli.commands.{name}")
            sub = commands.add_parser(
                name,
                help=module.HELP,
                description=module.__doc__,
                epilog=module.EXAMPLES,
                formatter_class=argparse.RawDescriptionHelpFormatter,
                allow_abbrev=False,
            )
            module.configure(sub)
            sub.add_argument("--color", choices=("auto", "always", "never"), default="auto", help=argparse.SUPPRESS)
            sub.set_defaults(run=module.run)
    return parser


def _version() -> str:
    return f"tapec {__version__}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit code."""
    try:
        parser = build_parser()
        repr(settings)  # which reads all of them
    except ValueError as e:  # a setting in the environment that cannot be read
        print(f"tapec: {e}", file=sys.stderr)
        return 2
    try:
        options, left = parser.parse_known_args(argv)
        if left:
            fix = "" if left[0].startswith("-") else "; what to trace with comes after --args"
            parser.error(f"unrecognized arguments: {' '.join(left)}{fix}")
    except SystemExit as e:  # argparse has said what is wrong, or printed help
        return e.code if isinstance(e.code, int) else 2
    if options.command is None:
        parser.print_help()
        return 0
    use_color(options.color)
    try:
        code = options.run(options) or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as e:  # ours or of the code that was named: one message either way
        return _failed(options.command, e)


def _failed(command: str, error: Exception) -> int:
    """Print the message of an error and return exit code 2.

    TAPEC_DEBUG shows the traceback too, TAPEC_TRACEBACK=full all frames of tapec in it.
    """
    if os.environ.get("TAPEC_DEBUG", "0") not in ("", "0"):
        import traceback

        traceback.print_exception(error)
    text = str(error) if isinstance(error, Problem) else describe(error)
    print(f"tapec {command}: {text}", file=sys.stderr)
    return 2
