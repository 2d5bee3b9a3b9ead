"""Large operations without a fast loop in NumPy: the same in several that have one."""

import numpy as np
import pytest

from tapec.codegen.numpy.passes.split_slow_ops import expanded
from tests.codegen.kit import check, gradient_of, graph_of
from tests.properties import call_count, calls, has, operations, updates

x = np.random.default_rng(3).normal(size=(60, 50)) * 30
x[0, :8] = np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 1e-300


@pytest.mark.parametrize("k", [0, 0.0, -0.0, 1.5, -700.0])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_logaddexp_with_a_number(k, dtype):
    with np.errstate(over="ignore"):
        values = x.astype(dtype)
    for f in (lambda x: np.logaddexp(k, x), lambda x: np.logaddexp(x, k)):
        compiled = check(graph_of(f, values), values)
        assert calls(compiled, "np.log1p") and not calls(compiled, "logaddexp")
        with np.errstate(all="ignore"):
            eps = np.finfo(dtype).eps
            np.testing.assert_allclose(compiled.function(values)[0], f(values), rtol=4 * eps, atol=0)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1e300, 1e-300, 1.5])
PAIRS = [np.tile(a, (60, 1)) for a in (np.repeat(SPECIAL, 9), np.tile(SPECIAL, 9))]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("a, b", [(x, x[::-1]), (x, 1.001 * x), (x[0], x), (x, x[:, :1]), PAIRS])
def test_logaddexp_of_arrays(a, b, dtype):
    with np.errstate(over="ignore", invalid="ignore"):
        a, b = a.astype(dtype), b.astype(dtype)
    compiled = check(graph_of(np.logaddexp, a, b), a, b)
    assert calls(compiled, "np.log1p") and not calls(compiled, "logaddexp")
    with np.errstate(all="raise", under="ignore"):  # as NumPy, which has no difference of infinities
        found = compiled.function(a, b)[0]
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.logaddexp(a, b), rtol=4 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps)


@pytest.mark.parametrize("f", [lambda x: np.logaddexp(0.0, x), lambda x: np.logaddexp(x, x[:, ::-1])])
def test_gradients_of_logaddexp_call_no_logaddexp(f):
    values = x[1:]
    compiled = check(gradient_of(lambda x: np.sum(f(x) ** 2), values), values)
    assert not calls(compiled, "logaddexp")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.logaddexp(0.0, x[:5, :5]),  # few
        lambda x: np.logaddexp(-np.inf, x),
        lambda x: np.logaddexp(-np.inf, x[0]),
        lambda x: np.logaddexp(np.where(np.abs(x) < 1e30, x, 0.0).astype("f4"), x),
        lambda x: np.logaddexp(np.nan_to_num(np.tanh(x)).astype("f2"), 1.0),
        lambda x: np.logaddexp(np.nan_to_num(np.tanh(x)).astype(int), 1.0),
    ],
)
def test_other_logaddexp_is_left(f):
    assert calls(check(graph_of(f, x), x), "np.logaddexp")


def test_nothing_is_subtracted_for_zero():
    compiled = check(graph_of(lambda x: np.logaddexp(0.0, x), x), x)
    assert calls(compiled, "np.abs") and not operations(compiled, "-") and not updates(compiled, "-")


POOLED = np.random.default_rng(4).normal(size=(6, 30, 2, 20, 2))
POOLED[0, 0, 0, 0], POOLED[0, 1, 1, 1] = (np.nan, 1.0), (np.inf, -np.inf)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("axis", [(2, 4), (-1, -3), (4,)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_few_elements_each(name, axis, keepdims, dtype):
    f = lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims)
    values = POOLED.astype(dtype)
    compiled = check(graph_of(f, values), values)
    found = compiled.function(values)[0]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, f(values), rtol=4 * np.finfo(dtype).eps)
    assert found.dtype == values.dtype
    assert not calls(compiled, name)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x[0, :5], axis=(1, 3)),  # few results
        lambda x: np.max(np.reshape(x, (30, 6, 2, 2, 20)), axis=(2, 3)),  # not along the last axis
        lambda x: np.max(x, axis=(3, 4)),  # many elements each
        lambda x: np.max(np.reshape(x, (-1, 2)), axis=1),  # which is found in columns
        lambda x: np.sum(x > 0, axis=(2, 4)),
        lambda x: np.sum(x[..., :1], axis=4),  # of one element each
    ],
)
def test_other_reductions_are_left_as_they_are(f):
    assert call_count(check(graph_of(f, POOLED), POOLED), "sum", "max")


