"""Running maxima and minima: one operation, whose gradient goes to where each of them first stood."""

import numpy as np
import pytest

import tapec
from tests.properties import calls, statements

RNG = np.random.default_rng(0)
FUNCTIONS = {"maximum": np.maximum, "minimum": np.minimum}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(7,), (1,), (3, 5), (2, 3, 4), (0,), (3, 0)])
def test_gradients_are_those_of_one_step_after_the_other(name, shape):
    ufunc = FUNCTIONS[name]

    def stepwise(x, axis):
        lanes = np.moveaxis(x, axis, 0)
        steps = [lanes[0]]
        for k in range(1, len(lanes)):
            steps.append(ufunc(steps[-1], lanes[k]))
        return np.stack(steps, axis)

    x, w = np.round(RNG.normal(size=shape), 0), RNG.normal(size=shape)  # with many ties
    for axis in range(len(shape)):
        got = tapec.value_and_grad(lambda x, axis=axis: np.sum(w * ufunc.accumulate(x, axis=axis)))(x)
        if shape[axis]:
            wanted = tapec.value_and_grad(lambda x, axis=axis: np.sum(w * stepwise(x, axis)))(x)
            np.testing.assert_allclose(got[0], wanted[0])
            np.testing.assert_allclose(got[1], wanted[1], atol=1e-15)
        _, tangent = tapec.jvp(lambda x, axis=axis: ufunc.accumulate(x, axis=axis), (x,), (w,))
        np.testing.assert_allclose(np.vdot(tangent, w), np.vdot(got[1], w))


def test_long_ones_are_one_operation():
    x = RNG.normal(size=100_000)
    gradient = tapec.grad(lambda x: np.sum(np.maximum.accumulate(np.cumsum(x)) ** 2))
    source = gradient.source(x)
    assert calls(source, "np.maximum.accumulate") and len(statements(source)) < 29
    assert np.isfinite(gradient(x)).all()


def test_integers_and_not_a_number():
    def drawdown(x):
        return np.sum(np.maximum.accumulate(x) - x)

    assert tapec.compile(drawdown)(np.array([3, 1, 4, 1, 5])) == 5
    x = np.array([1.0, np.nan, 2.0])
    with np.errstate(invalid="ignore"):
        assert np.isnan(tapec.compile(drawdown)(x))


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
@pytest.mark.parametrize(
    "ufunc", [np.logaddexp, np.hypot, np.divide, np.power, np.logical_xor], ids=lambda u: u.__name__
)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "float32"])
def test_few_elements_have_the_dtype_of_more(method, ufunc, dtype):
    for n in range(0 if method == "accumulate" or ufunc.identity is not None else 1, 4):
        x = np.arange(n).astype(dtype) + 1
        wanted = getattr(ufunc, method)(x)
        got = tapec.compile(lambda x: getattr(ufunc, method)(x))(x)
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-2 if wanted.dtype == np.float16 else 1e-6)
