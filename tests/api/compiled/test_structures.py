"""Named tuples and dataclasses come as they are, and are made anew without their constructors."""

from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest

import tapec


class Angles(namedtuple("Angles", "radians")):
    def __new__(cls, degrees):
        return super().__new__(cls, np.deg2rad(degrees))


class Sized(namedtuple("Sized", "x n")):
    def __new__(cls, x):
        return super().__new__(cls, x, len(x))


class Doubled(namedtuple("Doubled", "x")):
    @property
    def x(self):
        return 2.0 * self[0]


DEGREES = [np.array([30.0, 90.0]), np.array([45.0, 60.0]), np.array([10.0, 20.0])]


def test_a_constructor_that_computes():
    f = lambda a: np.sum(np.sin(a.radians))
    value, grad, value_and_grad = tapec.compile(f), tapec.grad(f), tapec.value_and_grad(f)
    for degrees in DEGREES:
        a = Angles(degrees)
        np.testing.assert_allclose(value(a), f(a))
        slope = grad(a)
        assert type(slope) is Angles
        np.testing.assert_allclose(slope.radians, np.cos(a.radians))
        np.testing.assert_allclose(value_and_grad(a)[1].radians, np.cos(a.radians))


def test_a_result_whose_constructor_computes():
    f = lambda d: Angles(d * 2.0)
    turn = tapec.compile(f)
    for degrees in DEGREES:
        found = turn(degrees)
        assert type(found) is Angles
        np.testing.assert_allclose(found.radians, f(degrees).radians)
    batch = tapec.vmap(f)(np.array(DEGREES))
    np.testing.assert_allclose(batch.radians, f(np.array(DEGREES)).radians)


def test_a_constructor_of_other_parameters():
    f = lambda s: np.sum(s.x**2) / s.n
    value, grad = tapec.compile(f), tapec.grad(f)
    for n in (2, 3, 3):
        s = Sized(np.arange(1.0, n + 1.0))
        np.testing.assert_allclose(value(s), f(s))
        np.testing.assert_allclose(grad(s).x, 2.0 * s.x / n)


def test_a_property_in_the_place_of_a_field():
    f = lambda a: np.sum(a.x)
    value = tapec.compile(f)
    for x in DEGREES:
        np.testing.assert_allclose(value(Doubled(x)), f(Doubled(x)))


def test_export_of_a_constructor_that_computes(tmp_path):
    def doubled(a):
        return Angles._make([a.radians * 2.0])

    path = tmp_path / "exported.py"
    tapec.compile(doubled).export(path, Angles(DEGREES[0]))
    space = {}
    exec(path.read_text(), space)
    for degrees in DEGREES:
        np.testing.assert_allclose(space["doubled"](Angles(degrees)).radians, 2.0 * np.deg2rad(degrees))


@dataclass
class Layer:
    w: np.ndarray

    def __post_init__(self):
        self.n = len(self.w)


@dataclass
class Declared:
    w: np.ndarray
    n: int = field(init=False)

    def __post_init__(self):
        self.n = len(self.w)


class Noted(namedtuple("Noted", "w")):
    pass


def noted(w):
    made = Noted(w)
    made.n = len(w)
    return made


@pytest.mark.parametrize(("make", "fix"), [(Layer, "`n: Any = field(init=False)`"), (noted, "n a property")])
def test_an_attribute_that_is_no_field_is_told(make, fix):
    f = lambda layer: np.sum(layer.w**2) / layer.n
    for t in (tapec.compile(f), tapec.grad(f)):
        with pytest.raises(AttributeError) as caught:
            t(make(np.ones(2)))
        assert "made anew of its fields" in caught.value.__notes__[0]
        assert fix in caught.value.__notes__[0]


def test_an_attribute_that_is_missing_anyway_is_told_as_python_does():
    f = tapec.compile(lambda x, layer: x.sum() + layer.nothing)

    class Other:
        pass

    with pytest.raises(AttributeError) as caught:
        f(np.ones(2), Other())
    assert not any(["made anew" in note for note in getattr(caught.value, "__notes__", ())])


def test_an_attribute_that_is_declared():
    f = lambda x, layer: np.sum(layer.w * x) / layer.n
    grad = tapec.grad(f)
    for n in (2, 3, 3):
        layer = Declared(np.arange(1.0, n + 1.0))
        np.testing.assert_allclose(grad(np.ones(n), layer), layer.w / n)
