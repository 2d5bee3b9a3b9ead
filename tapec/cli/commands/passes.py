"""Show what each pass does to the graph: a diff, the rules that fired, and what the graph costs after it."""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import Any

from tapec.cli.argument_parsing import pass_names
from tapec.cli.inspected_program import add_target, subject_of
from tapec.cli.terminal import show, show_code, show_json, styled, table
from tapec.report.pass_stages import Stage, graph_diff, stages, target_stages
from tapec.report.units import bytes_text, count_text, time_text

HELP = "show what each pass does"
EXAMPLES = """\
examples:
  tapec passes model.py:loss                 a diff for each pass that changes something, and a table
  tapec passes model.py:loss --table         the table alone
  tapec passes model.py:loss --only cse      one pass"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--only", metavar="A,B", help="show these passes' diffs only")
    parser.add_argument("--table", action="store_true", help="no diffs")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> None:
    only = None if options.only is None else pass_names(options.only)
    subject = subject_of(options)
    found = [*stages(subject.forward, subject.gradient), *target_stages(subject.compilation)]
    if options.json:
        show_json([as_dict(s) for s in found])
        return
    if not options.table:
        for before, after in pairwise(found):
            if after.changed and before.name != "forward" and (only is None or after.name in only):
                show_pass(before, after)
    show(table([row(s) for s in found], ("pass", "nodes", "flops", "moved", "peak", "time", "rules"), " rrrrr"))


def show_pass(before: Stage, after: Stage) -> None:
    show(styled(f"── {after.name}", "bold") + styled(rules(after), "dim"))
    show_code(graph_diff(before.graph, after.graph), "diff")
    show()


def rules(stage: Stage) -> str:
    fired = ", ".join(f"{name} × {n}" if n > 1 else name for name, n in stage.fired.items())
    return f"  {fired}" if fired else ""


def row(stage: Stage) -> list[str]:
    cost = stage.cost
    seconds = time_text(stage.seconds) if stage.seconds else ""
    sizes = [count_text(cost.nodes), count_text(cost.flops), bytes_text(cost.bytes), bytes_text(cost.peak)]
    return [stage.name, *sizes, seconds, rules(stage).strip()]


def as_dict(stage: Stage) -> dict[str, Any]:
    return {
        "pass": stage.name,
        "changed": stage.changed,
        "seconds": stage.seconds,
        "rules": stage.fired,
        **stage.cost._asdict(),
    }
