"""Train for a long time in several threads, and watch memory, values and locks.

    python -m tests.benchmarks.soak --steps 100000 --threads 8
    python -m tests.benchmarks.soak --seconds 60

Each thread takes steps on tapes and by compiled gradients. Now and then a closure is made anew, a batch has another
size, a branch goes the other way, and what a function captures changes. Every value is compared with plain NumPy's.
Memory may be 50 MB above what it was after the first thousand steps. Exits 1 if something is wrong.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import threading
import time
from typing import Any

import numpy as np

import tapec

ALLOWED_BYTES = 50 << 20
SETTLED_STEPS = 1000  # from which memory is compared


def resident_bytes() -> int | None:
    """Return the memory that the process holds, where the system tells it."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


class Model:
    """Holds what the compiled function reads and the thread changes."""

    def __init__(self, rng: np.random.Generator):
        self.w = rng.normal(size=(6, 4)) * 0.3
        self.rate = 0.05
        self.seen = 0


def loss(w: Any, model: Model, x: Any, y: Any) -> Any:
    h = np.tanh(x @ w) * model.rate
    if np.mean(h) > 0.001:
        h = h * 1.1
    return np.mean((np.sum(h, axis=1) - y) ** 2)


class Worker:
    """One thread's steps."""

    def __init__(self, number: int):
        self.rng = np.random.default_rng(number)
        self.model = Model(self.rng)
        self.variable = tapec.Variable(self.rng.normal(size=5))
        self.gradient = tapec.value_and_grad(loss)
        self.steps = 0
        self.errors: list[str] = []

    def step(self) -> None:
        """Take one step, of the kind that comes next."""
        kind = self.steps % 10
        self.steps += 1
        if kind < 5:
            self.compiled_step()
        elif kind < 9:
            self.tape_step()
        else:
            self.closure_step()
        if self.steps % 97 == 0:
            self.model.rate = float(self.rng.uniform(0.01, 0.1))
        if self.steps % 997 == 0:
            self.model = Model(self.rng)

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        size = 8 if self.steps % 50 else int(self.rng.integers(1, 12))
        return self.rng.normal(size=(size, 6)), self.rng.normal(size=size)

    def compiled_step(self) -> None:
        x, y = self.batch()
        model = self.model
        found, slope = self.gradient(model.w, model, x, y)
        self.expect("compiled value", found, loss(model.w, model, x, y))
        if self.steps % 500 == 1:
            moved = model.w.copy()
            moved[0, 0] += 1e-6
            lower = model.w.copy()
            lower[0, 0] -= 1e-6
            want = (loss(moved, model, x, y) - loss(lower, model, x, y)) / 2e-6
            self.expect("gradient", slope[0, 0], want, 1e-4, 1e-7)
        model.w -= 0.01 * slope
        model.seen += 1

    def tape_step(self) -> None:
        target = self.rng.normal(size=5)
        with tapec.GradientTape() as tape:
            error = self.variable.value() - target
            value = np.sum(error * error) if self.steps % 3 else np.sum(np.abs(error))
        slope = tape.gradient(value, self.variable)
        plain = self.variable.numpy() - target
        self.expect("tape value", value, np.sum(plain * plain) if self.steps % 3 else np.sum(np.abs(plain)))
        self.expect("tape gradient", slope, 2 * plain if self.steps % 3 else np.sign(plain))
        self.variable.assign_sub(0.01 * slope)

    def closure_step(self) -> None:
        scale, shift = float(self.rng.uniform(0.5, 2.0)), self.rng.normal(size=5)
        fresh = tapec.grad(lambda v: np.sum(np.sin(v * scale) + shift * v))
        v = self.rng.normal(size=5)
        self.expect("closure", fresh(v), np.cos(v * scale) * scale + shift)

    def expect(self, what: str, got: Any, want: Any, rtol: float = 1e-8, atol: float = 1e-10) -> None:
        if not np.allclose(np.asarray(got), want, rtol=rtol, atol=atol):
            self.errors.append(f"step {self.steps}: {what} is {np.asarray(got)}, and not {want}")


def run(steps: int, threads: int, seconds: float) -> int:
    """Take the steps, print what was measured, and return how many things were wrong."""
    workers = [Worker(number) for number in range(threads)]
    each, start, base = steps // threads, time.monotonic(), None

    def work(worker: Worker) -> None:
        try:
            while worker.steps < each and time.monotonic() - start < seconds and len(worker.errors) < 3:
                worker.step()
        except Exception as error:
            worker.errors.append(f"step {worker.steps}: {type(error).__name__}: {error}")

    running = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in workers]
    for thread in running:
        thread.start()
    while any([thread.is_alive() for thread in running]):
        time.sleep(0.2)
        if base is None and sum([worker.steps for worker in workers]) >= SETTLED_STEPS:
            gc.collect()
            base = resident_bytes()
        if time.monotonic() - start > seconds + 60:
            print("wrong: a thread still waits a minute after the time")
            return 1
    last = threading.Thread(target=Worker(threads).step, daemon=True)  # nobody holds a lock that it needs
    last.start()
    last.join(30)
    gc.collect()
    end = resident_bytes()
    errors = [f"thread {k}: {error}" for k, worker in enumerate(workers) for error in worker.errors]
    if last.is_alive():
        errors.append("a step after the end waits for a lock")
    if base is not None and end is not None and end - base > ALLOWED_BYTES:
        errors.append(f"memory grew by {(end - base) / 2**20:.0f} MB")
    taken = sum([worker.steps for worker in workers])
    grown = "unknown" if base is None or end is None else f"{(end - base) / 2**20:+.1f} MB of {end / 2**20:.0f}"
    print(f"{taken} steps in {threads} threads, {time.monotonic() - start:.0f} s, memory {grown}")
    print(f"Python {sys.version.split()[0]}, GIL {getattr(sys, '_is_gil_enabled', lambda: True)()}")
    for error in errors:
        print("wrong:", error)
    return len(errors)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.soak", description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3600.0, help="at most")
    given = parser.parse_args()
    sys.exit(min(run(given.steps, given.threads, given.seconds), 1))


if __name__ == "__main__":
    main()
