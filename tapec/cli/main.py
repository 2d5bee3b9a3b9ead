"""Lead from words to a command, and from its result or error to an exit code."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

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
    ("everything else", ("run", "opt", "support", "cache", "completion")),
)

_DESCRIPTION = """\
Turns NumPy code into the NumPy code of its gradient, and shows every step of it."""

_EPILOG = """\
TARGET is what most commands look at:
  model.py:loss          a function in a file
  package.module:loss    a function that can be imported
  model.py:Layer.loss    a method of a class, or of an object: model.py:layer.loss
  graph.ir               a file with graph text; `-` reads it from stdin

Arguments to trace it with come from --args, or from the function's attribute `example_args`:
  tapec source model.py:loss --args 'f64[10]' 'np.ones((32, 10))' 0.1

Exit codes: 0; 1 when a check fails, a step is wrong, versions differ or a script fails; 2 when the call is wrong.
`tapec COMMAND --help` tells more."""


class Parser(argparse.ArgumentParser):
    """Parses words, and asks about one that is nearly another: a command, an option, or a choice.

    `commands` has the parser of each command, by its name.
    """

    commands: dict[str, Parser]
    about = ""

    def error(self, message: str) -> NoReturn:
        wrong = _WRONG_CHOICE.match(message)
        if wrong is not None:
            what, word, choices = wrong.groups()
            told = "there is no command" if what == "COMMAND" else f"{what}: there is no"
            message = f"{told} {word!r}{_nearly(word, _WORD.findall(choices))}"
        super().error(message)

    def described(self) -> Iterator[tuple[str, str, Parser]]:
        """Return the name of each command, what it is for, and its parser."""
        for name, sub in self.commands.items():
            yield name, sub.about, sub

    def options(self) -> list[str]:
        return [text for action in self._actions for text in action.option_strings if action.help != argparse.SUPPRESS]


def _nearly(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; there are {', '.join(known)}"


_WORD = re.compile(r"[\w-]+")
_WRONG_CHOICE = re.compile(r"argument (.*?): invalid choice: '(.*?)' \(choose from (.*)\)", re.DOTALL)


def build_parser() -> Parser:
    parser = Parser(
        prog="tapec",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=_version())
    parser.usage = "tapec COMMAND ..."
    parser.commands = {}
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
            parser.commands[name], sub.about = sub, module.HELP
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
            sub = parser if options.command is None else parser.commands[options.command]
            is_option = left[0].startswith("-")
            close = difflib.get_close_matches(left[0].partition("=")[0], sub.options(), n=1) if is_option else []
            in_brackets = f"; did you mean '({left[0]})'?" if is_option and not left[0].startswith("--") else ""
            hint = f"; did you mean {close[0]}?" if close else in_brackets
            sub.error(
                f"unrecognized arguments: {' '.join(left)}"
                f"{hint if is_option else '; what to trace with comes after --args'}"
            )
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
