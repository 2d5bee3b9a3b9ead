"""Functions, methods and properties that another one takes the place of, as in a notebook or by a test's monkeypatch:
that is seen at the next call."""

from __future__ import annotations

import functools
import types

import numpy as np
import pytest

import tapec

X = np.array([1.0, 2.0, 3.0])


class Doubled:
    """A descriptor with state of its own."""

    def __init__(self):
        self.factor = 2.0

    def __get__(self, owner, kind=None):
        return self if owner is None else self.factor * owner.rate


class Model:
    steady = Doubled()

    def __init__(self):
        self.rate = 2.0

    def __call__(self, v):
        return np.sum(v)

    def __matmul__(self, v):
        return np.sum(v)

    def __len__(self):
        return 3

    def method(self, v):
        return np.sum(v)

    def of_rate(self, rate, v):
        return np.sum(v) * rate * self.rate

    @property
    def weight(self):
        return self.rate

    @staticmethod
    def alone(v):
        return np.sum(v)

    @classmethod
    def of_class(cls, v):
        return np.sum(v)

    partly = functools.partialmethod(of_rate, 3.0)


class Derived(Model):
    def method(self, v):
        return 2.0 * super().method(v)


def other(*args):
    return np.sum(args[-1] * args[-1])


WAYS = {  # what a function asks for, and what takes its place
    "call": (lambda v, m: m(v), "__call__", other),
    "operator": (lambda v, m: m @ v, "__matmul__", other),
    "len": (lambda v, m: len(m) * np.sum(v), "__len__", lambda self: 7),
    "method": (lambda v, m: m.method(v), "method", other),
    "property": (lambda v, m: m.weight * np.sum(v), "weight", property(lambda self: 5.0)),
    "static method": (lambda v, m: m.alone(v), "alone", staticmethod(other)),
    "class method": (lambda v, m: m.of_class(v), "of_class", classmethod(other)),
    "static method of the class": (lambda v, m: Model.alone(v), "alone", staticmethod(other)),
    "class method of the class": (lambda v, m: Model.of_class(v), "of_class", classmethod(other)),
    "partial method": (lambda v, m: m.partly(v), "partly", functools.partialmethod(Model.of_rate, 5.0)),
    "new object": (lambda v, m: Model().method(v), "method", other),
    "new object that inherits": (lambda v, m: Derived().method(v), "method", other),
    "property of a new object": (lambda v, m: Model().weight * np.sum(v), "weight", property(lambda self: 5.0)),
}


@pytest.mark.parametrize("transform", [tapec.compile, tapec.vmap])
@pytest.mark.parametrize("way", WAYS)
def test_what_a_class_is_given_is_seen(way, transform, monkeypatch):
    function, name, new = WAYS[way]
    model = Model()
    f = transform(lambda v: function(v, model))
    given = X if transform is tapec.compile else np.stack([X, X])
    np.testing.assert_array_equal(f(given), np.broadcast_to(function(X, model), given.shape[:-1]))
    before = function(X, model)
    monkeypatch.setattr(Model, name, new)
    assert function(X, model) != before
    np.testing.assert_array_equal(f(given), np.broadcast_to(function(X, model), given.shape[:-1]))


@pytest.mark.parametrize("name", ["__call__", "method"])
def test_what_a_function_is_of_is_given_another(name, monkeypatch):
    model = Model()
    f = tapec.compile(model) if name == "__call__" else tapec.compile(lambda v: model.method(v))
    assert f(X) == 6.0
    monkeypatch.setattr(Model, name, other)
    assert f(X) == 14.0


@pytest.mark.parametrize("name", ["method", "alone"])
def test_what_one_object_is_given_is_seen(name):
    model = Model()
    f = tapec.compile(lambda v: getattr(model, name)(v))
    assert f(X) == 6.0
    setattr(model, name, other)
    assert f(X) == 14.0


def test_an_object_has_a_bound_method_of_its_own():
    """Of another function each time, and at last the one of its class again."""
    model = Model()
    f = tapec.compile(lambda v: model.method(v))
    for k in (2.0, 3.0):
        model.method = types.MethodType(lambda self, v, k=k: np.sum(v) * k, model)
        assert f(X) == 6.0 * k
    model.method = types.MethodType(other, model)
    assert f(X) == 14.0
    del model.method
    assert f(X) == 6.0


def test_another_static_call(monkeypatch):
    class Static:
        @staticmethod
        def __call__(v):
            return np.sum(v)

    f = tapec.compile(Static())
    assert f(X) == 6.0
    monkeypatch.setattr(Static, "__call__", staticmethod(other))
    assert f(X) == 14.0


def test_another_getter_of_a_descriptor(monkeypatch):
    model = Model()
    f = tapec.compile(lambda v: np.sum(v) * model.steady)
    assert f(X) == 24.0
    monkeypatch.setattr(Doubled, "__get__", lambda self, owner, kind=None: 7.0)
    assert f(X) == 42.0


