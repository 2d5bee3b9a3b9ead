"""Tracebacks show the user's frames: those of tapec and of generated code are left out, unless a setting wants them."""

import io
import math
import os
import pdb
import subprocess
import sys
import threading
import traceback
from dataclasses import dataclass

import numpy as np
import pytest

import tapec
from tapec.errors import PACKAGE_FOLDER
from tapec.tracebacks import shorten

HERE = __file__


@pytest.fixture(autouse=True)
def for_users():
    with tapec.settings(traceback="user"):
        yield


def frames_of(error):
    return traceback.extract_tb(error.__traceback__)


def printed(error):
    return "".join(traceback.format_exception(error)).splitlines()


def leaves(call, kind, message=None):
    """The error that a call ends in; its traceback is short, and begins and ends in this file."""
    with pytest.raises(kind, match=message) as caught:
        call()
    error = caught.value
    frames = frames_of(error)
    assert frames[-1].filename == HERE
    assert not [f for f in frames if f.filename.startswith(PACKAGE_FOLDER)]
    return error


def names(error):
    return [f.name for f in frames_of(error) if f.name not in ("leaves", "<lambda>")]


def helper(x):
    return math.sin(float(x))


def loss(x):
    return helper(np.sum(x))


class Model:
    def loss(self, x):
        return helper(np.sum(x))

    gradient = tapec.grad(loss)


X = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (lambda: tapec.grad(loss)(X), ["loss", "helper"]),
        (lambda: tapec.grad(Model().loss)(X), ["loss", "helper"]),
        (lambda: Model().gradient(X), ["loss", "helper"]),
        (lambda: tapec.grad(lambda x: np.sum(tapec.grad(loss)(x)))(X), ["loss", "helper"]),
        (lambda: tapec.jacobian(loss)(X), ["loss", "helper"]),
        (lambda: tapec.hessian(loss)(X), ["loss", "helper"]),
        (lambda: tapec.jacobian(loss, sparse=True)(X), ["loss", "helper"]),
        (lambda: tapec.hvp(loss)(X, X), ["loss", "helper"]),
        (lambda: tapec.vmap(loss)(np.ones((2, 2))), ["loss", "helper"]),
        (lambda: tapec.jvp(loss, (X,), (X,)), ["loss", "helper"]),
        (lambda: tapec.vjp(loss, X), ["loss", "helper"]),
        (lambda: tapec.linearize(loss, X), ["loss", "helper"]),
        (lambda: tapec.compile(tapec.checkpoint(loss))(X), ["loss", "helper"]),
        (lambda: tapec.grad(loss).source(X), ["loss", "helper"]),
        (lambda: tapec.grad(loss).explain(X), ["loss", "helper"]),
        (lambda: tapec.check_grads(loss, (X,)), ["loss", "helper"]),
    ],
)
def test_a_detached_tensor(call, path):
    error = leaves(call, tapec.DetachError, r"test_tracebacks.py:\d+: float\(\) would turn")
    assert names(error) == path
    assert len(printed(error)) <= 12 + 3 * 2  # `leaves` and the lambda of the test come before what users see


def test_a_script_sees_twelve_lines(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, tapec\n\n"
        "def helper(x):\n    return float(x)\n\n"
        "@tapec.grad\ndef loss(x):\n    return helper(np.sum(x))\n\n"
        "loss(np.ones(2))\n"
    )

    def lines(**environment):
        run = subprocess.run(
            [sys.executable, script],
            env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(PACKAGE_FOLDER)), **environment},
            capture_output=True,
            text=True,
        )
        return run.stderr.splitlines()

    short = lines(TAPEC_TRACEBACK="user")
    assert len(short) <= 12 and PACKAGE_FOLDER not in "".join(short)
    assert short[-1].startswith("tapec.errors.DetachError: script.py:4: float()")
    full = lines(TAPEC_TRACEBACK="full")
    assert full[-1] == short[-1] and len(full) > 20 and PACKAGE_FOLDER in "".join(full)


def test_a_cell_of_a_notebook():
    space = {"tapec": tapec, "np": np}
    first = "def loss(x):\n    return float(np.sum(x))\n"
    exec(compile(first, "<ipython-input-1-abc>", "exec"), space)
    with pytest.raises(tapec.DetachError) as caught:
        exec(compile("tapec.grad(loss)(np.ones(2))", "<ipython-input-2-def>", "exec"), space)
    assert [(f.filename, f.lineno) for f in frames_of(caught.value)[1:]] == [
        ("<ipython-input-2-def>", 1),
        ("<ipython-input-1-abc>", 2),
    ]


