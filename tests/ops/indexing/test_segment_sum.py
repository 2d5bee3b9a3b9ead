"""Sums of segments: one operation, whatever order they are in, and whatever their places are at each call."""

import numpy as np
import pytest

import tapec
from tests.properties import call_count, statements

RNG = np.random.default_rng(0)
ORDERS = {
    "from the front": [0, 2, 3],
    "from later on": [2, 4],
    "some empty": [1, 1, 3, 3, 3],
    "any": [3, 0, 4, 4, 1, 1],
    "pairs": [0, 3, 2, 4, 1, 3],
    "one": [4],
    "none": [],
}


def by_slices(x, starts, axis):
    lanes = np.moveaxis(x, axis, 0)
    ends = [*starts[1:], len(lanes)]
    parts = [np.sum(lanes[i:j], 0) if i < j else lanes[i] for i, j in zip(starts, ends)]
    return np.stack(parts, axis) if parts else np.moveaxis(lanes[:0], 0, axis)


def matrix(shape, starts, axis):
    """The linear function as a matrix: its results for each element alone."""
    size = int(np.prod(shape))
    return np.array([by_slices(e.reshape(shape), starts, axis).ravel() for e in np.eye(size)]).T


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("shape", "axis"), [((5,), 0), ((5, 2), 0), ((2, 5, 3), 1), ((2, 5), -1)])
def test_value_and_derivatives(order, shape, axis):
    starts = ORDERS[order]

    def f(x):
        return np.add.reduceat(x, starts, axis=axis)

    rng = np.random.default_rng(0)  # the same numbers, whichever tests have run before
    x, m = rng.normal(size=shape), matrix(shape, starts, axis % len(shape))
    expected = by_slices(x, starts, axis % len(shape))
    w = rng.normal(size=expected.shape)

    def loss(x):
        return np.sum(w * f(x) ** 2)

    value = tapec.compile(f)(x)
    assert value.shape == expected.shape
    np.testing.assert_allclose(value, expected, rtol=1e-14, atol=1e-15)  # of numbers near one, added in another order
    slope = 2 * m.T @ (w.ravel() * (m @ x.ravel()))
    np.testing.assert_allclose(tapec.grad(loss)(x).ravel(), slope, atol=1e-13)
    np.testing.assert_allclose(np.ravel(tapec.jvp(f, (x,), (np.cos(x),))[1]), m @ np.cos(x).ravel(), atol=1e-14)
    hessian = np.reshape(tapec.hessian(loss)(x), (x.size, x.size))
    np.testing.assert_allclose(hessian, 2 * m.T @ (w.ravel()[:, None] * m), atol=1e-13)
    t = tapec.constant(x)
    with tapec.GradientTape() as tape:
        tape.watch(t)
        y = loss(t)
    np.testing.assert_allclose(tape.gradient(y, t).numpy().ravel(), slope, atol=1e-13)


def test_many_segments_are_one_operation():
    x, starts = RNG.normal(size=10_000), np.arange(0, 10_000, 5)
    gradient = tapec.grad(lambda x: np.sum(np.add.reduceat(x, starts) ** 2))
    source = gradient.source(x)
    assert call_count(source, "np.add.reduceat") == 1 and len(statements(source)) < 7
    np.testing.assert_allclose(gradient(x), np.repeat(2 * np.add.reduceat(x, starts), 5), rtol=1e-14)


def test_places_are_read_at_each_call():
    gradient = tapec.grad(lambda x, starts: np.sum(np.add.reduceat(x, starts) ** 2))
    x = RNG.normal(size=5)
    for starts in ([0, 2, 3], [1, 1, 4], [4, 0, 2], [0, 1, 2]):
        m = matrix((5,), starts, 0)
        np.testing.assert_allclose(gradient(x, np.array(starts)), 2 * m.T @ m @ x, atol=1e-14)
    assert gradient.cache_info().compilations == 1
    with pytest.raises(IndexError, match="out-of-bounds in add.reduceat"):
        gradient(x, np.array([0, 2, 5]))


@pytest.mark.parametrize("starts", [[3, -1], [-1], [0, 5], [5, 0]])
def test_out_of_bounds_where_only_the_gradient_is_asked_for(starts):
    gradient = tapec.grad(lambda x, starts: np.sum(np.add.reduceat(x, starts) * np.arange(len(starts))))
    x = np.ones(5)
    gradient(x, np.array([0, 2, 3][: len(starts)]))
    with pytest.raises(IndexError):
        gradient(x, np.array(starts))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16", "float32", "float64", "complex64"])
def test_dtypes(dtype):
    x = (5 * RNG.normal(size=7)).astype(dtype)
    for asked in (None, "int8", "float32", "bool"):
        if asked and dtype == "complex64":
            continue
        expected = np.add.reduceat(x, [0, 3, 3, 1], dtype=asked)
        found = np.add.reduceat(tapec.constant(x), [0, 3, 3, 1], dtype=asked)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    if np.dtype(dtype).kind in "fc":
        assert tapec.grad(lambda x: np.sum(np.abs(np.add.reduceat(x, [0, 2, 1]))))(x).dtype == dtype


def test_batches_of_elements_and_of_places():
    xs, starts = RNG.normal(size=(3, 5)), np.array([[0, 2, 3], [4, 1, 1], [2, 3, 4]])

    def loss(x, starts):
        return np.sum(np.add.reduceat(x, starts) ** 2)

    same, own = tapec.vmap(tapec.grad(loss), in_axes=(0, None)), tapec.vmap(tapec.grad(loss))
    for k in range(3):
        m = matrix((5,), starts[k], 0)
        np.testing.assert_allclose(own(xs, starts)[k], 2 * m.T @ m @ xs[k], atol=1e-14)
        np.testing.assert_allclose(same(xs, starts[k])[0], 2 * m.T @ m @ xs[0], atol=1e-14)


def test_refusals_are_those_of_numpy():
    x = tapec.constant(np.ones(3))
    with pytest.raises(TypeError, match="scalar"):
        np.add.reduceat(tapec.constant(1.0), [0])
    with pytest.raises(TypeError, match="according to the rule 'safe'"):
        np.add.reduceat(x, np.array([0.5]))
    with pytest.raises(ValueError, match="one axis"):
        np.add.reduceat(x, np.array([[0, 1]]))
    with pytest.raises(np.exceptions.AxisError):
        np.add.reduceat(x, [0], axis=1)


@pytest.mark.parametrize("method", ["reduce", "accumulate", "reduceat"])
def test_tensors_as_out(method):
    call = {"reduceat": lambda x, out: np.add.reduceat(x, [0, 1], axis=0, out=out)}.get(
        method, lambda x, out: getattr(np.add, method)(x, axis=0, out=out)
    )
    x = RNG.normal(size=(3, 2))
    expected = call(x, None)
    out = tapec.constant(np.zeros(expected.shape))
    call(tapec.constant(x), out)
    np.testing.assert_allclose(out.numpy(), expected)
