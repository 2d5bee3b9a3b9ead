"""Memory of a warm call: the most in use at one time, beside that of the derivative written by hand. Run as a script.

python -m tests.benchmarks.bench_memory

`stated` is what the header of the generated source says. All count what the call allocates, results included and
arguments not; NumPy's own workspace inside LAPACK is not seen by tracemalloc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapec import GradientTape, Variable, constant
from tapec.cli.commands.bench import memory
from tests.benchmarks.peers import derivative
from tests.benchmarks.workloads import WORKLOADS

WARM = 4  # calls until nothing more is generated


def peak(function: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """Bytes, at most, that a warm call holds beyond what was there before. The first ones generate code."""
    for _ in range(WARM):
        function(*args)
    return memory(lambda: function(*args))


def size(count: float) -> str:
    return f"{count / 1e6:10.2f} MB" if count >= 1e5 else f"{count / 1e3:10.2f} kB"


def net(rows: int, width: int = 64, hidden: int = 128) -> tuple[list[Any], Any, Any]:
    """The parameters of a net with one layer, and its data."""
    draw = np.random.default_rng(0).normal
    return (
        [draw(size=(width, hidden)) / 8, np.zeros(hidden), draw(size=(hidden, 1)) / 11],
        draw(size=(rows, width)),
        draw(size=(rows, 1)),
    )


def step_by_hand(parameters: list[Any], x: Any, y: Any) -> Any:
    """A step of training, in as few arrays as an expert writes."""
    w, b, v = parameters
    h = x @ w
    h += b
    np.tanh(h, out=h)
    e = h @ v
    e -= y
    loss = np.vdot(e, e) / e.size
    e *= 2.0 / e.size
    d_v = h.T @ e
    d_h = e @ v.T
    h *= h
    np.subtract(1.0, h, out=h)
    d_h *= h
    for p, g in zip(parameters, (x.T @ d_h, d_h.sum(axis=0), d_v), strict=True):
        g *= 1e-3
        p -= g
    return loss


def step_on_a_tape(parameters: list[Variable], x: Any, y: Any) -> Any:
    """The same as users write it."""
    w, b, v = parameters
    with GradientTape() as tape:
        loss = np.mean((np.tanh(x @ w + b) @ v - y) ** 2)
    for p, g in zip(parameters, tape.gradient(loss, parameters), strict=True):
        p.assign_sub(1e-3 * g)
    return loss


def main() -> None:
    print(f"{'':<28} {'by hand':>13} {'tapec':>13} {'stated':>13}  ratio")
    for w in WORKLOADS:
        ours = derivative("tapec", w)
        by_hand, found = peak(w.by_hand, w.args), peak(ours, w.args)
        stated = ours.explain(*w.args).cost["peak"]
        print(f"{w.name:<28} {size(by_hand):>13} {size(found):>13} {size(stated):>13}  {found / max(by_hand, 1):5.2f}")
    tape("a tape, 16-32-1, 64 rows", *net(64, 16, 32))  # a tape copies the data where these are plain arrays
    tape("the same, data as tensors", *net(64, 16, 32), tensors=True)
    for rows in (128, 1024, 8192, 65536):
        tape(f"a tape, {rows} rows", *net(rows))


def tape(name: str, parameters: list[Any], x: Any, y: Any, tensors: bool = False) -> None:
    variables, data = [Variable(p) for p in parameters], [constant(a) if tensors else a for a in (x, y)]
    by_hand, found = peak(step_by_hand, (parameters, x, y)), peak(step_on_a_tape, (variables, *data))
    print(f"{name:<28} {size(by_hand):>13} {size(found):>13} {'':>13}  {found / by_hand:5.2f}")


if __name__ == "__main__":
    main()
