"""Measure the generated code against the same gradient without the optimiser, and against differences."""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from tapec.cli import tuning
from tapec.cli.argument_parsing import seconds_of
from tapec.cli.inspected_program import FunctionSubject, Subject, add_target, subject_of
from tapec.cli.terminal import show, show_json, styled, table, working
from tapec.config import settings
from tapec.report.units import bytes_text, time_text
from tapec.runtime.compile import CompiledGraph, Options

HELP = "measure time and memory"
EXAMPLES = """\
examples:
  tapec bench model.py:loss
  tapec bench model.py:loss --args 'f64[1000]' --seconds 1
  tapec bench model.py:loss --json

cold: from the decorated function to its first result. warm: the least of several means, call overhead included."""


def configure(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--seconds", type=seconds_of, default=0.3, help="how long to measure each (default: 0.3)")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: argparse.Namespace) -> None:
    subject = subject_of(options)
    with working("measuring"):
        found = measurements(subject, options.seconds)
    if options.json:
        show_json(found)
        return
    base = found["generated"]["warm"]
    rows = [
        [
            name,
            time_text(m["cold"]) if m["cold"] is not None else "",
            time_text(m["warm"]),
            f"{m['warm'] / base:.2f}",
            bytes_text(m["memory"]) if m["memory"] is not None else "",
        ]
        for name, m in found.items()
    ]
    show(table(rows, ("", "cold", "warm", "ratio", "memory"), " rrrr"))
    show(styled("memory: the most that one call holds at a time, results included", "dim"))


def measurements(subject: Subject, seconds: float) -> dict[str, dict[str, Any]]:
    if isinstance(subject, FunctionSubject):
        return of_function(subject, seconds)
    code, _, values = subject.generated()
    unoptimised = Options(subject.name, optimize=False)
    plain = CompiledGraph(subject.gradient, unoptimised).code.function
    cold = least_time(lambda: CompiledGraph(subject.gradient, unoptimised).code.function(*values), seconds)
    return {
        "generated": measured(lambda: code(*values), seconds, None),
        "unoptimised": measured(lambda: plain(*values), seconds, cold),
    }


def of_function(subject: FunctionSubject, seconds: float) -> dict[str, dict[str, Any]]:
    """The same call with the optimiser and without, so that both have its overhead."""
    compiled, function, args, kwargs = subject.compiled, subject.function, subject.args, subject.kwargs
    own_args, own_kwargs = subject.own
    call = lambda: compiled(*args, **kwargs)
    found = {"generated": measured(call, seconds, cold_time(compiled, call, seconds))}
    with settings(optimize=False):
        found["unoptimised"] = measured(call, seconds, cold_time(compiled, call, seconds))
    if not hasattr(function, "_transform"):
        itself = measured(lambda: function(*own_args, **own_kwargs), seconds, None)
        one, calls = itself["warm"], calls_of_differences(subject)
        if compiled._transform.name == "vmap":
            count = tuning.BATCH_SIZE
            found[f"the function itself ({count} calls)"] = {**itself, "warm": count * one}
        else:
            found["the function itself"] = itself
        if calls:
            found[f"differences ({calls} calls)"] = {"cold": None, "warm": calls * one, "memory": None}
    return found


def calls_of_differences(subject: FunctionSubject) -> int:
    """Return the calls of the function that central differences of its derivatives take; 0 where there are none."""
    name = subject.compiled._transform.name
    if name not in _CALLS:
        return 0
    results = sum(o.type.size for o in subject.forward.outputs)
    found = sum(o.type.size for o in subject.gradient.outputs) - (results if name == "value_and_grad" else 0)
    return _CALLS[name] * (found // results) if results else 0


# calls of the function for one derivative of all its results: two, or two for each of the two gradients of an hvp
_CALLS = {"grad": 2, "value_and_grad": 2, "jacobian": 2, "jacfwd": 2, "jacrev": 2, "hessian": 2, "hvp": 4}


def cold_time(compiled: Any, call: Callable[[], Any], seconds: float) -> float:
    """A first call, with nothing on disk."""

    def first() -> None:
        compiled.cache_clear()
        call()

    with settings(cache_dir=""):
        least = least_time(first, seconds)
    first()  # under the settings in force from here on
    return least


def least_time(call: Callable[[], Any], seconds: float) -> float:
    """The least of a few calls, fewer when they take long."""
    times: list[float] = []
    while len(times) < 5 and sum(times) <= seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measured(call: Callable[[], Any], seconds: float, cold: float | None) -> dict[str, Any]:
    """Measure time and memory of one call."""
    return {"cold": cold, "warm": warm_time(call, seconds), "memory": memory(call)}


def warm_time(call: Callable[[], Any], seconds: float) -> float:
    """The least mean time of several rounds."""
    call()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    rounds = 7
    count = max(1, int(seconds / rounds / once))
    means = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            call()
        means.append((time.perf_counter() - start) / count)
    return float(np.min(means))


def memory(call: Callable[[], Any]) -> int:
    """The most that one call holds at a time; NumPy tells tracemalloc about its arrays."""
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = call()
        peak = tracemalloc.get_traced_memory()[1]
        del result
    finally:
        tracemalloc.stop()
    return max(peak - before, 0)
