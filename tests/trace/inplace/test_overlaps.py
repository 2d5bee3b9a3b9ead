"""A write that reads memory which it writes gives NumPy's value, quirks included, and its gradient, at any size."""

import numpy as np
import pytest

import tapec


def half(v):
    return v[: (len(v) + 1) // 2]


def third(v):
    return np.arange(len(v)) % 3 != 0


def fill(v):
    v.flat = v[::-1]


def matrix(x):
    return np.outer(x[:3], x)


WRITES = {  # of what x gives; NumPy copies in some of these and not in others
    "every second": lambda v: v.__setitem__(slice(None, None, 2), half(v)),
    "every second, backwards": lambda v: v.__setitem__(slice(None, None, -2), half(v)),
    "a copy": lambda v: v.__setitem__(slice(None, None, 2), half(v).copy()),
    "a product": lambda v: v.__setitem__(slice(None, None, 2), half(v) * 1.0),
    "one place on": lambda v: v.__setitem__(slice(1, None), v[:-1]),
    "one place back": lambda v: v.__setitem__(slice(None, -1), v[1:]),
    "reversed": lambda v: v.__setitem__(slice(None, None, -1), v),
    "itself": lambda v: v.__setitem__(slice(None), v),
    "a view": lambda v: v[::2].__setitem__(..., half(v)),
    "a view of a view": lambda v: v[1:][::2].__setitem__(slice(None), v[1:][: len(v) // 2]),
    "one element": lambda v: v.__setitem__(..., v[3:4]),
    "a mask": lambda v: v.__setitem__(third(v), v[: third(v).sum()]),
    "places": lambda v: v.__setitem__(np.arange(len(v))[1::2], v[: len(v) // 2]),
    "copyto": lambda v: np.copyto(v[::2], half(v)),
    "copyto where": lambda v: np.copyto(v[::2], half(v), where=third(half(v))),
    "flat": lambda v: v.flat.__setitem__(slice(None, None, 2), half(v)),
    "all of flat": fill,
    "flat, of itself": lambda v: v.flat.__setitem__(slice(None, None, 2), v),
    "put": lambda v: np.put(v, np.arange(len(v))[::2], half(v)),
    "place": lambda v: np.place(v, third(v), v[: third(v).sum()]),
    "putmask": lambda v: np.putmask(v, third(v), v[::-1]),
    "in place": lambda v: v[::2].__iadd__(half(v)),
    "out": lambda v: np.add(v[1:], v[:-1], out=v[1:]),
}
MATRICES = {
    "columns": lambda m: m.__setitem__((slice(None), slice(None, None, 2)), m[:, : (m.shape[1] + 1) // 2]),
    "of a row": lambda m: m[1].__setitem__(slice(None, None, 2), half(m[1])),
    "of two rows": lambda m: m.__setitem__((1, slice(None, None, 2)), half(m[0])),
    "across": lambda m: m.__setitem__((slice(None), 0), m[0, :3]),
    "a row for all": lambda m: m.__setitem__(..., m[1]),
    "of a column": lambda m: m.T[1::2].T.__setitem__(..., m[:, : m.shape[1] // 2]),
    "einsum": lambda m: np.einsum("ii->i", m[:3, :3]).flat.__setitem__(slice(None, None, 2), m),
    "diagonal": lambda m: np.fill_diagonal(m[:, :3], m[::-1, 0]),
}


def check(f, size):
    rng = np.random.default_rng(size)
    x, d, w = rng.uniform(-1, 1, (3, size))

    def loss(x):
        return np.sum(f(x) * w)

    slope = (loss(x + 1e-5 * d) - loss(x - 1e-5 * d)) / 2e-5
    for value, g in (tapec.value_and_grad(loss)(x), by_tape(loss, x)):
        np.testing.assert_allclose(value, loss(x), rtol=1e-9)
        np.testing.assert_allclose(np.sum(g * d), slope, rtol=1e-6, atol=1e-7)


def by_tape(loss, x):
    t = tapec.Variable(x)
    with tapec.GradientTape() as tape:
        y = loss(t)
    return y.numpy(), tape.gradient(y, t).numpy()


@pytest.mark.parametrize("size", [6, 7, 300, pytest.param(40000, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", WRITES)
def test_a_vector(name, size):
    def f(x):
        v = x * 2.0
        WRITES[name](v)
        return v

    check(f, size)


@pytest.mark.parametrize("size", [5, 300, pytest.param(20000, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", MATRICES)
def test_a_matrix(name, size):
    def f(x):
        m = matrix(x)
        MATRICES[name](m)
        return m

    check(f, size)


def test_real_and_imaginary_parts():
    def f(x):
        z = x[:6] + 1j * x
        z.real[:] = z.imag
        z.imag[1:] = z.imag[:-1]
        return z.real * z.imag

    check(f, 6)
    with tapec.GradientTape() as tape:
        x = tapec.constant(np.arange(6.0))
        tape.watch(x)
        z = x + 1j * x
        with pytest.raises(tapec.errors.InPlaceError, match="Fix: copy what is read"):
            z.real[::2] = z.real[:3]


@pytest.mark.parametrize("size", [6, 300])
def test_an_array_of_one_number(size):
    def f(x):
        v = np.full_like(x, 0.5)
        v[::-1] = v
        v[0] = x[0]
        return v * x

    check(f, size)
