"""`np.r_` and `np.c_` of recorded tensors: NumPy's dtypes, values and shapes, and gradients through them."""

from itertools import product

import numpy as np
import pytest

import tapec
from tapec.trace.escape import np_r_c

HALF, SINGLE, DOUBLE = np.array([1, 2], np.float16), np.array([1, 2], np.float32), np.array([1.0, 2.0])
COMPLEX = np.array([1, 2j], np.complex64)
KEYS = """
t, 1.0
t, [1.0]
1.0, t, 2
t, 1
t, 1j
t, True
t, np.arange(3)
t, np.int8([1, 2])
t, np.float32(1)
t, np.float64(1)
t, np.float32([3, 4])
t, np.array([True])
t, []
t, np.array([], np.float32), 1.0
t, 0:3
t, 0:1:3j
t, u
t, u, 1.0
t[:1], 2.5
t, t[0]
t[0], 1.0
[t[0], 1.0], t
np.sum(t), 1.0, 0:2
'0,2', t, u
'0,2,0', t, u
'-1', t, 1.0
""".strip().splitlines()


def joined(name, key, t, u):
    return eval(f"np.{name}[{key}]", {"np": np, "t": t, "u": u})


@pytest.mark.parametrize("name", ["r_", "c_"])
@pytest.mark.parametrize("key", KEYS)
def test_as_numpy_has_it(name, key):
    for t, u in product((HALF, SINGLE, DOUBLE, COMPLEX), (SINGLE, DOUBLE)):
        tensors = tapec.constant(t), tapec.constant(u)
        try:
            wanted = joined(name, key, t, u)
        except ValueError:  # lengths that do not fit
            with tapec.GradientTape() as tape, pytest.raises(ValueError, match="must match exactly"):
                tape.watch(tensors)
                joined(name, key, *tensors)
            continue
        with tapec.GradientTape() as tape:
            tape.watch(tensors)
            taped = tapec.convert_to_tensor(joined(name, key, *tensors))
        traced = tapec.compile(lambda t, u: joined(name, key, t, u))(t, u)
        for found in (taped.numpy(), traced):
            assert found.dtype == wanted.dtype, (t.dtype, u.dtype)
            np.testing.assert_array_equal(found, wanted)
        assert tape.gradient(taped, tensors[0]).dtype == t.dtype


def test_gradients():
    loss = lambda x: np.sum(np.r_[x * x, 1.0, x[:1]] * np.arange(4.0))
    np.testing.assert_allclose(tapec.grad(loss)(DOUBLE), [3.0, 4.0])
    columns = lambda x: np.sum(np.c_[x, x * x] * np.array([1.0, 3.0]))
    np.testing.assert_allclose(tapec.jacfwd(columns)(DOUBLE), [7.0, 13.0])


def test_python_numbers_stay_weak():
    assert tapec.compile(lambda x, s: np.r_[x, s])(SINGLE, 2.0).dtype == np.float32
    assert tapec.compile(lambda x, s: np.r_[s, x])(SINGLE.astype(int), 2.0).dtype == np.float64
    assert tapec.compile(lambda s: np.r_[s, 1])(2.0).dtype == np.float64


@pytest.mark.parametrize(
    "f",
    [
        lambda n: np.r_[[n[0], n[1]], 1.0],
        lambda n: np.r_[n[0], 2],
        lambda n: np.array([n[0], n[1]]),
        lambda n: np.array([n[0] > 1, n[1] > 1]),
    ],
)
def test_elements_of_integers_are_guards(f):
    """A plain array is made of them, and another path where they are others."""
    traced = tapec.compile(f)
    for n in (np.array([1, 2]), np.array([3, 4])):
        found, wanted = traced(n), f(n)
        assert found.dtype == wanted.dtype and found.tolist() == wanted.tolist()


def test_variables():
    v = tapec.Variable(SINGLE)
    with tapec.GradientTape() as tape:
        y = np.r_[v, 1.0]
    assert y.dtype == np.float32 and tape.gradient(y, v).numpy().tolist() == [1, 1]


def test_many_elements_are_joined_whole():
    x = np.arange(50_000.0)
    found = tapec.grad(lambda x: np.sum(np.r_[x, 1.0] ** 2))(x)
    np.testing.assert_allclose(found, 2 * x)


def test_where_numpy_does_it_otherwise(monkeypatch):
    """Then elements are handed out; a Python number among them is a float64."""
    monkeypatch.setattr(np_r_c, "_works", lambda: False)
    with tapec.settings(check="never"):  # it would be told
        y = tapec.compile(lambda x: np.r_[x, 1.0])(SINGLE)
    assert y.tolist() == [1.0, 2.0, 1.0]


def test_the_installed_numpy_does_it_so():
    assert np_r_c._works()


def test_arrays_of_elements_become_tensors():
    x = tapec.constant(DOUBLE)
    with tapec.GradientTape() as tape:
        tape.watch(x)
        y = tapec.convert_to_tensor(np.array([x[0], x[1] * x[1]]))
    assert tape.gradient(y, x).numpy().tolist() == [1.0, 4.0]
    with pytest.raises(TypeError, match="a tensor holds numbers"):
        tapec.constant(np.array(["a", 1.0], dtype=object))
