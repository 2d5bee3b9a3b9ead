"""The programs of tests and benchmarks whose generated text is compared, in groups: a process runs one group.

python -m tests.fence.program GROUP
"""

from __future__ import annotations

import sys
from collections.abc import Callable

__all__ = ["GROUPS"]


def golden() -> None:
    import tapec
    from tests.codegen.golden_functions import CASES

    for function, values, wrt in CASES.values():
        tapec.value_and_grad(function, argnums=wrt)(*values)


def peers() -> None:
    from tests.benchmarks.peers import derivative
    from tests.benchmarks.workloads import WORKLOADS

    for w in WORKLOADS:
        run = derivative("tapec", w)
        for _ in range(3):
            run(*w.args)


def families() -> None:
    from tests.benchmarks.families import TAPE_STEPS, WORKLOADS, by_tapec

    for w in (*WORKLOADS, *TAPE_STEPS):
        args = w.args()
        run = by_tapec(w, args)
        for _ in range(3):
            run(*args)


def functions() -> None:
    import numpy as np

    import tapec
    from tests.benchmarks.bench_functions import chain, lotka_volterra, rosenbrock, twenty

    x = np.linspace(0.1, 1.0, 10)
    p, y = np.array([1.5, 1.0, 3.0, 1.0]), np.array([1.0, 1.0])
    for function, args in (
        (rosenbrock, (x,)),
        (twenty, (x,)),
        (chain(1000), (x,)),
        (lotka_volterra(10), (p, y)),
        (lotka_volterra(200), (p, y)),
    ):
        f = tapec.value_and_grad(function, argnums=tuple(range(len(args))))
        for _ in range(3):
            f(*args)


def tapes() -> None:
    from tests.benchmarks.bench_tape import Variable, chain, square, variable_square

    v = Variable(3.0)
    for _ in range(4):
        square()
        chain()
        variable_square(v)


def kinds() -> None:
    """Each kind of operation, recorded, and its gradient."""
    from tapec import GradientTape, constant
    from tests.benchmarks.kinds import IN_PLACE, ONE, SEVERAL, arrays, function_of

    watched, plain = arrays()
    for code in ONE + SEVERAL + IN_PLACE:
        operate, names = function_of(f"out = {code}" if code in ONE + SEVERAL else code, plain)
        tensors = [constant(watched[name]) for name in names]
        for _ in range(2):
            with GradientTape() as tape:
                tape.watch(tensors)
                operate(1, *tensors)
                y = sum([(t * t).sum() for t in tensors])
            tape.gradient(y, tensors)


GROUPS: dict[str, Callable[[], None]] = {
    "golden": golden,
    "peers": peers,
    "families": families,
    "functions": functions,
    "tapes": tapes,
    "kinds": kinds,
}

if __name__ == "__main__":
    GROUPS[sys.argv[1]]()
