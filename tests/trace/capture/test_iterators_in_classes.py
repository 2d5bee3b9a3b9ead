"""What constructors and methods take from iterators, they take once at each call."""

import dataclasses
import io
import itertools

import numpy as np
import pytest

import tapec

X = np.array([0.5, 1.5])


def of_a_class_attribute():
    class Particle:
        ids = itertools.count(1)

        def __init__(self, x):
            self.x, self.id = x, next(Particle.ids)

    return lambda x: Particle(x).id * np.sum(x)


def of_an_instance():
    class Particle:
        ids = itertools.count(1)

        def number(self):
            return next(self.ids)

    return lambda x: Particle().number() * np.sum(x)


def of_a_dataclass():
    @dataclasses.dataclass
    class Item:
        x: np.ndarray
        id: int = dataclasses.field(default_factory=itertools.count(1).__next__)

    return lambda x: Item(x).id * np.sum(x)


def of_a_closure():
    ids = itertools.count(1)

    class Node:
        def __init__(self):
            self.id = next(ids)

    return lambda x: Node().id * Node().id * np.sum(x)


def of_a_list():
    class Row:
        left = iter([1.0, 2.0, 4.0, 8.0])

        def __init__(self):
            self.w = next(Row.left)

    return lambda x: Row().w * np.sum(x)


def of_a_generator():
    class Row:
        left = (2.0**k for k in range(9))

        def __init__(self):
            self.w = next(Row.left)

    return lambda x: Row().w * np.sum(x)


def of_a_file():
    class Row:
        lines = io.StringIO("1.0\n2.0\n4.0\n8.0\n")

        def __init__(self):
            self.w = float(next(Row.lines))

    return lambda x: Row().w * np.sum(x)


WAYS = [of_a_class_attribute, of_an_instance, of_a_dataclass, of_a_closure, of_a_list, of_a_generator, of_a_file]


@pytest.mark.parametrize("make", WAYS, ids=lambda f: f.__name__)
def test_objects_that_a_function_makes_take_once_at_each_call(make):
    f, compiled, differentiated = make(), tapec.compile(make()), tapec.value_and_grad(make())
    for _ in range(3):
        expected = f(X)
        assert compiled(X) == expected
        value, slope = differentiated(X)
        assert value == expected and slope[0] == slope[1] and slope @ X == expected


def test_a_function_that_takes_nothing_is_compiled():
    class Log:
        ids = itertools.count(1)
        text = io.StringIO()

        def __init__(self, x):
            self.x = x

    g = tapec.compile(lambda x: np.sum(Log(x).x))
    assert g(X) == g(X) == 2.0
    assert g.explain(X).recorded_anew is None
