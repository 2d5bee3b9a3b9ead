"""Captured objects of NumPy, SciPy and the standard library answer by what they hold: when that changes, so does the
result."""

from __future__ import annotations

import collections
import ctypes
import functools
import logging
import queue
import random
import string
import threading
import types

import numpy as np
import pytest

import tapec

X = np.array([0.5, 1.5])
KNOTS = np.linspace(0.0, 3.0, 8)


class Changing:
    """Names an object, what a function computes of it, and how it changes."""

    def __init__(self, make, call, change):
        self.make, self.call, self.change = make, call, change


def installed(module: str):
    return pytest.importorskip(module)


def of_scipy(name):
    """Make the cases whose objects need SciPy, when one of them runs."""
    interpolate, sparse, stats = installed("scipy.interpolate"), installed("scipy.sparse"), installed("scipy.stats")
    linalg = installed("scipy.sparse.linalg")
    cases = {
        "smoothing spline": Changing(
            lambda: interpolate.UnivariateSpline(KNOTS, np.sin(3 * KNOTS), s=0),
            lambda s: s(0.7),
            lambda s: s.set_smoothing_factor(2.0),
        ),
        "coefficients": Changing(
            lambda: interpolate.make_interp_spline(KNOTS, np.sin(KNOTS)), lambda s: s(0.7), lambda s: s.c.__imul__(2.0)
        ),
        "method": Changing(
            lambda: interpolate.RegularGridInterpolator((KNOTS,), np.sin(KNOTS)),
            lambda s: s([0.7])[0],
            lambda s: setattr(s, "method", "nearest"),
        ),
        "bandwidth": Changing(lambda: stats.gaussian_kde(KNOTS), lambda s: s(0.7)[0], lambda s: s.set_bandwidth(0.1)),
        "operator": Changing(
            lambda: linalg.aslinearoperator(np.eye(2)), lambda s: s.matvec(np.ones(2))[0], lambda s: s.A.__imul__(5.0)
        ),
        "samples": Changing(lambda: stats.qmc.Sobol(2, seed=1), lambda s: s.random(4)[3, 0], lambda s: None),
        "draws": Changing(_norm, lambda s: s.rvs(size=2)[1], lambda s: None),
        "matrix times number": Changing(lambda: _matrix(sparse), lambda a: ((2 * a) @ X)[1], thrice),
        "diagonal": Changing(lambda: _matrix(sparse), lambda a: a.diagonal()[1], thrice),
        "dense": Changing(lambda: _matrix(sparse), lambda a: a.toarray()[0, 0], thrice),
        "turned": Changing(lambda: _matrix(sparse), lambda a: (a.tocsc().T @ X)[1], thrice),
        "squared": Changing(lambda: _matrix(sparse), lambda a: (a @ a)[1, 1], thrice),
        "coordinates": Changing(lambda: sparse.coo_array(np.diag([1.0, 2.0])), lambda a: (a @ X)[1], thrice),
    }
    return cases[name]


def thrice(matrix):
    matrix.data *= 3


def _matrix(sparse):
    return sparse.csr_matrix(np.diag([1.0, 2.0]))


def _norm():
    from scipy import stats

    found = stats.norm()
    found.random_state = np.random.default_rng(5)
    return found


def _queue():
    found = queue.Queue()
    for k in range(20):
        found.put(float(k))
    return found


def _of_thread():
    found = threading.local()
    found.rate = 2.0
    return found


