"""Tell what is known about a call: its paths and guards, captured state, gradients that vanish and why, its cost."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from tapec.cli.inspected_program import FunctionSubject, Subject, add_target, subject_of
from tapec.cli.terminal import show, show_json, styled, table
from tapec.report.graph_cost import Cost, cost_of
from tapec.report.units import bytes_text, count_text

HELP = "tell paths, guards, captured state, vanishing gradients, cost"
EXAMPLES = """\
examples:
  tapec explain model.py:loss
  tapec explain model.py:loss --args 'np.zeros(3)' --wrt w,b
  tapec explain model.py:loss --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> None:
    subject = subject_of(options)
    costs = {"forward": subject.forward, "gradient": subject.gradient, "optimized": subject.optimized}
    costs["target"] = subject.stage("target")
    found = {name: cost_of(graph) for name, graph in costs.items()}
    if options.json:
        show_json({**explanation(subject), "cost": {name: c._asdict() for name, c in found.items()}})
        return
    if isinstance(subject, FunctionSubject):
        show(str(replace(subject.explain(), cost={})))  # the table below has it all
    else:
        show(f"{subject.name}: a graph of {len(subject.forward.nodes)} nodes")
    show()
    show(cost_table(found))


def explanation(subject: Subject) -> dict[str, Any]:
    if isinstance(subject, FunctionSubject):
        return subject.explain().to_dict()
    return {"name": subject.name}


def cost_table(found: dict[str, Cost]) -> str:
    names = {"forward": "the function", "gradient": "gradient, as differentiated", "optimized": "gradient, optimised"}
    names["target"] = "the same, as it is written"
    rows = [
        [names[name], count_text(c.nodes), count_text(c.flops), bytes_text(c.bytes), bytes_text(c.peak)]
        for name, c in found.items()
    ]
    return table(rows, ("cost", "nodes", "flops", "moved", "peak memory"), " rrrr") + styled(
        "\nestimates from shapes; fusion and reused buffers are not counted", "dim"
    )
