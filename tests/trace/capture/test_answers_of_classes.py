"""What classes answer for their objects, and metaclasses for their classes: state behind that may change."""

import numpy as np
import pytest

import tapec

X = np.array([1.0, 2.0])


class Answering(type):
    scale = 1.0

    def __getitem__(cls, key):
        return cls.table[key] * Answering.scale

    def __len__(cls):
        return len(cls.table)

    def __iter__(cls):
        return iter(cls.table.values())

    def __contains__(cls, key):
        return key in cls.table

    def __bool__(cls):
        return Answering.scale > 1.5

    def __getattr__(cls, name):
        if name == "extra":
            return cls.table["a"] + Answering.scale
        raise AttributeError(name)

    @property
    def unit(cls):
        return 2.0 * Answering.scale


QUESTIONS = {
    "item": lambda c: c["a"],
    "length": lambda c: len(c),
    "iteration": lambda c: sum(c),
    "membership": lambda c: 3.0 if "b" in c else 1.0,
    "truth": lambda c: 2.0 if c else 1.0,
    "attribute": lambda c: c.extra,
    "property": lambda c: c.unit,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_a_metaclass_answers(question, monkeypatch):
    class Parameters(metaclass=Answering):
        table = {"a": 1.0}

    def f(x):
        return np.sum(x) * QUESTIONS[question](Parameters)

    compiled = tapec.compile(f)
    assert compiled(X) == compiled(X) == f(X)
    Parameters.table["a"] = 3.0
    assert compiled(X) == f(X)
    Parameters.table["b"] = 4.0
    assert compiled(X) == f(X)
    monkeypatch.setattr(Answering, "scale", 2.0)
    assert compiled(X) == compiled(X) == f(X)


def test_a_descriptor_that_reads_the_class_of_the_owner():
    class Scaled:
        def __get__(self, obj, owner=None):
            return obj.__dict__["_k"] * owner.unit

    class Spring:
        unit, k = 1.0, Scaled()

        def energy(self, x):
            return 0.5 * self.k * np.sum(x**2)

    spring = Spring()
    spring._k = 2.0
    compiled = tapec.value_and_grad(spring.energy)
    for Spring.unit in (1.0, 1.0, 2.0, 3.0):
        value, gradient = compiled(X)
        assert value == spring.energy(X)
        np.testing.assert_array_equal(gradient, 2.0 * Spring.unit * X)


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: getattr(c, "weight", 1.0),
        lambda c: c.weight if hasattr(c, "weight") else 1.0,
    ],
)
def test_an_attribute_that_comes_later_to_a_class_with_getattribute(ask):
    class Settings:
        def __init__(self):
            object.__setattr__(self, "_store", {})

        def __setattr__(self, name, value):
            self._store[name] = value

        def __getattribute__(self, name):
            store = object.__getattribute__(self, "_store")
            return store[name] if name in store else object.__getattribute__(self, name)

    settings = Settings()

    def f(x):
        return ask(settings) * np.sum(x**2)

    compiled = tapec.compile(f)
    assert compiled(X) == compiled(X) == f(X)
    settings.weight = 5.0
    assert compiled(X) == compiled(X) == f(X) == 25.0


RATE = [2.0]


def test_eval_and_exec_have_the_variables_of_the_function():
    def f(x, k=3.0):
        y = eval("x * k + RATE[0]")
        exec("RATE.append(0.0); RATE.pop()")
        return np.sum(y * y) * eval("a + 1.0", {"a": 1.0})

    compiled = tapec.value_and_grad(f)
    for RATE[0] in (2.0, 2.0, 5.0):
        value, gradient = compiled(X)
        assert value == f(X)
        np.testing.assert_array_equal(gradient, 12.0 * (3.0 * X + RATE[0]))


def test_exec_changes_the_variables_that_it_changes_in_python():
    def f(x):
        k = 1.0
        exec("k = 2.0")
        return x * k

    assert tapec.compile(f)(3.0) == f(3.0)
