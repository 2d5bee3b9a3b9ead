"""Gradients by tapec, by hand, and by whatever else is installed (autograd, JAX, torch), side by side.

    pip install tapec[bench]
    python -m tests.benchmarks.peers                    # a table of ratios to what is written by hand
    python -m tests.benchmarks.peers --write            # and into docs/performance.json, for the pages
    python -m tests.benchmarks.peers --only rosenbrock --with tapec,jax

Every library runs in a process of its own, on one thread. Arguments and results are NumPy arrays in every call;
conversion is included, imports are not. Times are those of the CPU, so that other work on the machine counts little.
cold: from the plain function to its first result. warm: the least mean time of several bursts, libraries taking turns.
Results that differ from those by hand are no results.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.benchmarks.timing import best

ONE_THREAD = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
LIBRARIES = ("by hand", "tapec", "autograd", "jax", "torch")
ROOT = Path(__file__).resolve().parents[2]
JSON = ROOT / "docs" / "performance.json"


# ---------------------------------------------------------------------------------------------------------------
# in the process of one library
# ---------------------------------------------------------------------------------------------------------------
def derivative(library: str, w: Any) -> Callable[..., Any]:
    """A function of NumPy arguments that gives the derivative as NumPy."""
    return {"by hand": lambda w: w.by_hand, "tapec": _tapec, "autograd": _autograd, "jax": _jax, "torch": _torch}[
        library
    ](w)


def _tapec(w: Any) -> Any:
    import numpy as np

    import tapec

    f = partial(w.objective, np)
    if w.what == "hessian":
        return tapec.hessian(f)
    if w.what == "per_example":
        return tapec.per_example_grad(f)
    return tapec.grad(f)


def _autograd(w: Any) -> Any:
    import autograd
    import autograd.numpy as np

    def f(*args: Any) -> Any:
        return w.objective(np, *args)

    if w.what == "hessian":
        return autograd.hessian(f)
    if w.what == "per_example":
        gradient = autograd.grad(f)
        return lambda p, xs, ys: np.stack([gradient(p, x, y) for x, y in zip(xs, ys)])
    return autograd.grad(f)


def _jax(w: Any) -> Any:
    import jax
    import numpy

    jax.config.update("jax_enable_x64", True)

    def f(*args: Any) -> Any:
        return w.objective(jax.numpy, *args)

    if w.what == "hessian":
        made = jax.hessian(f)
    elif w.what == "per_example":
        made = jax.vmap(jax.grad(f), in_axes=(None, 0, 0))
    else:
        made = jax.grad(f)
    run = jax.jit(made)
    return lambda *args: numpy.asarray(run(*args))


def _torch(w: Any) -> Any:
    import torch

    torch.set_num_threads(1)
    objective = w.torch or w.objective

    def f(*args: Any) -> Any:
        return objective(torch, *args)

    def tensors(args: Any) -> list[Any]:
        return [torch.as_tensor(a, dtype=torch.float64 if isinstance(a, float) else None) for a in args]

    if w.what == "hessian":
        made = torch.func.hessian(f)
        return lambda *args: made(*tensors(args)).numpy()
    if w.what == "per_example":
        made = torch.func.vmap(torch.func.grad(f), in_dims=(None, 0, 0))
        return lambda *args: made(*tensors(args)).numpy()

    def gradient(*args: Any) -> Any:
        x, *rest = tensors(args)
        x.requires_grad_()
        return torch.autograd.grad(f(x, *rest), x)[0].numpy()

    return gradient


def measure(library: str, names: list[str], seconds: float) -> dict[str, Any]:
    """Cold and warm times of each workload; results are held against those by hand."""
    import numpy as np

    from tests.benchmarks.workloads import WARM_UP, WORKLOADS

    derivative(library, WARM_UP)(*WARM_UP.args)  # what a library imports when first used is no part of a first call
    found: dict[str, Any] = {}
    for w in WORKLOADS:
        if w.name not in names:
            continue
        try:
            start = time.process_time()
            run = derivative(library, w)
            result = run(*w.args)
            cold = time.process_time() - start
            expected = w.by_hand(*w.args)
            scale = np.max(np.abs(expected))
            if not np.allclose(result, expected, rtol=1e-6, atol=1e-9 * scale):
                raise ValueError("the result is wrong")
            warm = best(lambda: run(*w.args), seconds, time.process_time) / 1e6  # noqa: B023
            found[w.name] = {"cold": cold, "warm": warm}
        except Exception as e:  # a library that cannot do it
            found[w.name] = {"failed": f"{type(e).__name__}: {e}"[:200]}
    return found


# ---------------------------------------------------------------------------------------------------------------
# in the process that asks
# ---------------------------------------------------------------------------------------------------------------
def installed() -> list[str]:
    from importlib.util import find_spec

    return [name for name in LIBRARIES if name == "by hand" or find_spec(name)]


def versions(libraries: list[str]) -> dict[str, str]:
    from importlib.metadata import version

    return {
        "numpy": version("numpy"),
        **{name: version(name) for name in libraries if name not in ("by hand", "tapec")},
    }


def in_process(library: str, names: list[str], seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.peers", "--one", library, "--seconds", str(seconds)]
    run = subprocess.run(
        [*command, "--names", json.dumps(names)],
        cwd=ROOT,
        env={**os.environ, **ONE_THREAD},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(f"{library} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def compare(libraries: list[str], names: list[str], seconds: float, turns: int) -> dict[str, Any]:
    """The best of several turns for each."""
    from tests.benchmarks.workloads import WORKLOADS

    least: dict[str, dict[str, Any]] = {}
    for turn in range(turns):
        for library in libraries[turn % len(libraries) :] + libraries[: turn % len(libraries)]:
            for name, times in in_process(library, names, seconds).items():
                known = least.setdefault(name, {}).setdefault(library, times)
                if "warm" in times and "warm" in known:
                    known.update({k: min(known[k], times[k]) for k in ("cold", "warm")})
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, one thread, Python {platform.python_version()}",
        "versions": versions(libraries),
        "libraries": libraries,
        "categories": {w.name: w.category for w in WORKLOADS if w.name in least},
        "times": least,
    }


def main(words: list[str]) -> int:
    from docs.peers import chart, ratios_table
    from tests.benchmarks.workloads import WORKLOADS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="workloads whose name holds this")
    parser.add_argument(
        "--with", dest="libraries", default="", help="libraries, parted by commas (default: all installed)"
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="for each measurement")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into docs/performance.json and its chart")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--names", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if options.one:
        print(json.dumps(measure(options.one, options.names, options.seconds)))
        return 0
    chosen = ["by hand", *[n for n in options.libraries.split(",") if n]] if options.libraries else installed()
    names = [w.name for w in WORKLOADS if options.only in w.name]
    data = compare(chosen, names, options.seconds, options.turns)
    print(ratios_table(data))
    if options.write:
        JSON.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        JSON.with_suffix(".svg").write_text(chart(data), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
