"""A result that is no structure and holds what the run has computed is refused; any other one is given back."""

import collections
import functools
import types

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedError
from tapec.trace import tuning


class Row(list):
    pass


class Pair(tuple):
    __slots__ = ()


class Params(dict):
    pass


class Attributes(dict):
    def __getattr__(self, name):
        return self[name]


class Point:
    __slots__ = ("empty", "pos")

    def __init__(self, pos):
        self.pos = pos


class Box:
    def __init__(self, held):
        self.held = held


class Number(float):
    pass


def numbered(x):
    number = Number(2.0)
    number.held = x
    return number


def class_of(x):
    return type("Made", (), {"held": x})


def many_before(x):
    """Of what is far away there is more than is searched."""
    return Row([Box({k: Box(k) for k in range(tuning.RESULT_MAX_PARTS)}), x])


HOLDERS = {
    "many before": many_before,
    "list": lambda x: Row([x]),
    "tuple": lambda x: Pair([x, x]),
    "dict": lambda x: Params(a=x),
    "dict with attributes": lambda x: Attributes(a=x),
    "Counter": lambda x: collections.Counter(a=x[0]),
    "values": lambda x: {"a": x}.values(),
    "items": lambda x: {"a": x}.items(),
    "mappingproxy": lambda x: types.MappingProxyType({"a": x}),
    "slots": lambda x: Point(x),
    "attributes": lambda x: Box(x),
    "deep": lambda x: Box([{"a": Point((Box(x),))}]),
    "partial": lambda x: functools.partial(np.multiply, x),
    "slice": lambda x: slice(x[0], None),
    "Polynomial": lambda x: np.polynomial.Polynomial(x),
    "function": lambda x: lambda: x,
    "function in a function": lambda x: (lambda inner: lambda: inner())(lambda: x),
    "default": lambda x: lambda y=x: y,
    "method": lambda x: Row([x]).copy,
    "set": lambda x: {Point(x)},
    "error": lambda x: ValueError(x),
    "class": class_of,
    "object of a class": lambda x: class_of(x)(),
    "number": numbered,
    "compiled function": lambda x: tapec.compile(lambda y: x * y),
}


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_what_holds_a_computed_value_is_refused(make):
    x = np.array([1.0, 2.0])
    for f in (tapec.compile(lambda x: make(x * 2.0)), tapec.compile(lambda x: {"a": [make(x * 2.0)]})):
        with pytest.raises(UnsupportedError, match="holds what it computed"):
            f(x)
    aux = tapec.value_and_grad(lambda x: (np.sum(x), make(x * 2.0)), has_aux=True)
    with pytest.raises(UnsupportedError, match="Fix: return a list, a dict"):
        aux(x)


@pytest.mark.parametrize("make", HOLDERS.values(), ids=HOLDERS)
def test_what_holds_plain_values_is_given_back(make):
    held = np.array([1.0, 2.0])
    plain = make(held)
    f = tapec.compile(lambda x: (np.sum(x), plain))
    for x in (held, 3.0 * held):
        total, found = f(x)
        assert total == np.sum(x)
        assert type(found) is type(plain)
        if not isinstance(plain, types.MethodType | types.BuiltinMethodType | dict):
            assert found is plain


def test_a_captured_array_in_an_object_is_no_constant():
    w = np.array([1.0, 2.0])
    f = tapec.compile(lambda x: (np.sum(x), Row([w])))
    with pytest.raises(UnsupportedError, match="holds what it computed"):
        f(np.ones(2))


def test_what_is_too_large_to_be_searched_is_never_that_of_the_first_call():
    def f(x):
        inner = Box(x * 2.0)
        for _ in range(3):
            inner = Row([inner, *(Box(k) for k in range(tuning.RESULT_MAX_PARTS // 2))])
        return inner

    compiled = tapec.compile(f)
    for x in (1.0, 2.0, 3.0):
        found = compiled(np.full(2, x))
        while isinstance(found, Row):
            found = found[0]
        np.testing.assert_array_equal(np.asarray(found.held), np.full(2, 2.0 * x))
