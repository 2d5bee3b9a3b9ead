"""Bad input on a tape: an error that says what, where and how to fix, and everything as it was before."""

import numpy as np
import pytest

import tapec
from tapec import GradientTape, Variable, constant
from tapec.trace.recording_stack import CURRENT

BAD = {
    "shapes that do not broadcast": (lambda x: x + np.ones(4), ValueError),
    "shapes of a product": (lambda x: x @ np.ones(4), ValueError),
    "a string": (lambda x: x + "one", TypeError),
    "None": (lambda x: x * None, TypeError),
    "an array of strings": (lambda x: x + np.array(["a", "b", "c"]), TypeError),
    "an array of objects": (lambda x: x * np.array([object(), object(), object()]), TypeError),
    "an unknown function": (lambda x: np.busday_count(x, x), tapec.UnsupportedError),
    "a huge axis": (lambda x: np.sum(x, axis=7), np.exceptions.AxisError),
    "a huge index": (lambda x: x[7], IndexError),
    "too many indices": (lambda x: x[0, 0], IndexError),
    "an index that is no number": (lambda x: x["a"], (IndexError, TypeError)),
    "a shape of another size": (lambda x: np.reshape(x, (2, 2)), ValueError),
    "a length of nothing": (lambda x: len(np.sum(x)), TypeError),
    "pieces of different shape": (lambda x: np.concatenate([x, np.ones((2, 2))]), ValueError),
    "a singular matrix": (lambda x: np.linalg.inv(np.outer(x, x)), np.linalg.LinAlgError),
}


@pytest.mark.parametrize(("f", "error"), BAD.values(), ids=BAD)
def test_a_bad_operation_leaves_everything_as_it_was(f, error):
    x, v = constant([1.0, 2.0, 3.0]), Variable([1.0, 2.0, 3.0])
    for source in (x, v):
        with GradientTape() as tape:
            tape.watch(source)
            y = source * source
            with pytest.raises(error):
                f(source)
            z = y * source
        assert CURRENT.get() is None
        assert tape.gradient(z, source).numpy().tolist() == [3.0, 12.0, 27.0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_values(value):
    x = constant([value, 2.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [2 * value, 4.0])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), ()])
def test_empty_and_0d_arrays(shape):
    x = constant(np.ones(shape))
    with GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = np.sum(np.sin(x) * x)
    found = tape.gradient(y, x)
    assert found.shape == shape
    np.testing.assert_allclose(found.numpy(), np.full(shape, np.cos(1) + np.sin(1)), rtol=1e-15)
    assert tape.jacobian(y, x).shape == shape


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128])
def test_gradients_have_the_dtype_of_their_source(dtype):
    x = constant(np.ones(3, dtype))
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x * x * 0.5) * 2
    found = tape.gradient(y, x)
    assert found.dtype == dtype and np.allclose(found.numpy(), 2.0)


def test_sources_of_several_dtypes():
    x, y = constant(np.float32(2.0)), constant(3.0)
    with GradientTape() as tape:
        tape.watch([x, y])
        z = x * y
    dx, dy = tape.gradient(z, [x, y])
    assert dx.dtype == np.float32 and dy.dtype == np.float64


@pytest.mark.parametrize("value", ["x", None, {"a": 1}, [1.0, "x"], object(), np.array(["a"])])
def test_constants_hold_numbers(value):
    with pytest.raises(TypeError):
        constant(value)


MESSAGES = {
    "used up": (
        lambda tape, x, y: (tape.gradient(y, x), tape.gradient(y, x)),
        r"^test_tape_errors.py:\d+: A non-persistent GradientTape can only be used to compute one set of gradients "
        r"\(or jacobians\). Fix: tapec.GradientTape\(persistent=True\), or ask for all gradients in one call$",
    ),
    "no tensor": (
        lambda tape, x, y: tape.gradient(4.0, x),
        r"^test_tape_errors.py:\d+: the target is 4.0 of type 'float', which no tape records. Fix: compute it from "
        r"tensors, inside the tape's block; float\(\), .numpy\(\) and np.asarray leave the recording$",
    ),
    "no source": (
        lambda tape, x, y: tape.gradient(y, [x, 4.0]),
        r"^test_tape_errors.py:\d+: a gradient can be taken with respect to a tapec.Tensor or a tapec.Variable, not "
        r"with respect to 4.0 of type 'float'. Fix: make it one before it is used, and watch it$",
    ),
    "no target": (
        lambda tape, x, y: tape.gradient(None, x),
        r"^test_tape_errors.py:\d+: Argument `target` should be a list or nested structure of Tensors or Variables to "
        r"be differentiated, but received None. Fix: does the function that computes it return it\?$",
    ),
    "watching": (
        lambda tape, x, y: tape.watch([1, 2]),
        r"^test_tape_errors.py:\d+: Passed in object 1 of type 'int', not tapec.Tensor or tapec.Variable. "
        r"Fix: make it one with tapec.constant before it is used$",
    ),
    "seeds": (
        lambda tape, x, y: tape.gradient(y, x, output_gradients=np.ones(5)),
        r"^test_tape_errors.py:\d+: an output gradient of shape \(5,\) for a target of shape \(3,\). "
        r"Fix: give it the target's shape$",
    ),
    "unconnected": (
        lambda tape, x, y: tape.gradient(y, x, unconnected_gradients="ZERO"),
        r"^Unknown value for unconnected_gradients: 'ZERO' \(test_tape_errors.py:\d+\). Fix: 'none', 'zero', or a "
        r"member of tapec.UnconnectedGradients$",
    ),
    "not recording": (
        lambda tape, x, y: tape.reset(),
        r"^test_tape_errors.py:\d+: Tape is not recording. Fix: do this inside its `with` block$",
    ),
    "ranks": (
        lambda tape, x, y: tape.batch_jacobian(y, x),
        r"^test_tape_errors.py:\d+: batch_jacobian needs a target of rank 2 or more, with the examples along the first "
        r"axis; this one has shape \(3,\). Fix: tape.jacobian$",
    ),
}


@pytest.mark.parametrize(("misuse", "message"), MESSAGES.values(), ids=MESSAGES)
def test_messages_say_what_where_and_how_to_fix(misuse, message):
    x = constant([1.0, 2.0, 3.0])
    with GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(tapec.TapecError, match=message):
        misuse(tape, x, y)


def test_an_active_tape_entered_again():
    with GradientTape() as tape:
        with pytest.raises(tapec.TapecError) as caught:
            tape.__enter__()
        assert "Tape is still recording." in str(caught.value) and "Fix: leave its block first" in str(caught.value)


def test_a_huge_object_is_named_shortly():
    x = constant(1.0)
    with GradientTape() as tape, pytest.raises(ValueError) as caught:
        tape.watch(np.zeros((100, 100)))
    assert len(str(caught.value)) < 250
    assert x.numpy() == 1.0
