"""What people write again and again with small arrays goes the short ways when it comes again, and records the same."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tapec
from tapec.trace.dispatch import call_plans, getitem
from tests.benchmarks.kinds import IN_PLACE, ONE, SEVERAL, arrays, function_of

ROOT = Path(__file__).resolve().parents[3]


def recorded(code, variables=0):
    """What is recorded of tensors, or of so many of them and Variables."""
    watched, plain = arrays()
    operate, names = function_of(code, plain)
    last = len(names) - variables
    operands = [(tapec.constant if k < last else tapec.Variable)(watched[name]) for k, name in enumerate(names)]
    with tapec.GradientTape() as tape:
        tape.watch(operands)
        operate(1, *operands)
    assert {entry[4].co_filename for entry in tape.log.records} <= {operate.__code__.co_filename}  # the user's line
    return tape.log.key, len(tape.log.records)


BY_VALUE = {  # what the plain array holds decides how long the result is: called each time
    "np.bincount(numbers, weights=v)",
    "np.bincount(numbers, v, minlength=6)",
    "np.repeat(v, numbers)",
    "np.compress(flags, x, axis=0)",
    "x.compress(flags, axis=0)",
    "np.extract(mask, x)",
    "np.insert(v, rows, 0.0)",
    "np.delete(v, rows)",
}


BY_LAYOUT = {"np.delete(x, slice(0, 2), axis=0)"}  # how the array lies decides how the result does: called each time

TO_OUT = {  # what is given an array for its result, and is no ufunc: called each time, too
    "q = x * 1.0; np.clip(x, 0.0, 1.0, out=q)",
    "q = x * 1.0; np.sum(x, axis=0, out=q[0])",
    "q = v * 1.0; x.sum(axis=0, out=q)",
}


@pytest.mark.parametrize(
    "code", [code for code in ONE + SEVERAL + IN_PLACE if code not in BY_VALUE | BY_LAYOUT | TO_OUT]
)
def test_the_third_call_follows_a_plan(code, monkeypatch):
    monkeypatch.setattr(call_plans, "_COUNTS", {})  # of what other tests gave to the same function
    keys = [recorded(code) for _ in range(3)]

    def long_way(*args):
        raise AssertionError("the long way")

    for module in (call_plans, getitem):
        monkeypatch.setattr(module, "run", long_way)
    keys.append(recorded(code))
    assert all(key == keys[0] for key in keys)
    assert keys[0][1] >= 1
    if code in ONE:
        assert keys[0][1] == 1


@pytest.mark.parametrize("code", [code for code in ONE + SEVERAL if code not in BY_VALUE | BY_LAYOUT])
def test_variables_follow_the_plans_of_tensors(code, monkeypatch, no_plans):
    """All operands, or all but the first."""
    expected = recorded(code)
    for _ in range(2):
        recorded(code)

    def long_way(*args):
        raise AssertionError("the long way")

    for module in (call_plans, getitem):
        monkeypatch.setattr(module, "run", long_way)
    count = len(function_of(code, arrays()[1])[1])
    for variables in {count, count - 1} - {0}:
        assert recorded(code, variables) == expected


@pytest.mark.parametrize("code", ONE + SEVERAL)
def test_each_of_two_tapes_has_the_users_line(code):
    watched, plain = arrays()
    operate, names = function_of(code, plain)
    operands = [tapec.constant(watched[name]) for name in names]
    with tapec.GradientTape() as outer, tapec.GradientTape() as inner:
        outer.watch(operands)
        inner.watch(operands[:1])
        operate(3, *operands)
    for tape in (outer, inner):
        assert {entry[4].co_filename for entry in tape.log.records} == {operate.__code__.co_filename}


def test_recording_outside_any_function():
    """No frame is looked for where there is none."""
    lines = ["import numpy as np, tapec", "from tests.benchmarks.kinds import arrays", "watched, plain = arrays()"]
    lines += ["tensors = {k: tapec.constant(a) for k, a in watched.items()}", "globals().update(plain | tensors)"]
    for _ in range(3):
        lines += ["with tapec.GradientTape() as tape:", "    tape.watch(list(tensors.values()))"]
        lines += [f"    {code}" for code in ONE + SEVERAL + IN_PLACE]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True, cwd=ROOT)


def test_what_is_measured_is_numpy_code():
    watched, plain = arrays()
    for code in ONE + SEVERAL + IN_PLACE:
        operate, names = function_of(code, plain)
        operate(2, *[np.array(watched[name])[()] for name in names])
