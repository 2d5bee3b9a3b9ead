"""Attributes of classes are read anew, by whatever way code comes to the class."""

import fractions
import functools
import operator
import queue
import types
from collections import ChainMap, UserDict

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_matrix

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


def calls(f, xs=(X, 2.0 * X, 3.0 * X)):
    return [float(f(x)) for x in xs]


def registry():
    class Held:
        items = [1.0, 2.0]
        named = {"a": 1.0}
        sizes = (1.0, 2.0)
        flags = {"first"}
        owner = None

        @classmethod
        def total(cls, x):
            return sum(w * np.sum(x) for w in cls.items)

        def count(self, x):
            return np.sum(x) * len(type(self).items)

        @classmethod
        def get(cls, name, default):
            return getattr(cls, name, default)

    Held.owner = Inner()
    Held.owner.steps = []
    return Held


def lengthened(held):
    held.items.append(3.0)


LATER = "later"
CHANGES = {
    "length": (lambda held: lambda x: np.sum(x) * len(held.items), lengthened),
    "classmethod": (lambda held: held.total, lengthened),
    "type": (lambda held: held().count, lengthened),
    "keys": (lambda held: lambda x: np.sum(x) * held.named.get("b", 9.0), lambda held: held.named.update(b=2.0)),
    "items of a dict": (
        lambda held: lambda x: np.sum(x) * sum(held.named.values()),
        lambda held: held.named.update(c=2.0),
    ),
    "longer tuple": (
        lambda held: lambda x: np.sum(x) * sum(held.sizes),
        lambda held: setattr(held, "sizes", (1.0, 2.0, 3.0)),
    ),
    "another container": (
        lambda held: lambda x: np.sum(x) * (2.0 if isinstance(held.items, tuple) else 1.0),
        lambda held: setattr(held, "items", (1.0, 2.0)),
    ),
    "member": (
        lambda held: lambda x: np.sum(x) * (2.0 if "next" in held.flags else 1.0),
        lambda held: held.flags.add("next"),
    ),
    "list of an object": (
        lambda held: lambda x: np.sum(x) * (1.0 + len(held.owner.steps)),
        lambda held: held.owner.steps.append(1),
    ),
    "hasattr": (
        lambda held: lambda x: np.sum(x) * (2.0 if hasattr(held, LATER) else 1.0),
        lambda held: setattr(held, LATER, 3.0),
    ),
    "hasattr of an object": (
        lambda held: lambda x: np.sum(x) * (2.0 if hasattr(held.owner, LATER) else 1.0),
        lambda held: setattr(held.owner, LATER, 3.0),
    ),
    "getattr": (lambda held: lambda x: np.sum(x) * held.get(LATER, 2.0), lambda held: setattr(held, LATER, 3.0)),
}


@pytest.mark.parametrize("way, change", CHANGES.values(), ids=CHANGES)
def test_what_a_class_holds_is_compared_as_a_whole(way, change):
    held = registry()
    f = way(held)
    g = tapec.value_and_grad(f)
    for x in (X, 2.0 * X):
        np.testing.assert_allclose(g(x)[0], f(x))
    before = f(X)
    change(held)
    assert f(X) != before
    np.testing.assert_allclose(g(X)[0], f(X))


def test_a_registry_of_subclasses():
    class Plugin:
        known = []

        def __init_subclass__(cls):
            Plugin.known.append(cls)

    class Square(Plugin):
        def apply(self, x):
            return x**2

    def pipeline(x):
        for kind in Plugin.known:
            x = kind().apply(x)
        return np.sum(x)

    grad = tapec.grad(pipeline)
    np.testing.assert_allclose(grad(X), 2.0 * X)

    class Exponential(Plugin):
        def apply(self, x):
            return np.exp(x)

    np.testing.assert_allclose(grad(X), 2.0 * X * np.exp(X**2))


