"""Find the first pass or step of code generation after which a value or a gradient differs from the interpreter's."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

import tapec
from tapec.cli.error_messages import Problem
from tapec.cli.inspected_program import FunctionSubject, add_target, subject_of
from tapec.cli.smallest_graph import smallest
from tapec.cli.target import Target, load_target
from tapec.cli.terminal import show, show_code, styled, working
from tapec.config import settings
from tapec.errors import TapecWarning, VerifyError
from tapec.ir import CONSTANT, Graph
from tapec.runtime.compile import WATCHERS
from tapec.runtime.observed.trials import PassTrial, Step

HELP = "find the step that breaks a gradient"
EXAMPLES = """\
examples:
  tapec bisect model.py:loss                         the value, and the gradient
  tapec bisect model.py:loss --transform hessian     the value, and the Hessian
  tapec bisect graph.ir --transform grad             the same of a graph given as text

Exit code 1 when something differs. Then the smallest graph that shows it is printed, and what the step makes of it.
Whether the derivative itself is right is another question: `tapec check` compares it with differences."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)


def run(options: argparse.Namespace) -> int:
    target = load_target(options.target)
    compiled: list[str] = []

    def watch(code: Any) -> None:
        compiled.append(code.name)

    WATCHERS.append(watch)
    try:
        of_value = argparse.Namespace(**{**vars(options), "wrt": None})
        step = wrong_step(of_value, target, "compile")
        if step is None and options.transform != "compile":
            step = wrong_step(options, target, options.transform or ("grad" if target.graph is not None else None))
    finally:
        WATCHERS.remove(watch)
    if step is None:
        if not compiled:
            raise Problem(f"nothing was compiled for {target.word}, so nothing was compared")
        names = ", ".join(dict.fromkeys(compiled))
        show(f"{names}: no pass and no step of code generation changes a value")
        return 0
    report(step)
    return 1


def wrong_step(options: argparse.Namespace, target: Target, transform: str | None) -> Step | None:
    """Compile the target anew, with all values compared; return the first step that is wrong."""
    tapec.cache_clear()
    with settings(verify="values"), warnings.catch_warnings():
        warnings.filterwarnings("error", "TAPEC_VERIFY=values does not compare", TapecWarning)
        try:
            subject = subject_of(options, transform, target=target)
            if isinstance(subject, FunctionSubject):
                subject.compiled.cache_clear()
            subject.stage("optimized")
        except VerifyError as error:
            if error.step is None:
                raise
            return error.step
        except TapecWarning as warning:
            raise Problem(str(warning).replace("TAPEC_VERIFY=values", "bisect")) from warning
    return None


def report(step: Step) -> None:
    """Print the step, and the smallest graph on which it goes wrong."""
    with working("making the graph smaller"):
        found = smallest(step)
    trial, graph = step.trial, found.graph
    show(styled(f"{step.graph.name}: {step.what} {step.wrong}", "bad"))
    show(f"\nThe smallest graph that shows it has {_operations(graph)} of {_operations(step.graph)} operations:")
    show_code(str(graph), "graph")
    for node, value in zip(graph.inputs, found.values):
        show(styled(f"  {node.name} = {_short(value)}", "dim"))
    show(f"\nThere it {found.wrong}.")
    rules = trial.rules(graph) if isinstance(trial, PassTrial) else []
    if rules:
        show(f"Rules that fire: {', '.join(rules)}.")
    if not found.wrong.startswith("fails"):
        show("\nIt makes of it:")
        show_code(trial.result(graph), "graph" if isinstance(trial, PassTrial) else "python")


def _operations(graph: Graph) -> int:
    return sum([n.op is not CONSTANT for n in graph.nodes])


def _short(value: Any) -> str:
    with np.printoptions(threshold=20, edgeitems=2, precision=4):
        return " ".join(repr(value).split())