def test_an_error_of_the_users_own():
    mine = ValueError("mine")

    def f(x):
        if x.shape == (2,):
            raise mine
        return np.sum(x)

    assert leaves(lambda: tapec.grad(f)(X), ValueError, "^mine$") is mine
    assert names(mine) == ["f"]


def test_numpy_errors():
    def f(x):
        return np.sum(x + np.ones(3))

    assert names(leaves(lambda: tapec.grad(f)(X), ValueError, "broadcast")) == ["f"]

    def g(x):
        return np.sum(x.reshape(3))

    assert names(leaves(lambda: tapec.grad(g)(X), ValueError, "reshape")) == ["g"]

    def h(x):
        with np.errstate(all="raise"):
            return np.sum(np.exp(x * 1000.0))

    assert names(leaves(lambda: tapec.grad(h)(X), FloatingPointError, "overflow")) == ["h"]


@pytest.mark.parametrize(
    "operation", [lambda x: x + np.ones(3), lambda x: x.reshape(3), lambda x: np.dot(x, np.ones(3))]
)
def test_tensors_and_tapes(operation):
    x = tapec.constant(X)
    assert names(leaves(lambda: operation(x), ValueError)) == []
    with tapec.GradientTape() as tape:
        tape.watch(x)
        assert names(leaves(lambda: operation(x), ValueError)) == []

    def block():
        with tapec.GradientTape() as tape:
            tape.watch(x)
            math.sin(x[0])

    assert names(leaves(block, tapec.DetachError)) == ["block"]

    def stored():
        with tapec.GradientTape() as tape:
            tape.watch(x)
            np.zeros(3)[0] = x[0]

    assert set(names(leaves(stored, tapec.DetachError))) == {"stored"}


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: tapec.constant(X)[5], IndexError),
        (lambda: tapec.constant("a"), TypeError),
        (lambda: np.exp(tapec.constant(X), dtype="nothing"), TypeError),
        (lambda: tapec.Variable(X)[5], IndexError),
        (lambda: tapec.Variable(X) + np.ones(3), ValueError),
        (lambda: tapec.Variable(X).reshape(3), ValueError),
        (lambda: tapec.Variable(X).assign(np.ones(3)), ValueError),
        (lambda: tapec.Variable(X).__iadd__(1.0), tapec.InPlaceError),
        (lambda: tapec.GradientTape().watch(1.0), tapec.TapeValueError),
        (lambda: tapec.vjp(np.sin, X)[1](np.ones(3)), ValueError),
        (lambda: tapec.grad(argnums=0)(3), TypeError),
        (lambda: tapec.grad(3), TypeError),
        (lambda: tapec.grad(loss, argnums=3)(X), ValueError),
        (lambda: tapec.custom_jvp(np.sin)(1.0), TypeError),
        (lambda: tapec.check_grads(loss, X), TypeError),
    ],
)
def test_calls_that_are_refused(call, kind):
    assert names(leaves(call, kind)) == []


def test_a_tape_that_was_used_up_watches_nothing():
    with tapec.GradientTape() as tape:
        x = tapec.constant(2.0)
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    leaves(lambda: tape.watch(x), tapec.errors.TapeError, "begins a new recording")


def test_questions_of_a_tape():
    x = tapec.constant(X)
    with tapec.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    for call in (tape.gradient, tape.jacobian, tape.batch_jacobian, tape.source):
        assert names(leaves(lambda call=call: call(y, "x"), tapec.TapeTypeError)) == []


def test_generated_code():
    def inverse(x):
        return np.linalg.inv(x)

    compiled = tapec.compile(inverse)
    for _ in range(3):
        compiled(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="Singular") as caught:
        compiled(np.zeros((2, 2)))
    frames = frames_of(caught.value)
    assert not [f for f in frames if f.filename.startswith(PACKAGE_FOLDER)]
    assert [f.name for f in frames[1:]] == ["inv", "_raise_linalgerror_singular"]  # NumPy's stay
    assert caught.value.__notes__[0].startswith("in code generated for test_tracebacks.py")