def family():
    class Parent:
        rate = 2.0
        table = np.ones(3)

        def act(self, x):
            return np.tanh(x)

        @staticmethod
        def static(x):
            return x + 1.0

        @classmethod
        def by_class(cls, x):
            return x * cls.rate

        @property
        def twice(self):
            return 2.0 * self.rate

    class Heir(Parent):
        def go(self, x):
            return self.act(x)

    return Parent, Heir


HIDDEN = {
    "method": (lambda _, heir: lambda x: np.sum(heir().act(x)), "act", lambda self, x: 3.0 * x),
    "method that a method calls": (lambda _, heir: lambda x: np.sum(heir().go(x)), "act", lambda self, x: 3.0 * x),
    "staticmethod": (lambda _, heir: lambda x: np.sum(heir.static(x)), "static", staticmethod(np.exp)),
    "classmethod": (lambda _, heir: lambda x: np.sum(heir.by_class(x)), "by_class", staticmethod(np.exp)),
    "property": (lambda _, heir: lambda x: np.sum(x) * heir().twice, "twice", 7.0),
    "array": (lambda parent, heir: lambda x: x @ heir.table + parent.rate, "table", np.full(3, 7.0)),
    "array of an object": (lambda parent, heir: lambda x: x @ heir().table + parent.rate, "table", np.full(3, 7.0)),
}


@pytest.mark.parametrize("way, name, new", HIDDEN.values(), ids=HIDDEN)
def test_what_is_inherited_may_be_hidden_later(way, name, new):
    parent, heir = family()
    f = way(parent, heir)
    g = tapec.value_and_grad(f)
    np.testing.assert_allclose(g(X)[0], f(X))
    setattr(heir, name, new)
    np.testing.assert_allclose(g(X)[0], f(X))
    delattr(heir, name)
    np.testing.assert_allclose(g(X)[0], f(X))


def test_one_array_in_two_classes():
    class A:
        table = np.ones(3)

    class B:
        table = A.table

    f = tapec.grad(lambda x: np.sum(x * A.table + 10.0 * x * B.table))
    assert f(X)[0] == 11.0
    B.table = np.full(3, 2.0)
    assert f(X)[0] == 21.0
    A.table[:] = 3.0
    assert f(X)[0] == 23.0


def meter():
    class Meter:
        total = 0.0
        mean = np.zeros(3)
        past = ()
        history = []
        seen = {1}
        last = None

        def of_name(self, x):
            Meter.total = Meter.total + np.sum(x)
            return np.sum(x) * Meter.total

        @classmethod
        def of_class(cls, x):
            cls.total += np.sum(x)
            return np.sum(x) * cls.total

        def of_type(self, x):
            self.__class__.total += np.sum(x)
            return np.sum(x) * self.total

        @classmethod
        def average(cls, x):
            cls.mean = 0.9 * cls.mean + 0.1 * x
            return np.sum(cls.mean)

        def push(self, x):
            Meter.past = (*self.past, np.sum(x))
            Meter.history = [*Meter.history, np.sum(x)]
            return np.sum(x) * len(Meter.past) + sum(Meter.history)

        @classmethod
        def meet(cls, x):
            cls.seen.add(len(cls.seen) + 7)
            return np.sum(x) * len(cls.seen)

        @classmethod
        def follow(cls, x):
            before = 0.0 if cls.last is None else np.sum(cls.last)
            cls.last = 2.0 * x
            return before + x[0]

    return Meter


def value_of_gradient(f):
    both = tapec.value_and_grad(f)
    return lambda x: both(x)[0]


STEPS = ["of_name", "of_class", "of_type", "average", "push", "meet", "follow"]


