"""What a tape costs: recording, gradients, compilation, memory. Run as a script; prints numbers beside their budgets.

python -m tests.benchmarks.bench_tape            # beside autograd, torch and TensorFlow, where they are installed
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

import tapec
from tapec import GradientTape, Variable, constant
from tests.benchmarks.bench_functions import twenty
from tests.benchmarks.kinds import IN_PLACE, ONE, SEVERAL, arrays, function_of
from tests.benchmarks.timing import best, in_turn, once, row


# -- small programs --------------------------------------------------------------------------------------------------
def square(tf: Any = tapec, value: Any = 3.0) -> Any:
    x = tf.constant(value)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    return tape.gradient(y, x)


def chain(tf: Any = tapec, value: Any = 1.01, pairs: int = 20) -> Any:
    """Two operations for each pair."""
    x = tf.constant(value)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(pairs):
            y = y * x
            y = y + x
    return tape.gradient(y, x)


def variable_square(v: Variable) -> Any:
    with GradientTape() as tape:
        y = v * v
    return tape.gradient(y, v)


def recording(operate: Callable[[Any, Any], Any], count: int, value: Any = 1.01) -> float:
    """Microseconds that a watched operation takes above the same on plain values; each takes what the last one gave."""
    x = constant(value)
    plain = x.numpy()

    def taped() -> None:
        with GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(count):
                y = operate(y, x)

    def untaped() -> None:
        y = plain
        for _ in range(count):
            y = operate(y, plain)

    def empty() -> None:
        with GradientTape() as tape:
            tape.watch(x)

    with_tape, tape_alone, plainly = in_turn(taped, empty, untaped)
    return (with_tape - tape_alone - plainly) / count


def recording_kind(code: str, watch: Callable[[Any], Any] = constant) -> tuple[float, float, int]:
    """The same for what a line of `kinds` does with small arrays, in the block, and with what its records cost at the
    block's end; and how many results are recorded for it. `watch` makes tensors or Variables of arrays.
    """
    watched, plain = arrays()
    operate, names = function_of(code, plain)
    values = [watched[name] for name in names]
    tensors = [watch(value) for value in values]
    count = 60
    inside = []

    def taped(count: int = count) -> GradientTape:
        with GradientTape() as tape:
            tape.watch(tensors)
            start = time.perf_counter()
            operate(count, *tensors)
            inside.append(time.perf_counter() - start)
        return tape

    recorded = sum([len(out) if type(out) is tuple else 1 for _, _, _, out, *_ in taped(1).log.records])
    taped(2)  # what is planned for what comes again
    inside.clear()
    with_tape, plainly = in_turn(taped, lambda: operate(count, *values))
    operation = (min(inside) * 1e6 - plainly) / count
    [tape_alone] = in_turn(lambda: taped(0))
    return operation, (with_tape - tape_alone - plainly) / count, recorded


FUNCTION_BUDGET = 10.0  # microseconds above NumPy's own call


def small_programs() -> None:
    row("recording x * y of numbers, above NumPy", recording(lambda y, x: y * x, 200), "us", "<= 3")
    row("recording np.sin(x) of numbers, above NumPy", recording(lambda y, x: np.sin(y), 200), "us", "<= 3")
    over, with_end_over, costs = [], [], []
    for code in ONE + SEVERAL + IN_PLACE:
        cost, with_end, recorded = recording_kind(code)
        each = 1 if code in ONE else recorded
        name = f"{code}, above NumPy" if each == 1 else f"{code}, each of {each} results, above NumPy"
        row(name, cost / each, "us", f"({with_end / each:.2f} with its part of the block's end)")
        costs.append(cost / each)
        over += [code] if cost / each > FUNCTION_BUDGET else []
        with_end_over += [code] if with_end / each > FUNCTION_BUDGET else []
    row("    the median of kinds", statistics.median(costs), "us", f"<= {FUNCTION_BUDGET:.0f}")
    row(f"    kinds above {FUNCTION_BUDGET:.0f} us: {', '.join(over) or 'none'}", len(over), "kinds")
    row(f"    with the block's end: {', '.join(with_end_over) or 'none'}", len(with_end_over), "kinds")
    of_variables = []
    for code in ONE + SEVERAL:
        cost, _, recorded = recording_kind(code, Variable)
        of_variables += [code] if cost / (1 if code in ONE else recorded) > FUNCTION_BUDGET else []
    row(
        f"    kinds above {FUNCTION_BUDGET:.0f} us, of Variables: {', '.join(of_variables) or 'none'}",
        len(of_variables),
        "kinds",
    )
    row("x * x, watch to gradient", best(square), "us", "<= 25")
    v = Variable(3.0)
    row("v * v of a Variable", best(lambda: variable_square(v)), "us")
    ours = best(chain)
    row("40 operations, gradient included", ours, "us", "<= 100 (here <= 60)")
    for name, peer in peers().items():
        theirs = best(peer)
        row(f"    {name}", theirs, "us", f"{theirs / ours:.1f} times")


def peers() -> dict[str, Callable[[], Any]]:
    """The chain by whichever peers are installed."""
    found: dict[str, Callable[[], Any]] = {}
    try:
        import autograd

        def f(x: Any) -> Any:
            y = x
            for _ in range(20):
                y = y * x
                y = y + x
            return y

        gradient = autograd.grad(f)
        found["autograd"] = lambda: gradient(1.01)
    except ImportError:
        pass
    try:
        import torch

        def torch_chain() -> Any:
            x = torch.tensor(1.01, requires_grad=True)
            y = x
            for _ in range(20):
                y = y * x
                y = y + x
            y.backward()
            return x.grad

        found["torch"] = torch_chain
    except ImportError:
        pass
    try:
        import tensorflow as tf

        found["TensorFlow, at least 20 times is asked for"] = lambda: chain(tf)
    except ImportError:
        pass
    return found


# -- compiling -------------------------------------------------------------------------------------------------------
def first_gradient(f: Callable[[Any], Any], x: Any) -> float:
    """Milliseconds from recording to gradient when the structure is not known."""
    tapec.cache_clear()

    def run() -> None:
        with GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, x)

    return once(run)


def long_program(n: int) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = x
        for _ in range(n // 2):
            y = y * 1.0001
            y = np.sin(y)
        return np.sum(y)

    return f


def compiling() -> None:
    for f in (twenty, long_program(100)):  # what is imported and remembered once is not counted
        first_gradient(f, constant(np.ones(3)))
    times = [first_gradient(twenty, constant(np.ones(4 + k))) for k in range(9)]
    row("first gradient of a 20-operation program", statistics.median(times), "ms", "<= 5")
    for n in (1_000, 10_000, 100_000):
        ms = first_gradient(long_program(n), constant(np.ones(100)))
        row(f"first gradient of {n} operations", n / ms * 1e3, "ops/s", ">= 15000 nodes/s")


def importing() -> None:
    def seconds(what: str) -> float:
        code = f"import time, sys; t = time.perf_counter(); import {what}; print(time.perf_counter() - t)"
        command = [sys.executable, "-c", code]
        return min(float(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(7)) * 1e3

    numpy = seconds("numpy")
    row("import tapec, above NumPy", seconds("tapec") - numpy, "ms", "<= 30")
    row("import tapec and name GradientTape, above NumPy", seconds("tapec; tapec.GradientTape") - numpy, "ms")


# -- training --------------------------------------------------------------------------------------------------------
def training(steps: int = 10_000) -> None:
    rng = np.random.default_rng(0)
    w, b = Variable(rng.standard_normal((5, 3))), Variable(np.zeros(3))
    x, y = rng.standard_normal((20, 5)), rng.standard_normal((20, 3))

    def train(n: int) -> None:
        for k in range(n):
            with GradientTape() as tape:
                loss = np.mean((np.tanh(x @ w + b) - y) ** 2)
            dw, db = tape.gradient(loss, [w, b])
            rate = 0.1 / (1.0 + k)
            w.assign_sub(rate * dw)
            b.assign_sub(rate * db)

    train(100)
    row("a training step", best(lambda: train(10)) / 10, "us")
    tracemalloc.start()
    train(1000)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    train(steps)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    row(f"growth of memory in {steps} training steps", after - before, "bytes", "flat")


# -- programs that are others each time -------------------------------------------------------------------------------
def random_tree(rng: np.random.Generator, leaves: int) -> Any:
    if leaves == 1:
        return int(rng.integers(20))
    left = int(rng.integers(1, leaves))
    return random_tree(rng, left), random_tree(rng, leaves - left)


def tree_value(tree: Any, w: Any, b: Any, table: Any, np: Any = np) -> Any:
    """A recursive net: the rows of the leaves, and for each pair a layer of both."""
    if isinstance(tree, int):
        return table[tree]
    left, right = [tree_value(part, w, b, table, np) for part in tree]
    return np.tanh(w @ np.concatenate([left, right]) + b)


def trees(leaves: int = 40, count: int = 60) -> None:
    """Each has another structure, and none comes again."""
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((8, 16)) / 4, np.zeros(8), rng.standard_normal((20, 8))]
    tensors = [constant(x) for x in given]
    drawn = [random_tree(rng, leaves) for _ in range(count)]

    def by_tape(tree: Any) -> Any:
        with GradientTape() as tape:
            tape.watch(tensors)
            y = np.sum(tree_value(tree, *tensors) ** 2)
        return tape.gradient(y, tensors)

    ours = statistics.median([once(lambda: by_tape(tree)) for tree in drawn][count // 3 :])  # noqa: B023
    row(f"a tree of {leaves} leaves, another each time", ours, "ms")
    try:
        import autograd
        import autograd.numpy as anp
    except ImportError:
        return
    gradient = autograd.grad(lambda p, tree: anp.sum(tree_value(tree, *p, anp) ** 2))
    theirs = statistics.median([once(lambda: gradient(given, tree)) for tree in drawn[:20]])  # noqa: B023
    row("    autograd", theirs, "ms", f"{theirs / ours:.1f} times")


if __name__ == "__main__":
    small_programs()
    compiling()
    importing()
    training()
    trees()
