"""Attributes of classes are read anew, by whatever way code comes to the class."""

import functools
import operator

import numpy as np
import pytest

import tapec

X = np.array([0.4, -0.8, 1.2])
OFFSET = 0.0
RATE, CLASS = "rate", "__class__"


class Meta(type):
    pass


def classes():
    class Base:
        rate = 3.0
        names = ("a",)
        table = np.ones(3)

        @classmethod
        def scaled(cls, x):
            return x * cls.rate

        @classmethod
        def through(cls, x):
            return cls.scaled(x) + cls.static(x)

        @staticmethod
        def static(x):
            return OFFSET * x

        def by_type(self, x):
            return x * type(self).rate

        def by_class(self, x):
            return x * self.__class__.rate

        def by_name(self, x):
            return x * getattr(type(self), RATE)

        def by_class_name(self, x):
            return x * getattr(self, CLASS).rate

        @property
        def twice(self):
            return type(self).rate

    class Child(Base):
        pass

    class Made(Base, metaclass=Meta):
        pass

    class Slotted(Base):
        __slots__ = ()

    return Base, [Base, Child, Made, Slotted]


WAYS = {
    "classmethod": lambda net, x: np.sum(net.scaled(x)),
    "classmethod that calls another": lambda net, x: np.sum(net.through(x)),
    "type": lambda net, x: np.sum(x) * type(net).rate,
    "__class__": lambda net, x: np.sum(x) * net.__class__.rate,
    "type and classmethod": lambda net, x: np.sum(type(net).scaled(x)),
    "type in a method": lambda net, x: np.sum(net.by_type(x)),
    "__class__ in a method": lambda net, x: np.sum(net.by_class(x)),
    "getattr in a method": lambda net, x: np.sum(net.by_name(x)),
    "getattr of __class__": lambda net, x: np.sum(net.by_class_name(x)),
    "type in a property": lambda net, x: np.sum(x * net.twice),
    "bound before": lambda net, x: np.sum(bound_of(net)(x)),
    "vars": lambda net, x: np.sum(x) * next(c.__dict__["rate"] for c in type(net).__mro__ if "rate" in c.__dict__),
    "instance": lambda net, x: np.sum(x) * net.rate,
}


def bound_of(net):
    return net.scaled


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_number_of_a_class(way, which):
    base, kinds = classes()
    net = kinds[which]()
    f = tapec.value_and_grad(lambda x: way(net, x))
    for rate in (3.0, 5.0, 7.0, 5.0):
        base.rate = rate
        value, gradient = f(X)
        np.testing.assert_allclose(value, rate * X.sum())
        np.testing.assert_allclose(gradient, np.full(3, rate))
    kinds[which].rate = 11.0
    np.testing.assert_allclose(f(X)[1], np.full(3, 11.0))


@pytest.mark.parametrize("which", range(4))
def test_an_array_of_a_class(which):
    base, kinds = classes()
    net = kinds[which]()
    f = tapec.value_and_grad(lambda x: np.sum(x * type(net).table))
    assert f(X)[1].tolist() == [1.0] * 3
    base.table[:] = 2.0
    assert f(X)[1].tolist() == [2.0] * 3
    base.table = np.full(3, 3.0)
    assert f(X)[1].tolist() == [3.0] * 3


def test_what_a_static_method_reads_that_a_classmethod_calls(monkeypatch):
    net = classes()[1][0]()
    grad = tapec.grad(lambda x: np.sum(net.through(x)))
    assert grad(X)[0] == 3.0
    monkeypatch.setitem(globals(), "OFFSET", 2.0)
    assert grad(X)[0] == 5.0


def test_a_class_method_that_counts():
    base, kinds = classes()
    base.made = 0

    def step(cls, x):
        cls.made += 1
        return x * cls.made

    base.step = classmethod(step)
    net = kinds[0]()
    f = tapec.grad(lambda x: net.step(x))
    assert [f(1.0) for _ in range(3)] == [1.0, 2.0, 3.0]
    assert base.made == 3


def test_a_static_object_as_an_argument():
    base, kinds = classes()
    net = kinds[0]()
    f = tapec.grad(lambda x, net: np.sum(net.scaled(x)) + np.sum(x) * type(net).rate)
    assert f(X, net)[0] == 6.0
    base.rate = 4.0
    assert f(X, net)[0] == 8.0


RATE_OF_ALL = 2.0


class Inner:
    def __init__(self):
        self.w = 2.0


def read_rate(self):
    return RATE_OF_ALL


class Prop(property):
    pass


def holder():
    class Holder:
        table = {"a": 2.0}
        items = [2.0]
        nested = {"a": [np.array(2.0)]}
        inner = Inner()
        pair = (2.0,)
        by_partial = property(functools.partial(read_rate))
        by_subclass = Prop(read_rate)
        by_getter = property(operator.attrgetter("w"))

        def __init__(self):
            self.w = 2.0

        def __getattr__(self, name):
            if name == "lazy":
                return RATE_OF_ALL
            raise AttributeError(name)

    return Holder


READS = {
    "dict": lambda h: h.table["a"],
    "list": lambda h: h.items[0],
    "nested": lambda h: h.nested["a"][0],
    "object": lambda h: h.inner.w,
    "tuple": lambda h: h.pair[0],
    "property of a partial": lambda h: h.by_partial,
    "class of properties": lambda h: h.by_subclass,
    "property of a getter": lambda h: h.by_getter,
    "__getattr__": lambda h: h.lazy,
    "getattr": lambda h: getattr(h, "lazy", 7.0),
    "hasattr": lambda h: h.lazy if hasattr(h, "lazy") else 7.0,
    "of the class": lambda h: type(h).table["a"],
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_a_class_holds_or_makes_is_read_anew(read, monkeypatch):
    kind = holder()
    h = kind()
    grad = tapec.grad(lambda x: read(h) * x)
    assert [grad(1.0) for _ in range(2)] == [2.0] * 2
    kind.table["a"] = kind.items[0] = kind.inner.w = h.w = 5.0
    kind.nested["a"][0][...] = 5.0
    kind.pair = (5.0,)
    monkeypatch.setitem(globals(), "RATE_OF_ALL", 5.0)
    assert [grad(1.0) for _ in range(2)] == [5.0] * 2


def test_a_getattr_that_is_replaced_or_finds_nothing(monkeypatch):
    kind = holder()
    h = kind()
    grad = tapec.grad(lambda x: getattr(h, "nothing", 3.0) * x + h.lazy * x)
    assert grad(1.0) == 5.0
    kind.__getattr__ = lambda self, name: 4.0
    assert grad(1.0) == 8.0
    h.lazy = h.nothing = 1.0
    assert grad(1.0) == 2.0