def test_an_error_at_a_second_signature():
    compiled = tapec.grad(lambda x: np.sum(x.reshape(2)))
    for _ in range(3):
        compiled(X)
    assert names(leaves(lambda: compiled(np.ones(3)), ValueError, "reshape")) == []


def test_interrupts():
    def f(x):
        raise KeyboardInterrupt

    assert names(leaves(lambda: tapec.grad(f)(X), KeyboardInterrupt)) == ["f"]


def test_a_gradient_function_of_the_users():
    @tapec.custom_gradient
    def f(x):
        def rule(dy):
            raise ValueError("no rule")

        return x * x, rule

    def on_tape():
        x = tapec.constant(X)
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        tape.gradient(y, x)

    assert names(leaves(on_tape, ValueError, "no rule")) == ["on_tape", "rule"]
    assert names(leaves(lambda: tapec.grad(lambda x: np.sum(f(x)))(X), ValueError, "no rule")) == ["rule"]
    for call in (f, tapec.grad(f)):
        assert names(leaves(lambda call=call: call(), TypeError)) == []


def test_threads():
    found = []

    def work():
        try:
            tapec.grad(loss)(X)
        except tapec.DetachError as error:
            found.append(error)

    thread = threading.Thread(target=work)
    with tapec.settings(traceback="full"):  # in this thread, not in the other
        thread.start()
        thread.join()
    assert names(found[0]) == ["work", "loss", "helper"]


def test_who_catches_an_error_inside_of_a_function():
    seen = []

    def f(x):
        try:
            return np.sum(x.reshape(3))
        except ValueError as error:
            seen.append([frame.name for frame in frames_of(error)])
            return np.sum(x)

    assert np.array_equal(tapec.grad(f)(X), np.ones(2))
    assert seen and {tuple(s) for s in seen} == {("f",)}


def test_chains():
    def f(x):
        try:
            return helper(x)
        except tapec.DetachError as error:
            raise KeyError("cannot") from error

    error = leaves(lambda: tapec.grad(f)(1.0), KeyError, "cannot")
    assert isinstance(error.__cause__, tapec.DetachError) and error.__cause__ is error.__context__
    assert names(error) == ["f"] and names(error.__cause__) == ["f", "helper"]
    text = "\n".join(printed(error))
    assert "direct cause" in text and PACKAGE_FOLDER not in text

    def g(x):
        try:
            return helper(x)
        except tapec.DetachError:
            raise KeyError("cannot") from None

    error = leaves(lambda: tapec.grad(g)(1.0), KeyError, "cannot")
    assert error.__suppress_context__ and names(error.__context__) == ["g", "helper"]


def test_groups_and_circles():
    def failed():
        with tapec.settings(traceback="full"), pytest.raises(tapec.DetachError) as caught:
            tapec.grad(loss)(X)
        return caught.value

    one, two = failed(), failed()
    one.__context__, two.__context__ = two, one
    assert len(frames_of(one)) > 10
    shorten(ExceptionGroup("both", [one]))
    assert names(one) == names(two) == ["failed", "loss", "helper"]


class Several(Exception):
    """An error of a library, whose `exceptions` are no errors."""

    exceptions = None


@dataclass(frozen=True)
class Frozen(Exception):
    """An error that allows no assignments to its attributes."""

    code: int


def test_classes_of_errors_that_have_attributes_of_their_own():
    def several(x):
        raise Several

    def frozen():
        with tapec.GradientTape():
            raise Frozen(3)

    leaves(lambda: tapec.grad(several)(X), Several)
    assert leaves(frozen, Frozen).code == 3


def test_post_mortem():
    error = leaves(lambda: tapec.grad(loss)(X), tapec.DetachError)
    out = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("p x\nup\np x\nq\n"), stdout=out, nosigint=True, readrc=False)
    debugger.reset()
    debugger.interaction(None, error.__traceback__)
    assert "helper()" in out.getvalue() and "loss()" in out.getvalue() and "tapec.Tensor" in out.getvalue()


def test_nothing_is_cut_for_others():
    """Nothing global changes: an error that did not pass tapec is what it was, and so are the hooks."""
    assert sys.excepthook is sys.__excepthook__
    with tapec.settings(traceback="full"):
        with pytest.raises(tapec.DetachError) as caught:
            tapec.grad(loss)(X)
        assert len(frames_of(caught.value)) > 10
