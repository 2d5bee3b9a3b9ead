"""Tuples of the user's own class are read as plain tuples are, captured and as arguments."""

from collections import namedtuple

import numpy as np
import pytest

import tapec

FACTOR = 2.0


def classes():
    def call(self, x):
        return self.gain * FACTOR * np.linalg.norm(self[0]) * np.sum(x)

    def filled(self, x):
        out = np.zeros(len(x))
        for k in range(len(x)):
            out[k] = self[0][k] * x[k] ** 2
        return np.sum(out)

    space = {"gain": 2.0, "__call__": call, "filled": filled, "__module__": __name__}
    return {
        "tuple": type("Weights", (tuple,), dict(space)),
        "without attributes": type("Weights", (tuple,), {**space, "__slots__": ()}),
        "named tuple": type("Weights", (namedtuple("Weights", ["w", "b"]),), dict(space)),
    }


def made(kind, *items):
    return kind(*items) if hasattr(kind, "_fields") else kind(items)


def as_argument(f, p, transform):
    g = transform(f)
    return lambda x: g(x, p)


def inside_an_argument(f, p, transform):
    g = transform(lambda x, q: f(x, q["p"]))
    return lambda x: g(x, {"p": p})


def as_static(f, p, transform):
    g = transform(f, static_argnums=1)
    return lambda x: g(x, p)


WAYS = {
    "captured": lambda f, p, transform: transform(lambda x: f(x, p)),
    "argument": as_argument,
    "inside an argument": inside_an_argument,
    "static": as_static,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", classes())
def test_what_it_holds_and_its_class_are_read_anew(name, way, monkeypatch):
    kind = classes()[name]
    w, x = np.array([1.0, 2.0]), np.ones(2)
    p = made(kind, w, 2.0)
    f = lambda x, p: p(x) * p[1]
    value, grad = way(f, p, tapec.compile), way(f, p, tapec.grad)

    def check():
        for _ in range(2):
            np.testing.assert_allclose(value(x), f(x, p))
            np.testing.assert_allclose(grad(x), np.full(2, f(np.ones(2), p) / 2.0))

    check()
    w *= 10.0
    check()
    kind.gain = 3.0
    check()
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    check()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", classes())
def test_its_methods_fill_arrays(name, way):
    w, x = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    p = made(classes()[name], w, 2.0)
    grad = way(lambda x, p: p.filled(x), p, tapec.grad)
    for _ in range(3):
        np.testing.assert_allclose(grad(x), 2.0 * w * x)
        w += 1.0


@pytest.mark.parametrize("way", ["captured", "argument", "static"])
def test_its_attributes_are_read_anew(way):
    kind = classes()["tuple"]
    p, x = made(kind, np.ones(2)), np.ones(2)
    p.scale, p.array = 2.0, np.ones(2)
    f = lambda x, p: np.sum(x) * p.scale * np.linalg.norm(p.array)
    value = WAYS[way](f, p, tapec.compile)
    assert value(x) == f(x, p)
    p.scale = 3.0
    assert value(x) == f(x, p)
    p.array *= 2.0
    assert value(x) == f(x, p)


def test_equal_items_and_other_attributes():
    kind = classes()["tuple"]
    f = tapec.compile(lambda x, p: x * p.scale)
    for scale in (2.0, 3.0):
        p = kind((1.0,))
        p.scale = scale
        assert f(1.0, p) == scale


def test_an_attribute_that_is_set_stays_plain():
    p = made(classes()["tuple"], np.ones(2))

    def f(x):
        p.last = np.sum(x)
        return p.last * p[0]

    g = tapec.compile(f)
    for k in (1.0, 2.0, 3.0):
        assert g(k * np.ones(2)).tolist() == [2.0 * k] * 2
        assert type(p.last) is np.float64
        assert p.last == 2.0 * k


def test_a_captured_one_that_is_returned_is_itself():
    p = made(classes()["tuple"], np.ones(2))
    f = tapec.compile(lambda x: (x * p[0], p))
    for x in (1.0, 2.0):
        assert f(x)[1] is p
