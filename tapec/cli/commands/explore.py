"""Write one page that shows it all: your source, the graph, the generated code, side by side, through every pass."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import tapec
from tapec.cli.argument_parsing import parse_words
from tapec.cli.error_messages import Problem
from tapec.cli.inspected_program import FunctionSubject, Subject, add_target, subject_of
from tapec.cli.lazy import live_page
from tapec.cli.target import Target, load_target
from tapec.cli.terminal import open_address, open_file, show, working
from tapec.codegen.target import TARGETS
from tapec.errors import TapecError
from tapec.report.explorer.page import Explored, explore_page

HELP = "write a page with source, graph and generated code"
EXAMPLES = """\
examples:
  tapec explore model.py:loss -o loss.html --open      in a browser, which needs no network
  tapec explore model.py:loss --no-times       without measuring
  tapec explore model.py:loss --beside fast_math=True --beside portable
  tapec explore model.py:loss --args 1.0 --more-args -1.0      with the path of another call
  tapec explore model.py:loss --serve          on this machine, made anew when the file is saved

On the page, point at a line to see what it became; go through the passes with the arrow keys."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("-o", "--output", metavar="FILE", default="explore.html", help="default: explore.html")
    parser.add_argument("--no-times", action="store_true", help="do not measure the lines of the generated code")
    parser.add_argument("--limit", type=int, help="above so many nodes, a line's operations are one box")
    parser.add_argument(
        "--beside",
        metavar="SETTING=VALUE",
        action="append",
        default=[],
        help="show the code under another setting, too, such as fast_math=True (several are parted by commas), or for "
        "another target, such as portable",
    )
    parser.add_argument(
        "--more-args",
        metavar="WORD",
        nargs="+",
        action="append",
        default=[],
        help="the arguments of a further call, whose path through the branches is shown, too",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--serve", action="store_true", help="serve the page here, anew whenever the file is saved")
    parser.add_argument("--port", type=int, default=0, help="the port to serve at (default: any that is free)")


def run(options: argparse.Namespace) -> None:
    if options.serve:
        serve(options)
        return
    target = load_target(options.target)
    with working("making the page"):
        page = page_of(options, target)
    Path(options.output).write_text(page, encoding="utf-8")
    show(f"wrote {options.output}")
    if options.open:
        open_file(options.output)


def serve(options: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C; a process of its own makes it, so that it sees the files as they are then."""
    if options.target == "-":
        raise Problem("--serve watches a file: give its name instead of -")
    live = live_page(lambda: made_elsewhere(options), lambda: files_of(options.target), options.port)
    show(f"{live.address} shows {options.target}, anew whenever it is saved; Ctrl-C ends it")
    sys.stdout.flush()
    if options.open:
        open_address(live.address)
    with suppress(KeyboardInterrupt):
        live.run()


def made_elsewhere(options: argparse.Namespace) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        words = [sys.executable, "-m", "tapec", "explore", *words_of(options), "-o", str(file)]
        path = os.pathsep.join([p for p in sys.path if p])
        run = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path})
        if run.returncode:
            raise Problem(run.stderr.strip() or f"exit code {run.returncode}")
        return file.read_text(encoding="utf-8")


def words_of(options: argparse.Namespace) -> list[str]:
    """Return the words on the command line again, without those about serving."""
    words = [options.target]
    for name in ("wrt", "transform", "limit"):
        if getattr(options, name) is not None:
            words.append(f"--{name}={getattr(options, name)}")
    words += [f"--beside={word}" for word in options.beside]
    words += ["--no-times"] if options.no_times else []
    for more in options.more_args:
        words += ["--more-args", *more]
    return words if options.args is None else [*words, "--args", *options.args]


def files_of(word: str) -> list[Path]:
    """Return the files to watch: that of the target, and the modules beside it."""
    where = word.rpartition(":")[0] or word
    if where.endswith(".py"):
        return sorted(Path(where).resolve().parent.glob("*.py"))
    if Path(where).exists():
        return [Path(where)]
    found = importlib.util.find_spec(where)
    origin = found.origin if found is not None else None
    return sorted(Path(origin).parent.glob("*.py")) if origin else []


def page_of(options: argparse.Namespace, target: Target) -> str:
    """Make the page of a target, under the settings that are in force and under those that it is shown beside."""
    labels = ["these settings", *options.beside]
    explored = []
    for label, (changed, host) in zip(labels, [({}, None), *map(settings_or_target, options.beside)]):
        with tapec.settings(**changed):
            subject = subject_of(options, target=target)
            record_more(subject, target, options.more_args)
            explored.append(explored_of(subject, label, not options.no_times, host))
    return explore_page(subject.name, explored, options.limit)


def settings_or_target(word: str) -> tuple[dict[str, Any], str | None]:
    """Return the settings in a word such as `fast_math=True,optimize=False`, or the target that it names."""
    if word in TARGETS:
        return {}, word
    found = {}
    for part in word.split(","):
        name, equals, _ = part.partition("=")
        if not equals or not hasattr(tapec.settings, name.strip()):
            fix = "write a setting, such as fast_math=True, or a target, such as portable"
            raise Problem(f"--beside {word}: no setting has this name, and no target; {fix}")
        found.update(parse_words([part.strip()], {})[1])
    return found, None


def record_more(subject: Subject, target: Target, more: list[list[str]]) -> None:
    """Record the paths of further calls."""
    for words in more:
        if not isinstance(subject, FunctionSubject):
            raise Problem("--more-args are for functions: the inputs of a graph have their types in its text")
        args, kwargs = parse_words(words, target.names)
        FunctionSubject(subject.compiled, args, kwargs, subject.function).stage("forward")


def explored_of(subject: Subject, label: str, with_times: bool, host: str | None) -> Explored:
    generated = None
    if with_times:
        with suppress(TapecError):  # of a function that is recorded anew at each call
            generated = subject.generated()
    forward, tree = subject.recorded
    return Explored(label, forward, subject.compilation, generated, subject.paths, host, tree)
