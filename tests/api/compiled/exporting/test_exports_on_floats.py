"""Exports of programs on Python's floats give inf and nan where the compiled function does."""

import importlib.util

import numpy as np
import pytest

import tapec
from tests.properties import on_floats


def scalar(x):
    return np.exp(x) / x + np.log(x) + x * x * x


def vector(p):
    return np.exp(p[0]) * np.log(p[1]) + p[0] / p[1]


def each(x):
    for _ in range(3):
        x = np.tanh(x) * x + np.exp(-x)
    return np.sum(x)


def loop(p):
    u, v = p
    for _ in range(40):
        u, v = u + 0.1 * u * (1 - v), v + 0.1 * v * (u - 1)
    return u * u / v


def branch(x):
    return np.exp(x) if x > 0 else 1.0 / x


def place(x, p, seen):
    total = 0.0
    for k in seen:
        total = 0.9 * total + np.exp(x * p[k]) / p[k]
    return total


def system(p):
    a, b, c, d = p
    for _ in range(6):
        a, b = np.tanh(a) * b + np.sin(a), np.cos(b) * a + np.tanh(b)
    s = np.linalg.solve(np.stack([np.stack([a + 2.0, b]), np.stack([b * c, 3.0 + d])]), np.stack([c, d]))
    return np.exp(s[0] * 700.0) / s[1] + np.log(s[0] * s[0])


def array(*values):
    return np.array(values, float)


P = array(0.5, 2.0, 3.0)
CASES = [
    (scalar, [(np.float64(x),) for x in (2.0, 0.0, 1e4, -1.0, np.inf, np.nan)]),
    (vector, [(array(1, 2),), (array(1e3, 2),), (array(1, 0),), (array(0, -1),)]),
    (each, [(np.linspace(-1, 1, 6),), (np.full(6, -1e3),), (np.full(6, 1e300),)]),
    (loop, [(array(0.5, 0.5),), (array(1e200, 1e200),), (array(1, 0),)]),
    (branch, [(np.float64(1.0),), (np.float64(1e4),)]),
    (place, [(np.float64(x), p, np.array([0, 2, 1, -1])) for x, p in ((1.0, P), (1e4, P), (1.0, array(0, 2, 0)))]),
    (system, [(array(0.3, 0.2, 1, 2),), (array(0.3, 0.2, 0, 0),), (array(0.3, 0.2, 1e4, 0),)]),
]


@pytest.mark.parametrize("transform", [tapec.compile, tapec.value_and_grad])
@pytest.mark.parametrize(("function", "calls"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_exports_agree_where_floats_raise_errors(function, calls, transform, tmp_path):
    made = transform(function)
    made.export(tmp_path / "m.py", *calls[0])
    spec = importlib.util.spec_from_file_location("m", tmp_path / "m.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    exported = getattr(module, module.__all__[0])
    assert on_floats(made.source(*calls[0]))
    odd = 0
    for args in calls:
        with np.errstate(all="ignore"):
            wanted, found = (
                np.atleast_1d(*f(*args)) if transform is not tapec.compile else [f(*args)] for f in (made, exported)
            )
        for a, b in zip(wanted, found, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_allclose(b, a, rtol=1e-12)
            odd += not np.isfinite(a).all()
    assert odd
