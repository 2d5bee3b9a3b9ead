"""Families that are imported when a call first meets one of their functions: that they are, and that nobody notices."""

import subprocess
import sys

import numpy as np
import pytest

from tapec.ops.core import lazy
from tapec.ops.core.stand_in import FUNCTIONS, METHODS, UFUNCS

ASKS_FOR_GRIDS = hasattr(np.polynomial.polynomial.polyval2d, "_implementation")


def module_of(ours):
    return ours.__module__


def test_the_table_has_what_the_modules_enter():
    entered = {}
    for function, ours in FUNCTIONS.items():
        if module_of(ours) in lazy.HOME.values():
            entered[function.__name__] = module_of(ours)
    gone = {name for name in lazy.HOME if name not in entered}
    assert gone <= {"trapz", "in1d"}  # which NumPy had until 2.3
    assert entered.items() <= lazy.HOME.items()


def test_each_gate_imports_the_module_that_it_is_named_after():
    assert {name: load().__name__ for name, load in lazy._LOADERS.items()} == {name: name for name in lazy._LOADERS}


def test_no_method_and_no_ufunc_comes_late():
    """They are looked up where nobody would ask for a module."""
    assert {*map(module_of, METHODS.values())}.isdisjoint(lazy.HOME.values())
    homes = {op.rule.__module__ for op in UFUNCS.values()}
    assert homes.isdisjoint(lazy.HOME.values())


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


HEAD = """
import sys
import numpy as np
import tapec

def late():
    from tapec.ops.core.lazy import HOME
    return sorted({*HOME.values()} & {*sys.modules})

assert late() == [], late()
x = np.arange(1.0, 7.0)
"""


@pytest.mark.parametrize(
    ("call", "home"),
    [
        ("np.diff(x)", "signal.differences"),
        ("np.pad(x, 2)", "layout.pad"),
        ("np.linalg.solve(np.diag(x), x)", "linalg.solve_and_inv"),
        ("np.abs(np.fft.fft(x))", "signal.fft"),
        ("np.median(x)", "reductions.quantiles"),
        ("np.polyval(x, 0.5)", "polynomial.coefficients"),
        ("np.nansum(x * x)", "reductions.nan_functions"),
        pytest.param(
            "np.polynomial.polynomial.polyval2d(x[0], x[1], np.ones((2, 2)))",
            "polynomial.two_variables",
            marks=pytest.mark.skipif(not ASKS_FOR_GRIDS, reason="older NumPy does not ask tensors"),
        ),
    ],
)
def test_a_first_call_is_as_any_other(call, home):
    """In functions, on tapes, and with Variables; the user's line is known, and the second call goes by a plan."""
    code = f"""{HEAD}
f = lambda x: np.sum({call})
with tapec.GradientTape() as tape:
    v = tapec.Variable(x)
    y = (lambda x: np.sum({call}))(v)
assert "tapec.ops.{home}" in late()
first = tape.gradient(y, v).numpy()
np.testing.assert_allclose(first, tapec.grad(f)(x), rtol=1e-12)
np.testing.assert_allclose(np.sum(first), tapec.jvp(f, (x,), (np.ones(6),))[1], rtol=1e-12)
"""
    run(code)


def test_the_line_of_a_first_call_is_known():
    code = f"""{HEAD}
with tapec.GradientTape() as tape:
    t = tapec.constant(x)
    tape.watch(t)
    try:
        np.diff(t, n=-1)
    except ValueError as error:
        assert "order must be non-negative" in str(error), error
    step = np.diff(t)
    loss = np.sum(step ** 2)
tape.gradient(loss, t)
print(tapec.grad(lambda x: np.sum(np.median(x, keepdims=True) * x)).source(x))
"""
    assert "np.median(x, keepdims=True)" in run(code)


def test_graph_text_names_what_nobody_has_called():
    code = f"""{HEAD}
line = "%0: f64[] = median %x {{axis=(0,), keepdims=False}}"
graph = tapec.ir.parse(f"graph(%x: f64[6]) {{{{\\n  {{line}}\\n  return %0\\n}}}}")
assert tapec.ir.interpret(graph, x) == [3.5], tapec.ir.interpret(graph, x)
"""
    run(code)


def test_what_has_no_meaning_is_an_error_as_ever():
    code = f"""{HEAD}
try:
    tapec.grad(lambda x: np.sum(np.busday_count(x, x)))(x)
except tapec.UnsupportedError as error:
    assert "np.busday_count has no op" in str(error), error
else:
    raise AssertionError
assert late() == []
"""
    run(code)


def test_many_threads_meet_a_family_at_once():
    code = f"""{HEAD}
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
sys.setswitchinterval(1e-6)
barrier = Barrier(8)

def work(k):
    barrier.wait()
    found = []
    for f in (np.unique, np.diff, lambda t: np.linalg.norm(t), lambda t: np.pad(t, 1), np.nansum, np.median):
        with tapec.GradientTape() as tape:
            t = tapec.constant(x)
            tape.watch(t)
            y = np.sum(f(t) ** 2)
        found.append(tape.gradient(y, t).numpy())
    return found

with ThreadPoolExecutor(8) as pool:
    first, *others = pool.map(work, range(8))
for other in others:
    np.testing.assert_array_equal(other, first)
"""
    run(code)
