"""Calls that NumPy refuses: tensors refuse them too, with an error of the same kind that names the user's line."""

import warnings

import numpy as np
import pytest

import tapec

ARRAYS = {
    "x": np.ones((2, 3)),
    "v": np.array([0.7, -1.3, 2.1, 0.2, -0.6]),
    "z": np.full((2, 3), 1j),
    "t": np.ones((2, 3, 4)),
    "c": np.array(1.3),
    "i": np.arange(6).reshape(2, 3),
}
CODES = """
# axes
np.sum(x, axis=5)
np.sum(v, 1)
np.mean(v[0], 0)
x.max(axis=-3)
np.mean(x, axis=(0, 0))
np.cumsum(x, axis=2)
np.sort(x, axis=2)
np.sort(v, kind="fast")
np.gradient(v > 0)
np.ediff1d(v > 0)
np.sort(v, kind="stable", stable=True)
np.argsort(v, order="first")
np.partition(v, 1, kind="fast")
np.moveaxis(t, 0, 9)
np.swapaxes(t, 0, 9)
np.expand_dims(x, (0, 0))
np.size(v, 1)
np.apply_along_axis(np.sum, 0, c)
np.average(c, axis=0, weights=v[:1])
np.ravel(x, 1)
np.polyval(c, x)
np.squeeze(x, 0)
np.gradient(t, axis=(0, 0))
np.roll(x, [1, 2], [[0, 1]])
np.sum(x, axis=True)
np.sum(x, axis=[0])
np.mean(x, axis=(True,))
np.mean(x, axis=True, where=x > 0)
np.std(x, axis=True)
np.nanmean(x, axis=True)
np.argmax(x, axis=False)
x.max(True)
# shapes
x + np.ones(2)
x @ x
x @ np.ones((3, 2, 2))
1 @ x
np.matmul(x, x)
np.dot(x, x)
np.vdot(x, v)
np.inner(x, v)
np.vecdot(x, v)
np.tensordot(x, x, 1)
np.einsum("ij,jk", x, x)
np.convolve(x[0], x[0][:0])
np.convolve(x, v)
np.convolve(v[:0], v)
np.cross(x[:, :1], x)
np.cross(t, t)
np.linalg.cross(t, t)
x.reshape(4, 2)
np.reshape(x, (-1, -1))
np.reshape(x, 6, order="Q")
np.resize(v, (-1,))
np.broadcast_to(x, (2, 4))
np.copyto(x, v)
np.concatenate([], out=x)
np.concatenate([c, c])
np.concatenate([x, x[:, :2]])
np.stack([], out=x)
np.stack([x, x[:1]])
np.block([x, (x, x)])
np.block([[x], []])
np.hsplit(c, 2)
np.vsplit(v, 2)
np.dsplit(x, 2)
np.split(v, 2)
np.flipud(c)
np.fliplr(v)
np.rot90(v)
np.diag(t)
np.diag(c)
np.diagonal(v)
np.trace(v)
np.fill_diagonal(v, 2)
np.fill_diagonal(t, 2)
np.repeat(x, [1, 2, 1], axis=0)
np.lib.stride_tricks.sliding_window_view(x, 9, axis=0)
np.apply_along_axis(np.sum, 0, t[:, :0])
np.place(v, v > 0, [])
np.place(x, v > 0, [1.0])
np.putmask(x, v > 0, 1.0)
np.putmask(x, [True, False, True], 1.0)
np.sum(v, where=np.ones((2, 5), bool))
np.all(v[:1], where=np.ones(5, bool))
np.vander(v, -1)
np.histogram(x, weights=x.T)
np.histogram(x, np.ones((2, 2)))
np.histogram2d(v, v[:1])
np.searchsorted(v, 0.5, sorter=[0])
# indices
x[5]
x[[0, 4]]
x[0, 0, 0]
x[np.array([[0, 1]]), np.array([0, 1, 2])]
x[np.array([True, False, True])]
np.take(x, 17)
np.take(x, [0, 9], 1)
np.split(v, [1.0, 2.0])
np.split(x, 1.5)
np.insert(v, 1.5, 0)
np.partition(v, 1.5)
np.diag(v, 1.5)
np.diagonal(x, 1.0)
np.trace(x, 0.5)
np.vander(v, 2.5)
np.linspace(0, c, 2.5)
np.logspace(0, c, 2.5)
np.tensordot(x, x, 1.5)
np.take(x, [0], mode="bad")
np.put(x, [0], 1.0, mode="bad")
np.take_along_axis(x, i * 1.0, 1)
np.take_along_axis(x, np.arange(3), 1)
np.take_along_axis(x, np.array([[0, 9]]), 1)
np.take_along_axis(x, i, None)
np.delete(v, [True, False])
np.insert(v, [[1, 2]], 9)
np.ravel_multi_index((i, i), (3, 4))
# numbers out of their range
np.max(x[:0])
np.max(v, where=v > 0)
np.maximum.reduce(x, where=x > 0)
np.nanargmax(x * [[np.nan], [1.0]], axis=1)
np.nanargmin(x * np.nan)
np.partition(x, 7)
np.diff(x, -1)
np.diff(x, 1.0)
np.diff(c)
np.ediff1d(x, to_begin=1j)
np.gradient(x[:1])
np.gradient(x, edge_order=3)
np.gradient(x, np.arange(3.0), np.arange(3.0))
np.linspace(0, c, -1)
np.geomspace(0, c, 4)
np.geomspace(c, v * 0, 4)
np.fft.fft(x, 0)
np.fft.fft(v, 3.5)
np.quantile(x, 1.5)
np.percentile(x, 101)
np.quantile(z, 0.5)
np.nanquantile(z, 0.5)
np.quantile(v, 0.5, method="median")
np.quantile(x, 0.5, weights=x)
np.quantile(v, 0.5, weights=-np.ones(5), method="inverted_cdf")
np.histogram(v, [0, 2, 1])
np.histogram(v, 0)
np.histogram(v, 3, (2, 1))
np.histogram(v, 3, (0, np.inf))
np.bincount(x[0])
np.interp(x, [1.0, 2.0], [1.0])
np.interp(v, [0, 1], [1, 2], period=0)
np.interp(v, [0, 1], [1, 2, 3], period=2)
np.interp(x, x, x, period=2)
np.searchsorted(np.sort(v), v, side="middle")
np.select([x > 0], [])
np.select([x], [x])
np.piecewise(x, [x > 0], [1, 2, 3])
np.clip(v, 0, 1, bounds=2)
np.i0(z)
np.isposinf(z)
np.isneginf(z)
np.fix(z)
x & 1
# statistics
np.var(v, ddof=1, correction=1)
np.average(x, weights=np.ones(2))
np.average(x, axis=0, weights=np.ones(3))
np.average(x, axis=0, weights=np.zeros(2))
np.cov(t)
np.cov(x, ddof=1.5)
np.cov(x, fweights=[1.5, 1, 1])
np.cov(x, fweights=np.ones((2, 2), int))
np.cov(x, aweights=np.ones(2))
np.cov(x, aweights=[1, 2, -1])
np.cov(v, aweights=np.zeros(5))
# what is written, and where to
np.sum(t, axis=0, out=t)
t.max(axis=0, out=t)
np.add.reduce(t, out=t)
np.take(v, 0, out=v)
np.concatenate([v, v], out=v)
np.round(v[:2], out=v)
np.median(t, axis=0, out=np.ones((2, 3, 4)))
v.fill([1.0, 2.0])
v.fill(1j)
i.fill(np.nan)
v.__setitem__(..., 1j)
np.putmask(v, v > 0, 1j)
np.place(v, v > 0, [1j])
np.put_along_axis(v, np.array([[0]]), 1.0, 0)
np.put_along_axis(v, np.array([0]), 1.0, 3)
np.put_along_axis(t, np.array([[0]]), 1.0, None)
# masks are truth values
np.sum(x, where=x)
np.mean(x, where=i)
np.var(x, where=i)
np.max(x, where=np.ones(3), initial=0.0)
np.all(v, where=v)
np.nanmean(v, where=np.ones(5, int))
np.hypot.reduce(x, where=i)
np.multiply(x, 2.0, out=x, where=np.ones(3))
np.copyto(x, 2.0, where=np.ones(3))
np.where(x > 0, x)
# types
np.concatenate([v, v], dtype=int)
np.stack([v, v], dtype=np.float32, casting="safe")
v.astype(int, casting="same_kind")
np.add.at(v, 0.5, 1)
np.interp(z[:1, 0].reshape(()), v, v)
np.interp(c, z[0], v[:3])
# polynomials
np.polyfit(x, v, 1)
np.roots(x)
np.polyder(v, -1)
# linear algebra
np.linalg.inv(x[:, :2])
np.linalg.inv(x.astype(np.float16)[:, :2])
np.linalg.solve(x[:, :2], np.ones(2))
np.linalg.solve(x[:, :2] + np.eye(2), v)
np.linalg.det(x)
np.linalg.eigh(x)
np.linalg.eigh(x[:, :2], "Q")
np.linalg.cholesky(-x[:, :2])
np.linalg.svd(x[0])
np.linalg.lstsq(x, t)
np.linalg.lstsq(x, v)
np.linalg.matrix_rank(x, 0.1, rtol=0.1)
np.linalg.matrix_power(x[:, :2], 2.5)
np.linalg.pinv(x, 0.1, rtol=None)
np.linalg.norm(x, "foo")
np.linalg.norm(v, "fro")
np.linalg.tensorsolve(x, v)
"""
BAD = [line for line in CODES.splitlines() if line and not line.startswith("#")]


