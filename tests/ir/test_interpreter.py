"""The reference interpreter."""

import numpy as np
import pytest

from tapec.ir import interpret, parse


def test_values():
    lines = ["%0 = multiply %x, 2.0", "%c: f64[] = constant {value=1}", "return %0, %c, 7, %x"]
    graph = parse("graph(%x: f64[3]) {\n" + "\n".join(lines) + "\n}")
    x = np.arange(3.0)
    outputs = interpret(graph, x)
    assert np.array_equal(outputs[0], 2 * x)
    assert [type(o) for o in outputs[1:]] == [np.float64, int, np.ndarray]


def test_no_warnings():
    graph = parse("graph(%x: f64[2]) {\n  %0 = divide 1.0, %x\n  %1 = log %x\n  return %0, %1\n}")
    with np.errstate(all="raise"):
        outputs = interpret(graph, np.array([0.0, -1.0]))
    assert outputs[0][0] == np.inf and np.isnan(outputs[1][1])


def test_wrong_number_of_inputs():
    with pytest.raises(TypeError, match="loss takes 1 inputs, 2 were given"):
        interpret(parse("graph loss(%x: f64[]) {\n  return %x\n}"), 1.0, 2.0)


def test_a_python_number_stays_one():
    """NumPy's functions make float64 scalars of Python's numbers, which would make arrays of float32 wider."""
    lines = ("%0: float = multiply %s, %s", "%1: f32[3] = multiply %x, %0", "return %1")
    graph = parse("graph(%x: f32[3], %s: float) {\n  " + "\n  ".join(lines) + "\n}")
    (found,) = interpret(graph, np.ones(3, np.float32), 0.5)
    assert found.dtype == np.float32