CASES = {
    "series": Changing(
        lambda: np.polynomial.Chebyshev.fit(KNOTS, np.sin(KNOTS), 3),
        lambda p: p(0.3),
        lambda p: p.domain.__setitem__(0, -3.0),
    ),
    "series of x": Changing(
        lambda: np.polynomial.Polynomial([1.0, 2.0]), lambda p: p(X)[1], lambda p: p.coef.__setitem__(0, 9.0)
    ),
    "poly1d": Changing(lambda: np.poly1d([1.0, 2.0]), lambda p: p(0.3), lambda p: p.coeffs.__imul__(2.0)),
    "queue": Changing(_queue, lambda q: q.get(), lambda q: None),
    "event": Changing(threading.Event, lambda e: 2.0 if e.is_set() else 3.0, lambda e: e.set()),
    "number of C": Changing(lambda: ctypes.c_double(2.0), lambda v: v.value, lambda v: setattr(v, "value", 5.0)),
    "template": Changing(
        lambda: string.Template("1$x"), lambda s: float(s.substitute(x=2)), lambda s: setattr(s, "template", "3$x")
    ),
    "lists in an array": Changing(
        lambda: np.array([[1.0, 2.0], [3.0]], dtype=object), lambda a: a[0][0] + sum(a[1]), lambda a: a[1].append(4.0)
    ),
    "dicts in an array": Changing(
        lambda: np.array([{"a": 1.0}, None]), lambda a: a[0]["a"], lambda a: a[0].update(a=7.0)
    ),
    "arguments by name": Changing(
        lambda: functools.partial(lambda a, *, b=1.0: a * b, 2.0), lambda f: f(), lambda f: f.keywords.update(b=9.0)
    ),
    "a view of a dict": Changing(lambda: {"a": 1.0}.copy(), lambda d: d["a"], lambda d: d.update(a=4.0)),
    "append": Changing(lambda: [1.0].append, lambda add: len(add.__self__) * (1.0 if add(2.0) is None else 0.0), id),
    "get": Changing(lambda: {"rate": 1.0}.get, lambda get: get("rate"), lambda get: get.__self__.update(rate=5.0)),
    "sum of an array": Changing(lambda: np.ones(2).sum, lambda f: f(), lambda f: f.__self__.__imul__(5)),
    "popleft": Changing(
        lambda: collections.deque(map(float, range(40))).popleft, lambda take: take(), lambda take: None
    ),
    "membership": Changing(
        lambda: {1, 2}.__contains__, lambda has: 2.0 if has(3) else 1.0, lambda has: has.__self__.add(3)
    ),
    "draws of Python": Changing(lambda: random.Random(1).random, lambda draw: draw(), lambda draw: None),
    "seeds": Changing(
        lambda: np.random.SeedSequence(1), lambda s: np.random.default_rng(s.spawn(1)[0]).normal(), lambda s: None
    ),
    "logger": Changing(
        lambda: logging.Logger("held", logging.INFO),
        lambda log: 2.0 if log.isEnabledFor(logging.DEBUG) else 3.0,
        lambda log: log.setLevel(logging.DEBUG),
    ),
    "of a thread": Changing(_of_thread, lambda held: held.rate, lambda held: setattr(held, "rate", 5.0)),
    "next": Changing(lambda: iter(list(map(float, range(40)))).__next__, lambda f: f(), lambda f: None),
    "module": Changing(
        lambda: types.ModuleType("cfg"), lambda m: 2.0 if hasattr(m, "debug") else 1.0, lambda m: setattr(m, "debug", 1)
    ),
}
OF_SCIPY = [
    *("smoothing spline", "coefficients", "method", "bandwidth", "operator", "samples", "draws"),
    *("matrix times number", "diagonal", "dense", "turned", "squared", "coordinates"),
]


@pytest.mark.parametrize("transform", [tapec.compile, tapec.grad], ids=["compile", "grad"])
@pytest.mark.parametrize("name", [*CASES, *OF_SCIPY])
def test_a_change_is_seen(name, transform):
    case = CASES[name] if name in CASES else of_scipy(name)
    ours, plain = case.make(), case.make()

    def function_of(held):
        return lambda x: np.sum(x * case.call(held))

    compiled, f = transform(function_of(ours)), function_of(plain)
    for k in range(4):
        expected = f(X)
        wanted = expected if transform is tapec.compile else np.full(2, expected / np.sum(X))
        np.testing.assert_allclose(compiled(X), wanted, rtol=1e-12)
        if k == 1:
            case.change(ours)
            case.change(plain)


def test_what_does_not_change_is_compiled_once():
    series = np.polynomial.Chebyshev.fit(KNOTS, np.sin(KNOTS), 3)
    compiled = tapec.compile(lambda x: series(x))
    for _ in range(3):
        np.testing.assert_allclose(compiled(X), series(X), rtol=1e-12)
    assert compiled.cache_info().compilations == 1


def test_an_object_may_keep_what_it_has_worked_out():
    held = np.vectorize(lambda v: v + 1.0, otypes=[float])  # keeps a ufunc from its first call on
    compiled = tapec.compile(lambda x: x * held(2.0))
    for _ in range(3):
        np.testing.assert_array_equal(compiled(X), X * 3.0)
    assert compiled.cache_info().compilations == 1


def test_products_of_captured_matrices_take_new_elements_without_being_compiled_again():
    matrix = _matrix(installed("scipy.sparse"))
    compiled = tapec.compile(lambda x: matrix @ x + matrix.T @ x + matrix.dot(x))
    for _ in range(3):
        np.testing.assert_allclose(compiled(X), 3 * (matrix @ X))
        matrix.data *= 2
    assert compiled.cache_info().compilations == 1


def test_what_holds_too_much_is_read_anew(monkeypatch):
    monkeypatch.setattr(tapec.trace.tuning, "STATE_MAX_PARTS", 5)
    held = np.array([[1.0] * 20, [2.0]], dtype=object)
    compiled = tapec.compile(lambda x: x * sum(held[0]))
    for k in range(3):
        np.testing.assert_array_equal(compiled(X), X * sum(held[0]))
        held[0][k] = 7.0


def test_records_appended_by_a_bound_method_are_plain_numbers():
    log = []
    add = log.append

    def f(x):
        loss = np.sum(x**2)
        add(loss)
        return loss

    compiled = tapec.compile(f)
    for k in range(3):
        compiled((k + 1) * X)
    assert [type(x) for x in log] == [np.float64] * 3
    np.testing.assert_allclose(log, [2.5, 10.0, 22.5])


def test_captured_matrices_leave_the_function_as_they_are():
    import copy

    matrix, kept = _matrix(installed("scipy.sparse")), {}

    def f(x):
        kept["same"], kept["copy"], kept["turned"] = matrix, copy.copy(matrix), matrix.T
        return matrix, x @ matrix

    found, _ = tapec.compile(f)(X)
    assert found is kept["same"] is matrix and type(kept["copy"]) is type(matrix)
    assert type(kept["turned"]) is type(matrix.T)
    assert kept["copy"] is not matrix and (kept["copy"] != matrix).nnz == 0