def test_partial_methods_read_anew():
    model = Model()
    f = tapec.value_and_grad(lambda v: model.partly(v))
    assert f(X)[0] == 36.0
    model.rate = 5.0
    assert f(X)[0] == 90.0
    assert f.cache_info().compilations == 1


def test_descriptors_read_anew():
    model = Model()
    f = tapec.value_and_grad(lambda v: np.sum(v) * model.steady)
    assert f(X)[0] == 24.0
    model.rate = 3.0
    assert f(X)[0] == 36.0
    Model.steady.factor = 5.0
    try:
        assert f(X)[0] == 90.0
    finally:
        Model.steady.factor = 2.0


def test_code_that_stays_is_no_other_code():
    """Objects and classes are compared as they are found, and nothing is compiled again."""
    model = Model()
    f = tapec.grad(
        lambda v: model(v) + model @ v + model.alone(v) + Model.of_class(v) + model.weight * len(model) * v[0]
    )
    for rate in (2.0, 3.0, 4.0):
        model.rate = rate
        np.testing.assert_array_equal(f(X), 4.0 + np.array([3.0 * rate, 0.0, 0.0]))
    assert f.cache_info().compilations == 1


# ---------------------------------------------------------------------------------------------------------------
# functions inside of an installed package's objects
# ---------------------------------------------------------------------------------------------------------------
K = 2.0


def times(v):
    return v * K


VECTORIZED = np.vectorize(times)


def test_what_a_vectorized_function_reads(monkeypatch):
    f = tapec.compile(lambda v: np.sum(VECTORIZED(v)))
    g = tapec.compile(VECTORIZED)
    assert f(X) == 12.0 and g(3.0) == 6.0
    monkeypatch.setitem(globals(), "K", 5.0)
    assert f(X) == 30.0 and g(3.0) == 15.0
    monkeypatch.setattr(VECTORIZED, "pyfunc", lambda v: v)
    assert f(X) == np.sum(VECTORIZED(X)) and g(3.0) == VECTORIZED(3.0)


def test_a_helper_that_is_defined_again():
    space = types.ModuleType("session").__dict__
    space.update(np=np, tapec=tapec)
    exec("def helper(v): return np.sum(v)\nf = tapec.grad(lambda v: helper(v))", space)
    np.testing.assert_array_equal(space["f"](X), np.ones(3))
    exec("def helper(v): return np.sum(v * v)", space)
    np.testing.assert_array_equal(space["f"](X), 2.0 * X)


# ---------------------------------------------------------------------------------------------------------------
# other code for the same function, as IPython's autoreload gives it
# ---------------------------------------------------------------------------------------------------------------
def helper(v):
    return np.sum(v)


class Held:
    def method(self, v):
        return np.sum(v)

    @property
    def weight(self):
        return 2.0


held = Held()
CODES = {
    "helper": (tapec.compile(lambda v: helper(v)), helper, lambda v: np.sum(v * v), 6.0, 14.0),
    "itself": (tapec.compile(helper), helper, lambda v: np.sum(v * v), 6.0, 14.0),
    "method": (tapec.compile(lambda v: held.method(v)), Held.method, lambda self, v: np.sum(v * v), 6.0, 14.0),
    "bound": (tapec.compile(held.method), Held.method, lambda self, v: np.sum(v * v), 6.0, 14.0),
    "property": (tapec.compile(lambda v: held.weight * v[0]), Held.weight.fget, lambda self: 5.0, 2.0, 5.0),
}


@pytest.mark.parametrize("way", CODES)
def test_other_code_in_place(way, monkeypatch):
    f, function, new, before, after = CODES[way]
    assert f(X) == before
    monkeypatch.setattr(function, "__code__", new.__code__)
    assert f(X) == after
    because = f"  last compiled because captured state changed: code of {function.__name__} is another"
    assert because in str(f.explain(X)).splitlines()
    monkeypatch.undo()
    assert f(X) == before


def test_a_module_that_is_loaded_anew_more_than_once():
    """Its own functions are new ones each time, and the old ones are given their code."""
    space = types.ModuleType("loaded").__dict__
    exec("class Held:\n    def method(self, v): return sum(v)\ndef helper(v): return sum(v)", space)
    old, held = space["helper"], space["Held"]()
    f = tapec.compile(lambda v: old(v) + held.method(v))
    assert f(X) == 12.0
    for k in (2, 3, 4):
        exec(f"class Held:\n    def method(self, v): return {k} * sum(v)\ndef helper(v): return {k} * sum(v)", space)
        old.__code__ = space["helper"].__code__
        assert f(X) == 6.0 * (k - 1) + 6.0 * k
        type(held).method.__code__ = space["Held"].method.__code__
        assert f(X) == 12.0 * k


def test_explanations_say_nothing_of_code_that_is_as_it_was():
    f = tapec.compile(lambda v: helper(v))
    assert "code of" not in str(f.explain(X))