@pytest.mark.parametrize("made_inside", [False, True])
@pytest.mark.parametrize("transform", [tapec.compile, value_of_gradient])
@pytest.mark.parametrize("step", STEPS)
def test_what_a_function_stores_in_a_class(step, transform, made_inside):
    def run(transform):
        kind = meter()
        of = kind()
        f = transform((lambda x: getattr(kind(), step)(x)) if made_inside else getattr(of, step))
        return calls(f), {name: x for name, x in vars(kind).items() if not callable(x) and not name.startswith("__")}

    (plain, left), (values, kept) = run(lambda f: f), run(transform)
    np.testing.assert_allclose(values, plain)
    for name in ("total", "mean", "past", "history", "seen", "last"):
        assert type(kept[name]) is type(left[name])
        if name != "seen" and left[name] is not None:
            np.testing.assert_allclose(kept[name], left[name])
            assert not any(isinstance(v, tapec.Tensor) for v in np.ravel(np.array(kept[name], dtype=object)))
    assert kept["seen"] == left["seen"]


def test_a_run_that_fails_leaves_plain_numbers_in_a_class():
    kind = meter()

    def fails(x):
        kind.total = np.sum(x)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        tapec.grad(fails)(X)
    assert type(kind.total) is np.float64
    assert kind.total == X.sum()


def test_a_metaclass_hears_once_of_what_is_stored():
    class Hearing(type):
        def __setattr__(cls, name, value):
            HEARD.append(name)
            super().__setattr__(name, value)

    class Kind(metaclass=Hearing):
        total = 0.0

    def f(x):
        Kind.total = np.sum(x)
        return np.sum(x) * Kind.total

    HEARD.clear()
    np.testing.assert_allclose(tapec.compile(f)(X), X.sum() ** 2)
    assert HEARD == ["total"]
    assert type(Kind.total) is np.float64


HEARD = []


def test_the_one_object_of_a_class():
    class Config:
        one = None

        def __new__(cls):
            if cls.one is None:
                cls.one = super().__new__(cls)
                cls.one.options, cls.one.hooks = {"rate": 0.1}, []
            return cls.one

    def loss(x):
        for hook in Config().hooks:
            x = hook(x)
        return np.sum(x) * Config().options.get("momentum", 1.0) * (2.0 if hasattr(Config(), "debug") else 1.0)

    g = tapec.value_and_grad(loss)
    np.testing.assert_allclose(g(X)[0], loss(X))
    for change in (
        lambda: Config().options.update(momentum=5.0),
        lambda: Config().hooks.append(np.exp),
        lambda: setattr(Config(), "debug", True),
    ):
        change()
        np.testing.assert_allclose(g(X)[0], loss(X))


def others():
    class Others:
        number = fractions.Fraction(1, 2)
        part = slice(0, 1)
        spline = CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
        kind = np.dtype(float)
        raw = bytearray(b"a")
        view = types.MappingProxyType({"a": 1.0})
        chain = ChainMap({"a": 1.0})
        own = UserDict(a=1.0)
        texts = np.array(["a", "b"])
        objects = np.array([1.0, None], dtype=object)
        matrix = csr_matrix(np.eye(3))
        waiting = queue.Queue()
        bound = functools.partial(lambda a, v: v * len(a), [1.0])

    held = Inner()
    held.steps = [1.0]
    Others.method = types.MethodType(lambda self, v: v * len(self.steps), held)
    return Others


