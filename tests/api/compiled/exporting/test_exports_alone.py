"""Exported modules run in a process that has NumPy alone, and give there what the function gives here.

Everything that can be exported is: the golden functions, the examples, the workloads of the benchmarks, drawn programs.
All modules of a test run in one process, which can import nothing but the standard library and NumPy (and SciPy, where
the module says that it needs SciPy).
"""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given

import tapec
from tapec.ir import CONSTANT
from tapec.ops.core.stand_in import apply
from tapec.pytree import flatten
from tests.benchmarks import families, workloads
from tests.codegen.golden_functions import CASES
from tests.codegen.test_programs import programs
from tests.selection import examples

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
ALONE = """\
import importlib.abc, os, pickle, sys

class OnlyNumPy(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in allowed and top not in sys.stdlib_module_names:
            raise ImportError(f"{name} is neither NumPy nor of the standard library")

allowed = {"numpy", "mkl"}
sys.meta_path.insert(0, OnlyNumPy())
sys.path.insert(0, folder := sys.argv[1])
import numpy as np
found = {}
for file in sorted(f for f in os.listdir(folder) if f.endswith(".py")):
    name, text = file[:-3], open(os.path.join(folder, file), encoding="utf-8").read()
    allowed |= {name} | ({"scipy"} if "It needs NumPy and SciPy alone." in text.splitlines()[0] else set())
    args, kwargs = pickle.load(open(os.path.join(folder, f"{name}.args"), "rb"))
    try:
        module = __import__(name)
        with np.errstate(all="ignore"):
            found[name] = getattr(module, module.__all__[0])(*args, **kwargs)
    except Exception as error:
        found[name] = f"{type(error).__name__}: {error}"
    allowed -= {name, "scipy"}
pickle.dump(found, open(os.path.join(folder, "results"), "wb"))
"""


def run_alone(folder: Path, calls: dict[str, tuple[Any, tuple[Any, ...]]]) -> None:
    """Export each function for its arguments, call all of them in another process, and compare."""
    wanted = {}
    for k, (label, (function, args)) in enumerate(calls.items()):
        name = f"m_{k:04d}"
        with np.errstate(all="ignore"):
            try:
                function.export(folder / f"{name}.py", *args)
                wanted[name] = label, function(*args)
            except Exception as error:
                error.add_note(label)
                raise
        (folder / f"{name}.args").write_bytes(pickle.dumps((args, {})))
    subprocess.run([sys.executable, "-I", "-c", ALONE, str(folder)], check=True, timeout=600)
    found = pickle.loads((folder / "results").read_bytes())
    assert set(found) == set(wanted)
    for name, (label, value) in wanted.items():
        same(found[name], value, f"{label}\n{(folder / f'{name}.py').read_text()[:4000]}")


def same(found: Any, wanted: Any, what: str) -> None:
    a, b = [], []
    assert not isinstance(found, str), f"{found}\n{what}"
    assert flatten(found, a) == flatten(wanted, b), what
    for x, y in zip(a, b, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype, what
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12, err_msg=what)


# -- golden functions -------------------------------------------------------------------------------------------------
def test_golden_functions(tmp_path):
    calls = {}
    for name, (function, args, wrt) in CASES.items():
        calls[name] = tapec.value_and_grad(function, argnums=wrt), args
        calls[f"{name}, forwards"] = tapec.compile(function), args
    run_alone(tmp_path, calls)


# -- examples ---------------------------------------------------------------------------------------------------------
REFUSED = {  # the user's solvers run in these
    "implicit_layer.revenue": "_root is no plain NumPy function",
    "pde_conductivity.loss": "_linear_solve2? is no plain NumPy function",
}


def example_functions() -> Iterator[tuple[str, Any, Any]]:
    for path in sorted(EXAMPLES.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"exported_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, function in vars(module).items():
            args = getattr(function, "example_args", None)
            if args is not None:
                args = args() if callable(args) else args
                made = function if hasattr(function, "export") else tapec.value_and_grad(function)
                yield f"{path.stem}.{name}", made, args


def test_examples(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    calls = {label: (function, args) for label, function, args in example_functions()}
    for label, message in REFUSED.items():
        function, args = calls.pop(label)
        with pytest.raises(tapec.TapecError, match=message):
            function.export(tmp_path / "refused.py", *args)
    run_alone(tmp_path, calls)


# -- workloads --------------------------------------------------------------------------------------------------------
def workload_calls(small: bool) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    calls = {}
    for w in dict.fromkeys((*families.WORKLOADS, *families.TAPE_STEPS)):
        args, task = w.args(small=small), families.Task
        f = over_numpy(w.objective)
        if w.task in (task.GRADIENTS, task.STEP):
            made = tapec.value_and_grad(f, argnums=w.wrt)
        elif w.task is task.PER_EXAMPLE:
            made = tapec.vmap(tapec.grad(f), in_axes=(None, *[0] * (len(args) - 1)))
        else:
            made = {task.JACOBIAN: tapec.jacobian, task.HESSIAN: tapec.hessian}[w.task](f)
        calls[f"{w.family}: {w.name}"] = made, args
    return calls


def over_numpy(objective: Callable[..., Any]) -> Callable[..., Any]:
    def f(*args: Any) -> Any:
        return objective(np, *args)

    return f


@pytest.mark.thorough
@pytest.mark.parametrize("small", [True, False])
def test_workloads_of_the_families(tmp_path, small):
    run_alone(tmp_path, workload_calls(small))


@pytest.mark.thorough
def test_workloads_that_are_compared_with_others(tmp_path):
    calls = {}
    for w in workloads.WORKLOADS:
        f = over_numpy(w.objective)
        if w.what == "per_example":
            made = tapec.vmap(tapec.grad(f), in_axes=(None, *[0] * (len(w.args) - 1)))
        else:
            made = {"grad": tapec.grad, "hessian": tapec.hessian}[w.what](f)
        calls[w.name] = made, w.args
    run_alone(tmp_path, calls)


# -- drawn programs ---------------------------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore:f uses an array of shape")  # the graph's constants, which have no name
@pytest.mark.hypothesis
@pytest.mark.parametrize("in_blocks", [False, True])
def test_drawn_programs(tmp_path, monkeypatch, in_blocks):
    if in_blocks:
        for name in ("BUFFER_MIN_BYTES", "BUFFER_ALWAYS_MIN_BYTES", "LARGE_MIN_BYTES", "BLOCK_LOOP_MIN_OPS"):
            monkeypatch.setattr(f"tapec.codegen.tuning.{name}", 1)
        monkeypatch.setattr("tapec.codegen.tuning.BLOCK_MAX_BYTES", 48)
    calls = {}

    def function_of(graph):
        def f(*xs):
            known = dict(zip(graph.inputs, xs, strict=True))
            for node in graph.nodes:
                inputs = [known[i] for i in node.inputs]
                known[node] = node.value if node.op is CONSTANT else apply(node.op, tuple(inputs), node.params)
            return [known[o] for o in graph.outputs]

        return f

    @examples(60, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(programs())
    def draw(program):
        graph, values = program
        calls[str(graph)] = tapec.compile(function_of(graph)), tuple(values)

    draw()
    run_alone(tmp_path, calls)