def refused(code, arrays):
    """The error that a call ends in."""
    with pytest.raises(Exception) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        eval(compile(code, "call.py", "eval"), {"np": np, **arrays})
    return caught.value


@pytest.mark.parametrize("code", BAD)
def test_bad_input(code):
    error = refused(code, {name: array.copy() for name, array in ARRAYS.items()})
    tensors = {name: tapec.constant(array) for name, array in ARRAYS.items()}
    x = tensors["x"]
    with tapec.GradientTape() as tape:
        tape.watch(x)
        for _ in range(3):  # by a plan, too
            found = refused(code, tensors)
        y = np.sum(x)
    assert isinstance(found, type(error)), repr(found)
    assert (tape.gradient(y, x).numpy() == 1).all()  # nothing is left behind
    said = " ".join([str(found), *getattr(found, "__notes__", [])])
    assert "call.py:1" in said, said


def test_one_example_of_nothing_but_nan():
    x = np.array([[1.0, np.nan], [np.nan, np.nan]])
    found = tapec.vmap(lambda row: row[np.nanargmax(row)])
    assert found(x[:1]) == 1.0
    with pytest.raises(ValueError, match="All-NaN slice encountered") as caught:
        found(x)
    assert "test_errors.py" in "".join(caught.value.__notes__)
