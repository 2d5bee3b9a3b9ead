"""The size of NumPy's buffers: set where rows would be copied to be broadcast, put back in any case."""

import numpy as np
import pytest

import tapec
from tapec.codegen.schedule.ufunc_buffer_size import buffer_size
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import calls, entry, has, text

rng = np.random.default_rng(2)
WIDE = rng.normal(size=(300, 1000))


def size_for(function, *values):
    return buffer_size(graph_of(function, *values).nodes)


@pytest.mark.parametrize(
    ("function", "size"),
    [
        (lambda x: x - x.max(axis=1, keepdims=True), 992),
        (lambda x: x * x[0], 992),
        (lambda x: x[:, 1:] - x[:, :-1], 992),
        (lambda x: (x[:, 1:] - x[:, :-1]) + x[:, :1], 992),
        (lambda x: (x - x[:, :1])[:, :600] * x[0, :600], 592),
        (lambda x: x[1:] - x[:-1], None),  # whole rows stand one after the other
        (lambda x: np.exp(x) * 2.0 + x, None),
        (lambda x: x.reshape(3, 100, 1000) * x[:3, 0].reshape(3, 1, 1), None),  # rows of 100 000
        (lambda x: x.reshape(3, 100, 1000) * x[:100, :1], 992),
        (lambda x: x.reshape(500, 600) * x[0, :600], 592),
        (lambda x: x.reshape(1000, 300) * x[0, :300], None),  # too short to gain
    ],
)
def test_buffer_sizes(function, size):
    assert size_for(function, WIDE) == size


def test_small_arrays_keep_the_usual_buffer():
    assert size_for(lambda x: x - x.max(axis=1, keepdims=True), WIDE[:64]) is None


def test_the_size_is_set_for_all_lines():
    def f(x):
        centred = x - np.mean(x, axis=1, keepdims=True)
        return np.sum(np.tanh(centred[:, 1:] - centred[:, :-1]))

    block, *others = entry(check(gradient_of(f, WIDE), WIDE)).body
    assert not others and text(block.items[0]) == "np.errstate()"  # which puts it back
    assert has(block.body[0], "np.setbufsize(992)")


def test_put_back_after_a_result_and_after_an_error():
    def f(x):
        return np.sum(np.log(x - x[:, :1]) * x[0])

    g = tapec.grad(f)
    with np.errstate(all="ignore"):
        g(WIDE)
        assert np.getbufsize() == 8192
        assert calls(g.source(WIDE), "np.setbufsize")
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        g(WIDE)
    assert np.getbufsize() == 8192


def test_a_decision_tree():
    @tapec.grad
    def f(x):
        y = x - x.max(axis=1, keepdims=True)
        return np.sum(np.exp(y)) if y[0, 0] < -100 else np.sum(np.sin(y))

    y = WIDE - WIDE.max(axis=1, keepdims=True)
    found = f(WIDE)
    assert has(f.source(WIDE), "np.setbufsize(992)")
    wanted = np.cos(y)
    wanted[np.arange(300), WIDE.argmax(axis=1)] -= np.cos(y).sum(axis=1)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert np.getbufsize() == 8192


def test_operands_of_fewer_axes():
    """Far to the left of an operand's axes it is the same for all."""
    x = np.random.default_rng(0).random((3, 2, 1, 700))
    f = tapec.grad(lambda x, w: np.sum(np.sin(x * w) ** 2))
    np.testing.assert_allclose(f(x, np.ones((1, 700))), np.sin(2 * x), rtol=1e-12)
