"""What is said to a newcomer who does something wrong: what happened, where, and how to mend it."""

import json
import subprocess
import sys

import numpy as np
import pytest

import tapec

X = np.array([1.0, 2.0, 3.0])
HERE = r"^test_messages.py:\d+"
calls = 0


def product(w, b):
    return w * b


def counts_and_fills(x):
    global calls
    calls += 1
    out = np.zeros(3)
    for k in range(3):
        out[k] = x[k] ** 2
    return out.sum()


def draws_and_fills(x):
    out = np.zeros(3)
    out[0] = x[0] * np.random.default_rng().random()
    return out.sum()


WRONG = {
    "list of ints": (lambda: tapec.grad(lambda p: p[0] * p[1])([1, 2]), "holds int, .*Fix: pass floats, 1.0, 2.0"),
    "many ints": (lambda: tapec.grad(sum)([1, 2, 3, 4]), "Fix: pass floats, 1.0, 2.0, 3.0, ..."),
    "an int": (lambda: tapec.grad(lambda p: p)(3), "'p' is int, .*Fix: pass a float, p=3.0"),
    "array of ints": (lambda: tapec.grad(np.sum)(np.arange(3)), r"is i64\[3\].*Fix: pass floats, .*astype\(float\)"),
    "array of objects": (lambda: tapec.grad(np.sum)(X.astype(object)), r"array of object.*Fix: .*astype\(float\)"),
    "a truth value": (lambda: tapec.grad(lambda p: p * 1.0)(True), "holds bool, .*Fix: pass a float, p=1.0"),
    "None": (lambda: tapec.grad(lambda p: p)(None), "holds NoneType.*Fix: choose another argument with argnums"),
    "argnums": (
        lambda: tapec.grad(product, argnums=2)(1.0, 2.0),
        r"product\(w, b\): argument 2 .*only 2 .*Fix: argnums=0",
    ),
    "argnums by name": (lambda: tapec.grad(product, "c")(1.0, 2.0), r"product\(w, b\): there is no argument 'c'.*w, b"),
    "too few": (lambda: tapec.grad(product)(1.0), r"product\(w, b\): missing a required argument: 'b'"),
    "too many": (lambda: tapec.grad(product)(1.0, 2.0, 3.0), r"product\(w, b\): too many positional arguments"),
    "of a lambda": (lambda: tapec.compile(lambda a, b: a)(1.0), r"function\(a, b\): missing a required argument: 'b'"),
}


@pytest.mark.parametrize(("call", "message"), WRONG.values(), ids=WRONG)
def test_wrong_arguments(call, message):
    with pytest.raises((TypeError, ValueError), match=f"{HERE}: .*{message}"):
        call()


ATTRIBUTES = {
    "backward": (lambda x: np.sum(x).backward(), r"tapec.grad\(f\)\(x\)"),
    "detach": (lambda x: np.sum(x.detach()), "tapec.stop_gradient"),
    "append": (lambda x: x.append(1.0), "np.append"),
}


@pytest.mark.parametrize(("f", "fix"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes_of_other_libraries(f, fix):
    with pytest.raises(AttributeError, match=f"has no attribute.*Fix: .*{fix}"):
        tapec.grad(f)(X)
    assert not hasattr(tapec.constant(X), "backward")
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'unknown'$"):
        tapec.constant(X).unknown


@pytest.mark.parametrize(
    ("f", "why"), [(counts_and_fills, "it sets calls"), (draws_and_fills, "it draws random numbers")]
)
def test_functions_that_do_more_than_fill_an_array(f, why):
    with pytest.raises(tapec.DetachError, match=f"{HERE}: storing into a plain NumPy array") as caught:
        tapec.grad(f)(X)
    [note] = [n for n in caught.value.__notes__ if "once more" in n]
    assert why in note and "Fix: do that outside of the function, or make the array by np.zeros(n, like=x)" in note


def test_plotting_names_the_line_of_the_script():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    def f(x):
        pyplot.plot(x)
        return np.sum(x)

    line = f.__code__.co_firstlineno + 1
    message = (
        rf"^test_messages.py:{line} \(\w+.py:\d+\): pyplot.plot\(\) .*Fix: return from the function .*has_aux=True"
    )
    with pytest.raises(tapec.DetachError, match=message) as caught:
        tapec.grad(f)(X)
    assert not any("once more" in n for n in getattr(caught.value, "__notes__", ()))
    pyplot.close("all")


PLOTS = """
import matplotlib, numpy as np, tapec
matplotlib.use("Agg")
from matplotlib import pyplot

data = np.arange(3.0)

def f(x):
    pyplot.plot(data, data * 2.0)
    return np.sum(x * data)

def apart(x):
    figure, axes = pyplot.subplots()
    axes.plot(data, data * 2.0)
    pyplot.close(figure)
    return np.sum(x * data)

for h in (f, apart):
    for _ in range(3):
        np.testing.assert_allclose(tapec.grad(h)(np.ones(3)), data)
assert len(pyplot.gca().lines) >= 1
"""


def test_plotting_what_is_captured():
    """The first plot of a process makes what matplotlib keeps for all of them."""
    pytest.importorskip("matplotlib")
    run = subprocess.run([sys.executable, "-c", PLOTS], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("f", [lambda x: json.dumps({"x": x.tolist()}), lambda x: json.dumps([np.sum(x)])])
def test_json_names_the_line(f):
    with pytest.raises(TypeError, match="not JSON serializable") as caught:
        tapec.grad(lambda x: (f(x), np.sum(x))[1])(X)
    assert any("test_messages.py:" in n and "Fix: return it from the function" in n for n in caught.value.__notes__)


@pytest.mark.parametrize("save", [np.savetxt, np.save, lambda file, x: np.savez(file, x=x)])
def test_files_are_written_at_each_call(save, tmp_path):
    file = tmp_path / "saved.npy"

    def f(x):
        save(file, x)
        return np.sum(x * x)

    g = tapec.grad(f)
    for k in range(3):
        if (tmp_path / "saved.npy").exists():
            file.unlink()
        np.testing.assert_allclose(g(X * k), 2 * X * k)
        assert [p for p in tmp_path.iterdir()]


def test_text_of_an_array_is_a_fact():
    table = {"[1.]": 2.0, "[3.]": 5.0}
    g = tapec.grad(lambda x: np.sum(x) * table[np.array2string(x)])
    assert [g(np.array([k]))[0] for k in (1.0, 3.0, 1.0, 3.0)] == [2.0, 5.0, 2.0, 5.0]
