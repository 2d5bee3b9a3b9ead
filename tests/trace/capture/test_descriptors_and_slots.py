"""What is stored past the methods of an object, in slots or by descriptors, is found there, and is plain afterwards."""

import dataclasses
import weakref

import numpy as np
import pytest

import tapec
from tapec.errors import UnsupportedError

X = np.array([1.0, 2.0])
store = object.__setattr__


# -- slots ------------------------------------------------------------------------------------------------------------
def by_a_variable():
    class P:
        __slots__ = ("last", "n")

        def __init__(self):
            store(self, "n", 0)
            store(self, "last", None)

        def __setattr__(self, name, value):
            store(self, name, value)

        def __delattr__(self, name):
            object.__delattr__(self, name)

    return P()


def by_a_closure():
    put = object.__setattr__

    class P:
        __slots__ = ("__hidden", "last", "n")

        def __init__(self):
            put(self, "n", 0)
            put(self, "last", None)

        def __setattr__(self, name, value):
            put(self, name, value)

        def __delattr__(self, name):
            object.__delattr__(self, name)

    return P()


def inherited():
    class Base:
        __slots__ = ("last",)

        def __setattr__(self, name, value):
            super().__setattr__(name, value)

    class P(Base):
        __slots__ = ("n",)

        def __init__(self):
            self.n, self.last = 0, None

    return P()


def without_slots():
    class P:
        n, last = 0, None

        def __setattr__(self, name, value):
            store(self, name, value)

    return P()


@pytest.mark.parametrize("make", [by_a_variable, by_a_closure, inherited, without_slots], ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [tapec.compile, tapec.value_and_grad], ids=["compile", "value_and_grad"])
def test_slots_that_are_filled_by_object_setattr(make, transform):
    def function(o):
        def f(x):
            o.n += 1
            o.last = x * 2.0
            return np.sum(o.last**2) * o.n

        return f

    o, ours = make(), make()
    f, g = function(o), transform(function(ours))
    for k in range(1, 4):
        expected, found = f(X * k), g(X * k)
        if transform is tapec.value_and_grad:
            found, slope = found
            np.testing.assert_allclose(slope, 8.0 * X * k * k)
        assert found == expected
        assert ours.n == o.n == k and type(ours.last) is np.ndarray and ours.last.tolist() == o.last.tolist()


def test_slots_that_are_emptied():
    o = by_a_variable()

    def f(x):
        o.last = x
        del o.last
        return np.sum(x) * hasattr(o, "last")

    assert tapec.compile(f)(X) == 0.0
    assert not hasattr(o, "last")


def test_a_frozen_dataclass_keeps_what_it_has_worked_out():
    @dataclasses.dataclass(frozen=True, slots=True)
    class Kernel:
        length: float = 2.0
        kept: object = dataclasses.field(default=None, compare=False)

        def inverse(self):
            if self.kept is None:
                object.__setattr__(self, "kept", 1.0 / self.length)
            return self.kept

    k = Kernel()
    f = tapec.grad(lambda x: np.sum(x) * k.inverse())
    assert f(X).tolist() == f(X).tolist() == [0.5, 0.5]
    assert k.kept == 0.5 and isinstance(k.kept, float)


@pytest.mark.parametrize("slots", [(), ("k",)])
def test_attributes_that_are_read_by_object_getattribute(slots):
    class P:
        if slots:
            __slots__ = slots

        def __init__(self):
            self.k = 2.0

        def by_object(self, x):
            return object.__getattribute__(self, "k") * np.sum(x)

    class Q(P):
        if slots:
            __slots__ = ()

        def __getattribute__(self, name):
            return object.__getattribute__(self, name)

    for o in (P(), Q()):
        for f in (tapec.compile(lambda x, o=o: o.k * np.sum(x)), tapec.compile(o.by_object)):
            for k in (2.0, 5.0):
                o.k = k
                assert f(X) == 3.0 * k


# -- descriptors ------------------------------------------------------------------------------------------------------
class ById:
    def __init__(self):
        self.data = {}

    def __get__(self, owner, kind):
        return self.data.get(id(owner), 1.0)

    def __set__(self, owner, value):
        self.data[id(owner)] = value

    def __delete__(self, owner):
        self.data.pop(id(owner), None)


class ByObject(ById):
    def __get__(self, owner, kind):
        return self.data.get(owner, 1.0)

    def __set__(self, owner, value):
        self.data[owner] = value

    def __delete__(self, owner):
        self.data.pop(owner, None)


class Weak(ByObject):
    def __init__(self):
        self.data = weakref.WeakKeyDictionary()


class Slotted:
    __slots__ = ("default", "name")

    def __init__(self):
        self.default = 1.0

    def __set_name__(self, owner, name):
        self.name = name

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)

    def __get__(self, owner, kind):
        return owner.__dict__.get(self.name, self.default)

    def __set__(self, owner, value):
        owner.__dict__[self.name] = value

    def __delete__(self, owner):
        del owner.__dict__[self.name]


def programs_of(kind):
    class Model:
        w = kind()

    m = Model()

    def counts(x):
        m.w = m.w + 1.0
        return np.sum(x) * m.w

    def sets(x):
        m.w = x * m.w
        return np.sum(m.w**2)

    return m, counts, sets


@pytest.mark.parametrize("program", [0, 1])
def test_dicts_of_objects_of_a_descriptor_are_right_or_refused(program):
    """Keys are handed out as they are, so code that is not followed may read such a dict."""
    (m, *plain), (ours, *traced) = programs_of(ByObject), programs_of(ByObject)
    f, g = plain[program], tapec.compile(traced[program])
    np.testing.assert_allclose(g(X), f(X))
    np.testing.assert_allclose(ours.w, m.w)
    with pytest.raises(UnsupportedError, match="the function sets .*data"):
        g(X)


@pytest.mark.parametrize("kind", [ById, Weak, Slotted])
def test_descriptors_that_keep_values_elsewhere(kind):
    for number in range(2):
        (m, *plain), (ours, *traced) = programs_of(kind), programs_of(kind)
        f, g = plain[number], tapec.value_and_grad(traced[number])
        for k in (1.0, 2.0):
            before = ours.w
            expected = f(X * k)
            value, slope = g(X * k)
            np.testing.assert_allclose(value, expected)
            np.testing.assert_allclose(ours.w, m.w)
            assert not isinstance(ours.w, tapec.Tensor)
            if number == 1:
                np.testing.assert_allclose(slope, 2.0 * X * k * before**2)
