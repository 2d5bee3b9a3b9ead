"""What constructors and cached functions read far inside the user's own objects and functions is read anew."""

import functools
import types

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedError

DEEP = (0, 1, 2, 3, 4, 7, 20)


class Chained:
    def __init__(self, value, rest=None):
        self.value, self.rest = value, rest


def of_attributes(depth):
    """Return what reads a number, so deep inside objects, and what sets it."""
    last = whole = types.SimpleNamespace(value=2.0)
    for _ in range(depth):
        whole = types.SimpleNamespace(inner=whole)

    def read():
        found = whole
        while hasattr(found, "inner"):
            found = found.inner
        return found.value

    return read, functools.partial(setattr, last, "value")


def of_items(depth):
    last = whole = [2.0]
    for k in range(depth):
        whole = [whole] if k % 2 else {"inner": whole}

    def read():
        found = whole
        while type(found) is dict or type(found[0]) is not float:
            found = found["inner"] if type(found) is dict else found[0]
        return found[0]

    return read, functools.partial(last.__setitem__, 0)


def of_functions(depth):
    held = {"value": 2.0}
    read = lambda: held["value"]

    def around(inner):
        return lambda: inner()

    for _ in range(depth):
        read = around(read)
    return read, functools.partial(held.__setitem__, "value")


WAYS = [of_attributes, of_items, of_functions]


@pytest.mark.parametrize("depth", DEEP)
@pytest.mark.parametrize("way", WAYS)
def test_what_constructors_read(way, depth):
    read, put = way(depth)

    class Point:
        def __init__(self):
            self.mass = read()

    g = tapec.grad(lambda x: x * Point().mass)
    for value in (2.0, 3.0, 5.0):
        put(value)
        assert [g(1.0), g(2.0)] == [value, value]


@pytest.mark.parametrize("depth", DEEP)
def test_what_cached_functions_read_of_what_is_set(depth):
    global SCALE
    SCALE = 2.0
    read = lambda: SCALE

    def around(inner):
        return lambda: inner()

    for _ in range(depth):
        read = around(read)
    cached = functools.lru_cache(lambda: read())

    def f(x):
        global SCALE
        SCALE = 3.0
        return x * cached()

    with pytest.raises(UnsupportedError, match="the function sets SCALE"):
        tapec.grad(f)(1.0)


def test_items_of_a_long_list():
    numbers = [float(k) for k in range(3000)]

    class Point:
        def __init__(self):
            self.mass = numbers[2500]

    g = tapec.grad(lambda x: x * Point().mass)
    for value in (2500.0, 3.0, 5.0):
        numbers[2500] = value
        assert [g(1.0), g(2.0)] == [value, value]


def test_a_long_chain():
    whole = last = Chained(1.0)
    for _ in range(3000):
        whole = Chained(1.0, whole)

    class Point:
        def __init__(self):
            self.mass, rest = 0.0, whole
            while rest is not None:
                self.mass, rest = self.mass + rest.value, rest.rest

    g = tapec.grad(lambda x: x * Point().mass)
    for value in (1.0, 3.0, 5.0):
        last.value = value
        np.testing.assert_allclose([g(1.0), g(2.0)], 3000.0 + value)