OTHERS = {
    "number": (lambda o: float(o.number), lambda o: setattr(o, "number", fractions.Fraction(3, 2))),
    "slice": (lambda o: np.sum(X[o.part]), lambda o: setattr(o, "part", slice(0, 2))),
    "spline": (lambda o: o.spline(0.5), lambda o: setattr(o, "spline", CubicSpline([0.0, 1.0, 2.0], [0.0, 3.0, 4.0]))),
    "dtype": (lambda o: 2.0 if o.kind.kind == "f" else 1.0, lambda o: setattr(o, "kind", np.dtype(int))),
    "bytes": (lambda o: len(o.raw), lambda o: o.raw.append(3)),
    "view of a dict": (lambda o: o.view["a"], lambda o: setattr(o, "view", types.MappingProxyType({"a": 2.0}))),
    "chain": (lambda o: sum(o.chain.values()), lambda o: o.chain.update(b=2.0)),
    "dict of Python": (lambda o: sum(o.own.values()), lambda o: o.own.update(b=2.0)),
    "texts": (lambda o: np.sum(o.texts == "a"), lambda o: o.texts.__setitem__(1, "a")),
    "objects": (lambda o: o.objects[0], lambda o: o.objects.__setitem__(0, 3.0)),
    "sparse matrix": (lambda o: np.sum(o.matrix @ np.ones(3)), lambda o: o.matrix.data.__setitem__(0, 3.0)),
    "queue": (lambda o: 1.0 + o.waiting.qsize(), lambda o: o.waiting.put(1)),
    "arguments of a partial": (lambda o: o.bound(2.0), lambda o: o.bound.args[0].append(1.0)),
    "partial": (lambda o: o.bound(2.0), lambda o: setattr(o, "bound", functools.partial(lambda a, v: v * a, 8.0))),
    "method of an object": (lambda o: o.method(2.0), lambda o: o.method.__self__.steps.append(1.0)),
}


@pytest.mark.parametrize("through", ["class", "constructor"])
@pytest.mark.parametrize("read, change", OTHERS.values(), ids=OTHERS)
def test_objects_of_libraries_in_a_class(read, change, through):
    kind = others()

    class Reader:
        def __init__(self):
            self.value = read(kind)

    f = (lambda x: np.sum(x) * read(kind)) if through == "class" else (lambda x: np.sum(x) * Reader().value)
    g = tapec.value_and_grad(f)
    for x in (X, 2.0 * X):
        np.testing.assert_allclose(g(x)[0], f(x))
    before = f(X)
    change(kind)
    assert f(X) != before
    np.testing.assert_allclose(g(X)[0], f(X))


def test_what_nobody_asks_of_a_class_is_no_reason_to_record_anew():
    kind = others()
    kind.numbers = iter([1.0])
    kind.rate = 2.0
    compiled = tapec.compile(lambda x: np.sum(x) * kind.rate)
    assert [compiled(X) for _ in range(3)] == [2.0 * X.sum()] * 3
    assert compiled.explain(X).recorded_anew is None


class Listening:
    total = 1.0

    def __init_subclass__(cls):  # of such a class there is no copy
        pass


@pytest.mark.parametrize("transform", [tapec.compile, value_of_gradient])
def test_a_run_with_tensors_for_arrays_begins_with_what_the_class_held(transform):
    def run(transform):
        class Kind(Listening):
            total = 1.0

        def f(x):
            squares = np.zeros(3)
            for k in range(3):
                squares[k] = x[k] ** 2
            Kind.total = Kind.total + np.sum(squares)
            return np.sum(squares) * Kind.total

        return calls(transform(f)), Kind.total

    plain, left = run(lambda f: f)
    values, kept = run(transform)
    np.testing.assert_allclose(values, plain)
    np.testing.assert_allclose(kept, left)
    assert type(kept) is np.float64


@pytest.mark.parametrize("transform", [tapec.compile, value_of_gradient])
def test_a_method_that_fills_an_array_and_stores_in_its_class(transform):
    def run(transform):
        class Kind:
            total, last, history, of = 0.0, None, [], None

            def loss(self, x):
                squares = np.zeros(3)
                for k in range(3):
                    squares[k] = x[k] ** 2
                Kind.total += np.sum(squares)
                type(self).last, Kind.history, Kind.of = squares, [*Kind.history, np.sum(squares)], Listening
                return np.sum(squares) * Kind.total

        return calls(transform(lambda x: Kind().loss(x))), Kind

    plain, left = run(lambda f: f)
    values, kept = run(transform)
    np.testing.assert_allclose(values, plain)
    assert type(kept.total) is np.float64
    assert type(kept.last) is np.ndarray
    assert [type(x) for x in kept.history] == [np.float64] * 3
    assert kept.of is Listening
    for name in ("total", "last", "history"):
        np.testing.assert_allclose(getattr(kept, name), getattr(left, name))
