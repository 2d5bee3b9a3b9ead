"""NumPy's warnings of floating point errors point at the user's line while something records, and come once."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import tapec
from tapec.trace import float_warnings, tuning


def logs(x):
    return np.log(x)


def inverse(x):
    return 1.0 / x


def product(x):
    return x * 1e200 * 1e200


def root(x):
    return (x - 5.0) ** 0.5


def gradient_of_points(x):
    return np.gradient(x, 0.0)


def in_place(x):
    y = x * 1.0
    y /= 0.0
    return y


def largest(x):
    return np.maximum(x / 0.0, 1.0)


FUNCTIONS = [logs, inverse, product, root, gradient_of_points, in_place, largest]
VALUES = np.array([0.0, -1.0, 2.0])


def on_a_tape(f):
    t = tapec.constant(VALUES)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        return f(t)


def told(run, action="default"):
    """Where what was told, and how often."""
    globals().get("__warningregistry__", {}).clear()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter(action)
        run()
    return [(str(w.message), w.filename, w.lineno) for w in found]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("run", [on_a_tape, lambda f: tapec.compile(f)(VALUES)], ids=["tape", "function"])
def test_the_line_is_that_of_plain_numpy(f, run):
    plain = [w for w in told(lambda: f(VALUES)) if w[1] == __file__]
    found = told(lambda: run(f))
    assert {w[1] for w in found} <= {__file__} | {np.gradient.__wrapped__.__code__.co_filename}
    assert {w[2] for w in found} >= {w[2] for w in plain} and len(found) == len(set(found))


def test_each_comes_once():
    f = tapec.compile(logs)
    line = logs.__code__.co_firstlineno + 1
    run = lambda: [f(np.zeros(n)) for n in (300, 301, 302)]
    first = [w for w in told(run) if w[1] == __file__]
    assert first == [("divide by zero encountered in log", __file__, line)]


def test_a_first_call_tells_nothing_twice():
    """What the trace has told, the generated code does not tell again in the same call."""
    assert len(told(lambda: tapec.compile(logs)(np.zeros(300)), "always")) == 1


def test_warnings_as_errors_are_raised_at_the_line():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in log") as error:
            on_a_tape(logs)
    assert error.traceback[-1].path.name == "test_float_warnings.py"


@pytest.mark.parametrize("f", FUNCTIONS)
def test_values_are_those_of_numpy(f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = f(VALUES)
        assert np.array_equal(on_a_tape(f).numpy(), expected, equal_nan=True)
        assert np.array_equal(tapec.compile(f)(VALUES), expected, equal_nan=True)


def test_who_silences_them_hears_nothing():
    def quiet(x):
        with np.errstate(all="ignore"):
            return np.log(x)

    assert told(lambda: on_a_tape(quiet)) == told(lambda: tapec.compile(quiet)(VALUES)) == []
    before = float_warnings.told_count()
    assert told(lambda: on_a_tape(logs), "ignore") == []
    assert float_warnings.told_count() == before  # so nothing is computed twice


def test_filters_of_others_stay():
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        before = [f for f in warnings.filters if f is not float_warnings.OWN]
        on_a_tape(inverse)
        assert [f for f in warnings.filters if f is not float_warnings.OWN] == before
        on_a_tape(inverse)
        assert warnings.filters.count(float_warnings.OWN) == 1


def test_after_many_they_are_left_to_numpy(monkeypatch):
    monkeypatch.setattr(tuning, "TOLD_MAX_WARNINGS", float_warnings.told_count() + 2)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        for _ in range(9):
            on_a_tape(logs)
        assert float_warnings.told_count() == tuning.TOLD_MAX_WARNINGS + 1
        assert float_warnings.OWN not in warnings.filters


def test_a_program_sees_its_own_lines():
    code = "import numpy as np, tapec\nf = tapec.grad(lambda x: np.sum(np.log(x)))\nf(np.zeros(300))\n"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr.startswith("<string>:2: RuntimeWarning: divide by zero encountered in log\n")
    assert run.stderr.count("encountered in log") == 1
