"""Methods, properties and slots of captured objects inside a transform that a traced function calls: read anew,
compiled once."""

import functools
from dataclasses import dataclass

import numpy as np
import pytest

import tapec

SCALE = np.array([1.0, 2.0, 3.0])


class Model:
    def __init__(self):
        self.w = np.array([0.5, 1.5, 2.5])

    def method(self, t):
        return np.sin(t) * SCALE * self.w

    @property
    def weight(self):
        return SCALE * self.w

    @staticmethod
    def static(t):
        return np.sin(t) * SCALE

    def through_others(self, t):
        return self.method(t) * self.weight + self.static(t)

    with_keyword = functools.partialmethod(lambda self, t, k: np.sin(t) * SCALE * k * self.w, k=2.0)


class Slots:
    __slots__ = ("w",)

    def __init__(self):
        self.w = np.array([0.5, 1.5, 2.5])

    def method(self, t):
        return np.sin(t) * SCALE * self.w


@dataclass
class Data:
    w: np.ndarray

    def method(self, t):
        return np.sin(t) * SCALE * self.w


model, slots, data = Model(), Slots(), Data(np.array([0.5, 1.5, 2.5]))
BODIES = {
    "method": lambda t: model.method(t),
    "property": lambda t: np.sin(t) * model.weight,
    "static": lambda t: model.static(t),
    "through others": lambda t: model.through_others(t),
    "partialmethod": lambda t: model.with_keyword(t),
    "slots": lambda t: slots.method(t),
    "dataclass": lambda t: data.method(t),
}


@pytest.fixture(autouse=True)
def as_they_were():
    global SCALE
    SCALE = np.array([1.0, 2.0, 3.0])
    for x in (model, slots, data):
        x.w = np.array([0.5, 1.5, 2.5])


def nested(f):
    def loss(x):
        value, pull = tapec.vjp(f, x)
        return np.sum(value * pull(np.ones(3)))

    return loss


def twice_nested(f):
    def loss(x):
        def inner(y):
            value, pull = tapec.vjp(f, y)
            return value * pull(np.ones(3))

        value, pull = tapec.vjp(inner, x)
        return np.sum(value * pull(np.ones(3)))

    return loss


def states():
    """Change what the methods read, in all the ways that leave the function what it is."""
    global SCALE
    yield
    SCALE = SCALE * 1.5
    yield
    SCALE[1] = 4.0
    yield
    for x in (model, slots, data):
        x.w = x.w * 1.5
    yield
    for x in (model, slots, data):
        x.w[0] = 7.0
    yield


@pytest.mark.parametrize("around", [lambda f: lambda x: np.sum(f(x) ** 2), nested, twice_nested])
@pytest.mark.parametrize("f", BODIES.values(), ids=BODIES)
def test_what_a_method_reads_is_read_anew(f, around):
    g, x = tapec.grad(around(f)), np.array([0.3, 0.5, 0.7])
    for _ in states():
        for _ in range(2):
            np.testing.assert_allclose(g(x), tapec.grad(around(f))(x), rtol=1e-12)
    assert g.cache_info().compilations == 1
    assert around is twice_nested or g.cache_info().hits == 9


@pytest.mark.parametrize("around", [nested, twice_nested])
def test_another_method_or_property_is_seen(around, monkeypatch):
    x = np.array([0.3, 0.5, 0.7])
    for name, new in (
        ("method", lambda self, t: np.cos(t) * self.w),
        ("weight", property(lambda self: SCALE * 5.0)),
        ("static", staticmethod(lambda t: np.exp(t) * SCALE)),
    ):
        g = tapec.grad(around(BODIES["through others"]))
        before = g(x)
        with monkeypatch.context() as patch:
            patch.setattr(Model, name, new)
            np.testing.assert_allclose(g(x), tapec.grad(around(BODIES["through others"]))(x), rtol=1e-12)
            assert not np.allclose(g(x), before)
        np.testing.assert_allclose(g(x), before, rtol=1e-12)
