"""Traced functions find a NumPy that takes lists of tensors and makes tensors of them: values, dtypes, derivatives."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy
import numpy as np
import pytest
from numpy import array as by_another_name
from numpy import asarray
from numpy.linalg import det

import tapec
from tests.ops.derivatives import differences

X = np.array([0.6, 1.2])
NUMBERS = [0.3, 0.5]
EYE = np.eye(2)


class Made:
    of_class = staticmethod(np.array)

    def __init__(self):
        self.of_object = np.array


MADE = Made()


def later(*parts: Any) -> Any:
    return np.array(parts)


# -- how an array is made, of what, and of which size ------------------------------------------------------------------
MAKERS = {
    "np.array": lambda parts: np.array(parts),
    "numpy.array": lambda parts: numpy.array(parts),
    "another name": lambda parts: by_another_name(parts),
    "asarray by name": lambda parts: asarray(parts),
    "of a class": lambda parts: MADE.of_class(parts),
    "of an object": lambda parts: MADE.of_object(parts),
    "a local name": lambda parts: (lambda make: make(parts))(np.array),
    "getattr": lambda parts: getattr(np, "array")(parts),  # noqa: B009
    "partial": lambda parts: functools.partial(np.array, copy=True)(parts),
    "helper": lambda parts: later(*parts),
    "a tuple": lambda parts: np.array(tuple(parts)),
    "asanyarray": lambda parts: np.asanyarray(parts),
    "ascontiguousarray": lambda parts: np.ascontiguousarray(parts),
    "asfortranarray": lambda parts: np.asfortranarray(parts),
    "ndmin": lambda parts: np.array(parts, ndmin=3),
    "dtype": lambda parts: np.array(parts, dtype=complex),
    "positional dtype": lambda parts: np.array(parts, complex),
    "order": lambda parts: np.array([parts, parts], order="F"),
    "nested": lambda parts: np.array([parts, tuple(parts)]),
    "full": lambda parts: np.full((2, len(parts)), parts),
    "full by keyword": lambda parts: np.full(shape=(2, len(parts)), fill_value=parts),
    "r_": lambda parts: np.r_[parts],
    "r_ of several": lambda parts: np.r_[parts, [1.0], parts],
    "c_": lambda parts: np.c_[parts],
    "stack": lambda parts: np.stack([parts, parts]),
    "concatenate": lambda parts: np.concatenate([parts, parts]),
    "vstack": lambda parts: np.vstack([parts, parts]),
    "hstack": lambda parts: np.hstack((parts, parts)),
    "column_stack": lambda parts: np.column_stack([parts, parts]),
    "block": lambda parts: np.block([[parts], [parts]]) if parts else np.array(parts),
    "atleast_2d": lambda parts: np.atleast_2d(parts),
    "append": lambda parts: np.append(parts, parts),
    "array of an array": lambda parts: np.array(np.array(parts)),
    "appended to": lambda parts: np.asarray([p for p in parts]),
}
CONTENTS = {
    "numbers of an array": lambda x: [x[0], x[1]],
    "and Python's floats": lambda x: [x[0], 0.5],
    "and integers": lambda x: [2, x[1]],
    "and truth values": lambda x: [x[1], True],
    "and complex numbers": lambda x: [x[0], 1j],
    "and NumPy's numbers": lambda x: [np.float32(0.5), x[0]],
    "comparisons": lambda x: [x[0] > 0, x[1] < 0],
    "arrays": lambda x: [x, x * 2],
    "arrays and lists": lambda x: [x, [1.0, x[0]]],
    "arrays and plain arrays": lambda x: [x, EYE[0]],
    "one": lambda x: [x[0]],
    "empty arrays": lambda x: [x[:0], x[:0]],
    "captured floats": lambda x: [NUMBERS[0], x[0]],
    "captured floats alone": lambda x: NUMBERS,
    "integers alone": lambda x: [np.argmax(x), 3],
}


def compared(f: Any, x: Any) -> None:
    """Compare a function with plain NumPy: value, dtype, shape, and its gradient with differences."""
    want, x = f(x), np.asarray(x)
    for _ in range(2):
        got = tapec.compile(f)(x)
        assert np.shape(got) == np.shape(want) and np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=1e-12 if x.dtype == float else 1e-5)
    if x.dtype == float and x.size:
        number = lambda x: np.sum(np.sin(np.abs(f(x)) * 1.3)) + 0.0 * x[0]
        np.testing.assert_allclose(tapec.grad(number)(x), differences(number, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("maker", MAKERS)
def test_arrays_of_lists(maker, content):
    make, parts = MAKERS[maker], CONTENTS[content]
    try:
        make(parts(X))
    except (ValueError, IndexError):
        with pytest.raises((ValueError, IndexError)):
            tapec.compile(lambda x: make(parts(x)))(X)
    else:
        compared(lambda x: make(parts(x)), X)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.complex64, np.int8, np.int64, bool])
@pytest.mark.parametrize("content", CONTENTS)
def test_dtypes_are_numpys(content, dtype):
    compared(lambda x: np.array(CONTENTS[content](x)), X.astype(dtype))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.array([a, a]),
        lambda a: np.mean((a, a)),
        lambda a: np.full(2, a),
        lambda a: np.asarray(a),
        lambda a: np.sum([a, 1]),
        lambda a: np.r_[a, a],
    ],
)
def test_pythons_floats_become_float64(f):
    """Beside an array of single precision a list of them is an array of double precision, as in NumPy."""
    x = np.ones(2, np.float32)
    got, want = tapec.compile(lambda a, x: f(a) * x)(0.1, x), f(0.1) * x
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


# -- what NumPy's functions take ---------------------------------------------------------------------------------------
CALLS = {
    "sin": lambda a: np.sin([a[0], 0.5]),
    "exp": lambda a: np.exp(((a[0], a[1]), (0.0, 1))),
    "logaddexp": lambda a: np.logaddexp([a[0], 1], [0.3, a[1]]),
    "isfinite": lambda a: np.isfinite([a[0], 1.0]) * a[0],
    "isnan": lambda a: np.isnan([a[0], np.nan]) * a[0],
    "nan_to_num": lambda a: np.nan_to_num([a[0], np.nan]),
    "nan_to_num of infinity": lambda a: np.nan_to_num(np.array([a[0] / 0.0, a[1]]), posinf=1.0),
    "logical_or": lambda a: np.logical_or([a[0], 0.0], 0) * a[0],
    "zeros_like": lambda a: np.zeros_like([a[0], 1.0]) + a[0],
    "full_like": lambda a: np.full_like([0.0, 1.0], a[0]),
    "floor": lambda a: np.floor([a[0], a[1]]) * a[0],
    "sign": lambda a: np.sign([a[0], -a[1]]) * a[0],
    "round": lambda a: np.round([a[0], 1.23], 1) * a[0],
    "maximum": lambda a: np.maximum([a[0], 1.0], 0.7),
    "dtype": lambda a: a * (1.0 if np.array([a[0], 0.5]).dtype.kind == "f" else 2.0),
    "interp": lambda a: np.interp(0.3, [0, 1], [a[0], a[1]]),
    "interp at tensors": lambda a: np.interp(a[0] * 0.1, [0, 1], [a[0], a[1]]),
    "interp between tensors": lambda a: np.interp([0.3, 0.5], [0, a[1] * 9], [a[0], 1.0]),
    "det": lambda a: np.linalg.det([[a[0], 1.0], [2.0, a[1]]]),
    "det by name": lambda a: det([[a[0], 1.0], [2.0, a[1]]]),
    "inv": lambda a: np.linalg.inv([[a[0], 1.0], [2.0, a[1]]]),
    "solve": lambda a: np.linalg.solve([[a[0], 1.0], [2.0, a[1]]], [a[1], 1]),
    "solve by keywords": lambda a: np.linalg.solve(a=[[a[0], 1.0], [0.3, 2.0]], b=[1.0, 2.0]),
    "eigh": lambda a: np.linalg.eigh([[a[0], 1.0], [1.0, a[1]]])[0],
    "svd": lambda a: np.linalg.svd([[a[0], 1.0], [2.0, a[1]]])[1],
    "norm": lambda a: np.linalg.norm([a[0], 1.0]),
    "multi_dot": lambda a: np.linalg.multi_dot(
        [[[a[0], 1.0], [2.0, a[1]]], [[1.0, a[0]], [2.0, a[1]]], [[1.0], [2.0]]]
    ),
    "fft": lambda a: np.abs(np.fft.fft([a[0], a[1], 1.0])),
    "mean": lambda a: np.mean([a, 2 * a], axis=0),
    "mean by keyword": lambda a: np.mean(a=[a, 2 * a], axis=0),
    "var": lambda a: np.var([a[0], 1.0]),
    "any": lambda a: np.any([a > 1.0, a < 0.0], axis=0) * a,
    "median": lambda a: np.median([a[0], 1.0, a[1]]),
    "quantile": lambda a: np.quantile([a[0], 1.0, a[1]], [0.2, 0.5]),
    "average": lambda a: np.average([a[0], 1.0], weights=[a[1], 2.0]),
    "reduce": lambda a: np.add.reduce([a[0], a[1], 1.0]),
    "accumulate": lambda a: np.multiply.accumulate([a[0], a[1], 1.0]),
    "outer of a ufunc": lambda a: np.multiply.outer([a[0], a[1]], [1.0, a[0]]),
    "dot": lambda a: np.dot([a[0], a[1]], [1.0, a[0]]),
    "einsum": lambda a: np.einsum("i,i->", [a[0], a[1]], [1.0, a[0]]),
    "where": lambda a: np.where([True, False], [a[0], 1.0], [2.0, a[1]]),
    "select": lambda a: np.select([[True, False], [False, True]], [[a[0], 1.0], [2.0, a[1]]]),
    "choose": lambda a: np.choose([0, 1], [[a[0], 1.0], [2.0, a[1]]]),
    "clip": lambda a: np.clip([a[0], 1.0, a[1]], 0.1, [a[0], 2.0, 0.5]),
    "sort": lambda a: np.sort([a[0], 1.0, a[1]]),
    "argsort": lambda a: np.argsort([a[0], a[1]]) * a[0],
    "argmax": lambda a: a[np.argmax([a[0], a[1]])],
    "searchsorted": lambda a: np.searchsorted([a[0], 9.0], [a[1]]) * a[0],
    "insert": lambda a: np.insert([a[0], 1.0], 1, [a[1]]),
    "pad": lambda a: np.pad([a[0], 1.0], 1, constant_values=(a[0], a[1])),
    "pad of a tensor": lambda a: np.pad(a, 1, constant_values=(a[0], a[1])),
    "piecewise": lambda a: np.piecewise(a, [a < 0.7, a >= 0.7], [np.sin, np.cos]),
    "meshgrid": lambda a: np.meshgrid([a[0], 1.0], [2.0, a[1]])[1],
    "broadcast_arrays": lambda a: np.broadcast_arrays([a[0]], [[1.0], [a[1]]])[0],
    "reshape": lambda a: np.reshape([a[0], 1.0, 2.0, a[1]], (2, 2)),
    "sliding_window_view": lambda a: np.lib.stride_tricks.sliding_window_view([a[0], 1.0, a[1]], 2),
    "convolve": lambda a: np.convolve([a[0], a[1]], [1.0, 2.0, 3.0]),
    "polyval": lambda a: np.polyval([a[0], a[1], 1.0], 0.4),
    "vander": lambda a: np.vander([a[0], a[1]], 3),
    "linspace": lambda a: np.linspace([a[0], 1.0], [2.0, a[1]], 3),
    "gradient": lambda a: np.gradient([a[0], a[1], 1.0]),
    "trapezoid": lambda a: np.trapezoid([a[0], a[1], 1.0], [0.0, 0.5, 2.0]),
    "cov": lambda a: np.cov([a[0], 1.0, 2.0], [2.0, a[1], 1.0]),
    "real": lambda a: np.real([a[0] * 1j, 1.0 + a[1]]),
    "imag of an array": lambda a: np.array([a[0] * 1j, 1.0]).imag,
    "apply_along_axis": lambda a: np.apply_along_axis(np.sum, 0, [[a[0], 1.0], [2.0, a[1]]]),
    "map": lambda a: np.array(list(map(np.sin, a))),
    "reduce of Python": lambda a: functools.reduce(np.add, [a[0], a[1], 1.0]),
    "partial": lambda a: functools.partial(np.mean, axis=0)([a, 2 * a]),
    "a captured list": lambda a: np.sin(NUMBERS) * a[0],
    "a plain array's dot": lambda a: np.eye(2).dot([a[0], a[1]]),
    "a plain array's operator": lambda a: np.eye(2) @ [a[0], a[1]] + np.ones(2) * (a[1], 2.0),
    "a plain array's dot of a tensor": lambda a: np.eye(2).dot(a),
    "cast": lambda a: np.array([a[0], 1.0]).astype(float),
    "changed": lambda a: np.add(np.array([a[0], 1.0]), a, out=np.array([a[1], 2.0])),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_lists(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of the division by zero
        if name == "nan_to_num of infinity":
            np.testing.assert_allclose(tapec.compile(CALLS[name])(X), CALLS[name](X))
        else:
            compared(CALLS[name], X)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_recorded_at_each_call(name):
    compiled = tapec.compile(CALLS[name])
    with np.errstate(all="ignore"):
        compiled(X)
    assert "recorded" not in str(compiled.explain(X))


@pytest.mark.parametrize("n", [0, 1, 1000, 20_000])
def test_lists_of_large_arrays_are_stacked(n):
    def f(x):
        return np.mean([x, 2 * x], axis=0), np.sum((x, x**2)), np.max([x, -x], axis=0)

    x = np.linspace(-1.0, 1.0, n)
    for got, want in zip(tapec.compile(f)(x), f(x), strict=True):
        np.testing.assert_allclose(got, want)
    assert len(tapec.compile(f).ir(x).nodes) < 20


# -- how else one may come to NumPy -----------------------------------------------------------------------------------
def test_functions_of_numpy_are_what_they_are():
    def f(x, act=np.tanh):
        import numpy as inside
        import numpy.linalg as la
        from numpy import linalg

        scale = {np.tanh: 2.0, np.sin: 3.0}[act]
        if act is np.tanh and isinstance(np.sin, np.ufunc) and np.add.nin == 2 and inside.sin is np.sin:
            scale *= 5.0
        return np.sum(act(x)) * scale + la.norm([x[0], x[1]]) + linalg.norm((x[0], 1.0)) + inside.max([x[0], x[1]])

    np.testing.assert_allclose(tapec.compile(f)(X), f(X))
    np.testing.assert_allclose(tapec.compile(f)(X, np.sin), f(X, np.sin))
    assert tapec.compile(lambda x: (x, np.sin))(1.0)[1] is np.sin

    def stores(x):
        MADE.act = np.tanh
        return MADE.act(x)

    tapec.compile(stores)(1.0)
    assert MADE.act is np.tanh


def test_another_function_in_its_place_is_seen(monkeypatch):
    f = tapec.compile(lambda x: MADE.of_object([x, 2 * x]) + by_another_name([x, 1.0]))
    assert f(1.0).tolist() == [2.0, 3.0]
    monkeypatch.setattr(MADE, "of_object", lambda parts: np.zeros(2))
    assert f(1.0).tolist() == [1.0, 1.0]
    monkeypatch.setitem(globals(), "by_another_name", np.full)
    with pytest.raises(TypeError):
        f(1.0)


def test_what_no_function_of_numpys_takes_names_the_fix():
    past_us = lambda x: Made.of_class([x[0], x[1]])  # classes are handed out as they are
    for f in (past_us, lambda x: np.fromiter(x, float), lambda x: np.float64([x[0], 1.0])):
        with pytest.raises(tapec.DetachError, match=r"test_numpy_view\.py:\d+: .*Fix: "):
            tapec.grad(lambda x, f=f: np.sum(f(x)))(X)


@pytest.mark.parametrize("text", [np.array2string, np.array_str, np.array_repr])
def test_texts_of_tensors_are_facts(text):
    f = tapec.compile(lambda x: x * len(text(np.array([x]))))
    for x in (0.5, 0.25, 0.125, 0.0625, 0.5):
        assert f(x) == x * len(text(np.array([x])))


P = np.polynomial
NODES, HEIGHTS, WEIGHTS = np.linspace(0.0, 1.0, 7), np.sin(np.linspace(0.0, 1.0, 7)), np.linspace(1.0, 2.0, 7)
POLYNOMIALS = {
    "polyfit": lambda y: P.polynomial.polyfit(NODES, y, 2),
    "weights": lambda y: P.polynomial.polyfit(NODES, HEIGHTS, 2, w=y + 1.0),
    "nodes": lambda y: P.polynomial.polyfit(y, HEIGHTS, 2),
    "chebfit": lambda y: P.chebyshev.chebfit(NODES, y, 3),
    "legfit": lambda y: P.legendre.legfit(NODES, y, 2, w=WEIGHTS),
    "hermfit": lambda y: P.hermite.hermfit(NODES, y, 2),
    "lagfit": lambda y: P.laguerre.lagfit(NODES, y, 2),
    "polyval": lambda y: P.polynomial.polyval(NODES, y),
    "legval": lambda y: P.legendre.legval(y, WEIGHTS),
    "polyder": lambda y: P.polynomial.polyder(y),
    "chebint": lambda y: P.chebyshev.chebint(y),
    "polyvander": lambda y: P.polynomial.polyvander(y, 3),
    "legvander": lambda y: P.legendre.legvander(y, 2),
    "polyfromroots": lambda y: P.polynomial.polyfromroots(y[:3]),
    "polymul": lambda y: P.polynomial.polymul(y[:3], y[2:]),
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_functions_of_numpy_polynomial(name):
    f = POLYNOMIALS[name]
    compiled, slope = tapec.compile(f), tapec.grad(lambda y: np.sum(f(y) ** 2))
    for y in (HEIGHTS + 0.1, HEIGHTS**2 + 0.2):
        np.testing.assert_allclose(compiled(y), f(y), rtol=1e-9, atol=1e-9)
        differences = [(np.sum(f(y + e) ** 2) - np.sum(f(y - e) ** 2)) / 2e-6 for e in 1e-6 * np.eye(7)]
        np.testing.assert_allclose(slope(y), differences, rtol=1e-5, atol=1e-5 * np.max(np.abs(differences)))
