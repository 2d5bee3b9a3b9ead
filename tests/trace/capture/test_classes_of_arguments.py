"""What a class holds is read anew, where the class is an argument, or one of an argument."""

from collections import defaultdict, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import tapec

FACTOR = 2.0


def classes():
    class Config:
        rate = 2.0
        table = np.array([1.0, 2.0])
        kind = "square"

        @classmethod
        def scaled(cls, x):
            return cls.rate * x

        @staticmethod
        def static(x):
            return FACTOR * x

        def of_object(self, x):
            return self.rate * FACTOR * x

    return Config, type("Child", (Config,), {})


READS = {
    "number": lambda x, c: np.sum(x) * c.rate,
    "array": lambda x, c: np.sum(x) * np.linalg.norm(c.table),
    "string": lambda x, c: np.sum(x**2) if c.kind == "square" else np.sum(x),
    "classmethod": lambda x, c: np.sum(c.scaled(x)),
    "staticmethod": lambda x, c: np.sum(c.static(x)),
    "method of an object": lambda x, c: np.sum(c().of_object(x)),
}
GIVEN = {
    "argument": (lambda read: lambda x, c: read(x, c), lambda c: c, ()),
    "static": (lambda read: lambda x, c: read(x, c), lambda c: c, 1),
    "in a dict": (lambda read: lambda x, c: read(x, c["c"]), lambda c: {"c": c}, ()),
    "in a list": (lambda read: lambda x, c: read(x, c[0]), lambda c: [c], ()),
    "in a static tuple": (lambda read: lambda x, c: read(x, c[0]), lambda c: (c,), 1),
}


def change(kind, monkeypatch):
    """Go through changes of a class and of what its methods read."""
    yield
    kind.rate = 3.0
    yield
    kind.table *= 10.0
    yield
    kind.kind = "linear"
    yield
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    yield


@pytest.mark.parametrize("way", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_class_as_an_argument(read, way, monkeypatch):
    make, give, static = way
    parent, kind = classes()
    f = make(read)
    value, grad = tapec.compile(f, static_argnums=static), tapec.grad(f, static_argnums=static)
    x = np.array([1.0, 2.0])
    for _ in change(parent, monkeypatch):
        for _ in range(2):
            np.testing.assert_allclose(value(x, give(kind)), read(x, kind))
            np.testing.assert_allclose(grad(x, give(kind)), tapec.grad(lambda x: read(x, kind))(x))


def test_a_class_as_the_function(monkeypatch):
    @dataclass
    class Layer:
        w: np.ndarray
        gain = 2.0

        def __post_init__(self):
            self.w = self.w * self.gain * FACTOR

    f, x = tapec.compile(Layer), np.ones(2)
    assert f(x).w.tolist() == [4.0, 4.0]
    Layer.gain = 3.0
    assert f(x).w.tolist() == [6.0, 6.0]
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert f(x).w.tolist() == [15.0, 15.0]


def structures():
    @dataclass
    class Layer:
        w: np.ndarray
        gain = 2.0

        def __call__(self, x):
            return self.gain * FACTOR * np.sum(self.w * x)

    @dataclass(frozen=True)
    class Frozen:
        w: np.ndarray
        gain = 2.0

        @property
        def factor(self):
            return self.gain * FACTOR

        def __call__(self, x):
            return self.factor * np.sum(self.w * x)

    class Pair(namedtuple("Pair", "w")):
        gain = 2.0

        def __call__(self, x):
            return type(self).gain * FACTOR * np.sum(self.w * x)

    return {"dataclass": Layer, "frozen": Frozen, "named tuple": Pair}


@pytest.mark.parametrize("name", structures())
def test_the_class_of_an_argument(name, monkeypatch):
    kind = structures()[name]
    x = np.array([1.0, 2.0])
    f = tapec.value_and_grad(lambda x, layers: layers["l"](x))

    def check():
        for _ in range(2):
            found, slope = f(x, {"l": kind(x)})
            np.testing.assert_allclose(found, kind(x)(x))
            np.testing.assert_allclose(slope, kind.gain * FACTOR * x)

    check()
    for kind.gain in (3.0, 4.0):
        check()
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    check()
    kind.__call__ = lambda self, x: self.gain * FACTOR * np.sum(self.w * x) + 1.0
    check()


@pytest.mark.parametrize("name", structures())
def test_a_method_of_an_argument_fills_an_array(name):
    kind = structures()[name]

    def filled(self, x):
        out = np.zeros(len(x))
        for k in range(len(x)):
            out[k] = self.w[k] * x[k] ** 2
        return np.sum(out)

    kind.filled = filled
    grad = tapec.grad(lambda x, layer: layer.filled(x))
    x = np.array([1.0, 2.0])
    for w in ([1.0, 2.0], [3.0, 4.0]):
        np.testing.assert_allclose(grad(x, kind(np.array(w))), 2.0 * np.array(w) * x)


def test_what_the_default_of_a_dict_reads(monkeypatch):
    f = tapec.compile(lambda x, d: x * d["a"])
    d = defaultdict(lambda: FACTOR)
    for factor in (2.0, 5.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        assert f(1.0, d) == factor
        d.clear()


def test_a_captured_dataclass_is_given_to_a_compiled_function():
    Layer = structures()["dataclass"]
    layer = Layer(np.array([1.0, 2.0]))
    inner = tapec.compile(lambda x, layer: layer(x))
    outer = tapec.grad(lambda x: inner(x, layer))
    x = np.ones(2)
    for Layer.gain in (2.0, 3.0):
        for layer.w in (np.array([1.0, 2.0]), np.array([3.0, 4.0])):
            np.testing.assert_allclose(outer(x), Layer.gain * FACTOR * layer.w)


def test_a_plain_named_tuple_or_dataclass_costs_few_facts():
    Pair = namedtuple("Pair", ["w", "b"])

    @dataclass
    class Layer:
        w: np.ndarray
        b: np.ndarray

    for kind in (Pair, Layer):
        f = tapec.compile(lambda p: np.sum(p.w) * p.b)
        f(kind(np.ones(2), 2.0))
        (entry,) = f._cache.entries.values()
        assert len(entry.known[0].checks) < 6