def test_pooling():
    def loss(x, w):
        squares = np.reshape(x, (8, 12, 2, 12, 2))
        return np.sum(squares.max(axis=(2, 4)) * w) + np.sum(np.tanh(squares.mean(axis=(2, 4))) * w)

    rng = np.random.default_rng(5)
    values = rng.normal(size=(8, 24, 24)), rng.normal(size=(8, 12, 12))
    compiled = check(gradient_of(loss, *values), *values)
    assert not call_count(compiled, "max", "mean") and call_count(compiled, "np.vdot") == 2


ROLLED = np.random.default_rng(5).normal(size=(30, 40))
ROLLED[0, 0], ROLLED[3, 4], ROLLED[5, 39] = np.nan, -0.0, np.inf


@pytest.mark.parametrize("shift, axis", [(1, 0), (-1, 1), (7, 1), (15, 0), ((2, -3), (0, 1)), (5, None), (41, 1)])
@pytest.mark.parametrize("values", [ROLLED, ROLLED.astype("f4"), ROLLED.astype(int, casting="unsafe"), ROLLED + 1j])
def test_small_arrays_are_rolled_by_slices(shift, axis, values):
    f = lambda x: np.roll(x, shift, axis)
    compiled = check(graph_of(f, values), values)
    assert compiled.function(values)[0].tobytes() == f(values).tobytes()
    assert calls(compiled, "np.concatenate") and not calls(compiled, "roll")


@pytest.mark.parametrize("shift, text", [(1, "[x[-1:], x[:-1]]"), (-1, "[x[1:], x[:1]]"), (39, "[x[1:], x[:1]]")])
def test_arrays_are_rolled_the_shorter_way(shift, text):
    values = ROLLED[0].astype("f4")
    assert has(check(graph_of(lambda x: np.roll(x, shift), values), values), f"np.concatenate({text})")


def test_rolls_of_large_arrays_stay_calls():
    values = np.ones((300, 300))
    assert calls(check(graph_of(lambda x: np.roll(x, 1, 0), values), values), "np.roll")


def test_split_operations_keep_their_names():
    graph = graph_of(lambda x: np.roll(x, 1), ROLLED[0])
    graph.outputs[0].name = "d_x"
    assert expanded(graph).outputs[0].name == "d_x"


# -- convolution with what is turned round ----------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n, m", [(40, 7), (40, 8), (9, 9), (12, 1)])
def test_convolutions_with_reversed_arrays_are_correlations(n, m, dtype):
    """NumPy would copy both."""
    signal, taps = x[1, :n].astype(dtype), x[2, :m].astype(dtype)
    for f in (lambda s, t: np.convolve(t, s[::-1], "valid"), lambda s, t: np.convolve(s[::-1], t, "valid")):
        compiled = check(graph_of(f, signal, taps), signal, taps)
        assert has(compiled, "np.correlate(x, y)[::-1]") and not calls(compiled, "convolve")


@pytest.mark.parametrize(
    "f",
    [
        lambda s, t: np.convolve(s, t[::-1], "valid"),  # the shorter one: NumPy turns it round again
        lambda s, t: np.convolve(t, s[::-1]),
        lambda s, t: np.convolve(t, s[::-1], "same"),
        lambda s, t: np.convolve(t, s[::-2], "valid"),
        lambda s, t: np.convolve(t * 1j, s[::-1], "valid"),
    ],
)
def test_other_convolutions_are_left_as_they_are(f):
    signal, taps = x[1, :40], x[2, :7]
    assert calls(check(graph_of(f, signal, taps), signal, taps), "np.convolve")


def test_the_gradient_by_a_filter():
    signal, taps = x[1, :40], x[2, :7]
    graph = gradient_of(lambda s, t: np.sum(np.convolve(s, t, "valid") ** 2), signal, taps)
    compiled = check(graph, signal, taps)
    assert calls(compiled, "np.correlate") and not has(compiled, "np.convolve(_, _[::-1], 'valid')")
    assert not has(compiled, "np.correlate(_[::-1], _, 'valid')")
