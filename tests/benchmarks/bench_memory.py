"""Memory of a warm call: the most in use at one time, beside that of the derivative written by hand. Run as a script.

python -m tests.benchmarks.bench_memory

`stated` is what the header of the generated source says. All count what the call allocates, results included and
arguments not; NumPy's own workspace inside LAPACK is not seen by tracemalloc.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapec.cli.commands.bench import memory
from tests.benchmarks.peers import derivative
from tests.benchmarks.workloads import WORKLOADS


def peak(function: Callable[..., Any], args: tuple[Any, ...]) -> int:
    """Bytes, at most, that a warm call holds beyond what was there before."""
    function(*args)
    return memory(lambda: function(*args))


def size(count: float) -> str:
    return f"{count / 1e6:10.2f} MB" if count >= 1e5 else f"{count / 1e3:10.2f} kB"


def main() -> None:
    print(f"{'':<28} {'by hand':>13} {'tapec':>13} {'stated':>13}  ratio")
    for w in WORKLOADS:
        ours = derivative("tapec", w)
        by_hand, found = peak(w.by_hand, w.args), peak(ours, w.args)
        stated = ours.explain(*w.args).cost["peak"]
        print(f"{w.name:<28} {size(by_hand):>13} {size(found):>13} {size(stated):>13}  {found / max(by_hand, 1):5.2f}")


if __name__ == "__main__":
    main()
