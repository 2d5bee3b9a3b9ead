"""Compare measures of two commits: each is taken in processes of both, by turns."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.families import Task
from tests.fence.measure import ALL, OPERATIONS, chosen_calls
from tests.fence.table import CALLS, MEMORY, TIMES, Cell, Limit
from tests.fence.text import environment_of

__all__ = [
    "calls",
    "measured",
    "memory",
    "times_of_calls",
    "times_of_processes",
    "times_of_records",
    "times_of_steps",
    "workers",
]

Roots = tuple[Path, Path]
Rows = dict[str, list[Cell]]
FRESH = "rosenbrock 10"  # of which a first result is waited for in a new process
BURST = 0.06  # seconds of calls in one turn
ATTEMPTS = 3
CONTEXT = Limit(float("inf"))  # for what is no measure of tapec
CALL_TIMES = {"by hand": CONTEXT, "warm": TIMES, "first": TIMES}
STEP_TIMES = {"by hand": CONTEXT, "warm": TIMES}
RECORD_TIMES = {"record": TIMES}
PROCESS_TIMES = {"import": TIMES, "first result": TIMES}


def calls(roots: Roots, names: list[str], jobs: int) -> Rows:
    """Python calls of first and later calls."""
    return _of_calls(roots, names, "calls", CALLS, jobs)


def memory(roots: Roots, names: list[str], jobs: int) -> Rows:
    """Peaks of memory of first and later calls."""
    return _of_calls(roots, names, "memory", MEMORY, jobs)


def _of_calls(roots: Roots, names: list[str], what: str, limit: Limit, jobs: int) -> Rows:
    with ThreadPoolExecutor(jobs) as pool:
        answers = {name: [pool.submit(_ask, root, what, name) for root in roots] for name in names}
        found = {name: [a.result() for a in both] for name, both in answers.items()}
    return {
        name: [Cell(old.get(call), new.get(call), limit) for call in chosen_calls(ALL[name])]
        for name, (old, new) in found.items()
    }


def _ask(root: Path, *words: str) -> dict[str, float]:
    """What a process of its own measures; nothing where it fails."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.fence.measure", *words],
        cwd=root,
        env=environment_of(root),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        print(f"{' '.join(words)} fails in {root.name}: {run.stderr.strip()[-500:]}", file=sys.stderr)
        return {}
    return json.loads(run.stdout.splitlines()[-1])


# ---------------------------------------------------------------------------------------------------------------------
# times
# ---------------------------------------------------------------------------------------------------------------------
def measured(take: Callable[[int, int], dict[str, float]], limits: dict[str, Limit], turns: int) -> list[Cell]:
    """A cell of medians for each limit; `take(turn, which)` measures OLD, 0, or NEW, 1.

    What is beyond its limit is measured again, and longer: a busy moment of the machine is no change.
    """
    samples: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in limits}
    cells: list[Cell] = []
    for attempt in range(ATTEMPTS):
        for turn in range(attempt * turns, (attempt + 1) * turns):
            for which in (0, 1) if turn % 2 else (1, 0):
                for name, value in take(turn, which).items():
                    samples[name][which].append(value)
        cells = [Cell(_median(old), _median(new), limits[name]) for name, (old, new) in samples.items()]
        if not any([cell.beyond for cell in cells]):
            break
    return cells


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


class Worker:
    """A process that measures times when it is asked."""

    def __init__(self, root: Path):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.fence.measure", "serve"],
            cwd=root,
            env=environment_of(root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.name = root.name

    def ask(self, *request: Any) -> dict[str, float]:
        """The numbers asked for; none where it fails."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process that measures {self.name} died at {request}")
        answer = json.loads(line)
        if "failed" in answer:
            print(f"{request} fails in {self.name}: {answer['failed']}", file=sys.stderr)
            return {}
        return answer


@contextmanager
def workers(roots: Roots) -> Iterator[list[Worker]]:
    """A process for each commit, for as long as the block lasts."""
    found = [Worker(root) for root in roots]
    try:
        yield found
    finally:
        for worker in found:
            worker.process.kill()
            worker.process.communicate()


def times_of_calls(pair: list[Worker], names: list[str], turns: int) -> Rows:
    """Warm calls beside those by hand, and first calls."""
    return {name: measured(_call(pair, name), CALL_TIMES, turns) for name in names}


def times_of_steps(pair: list[Worker], names: list[str], turns: int) -> Rows:
    """Steps on a tape beside those by hand."""
    return {name: measured(_call(pair, name), STEP_TIMES, turns) for name in names}


def _call(pair: list[Worker], name: str) -> Callable[[int, int], dict[str, float]]:
    for worker in pair:
        worker.ask("load", name)

    def take(turn: int, which: int) -> dict[str, float]:
        warm = pair[which].ask("warm", BURST)
        found = {"by hand": warm["hand"], "warm": warm["ours"] / warm["hand"]} if warm else {}
        if ALL[name].task is not Task.STEP:
            found |= pair[which].ask("first", 1.0 + (turn + 1) / 64)
        return found

    return take


def times_of_records(pair: list[Worker], turns: int) -> Rows:
    """Operations that a tape records."""
    return {
        code: measured(lambda turn, which, code=code: pair[which].ask("record", code), RECORD_TIMES, turns)  # type: ignore[misc]
        for code in OPERATIONS
    }


def times_of_processes(roots: Roots, turns: int) -> Rows:
    """What a new process waits for."""
    for root in roots:
        _ask(root, "fresh", FRESH)  # compiles the package's files
    found = measured(lambda turn, which: _ask(roots[which], "fresh", FRESH), PROCESS_TIMES, turns)
    return {name: [cell] for name, cell in zip(PROCESS_TIMES, found, strict=True)}
