"""The numbers of a short vector, taken out at once as floats."""

import numpy as np
import pytest

import tapec
from tapec.codegen.numpy.passes.unpack_short_vector import unpacked
from tapec.ir import ITEM, interpret, parse, verify
from tests.properties import call_count, calls, has

RNG = np.random.default_rng(0)
X, T = RNG.standard_normal((30, 3)), RNG.standard_normal((30, 3))


def turned(q):
    """Points turned by a quaternion, against others."""
    w, x, y, z = q
    r = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return np.sum((X @ r.T - T) ** 2)


def difference(f, q, h=1e-6):
    return np.array([(f(q + h * e) - f(q - h * e)) / (2 * h) for e in np.eye(len(q))])


def test_numbers_of_a_vector_are_floats():
    q = RNG.standard_normal(4)
    f = tapec.value_and_grad(turned)
    value, d_q = f(q)
    assert value == pytest.approx(turned(q), rel=1e-13) and type(value) is np.float64
    assert d_q.dtype == np.float64
    np.testing.assert_allclose(d_q, difference(turned, q), rtol=1e-6)
    source = f.source(q)
    assert has(source, "w, x, y, z = q.tolist()")
    assert call_count(source, "tolist") == 2 and not has(source, "q[_]")


def test_overflow_gives_infinity_as_on_arrays():
    q = np.array([1e200, 1.0, 2.0, 3.0])
    f = tapec.value_and_grad(turned)
    with np.errstate(all="ignore"):
        value, d_q = f(q)
        with tapec.config.settings(optimize=False):
            other, d_other = tapec.value_and_grad(turned)(q)
    assert np.array_equal([value, *d_q], [other, *d_other], equal_nan=True)
    assert not np.isfinite(value)


def several(p):
    a, b, c, d = p[0] * p[1], p[1] * p[2], p[2] * p[3], p[3] * p[0]
    return a * b + c * d - (a * c - b * d) * (a + b + c + d) + p[0] * (p[1] - p[2] * p[3])


@pytest.mark.parametrize(
    "last",
    [
        lambda p: p[0] / p[1],  # Python's division by zero is an error
        lambda p: np.where(p[0] > p[1], p[2], p[3]),
        lambda p: p[0] ** p[1],
    ],
)
def test_vectors_stay_where_floats_behave_otherwise(last):
    f = tapec.compile(lambda p: np.sum(np.tanh(X @ X.T) * several(p)) + last(p))
    for p in (np.array([1.0, 0.0, 2.0, 3.0]), np.array([2.0, 3.0, -1.0, 0.5])):
        with np.errstate(all="ignore"):
            want = np.sum(np.tanh(X @ X.T) * several(p)) + last(p)
            assert np.array_equal(f(p), want) or abs(f(p) - want) < 1e-12 * abs(want)


def test_float32_vectors_are_not_unpacked():
    p = np.ones(4, np.float32)
    f = tapec.compile(lambda p: np.sum(np.tanh(X @ X.T) * several(p)))
    assert f(p).dtype == np.float64
    assert not calls(f.source(p), "tolist")


def test_float32_arrays_stay():
    p, x = np.ones(4), np.ones(5, np.float32)
    f = tapec.compile(lambda p, x: np.tanh(x * (p[0] * p[1] - p[2] * p[3] + p[0] * p[2] * p[3]) + p[1]) + several(p))
    assert f(p, x).dtype == np.float64
    assert np.array_equal(f(p, x), np.tanh(np.ones(5) + 1.0) + several(p))


def test_results_are_numbers_of_numpy():
    f = tapec.compile(lambda p: (np.tanh(X @ X.T) * several(p), several(p), p[0]))
    assert [type(r) for r in f(np.ones(4))] == [np.ndarray, np.float64, np.float64]


def test_one_element_under_two_indices_is_one_float():
    places = (*range(9), -1, -2, -9)
    reads = "\n".join([f"%{k}: f64[] = getitem %q {{index=({place},)}}" for k, place in enumerate(places)])
    sums = "\n".join([f"%{k + 12}: f64[60] = multiply %{k + 11 if k else 'x'}, %{k}" for k in range(12)])
    graph = parse(f"graph f(%q: f64[9], %x: f64[60]) {{\n{reads}\n{sums}\nreturn %23\n}}")
    changed = unpacked(graph)
    assert sorted([n.param("index") for n in changed.nodes if n.op is ITEM]) == [*range(9)]
    q, x = RNG.standard_normal(9), RNG.standard_normal(60)
    np.testing.assert_allclose(interpret(verify(changed), q, x), interpret(graph, q, x), rtol=1e-15)
