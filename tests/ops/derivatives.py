"""Compare a function of NumPy arrays on tensors with the same on arrays, and its derivatives with differences."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tapec


def check(f: Callable[..., Any], *arrays: Any, order: int = 2, rtol: float = 1e-5, seed: int = 0) -> None:
    """Values, first and second derivatives of f at these arrays, along random directions.

    Integer and boolean arrays stand still. The loss is Re sum(conj(w) y) with random w, of every result y.
    """
    rng = np.random.default_rng(seed)
    arrays = tuple(np.asarray(a) for a in arrays)
    moving = [k for k, a in enumerate(arrays) if a.dtype.kind in "fc"]
    expected = list(leaves(f(*arrays)))
    weights = [random_like(rng, y) for y in expected]
    directions = [random_like(rng, arrays[k]) for k in moving]

    def loss(values: Any) -> Any:
        return sum(inner(w, y) for w, y in zip(weights, leaves(f(*values)), strict=True) if w is not None)

    def gradient(values: Any) -> Any:
        tensors = [v if isinstance(v, tapec.Tensor) else tapec.constant(v) for v in values]
        with tapec.GradientTape() as tape:
            for k in moving:
                tape.watch(tensors[k])
            y = loss(tensors)
        found = tape.gradient(y, [tensors[k] for k in moving])
        return [np.zeros(values[k].shape, values[k].dtype) if g is None else dense(g) for k, g in zip(moving, found)]

    tensors = [tapec.constant(a) for a in arrays]
    for want, got in zip(expected, leaves(f(*tensors)), strict=True):
        assert_same(got, want)
    first = gradient(arrays)
    for k, g in zip(moving, first, strict=True):
        assert g.shape == arrays[k].shape and g.dtype == arrays[k].dtype, (g.shape, g.dtype)
    slope = sum(float(inner(d, plain(g))) for d, g in zip(directions, first, strict=True))
    assert_close(slope, difference(loss, arrays, moving, directions), rtol)
    if order > 1:
        check_second(gradient, arrays, moving, rng, rtol)


def check_second(gradient: Any, arrays: Any, moving: Any, rng: Any, rtol: float) -> None:
    """The gradient of a random combination of the gradient."""
    mixes = [random_like(rng, arrays[k]) for k in moving]
    directions = [random_like(rng, arrays[k]) for k in moving]

    def mixed(values: Any) -> Any:
        return sum(inner(m, g) for m, g in zip(mixes, gradient(values), strict=True))

    def flat(values: Any) -> float:
        return float(sum(inner(m, plain(g)) for m, g in zip(mixes, gradient(values), strict=True)))

    tensors = [tapec.constant(a) for a in arrays]
    with tapec.GradientTape() as outer:
        for k in moving:
            outer.watch(tensors[k])
        y = mixed(tensors)
    second = outer.gradient(y, [tensors[k] for k in moving]) if isinstance(y, tapec.Tensor) else []
    slope = sum(float(inner(d, plain(dense(g)))) for d, g in zip(directions, second) if g is not None)
    assert_close(slope, difference(flat, arrays, moving, directions), 10 * rtol)


def by_tape(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of f by its first argument, as `tapec.grad` gives it, by a tape; None where nothing leads to it."""

    def gradient(x: Any, *more: Any) -> Any:
        x = tapec.convert_to_tensor(x)
        with tapec.GradientTape() as tape:
            tape.watch(x)
            y = f(x, *more)
        return tape.gradient(y, x)

    return gradient


def differences(f: Callable[..., Any], x: Any, step: float = 1e-3) -> Any:
    """All derivatives of f by an array, by differences of sixth order: the axes of the result, then those of x."""
    moves = step * np.eye(x.size).reshape(x.size, *x.shape)
    weights = enumerate((3 / 4, -3 / 20, 1 / 60), 1)
    slopes = sum(c / step * np.array([f(x + n * d) - f(x - n * d) for d in moves]) for n, c in weights)
    return np.moveaxis(slopes, 0, -1).reshape(*slopes.shape[1:], *x.shape)


def difference(loss: Any, arrays: Any, moving: Any, directions: Any) -> float:
    """The slope of a loss along directions, by central differences of fourth order."""

    def at(t: float) -> float:
        values = list(arrays)
        for k, d in zip(moving, directions, strict=True):
            values[k] = values[k] + t * d
        return float(plain(loss(values)))

    h = 1e-3
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


def inner(w: Any, y: Any) -> Any:
    """Re sum(conj(w) y)."""
    if y.dtype.kind == "c" or w.dtype.kind == "c":
        return np.sum(np.real(np.conj(w) * y))
    return np.sum(w * y)


def random_like(rng: Any, a: Any) -> Any:
    a = np.asarray(a)
    if a.dtype.kind not in "fc":
        return None
    w = rng.uniform(0.5, 1.5, a.shape) * rng.choice([-1.0, 1.0], a.shape)
    return w + 1j * rng.uniform(0.5, 1.5, a.shape) if a.dtype.kind == "c" else np.asarray(w)


def leaves(y: Any) -> Iterator[Any]:
    if isinstance(y, (tuple, list)):
        for part in y:
            yield from leaves(part)
    else:
        yield y


def dense(g: Any) -> Any:
    """The tensor that a gradient of gathered rows stands for."""
    return g._tapec_read() if isinstance(g, tapec.IndexedSlices) else g


def plain(t: Any) -> Any:
    return t.numpy() if isinstance(t, tapec.Tensor) else t


def assert_same(got: Any, want: Any) -> None:
    got, want = plain(got), np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, want.shape, got.dtype, want.dtype)
    small = want.dtype.kind in "fc" and want.real.dtype.itemsize < 8
    np.testing.assert_allclose(got, want, rtol=1e-5 if small else 1e-12, atol=1e-6 if small else 1e-12)


def assert_close(got: float, want: float, rtol: float) -> None:
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
