"""Measure the time of each line of the generated code, beside its source."""

from __future__ import annotations

import argparse

from tapec.cli import terminal
from tapec.cli.argument_parsing import seconds_of
from tapec.cli.inspected_program import add_target, subject_of
from tapec.cli.terminal import show, show_json, styled, working
from tapec.report.highlight import ansi
from tapec.report.line_profile import LineTimes, answering, line_times
from tapec.report.units import time_text

HELP = "measure time per generated line"
EXAMPLES = """\
examples:
  tapec profile model.py:loss
  tapec profile model.py:loss --forward --seconds 2
  tapec profile model.py:loss --json"""

_BLOCKS = " ▏▎▍▌▋▊▉█"


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--forward", action="store_true", help="the function itself (as --transform compile)")
    parser.add_argument("--seconds", type=seconds_of, default=0.5, help="how long to measure (default: 0.5)")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> None:
    subject = subject_of(options, "compile" if options.forward else None)
    generated = subject.generated()
    function, source, values = answering(*generated)
    with working("measuring"):
        times = line_times(function, source, values, options.seconds)
    if options.json:
        lines = [{"line": k, "seconds": t, "count": times.counts[k]} for k, t in times.seconds.items()]
        show_json({"seconds": times.total, "calls": times.calls, "lines": lines, "source": source})
        return
    for text in listing(source, times):
        show(text)
    if function is not generated[0]:
        show(styled("Python's floats raise an error for these arguments: NumPy's program answers them", "dim"))
    show(styled(f"{time_text(times.total)} a call, mean of {times.calls}", "dim"))


def listing(source: str, times: LineTimes) -> list[str]:
    """Return each line with its time and a bar for its share."""
    shown = ansi(source) if terminal.is_colored() else source
    out = []
    for k, line in enumerate(shown.rstrip("\n").split("\n"), start=1):
        if k in times.seconds:
            repeats = f"×{times.counts[k]:.0f}" if times.counts[k] > 1.5 else ""
            head = f"{time_text(times.seconds[k]):>8} {repeats:>6} {bar(times.share(k))}"
        else:
            head = " " * 24
        out.append(f"{head} {line}".rstrip())
    return out


def bar(share: float, width: int = 8) -> str:
    eighths = round(share * width * 8)
    full, rest = divmod(min(eighths, width * 8), 8)
    return ("█" * full + (_BLOCKS[rest] if rest else "")).ljust(width)
