"""Sums compute in the dtype of `out=` where it is wider, `ufunc.at` in that of the target and the values together."""

import numpy as np
import pytest

import tapec

# of which sums, products or squares are others in a wider dtype
ROWS = {
    "float32": np.array([2.0**24, 1.0, 1.0, 3.0], np.float32),
    "complex64": np.array([2.0**24, 1.0, 1.0, 3.0], np.complex64),
    "int64": np.array([2**40, 2**30, 7, 3]),
    "uint8": np.array([200, 100, 3, 9], np.uint8),
}
SUMS = {
    "sum": lambda x, z: np.sum(x[None], axis=1, out=z[:1]),
    "method": lambda x, z: x[None].sum(1, None, z[:1]),
    "mean": lambda x, z: np.mean(x[None], axis=1, out=z[:1]),
    "prod": lambda x, z: np.prod(x[None], axis=1, out=z[:1]),
    "cumsum": lambda x, z: np.cumsum(x, out=z),
    "cumprod": lambda x, z: np.cumprod(x, out=z),
    "nansum": lambda x, z: np.nansum(x[None], axis=1, out=z[:1]),
    "nancumsum": lambda x, z: np.nancumsum(x, out=z),
    "trace": lambda x, z: np.trace(np.diag(x)[None], axis1=1, axis2=2, out=z[:1]),
    "add.reduce": lambda x, z: np.add.reduce(x[None], axis=1, out=z[:1]),
    "multiply.accumulate": lambda x, z: np.multiply.accumulate(x, out=z),
    "add.reduceat": lambda x, z: np.add.reduceat(x, [0, 2], out=z[:2]),
    "einsum": lambda x, z: np.einsum("i,i->i", x, x, out=z),
    "ptp": lambda x, z: np.ptp(x[None], axis=1, out=z[:1]),
    "ptp of short numbers": lambda x, z: np.ptp(x[None].real.astype(np.int8), 1, z[:1]),
}
TARGETS = [np.uint8, np.int64, np.float32, np.float64, np.complex128]
VALUES = [
    np.array([True, True, False, True]),
    np.array([200, 100, 3, 250], np.uint8),
    np.array([3, 1, 2, 5]),
    np.array([2.0**24, 1.0, 1.0, 3.0], np.float32),
    np.int8(100),
    True,
]


def on_a_tape(f, x):
    with tapec.GradientTape() as tape:
        t = tapec.constant(x)
        if t.dtype.kind in "fc":
            tape.watch(t)
        return f(t).numpy()


@pytest.mark.parametrize("wide", [np.float64, np.complex128])
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("total", SUMS)
def test_sums(total, row, wide):
    def f(x):
        z = np.zeros_like(x, shape=4, dtype=wide)
        SUMS[total](x, z)
        return z

    whole = ROWS[row].dtype.kind in "iu"
    if np.result_type(ROWS[row], wide) != wide or (total == "mean" and whole and wide is np.complex128):
        return  # NumPy warns that it drops imaginary parts
    want = f(ROWS[row])
    for found in (tapec.compile(f)(ROWS[row]), on_a_tape(f, ROWS[row])):
        np.testing.assert_allclose(found, want, rtol=1e-12, strict=True)


@pytest.mark.parametrize("values", VALUES, ids=lambda v: type(v).__name__ if np.ndim(v) == 0 else v.dtype.name)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ufunc", [np.add, np.subtract, np.multiply, np.maximum])
def test_ufunc_at(ufunc, target, values):
    def f(v):
        z = np.ones(2, target)
        ufunc.at(z, np.array([0, 0, 1, 0]), v)
        return z

    if np.result_type(target, values).kind != np.dtype(target).kind:
        return  # NumPy drops what the target cannot hold, we refuse
    np.testing.assert_allclose(tapec.compile(f)(values), f(values), rtol=1e-6, strict=True)
