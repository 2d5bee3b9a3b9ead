"""Compare two commits of tapec. See `tests/fence/__init__.py`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.benchmarks.families import Task
from tests.fence import compare, text
from tests.fence.checkouts import lay_out
from tests.fence.measure import ALL
from tests.fence.table import Cell, beyond, decimal, markdown, number, size

QUICK = (
    "rosenbrock 10",
    "net 4-8-1",
    "Lotka-Volterra, 10 steps",
    "cross entropy 1024×1000",
    "embedding 10000×64",
    "square of a number",
    "tape step 16-32-1",
    "net 64-128-1, 128 rows",
)
PARTS = ("text", "calls", "memory", "times")


class Report:
    """Prints tables as they are made, and remembers what is beyond the fence."""

    def __init__(self) -> None:
        self.beyond: list[str] = []

    def table(self, title: str, columns: dict[str, Callable[[float], str]], rows: Mapping[str, Sequence[Cell]]) -> None:
        if rows:
            print(markdown(title, columns, rows), end="\n\n", flush=True)
            self.beyond += [f"{title}: {name}" for name in beyond(rows)]

    def texts(self, found: list[text.Comparison], show: int) -> None:
        """A table of the programs, and the first differences."""
        lines = ["| generated text | functions | |", "| --- | ---: | --- |"]
        lines += [f"| {c.program} | {c.functions} | {c} |" for c in found]
        print("\n".join(lines), end="\n\n")
        for difference in [d for c in found for d in c.differences][:show]:
            print(f"```diff\n{difference}\n```", end="\n\n")
        sys.stdout.flush()
        self.beyond += [f"generated text: {c.program}" for c in found if not c.equal]


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m tests.fence", description="Compare two commits of tapec.")
    p.add_argument("old", help="a git revision, or a folder with a checkout")
    p.add_argument("new", help="the same")
    p.add_argument("--text", action="store_true", help="the text of generated code")
    p.add_argument("--calls", action="store_true", help="Python calls (within 5 %%)")
    p.add_argument("--memory", action="store_true", help="peaks of memory (within 20 %%)")
    p.add_argument("--times", action="store_true", help="times (within 20 %%); no part named: all of them")
    p.add_argument("--quick", action="store_true", help="a subset, for a first look")
    p.add_argument("--only", default="", metavar="WORD", help="programs and workloads whose name holds this")
    p.add_argument("--ignore-lines", action="store_true", help="text: line numbers of user lines may differ")
    p.add_argument("--stubs", action="store_true", help="text: compare that of call stubs, too")
    p.add_argument("--show", type=int, default=3, metavar="N", help="text: how many differences are printed")
    p.add_argument("--jobs", type=int, default=2, metavar="N", help="processes at a time, where nothing is timed")
    p.add_argument("--turns", type=int, default=0, metavar="N", help="times: turns of each commit (default 7, quick 3)")
    return p


def run(options: argparse.Namespace, roots: tuple[Path, Path], report: Report) -> None:
    """Compare what the options name."""
    parts = [part for part in PARTS if getattr(options, part)] or PARTS
    names = [n for n in ALL if options.only in n and (not options.quick or n in QUICK)]
    steps = [n for n in names if ALL[n].task is Task.STEP]
    functions = [n for n in names if n not in steps]
    if "text" in parts:
        found = text.compare(*roots, options.only, options.quick, options.stubs, options.ignore_lines, options.jobs)
        report.texts(found, options.show)
    for part, measure, show in (("calls", compare.calls, number), ("memory", compare.memory, size)):
        if part in parts:
            title = {"calls": "Python calls", "memory": "peak of memory"}[part]
            report.table(
                title, dict.fromkeys(("1st call", "2nd", "3rd"), show), measure(roots, functions, options.jobs)
            )
            report.table(
                f"{title}, tape",
                dict.fromkeys(("1st step", "3rd", "100th", "200th"), show),
                measure(roots, steps, options.jobs),
            )
    if "times" in parts:
        turns = options.turns or (3 if options.quick else 7)
        with compare.workers(roots) as pair:
            report.table(
                "time",
                {"by hand, µs": decimal, "warm call / by hand": decimal, "first call, ms": decimal},
                compare.times_of_calls(pair, functions, turns),
            )
            report.table(
                "time, tape",
                {"by hand, µs": decimal, "step / by hand": decimal},
                compare.times_of_steps(pair, steps, turns),
            )
            if not options.only:
                report.table("time, recording", {"µs above NumPy": decimal}, compare.times_of_records(pair, turns))
        if not options.only:
            report.table("time, new process", {"ms": decimal}, compare.times_of_processes(roots, turns))


def main(words: list[str]) -> int:
    """Compare two commits; gives 1 when something is beyond the fence."""
    options = parser().parse_args(words)
    report = Report()
    with tempfile.TemporaryDirectory(prefix="fence-") as scratch:
        roots = Path(scratch, "old"), Path(scratch, "new")
        names = [lay_out(what, root) for what, root in zip((options.old, options.new), roots, strict=True)]
        print(f"OLD {names[0]}, NEW {names[1]}", end="\n\n", flush=True)
        run(options, roots, report)
    print("beyond the fence:\n- " + "\n- ".join(report.beyond) if report.beyond else "all within the fence")
    return int(bool(report.beyond))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
