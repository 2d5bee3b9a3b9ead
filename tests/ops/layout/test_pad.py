"""Padding against NumPy, and its derivatives against differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapec
from tests.ops.derivatives import assert_same, check

A = np.random.default_rng(6).standard_normal((3, 4))

PADS = {
    "constant": lambda x: np.pad(x, 2),
    "value": lambda x: np.pad(x, ((1, 0), (2, 3)), constant_values=1.5),
    "values": lambda x: np.pad(x, ((1, 2), (2, 3)), constant_values=((1.5, 2.0), (-1.0, 3.0))),
    "value of a tensor": lambda x: np.pad(x, 1, constant_values=x[0, 0]),
    "values of a tensor": lambda x: np.pad(x, 1, constant_values=(x[0, 0], 2.0)),
    "pair": lambda x: np.pad(x, (1, 2)),
    "empty": lambda x: np.pad(x, 0, mode="empty"),
    "edge": lambda x: np.pad(x, ((2, 1), (0, 3)), "edge"),
    "reflect": lambda x: np.pad(x, ((2, 1), (0, 3)), "reflect"),
    "reflect far": lambda x: np.pad(x, ((5, 1), (0, 9)), "reflect"),
    "symmetric": lambda x: np.pad(x, ((2, 1), (0, 3)), "symmetric"),
    "symmetric far": lambda x: np.pad(x, ((7, 4), (5, 9)), "symmetric"),
    "wrap": lambda x: np.pad(x, ((2, 1), (0, 3)), "wrap"),
    "wrap far": lambda x: np.pad(x, ((7, 4), (5, 9)), "wrap"),
    "reflect odd": lambda x: np.pad(x, ((2, 1), (0, 3)), "reflect", reflect_type="odd"),
    "symmetric odd": lambda x: np.pad(x, ((2, 1), (0, 3)), "symmetric", reflect_type="odd"),
    "linear_ramp": lambda x: np.pad(x, ((2, 1), (0, 3)), "linear_ramp", end_values=(1.0, -2.0)),
    "linear_ramp to zero": lambda x: np.pad(x, 2, "linear_ramp"),
    "maximum": lambda x: np.pad(x, ((2, 1), (0, 3)), "maximum"),
    "minimum": lambda x: np.pad(x, 1, "minimum", stat_length=2),
    "mean": lambda x: np.pad(x, ((2, 1), (0, 3)), "mean"),
    "mean of some": lambda x: np.pad(x, 2, "mean", stat_length=((1, 2), (3, 10))),
    "median": lambda x: np.pad(x, 1, "median"),
}


@pytest.mark.parametrize("name", PADS)
def test_pad(name):
    check(PADS[name], A)


def test_pad_by_axis():
    if np.lib.NumpyVersion(np.__version__) >= "2.3.0":
        check(lambda x: np.pad(x, {-1: (1, 2)}), A)


def test_pad_complex():
    check(lambda x: np.pad(x, 1, "reflect") * np.pad(x, 1), A + 1j * A[::-1])


@given(
    st.sampled_from(["edge", "reflect", "symmetric", "wrap"]),
    st.integers(1, 4),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_any_width(mode, n, width):
    x = np.arange(1.0, n + 1)
    y = np.pad(x, width, mode)
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        z = np.pad(t, width, mode)
        loss = np.sum(z * np.arange(1.0, y.size + 1))
    assert_same(z, y)
    if any(width):
        want = np.array([np.sum(np.pad(e, width, mode) * np.arange(1.0, y.size + 1)) for e in np.eye(n)])
        np.testing.assert_allclose(tape.gradient(loss, t).numpy(), want)


@given(st.sampled_from(["reflect", "symmetric"]), st.integers(2, 5), st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_odd_reflections(mode, n, width):
    x = np.arange(1.0, n + 1) ** 2
    assert_same(np.pad(tapec.constant(x), width, mode, reflect_type="odd"), np.pad(x, width, mode, reflect_type="odd"))


@pytest.mark.parametrize(
    "f, kind",
    [
        (lambda x: np.pad(x, -1), ValueError),
        (lambda x: np.pad(x, 1.5), TypeError),
        (lambda x: np.pad(x, ((1, 2), (3, 4), (5, 6))), ValueError),
        (lambda x: np.pad(x, 1, "sideways"), ValueError),
        (lambda x: np.pad(x, 1, "edge", constant_values=1), ValueError),
        (lambda x: np.pad(x[:0], 1, "edge"), ValueError),
        (lambda x: np.pad(x, 1, "maximum", stat_length=0), ValueError),
    ],
)
def test_wrong_padding_is_an_error_of_the_kind_that_numpy_raises(f, kind):
    with pytest.raises(kind):
        f(A)
    with pytest.raises(kind):
        f(tapec.constant(A))


@pytest.mark.parametrize("mode", ["mean", "median", "maximum", "minimum", "linear_ramp"])
def test_means_of_integers_are_rounded(mode):
    for x in ([1, 2, 2], [1, 2], [3, 4, 4, 4]):
        x = np.array(x)
        y = tapec.compile(lambda x: np.pad(x, 1, mode))(x)
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y, np.pad(x, 1, mode))
