"""Measure the tapec that can be imported, in a process of its own. The answers are lines of JSON.

python -m tests.fence.measure calls NAME      Python calls of the first calls of a workload
python -m tests.fence.measure memory NAME     the most memory that they take beyond what was there before
python -m tests.fence.measure fresh NAME      milliseconds until `import tapec` is done, and until a first result
python -m tests.fence.measure serve           requests as lines of JSON: times, as the asking process takes turns
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.benchmarks.families import TAPE_STEPS, WORKLOADS, Task, Workload, by_hand, by_tapec

__all__ = ["ALL", "OPERATIONS", "calls_of", "chosen_calls", "memory_of", "scaled"]

ALL = {w.name: w for w in (*WORKLOADS, *TAPE_STEPS)}
OPERATIONS = ("x * y", "np.sin(x)", "x @ y", "np.sum(x, axis=0)", "x[0]", "np.where(mask, x, y)", "q = x * 1.0; q += y")
CHUNK = 2e-3  # seconds between two looks at the clock
RECORDS = 60  # operations in a recording


def scaled(w: Workload, factor: float) -> Workload:
    """The same program with another result: what it compiles is not what the workload compiles, but as much.

    The factor is written into the code. Functions of the same code share what was compiled, whatever they capture.
    """
    objective = eval(f"lambda np, *args: {factor!r} * objective(np, *args)", {"objective": w.objective})
    return replace(w, objective=objective)


def chosen_calls(w: Workload) -> dict[str, int]:
    """Which of the calls of a workload are measured. The hundredth step may plan for what comes again: so one after."""
    return {"1st": 1, "3rd": 3, "100th": 100, "200th": 200} if w.task is Task.STEP else {"1st": 1, "2nd": 2, "3rd": 3}


def warmed(w: Workload) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function that was never called, and its arguments. Others of its kind have made tapec import what it needs."""
    args = w.args()
    for factor in (2.0, 1.5):
        other = by_tapec(scaled(w, factor), args)
        for _ in range(4):
            other(*args)
    return by_tapec(w, args), args


def calls_of(function: Callable[[], Any]) -> int:
    """How many Python functions run, those of the import system left out."""
    count = 0

    def hook(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        if event == "call" and not frame.f_code.co_filename.startswith("<frozen importlib"):
            count += 1

    gc.collect()
    gc.disable()  # what it finalises would be counted
    sys.setprofile(hook)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def memory_of(function: Callable[[], Any]) -> int:
    """Bytes, at most, that are allocated beyond what was there before."""
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        function()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def of_calls(w: Workload, measure: Callable[[Callable[[], Any]], int]) -> dict[str, int]:
    """A measure of the chosen calls, each in turn."""
    run, args = warmed(w)
    chosen = {k: name for name, k in chosen_calls(w).items()}
    found = {}
    for k in range(1, max(chosen) + 1):
        if k in chosen:
            found[chosen[k]] = measure(lambda: run(*args))
        else:
            run(*args)
    return found


def fresh(w: Workload) -> dict[str, float]:
    """Milliseconds of `import tapec` after NumPy, and from its begin to a first result."""
    args = w.args()
    start = time.process_time()
    import tapec  # noqa: F401

    imported = time.process_time()
    by_tapec(w, args)(*args)
    return {"import": 1e3 * (imported - start), "first result": 1e3 * (time.process_time() - start)}


class Server:
    """Answers requests about times. A workload stays loaded until another one is."""

    def __init__(self) -> None:
        self.workload: Any = None
        self.args: tuple[Any, ...] = ()
        self.run: Any = None
        self.hand: Any = None

    def load(self, name: str) -> dict[str, float]:
        """Calls until nothing more is generated."""
        w = self.workload = ALL[name]
        args = self.args = w.args()
        ours, hand = by_tapec(w, args), by_hand(w, args)
        self.run, self.hand = lambda: ours(*args), lambda: hand(*args)
        for _ in range(5):
            self.run()
            self.hand()
        return {}

    def warm(self, seconds: float) -> dict[str, float]:
        """Microseconds a call, by tapec and by hand, in short turns; medians."""
        functions = (self.run, self.hand)
        counts = [_count_of(f) for f in functions]
        found: list[list[float]] = [[], []]
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(found[1]) < 3:
            for times, f, count in zip(found, functions, counts, strict=True):
                times.append(_seconds_of(f, count) / count * 1e6)
        ours, hand = map(statistics.median, found)
        return {"ours": ours, "hand": hand}

    def first(self, factor: float) -> dict[str, float]:
        """Milliseconds of a first call of the workload times a factor that no other call had."""
        run = by_tapec(scaled(self.workload, factor), self.args)
        return {"first": _seconds_of(lambda: run(*self.args), 1) * 1e3}

    def record(self, code: str) -> dict[str, float]:
        """Microseconds that recording an operation on small arrays takes, above NumPy; with its part of the block."""
        from tapec import GradientTape, constant
        from tests.benchmarks.kinds import arrays, function_of
        from tests.benchmarks.timing import in_turn

        watched, plain = arrays()
        operate, names = function_of(code, plain)
        values = [watched[name] for name in names]
        tensors = [constant(value) for value in values]

        def taped(count: int) -> None:
            with GradientTape() as tape:
                tape.watch(tensors)
                operate(count, *tensors)

        with_tape, alone, plainly = in_turn(
            lambda: taped(RECORDS), lambda: taped(0), lambda: operate(RECORDS, *values), rounds=30
        )
        return {"record": (with_tape - alone - plainly) / RECORDS}


def _seconds_of(function: Callable[[], Any], count: int) -> float:
    """By the clock of the process: other work on the machine counts little."""
    start = time.process_time()
    for _ in range(count):
        function()
    return time.process_time() - start


def _count_of(function: Callable[[], Any]) -> int:
    """How many calls fill a chunk."""
    count = 1
    while True:
        seconds = _seconds_of(function, count)
        if seconds >= CHUNK:
            return count
        count = max(2 * count, int(count * CHUNK / seconds) if seconds > 0.0 else 0)


def serve() -> None:
    """Requests are `[method, *arguments]`; answers are `{name: number}`, or `{"failed": why}`."""
    server = Server()
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        try:
            answer: dict[str, Any] = getattr(server, method)(*arguments)
        except Exception as e:  # a commit that cannot do it
            answer = {"failed": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


def main(words: list[str]) -> None:
    if words == ["serve"]:
        serve()
        return
    what, name = words
    w = ALL[name]
    if what == "fresh":
        print(json.dumps(fresh(w)))
    else:
        print(json.dumps(of_calls(w, {"calls": calls_of, "memory": memory_of}[what])))


if __name__ == "__main__":
    main(sys.argv[1:])
