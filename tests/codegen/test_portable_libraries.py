"""Portable code on NumPy, array-api-strict, dask, JAX and PyTorch, where they are installed, gives NumPy's results.

It is that of the benchmarks' objectives, of programs that nobody wrote, and of all that the pages and the examples
compile. Libraries lack functions of the array API; then they raise errors, and compute nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from importlib.util import find_spec

import numpy as np
import pytest

import tapec
from tapec.errors import TapecError, UnsupportedError
from tests.benchmarks.workloads import WORKLOADS
from tests.codegen.portable_kit import LIBRARIES, check
from tests.docs.test_pages import NAMES as PAGES
from tests.docs.test_pages import ROOT
from tests.examples.test_examples import EXAMPLES
from tests.examples.test_examples import NAMES as SCRIPTS
from tests.generated.programs import drawn

HERE = [name for name, module in LIBRARIES.items() if find_spec(module.partition(".")[0]) is not None]
if find_spec("torch") is None or find_spec("array_api_compat") is None:
    HERE = [name for name in HERE if name != "torch"]
if find_spec("dask") is None:
    HERE = [name for name in HERE if name != "dask"]
ALL_OF_IT = ("numpy", "strict") if hasattr(np, "cumulative_sum") else ("strict",)  # that have the whole array API
TRANSFORMS = {"grad": tapec.value_and_grad, "hessian": tapec.hessian}
GENERATED = range(30)


def bound(objective):
    return lambda *args: objective(np, *args)


def run(function, args) -> None:
    """Hold the portable code of a call against what runs, on each library that is here."""
    code, values = function.generated(*args)
    expected = code.function(*values)
    made = function.locate(*args)[1].compiled.renamed(target="portable").function
    for name in HERE:  # dask takes longer for each line the more there are, and JAX compiles each
        if name not in ("dask", "jax") or made.compiled.lines < 150:
            assert check(name, made, values, expected) or name not in ALL_OF_IT


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("workload", [w for w in WORKLOADS if w.what in TRANSFORMS], ids=lambda w: w.name)
def test_benchmarks(workload):
    large = workload.name in ("chain of 10⁶", "embedding 10000×64", "softmax regression 10000×784")
    args = [x[:64] if large and isinstance(x, np.ndarray) and x.shape[0] > 10**3 else x for x in workload.args]
    if workload.name == "embedding 10000×64":
        args[1] = args[1] % 64
    run(TRANSFORMS[workload.what](bound(workload.objective)), args)


@pytest.mark.parametrize("seed", GENERATED)
def test_programs_that_nobody_wrote(seed):
    program = drawn(seed)
    function = tapec.value_and_grad(program.module()["f"])
    args = program.arguments(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function.generated(*args)
        except TapecError:
            return  # it is recorded anew at each call, so no code stays
        try:
            run(function, args)
        except UnsupportedError as error:
            assert "np." not in str(error)


# the reference has no programs that other pages do not have
TOLD = [name for name in PAGES if "/api" not in name and "```python" in (ROOT / name).read_text(encoding="utf-8")]


@pytest.mark.sampled(one_in=10)
@pytest.mark.parametrize("name", [*TOLD, *[f"examples/{name}.py" for name in SCRIPTS]])
def test_all_that_pages_and_examples_compile(name, tmp_path):
    path = ROOT / name
    assert path.exists() and EXAMPLES.exists()
    command = [sys.executable, "-m", "tests.codegen.portable_kit", ",".join(HERE), str(path)]
    made = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "MPLBACKEND": "Agg"}, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stdout + made.stderr
    written, refused, *ran = map(int, made.stdout.split("counts ")[-1].split())
    assert ran[0] <= written and (not written or refused < written + 5), made.stdout
