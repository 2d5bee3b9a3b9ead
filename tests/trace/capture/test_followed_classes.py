"""Objects that a traced function makes may fill arrays with tensors: their classes are copied for the run."""

import functools
import math
from abc import ABC, abstractmethod
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple

import numpy as np
import pytest

import tapec

X = np.array([0.1, 0.2, 0.3])
SCALE = 2.0


def filled(values):
    out = np.zeros(len(values))
    for i, v in enumerate(values):
        out[i] = v * SCALE
    return out


class Layer:
    factor = 1.5

    def __init__(self, n=3):
        self.n = n
        self.w = np.zeros((n, n))
        for i in range(n):
            self.w[i, i] = 1.0 + i
        self.last = None

    def forward(self, x):
        out = np.zeros(self.n)
        for i in range(self.n):
            out[i] = np.dot(self.w[i], x) * self.factor
        self.last = out
        return out

    @property
    def doubled(self):
        return filled(self.last)

    @functools.cached_property
    def once(self):
        return filled(self.last)

    @staticmethod
    def static(x):
        return filled(x)

    @classmethod
    def wide(cls, x):
        made = cls(len(x))
        return made.forward(x)

    def twice(self, x, k):
        return filled(x) * k

    by_three = functools.partialmethod(twice, k=3.0)

    def __matmul__(self, x):
        return self.forward(x)


class Sub(Layer):
    def __init__(self):
        super().__init__(3)

    def forward(self, x):
        y = super().forward(x)
        out = np.empty_like(y)
        out[:] = y * 2.0
        return out


class Old(Layer):
    def forward(self, x):
        out = np.zeros(3)
        out[:2] = super(Old, self).forward(x)[1:]  # noqa: UP008 (as older code has it)
        return out


class Slots:
    __slots__ = ("__hidden", "w")

    def __init__(self, x):
        self.w = filled(x)
        self.__hidden = np.zeros(2)
        self.__hidden[0] = x[0]

    def total(self):
        return np.sum(self.w) * self.__hidden[0]


@dataclass
class Data:
    x: np.ndarray
    parts: list = field(default_factory=list)

    def __post_init__(self):
        self.parts.append(filled(self.x))


@dataclass(frozen=True)
class Frozen:
    x: np.ndarray

    def filled(self):
        return filled(self.x)


class Shape(ABC):
    @abstractmethod
    def area(self, x): ...

    def checked(self, x):
        assert isinstance(self, Shape) and type(self) is not Shape
        return self.area(x)


class Square(Shape):
    def area(self, x):
        return filled(x * x)


class Vector(NamedTuple):
    x: float
    y: float

    def length(self):
        return math.hypot(self.x, self.y)

    def both(self, other):
        return np.sum(filled(Point(self.x, other.y) + Point(self.y, other.x)))


class Point(namedtuple("Point", "x y")):
    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y) if isinstance(other, Point) else NotImplemented

    def length(self):
        return math.hypot(self.x, self.y)


class Value:
    """Numbers that remember where they come from."""

    def __init__(self, data, parents=()):
        self.data, self.parents, self.grad = data, parents, np.zeros(1)

    def __mul__(self, other):
        return Value(self.data * other.data, [(self, other.data), (other, self.data)])

    def back(self, g=1.0):
        self.grad[0] += g
        for p, d in self.parents:
            p.back(d * g)


class Node:
    def __init__(self, x, rest=None):
        self.x, self.rest = x, rest

    def sums(self):
        out = np.zeros(3)
        out[:] = self.x
        return out + (self.rest.sums() if isinstance(self.rest, Node) else 0.0)


KEPT = Layer()
PARTS = {"layer": Layer, "sub": Sub}


def micrograd(x):
    a, b = Value(x[0]), Value(x[1])
    (a * b * a).back()
    return a.grad[0] + b.grad[0]


PROGRAMS = {
    "constructor": lambda x: Layer().forward(x),
    "operator": lambda x: Layer() @ x,
    "super": lambda x: Sub().forward(x),
    "super of old": lambda x: Old().forward(x),
    "attribute": lambda x: (lambda k: (k.forward(x), k.last)[1])(Layer()),
    "property": lambda x: (lambda k: (k.forward(x), k.doubled)[1])(Layer()),
    "cached property": lambda x: (lambda k: (k.forward(x), k.once + k.once)[1])(Layer()),
    "static": lambda x: Layer().static(x),
    "of the class": lambda x: Layer.static(x) + Sub.static(x),
    "class method": lambda x: Layer.wide(x),
    "partial method": lambda x: Layer().by_three(x),
    "slots": lambda x: Slots(x).total(),
    "dataclass": lambda x: Data(x).parts[0],
    "frozen": lambda x: Frozen(x).filled(),
    "abstract": lambda x: Square().checked(x),
    "named tuple": lambda x: Vector(x[0], x[1]).length() * x,
    "named tuple that fills": lambda x: Vector(x[0], x[1]).both(Vector(x[1], x[2])),
    "inherits from a named tuple": lambda x: (Point(x[0], x[1]) + Point(x[1], x[2])).length(),
    "by name": lambda x: PARTS["sub"]().forward(x) + PARTS["layer"]().forward(x),
    "type of a captured object": lambda x: type(KEPT)().forward(x),
    "questions": lambda x: Layer().forward(x) * (
        isinstance(KEPT, Layer) + 2 * isinstance(Sub(), Layer) + 4 * (type(Sub()) is Sub) + 8 * (type(KEPT) is Layer)
        + 16 * issubclass(Sub, Layer) + 32 * isinstance(Sub(), (int, Layer)) + 64 * isinstance(KEPT, Sub)
    ),
    "list of objects": lambda x: sum([np.sum(k.forward(x)) for k in [Layer(), Sub(), Old()]]),
    "recursive": lambda x: Node(x, Node(x * 2)).sums(),
    "reverse mode by hand": micrograd,
    "captured method makes one": lambda x: KEPT.wide(x),
}  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_value_and_gradient(f):
    def loss(x):
        return np.sum(np.sin(f(x)))

    g = tapec.value_and_grad(loss)
    for x in (X, 2 * X, X):
        value, gradient = g(x)
        np.testing.assert_allclose(value, loss(x), rtol=1e-12)
        numeric = [(loss(x + h) - loss(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-8)
    assert g.cache_info().compilations <= 2


@pytest.mark.parametrize("name", ["factor", "forward", "SCALE"])
def test_what_a_class_holds_is_read_anew(name, monkeypatch):
    loss = lambda x: np.sum(Sub().forward(x)) + np.sum(Layer.static(x))
    g = tapec.grad(loss)
    before = g(X)
    with monkeypatch.context() as patch:
        new = {"factor": 7.0, "forward": lambda self, x: filled(x * x), "SCALE": 5.0}[name]
        patch.setattr(*((Layer, name, new) if name != "SCALE" else (f"{__name__}.SCALE", new)))
        numeric = [(loss(X + h) - loss(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(g(X), numeric, rtol=1e-6)
    np.testing.assert_allclose(g(X), before)


def test_records_that_are_returned_are_of_the_users_class():
    f = tapec.compile(lambda x: (Data(x, [filled(x)]), Point(x[0], Layer().static(x)), Vector(1.0, x[0])))
    for x in (X, 2 * X):
        data, point, vector = f(x)
        assert (type(data), type(point), type(vector)) == (Data, Point, Vector)
        np.testing.assert_array_equal(data.parts[1], filled(x))
        np.testing.assert_array_equal(point.y, filled(x))


class Counted:
    made = 0
    all = []

    def __init__(self, x):
        type(self).made += 1
        self.w = filled(x)


def test_a_class_that_counts_its_objects_is_refused_as_ever():
    with pytest.raises(tapec.DetachError, match="test_followed_classes"):
        tapec.grad(lambda x: np.sum(Counted(x).w))(X)
    assert Counted.made == 0 or type(Counted.made) is int


def test_objects_that_stay_are_refused_as_ever():
    kept = []

    def stored(x):
        kept.append(Layer())
        return np.sum(kept[-1].forward(x))

    for f in (stored, lambda x: (Layer().forward(x), Layer())):
        with pytest.raises(tapec.DetachError, match="test_followed_classes"):
            tapec.compile(f)(X)
    assert all(type(k) is Layer for k in kept)


class Registered:
    classes = []

    def __init_subclass__(cls):
        Registered.classes.append(cls)


class Member(Registered):
    def store(self, x):
        out = np.zeros(2)
        out[:] = x[:2]
        return out


def test_classes_that_hear_of_others_are_not_copied():
    with pytest.raises(tapec.DetachError):
        tapec.grad(lambda x: np.sum(Member().store(x)))(X)
    assert Registered.classes == [Member]


HANDLERS = {Layer: lambda layer, t: t * 2.0, Sub: lambda layer, t: t * 3.0}
KNOWN = {Layer, Sub}
PAIRS = {(Sub, 1): 2.0}
ORDER = [Sub, Layer]


class Holder(Layer):
    kinds = (Sub, Layer)
    table = {Sub: 2.0, Layer: 3.0}

    def place(self):
        return next(k for k, kind in enumerate(self.kinds) if kind is type(self.other)) + 1.0

    def factor_of(self):
        return sum(v for k, v in self.table.items() if k is type(self.other))

    def made_again(self):
        return type(self)()


@functools.singledispatch
def handled(layer):
    return 1.0


@handled.register
def _(layer: Sub):
    return 5.0


def holder(other, x):
    made = Holder()
    made.other = other
    return made.made_again().forward(x) * made.place() * made.factor_of()


COMPARED = {
    "key": lambda k, x: HANDLERS.get(type(k), lambda layer, t: -t)(k, x),
    "place in a list": lambda k, x: x * (1.0 + next(i for i, kind in enumerate(ORDER) if kind is type(k))),
    "held by a class": lambda k, x: holder(k, x),
    "class attribute": lambda k, x: x * (2.0 if k.__class__ is Layer else 3.0),
    "keys": lambda k, x: x * sum(1.0 + i for i, kind in enumerate(HANDLERS) if kind is type(k)),
    "single dispatch": lambda k, x: x * handled(k),
    "bases": lambda k, x: x * (1.0 + (Layer in type(k).__mro__) + 2.0 * (Sub is type(k).__mro__[0])),
}
ASKED = {"captured": lambda: KEPT, "captured Sub": lambda: SUB, "made": lambda: Layer(), "made Sub": lambda: Sub()}
SUB = Sub()


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("f", COMPARED.values(), ids=COMPARED)
def test_a_copy_is_the_class_wherever_it_is_compared(f, asked):
    def loss(x):
        """Be nothing at first, so that no comparison with plain NumPy tells one answer from another."""
        return np.sum(f(asked(), filled(np.maximum(x, 0.0)))) + np.sum(Layer().forward(0.0 * x))

    g = tapec.compile(loss)
    for x in (-X, X, 2 * X):
        np.testing.assert_allclose(g(x), loss(x), rtol=1e-12)


class Kinds(Enum):
    LAYER = Layer


def test_classes_that_a_run_may_meet_as_they_are_are_refused():
    for f in (
        lambda x: np.sum(Layer().forward(x)) * (1.0 if type(KEPT) is Kinds.LAYER.value else 2.0),
        lambda x: np.sum(Layer().forward(x)) * sum(1.0 for kind in KNOWN if kind is Layer),
        lambda x: np.sum(Layer().forward(x)) * sum(1.0 for kind, _ in {(Layer, 1): 2, **PAIRS} if kind is Layer),
    ):
        with pytest.raises(tapec.DetachError):
            tapec.grad(f)(X)


class Arm:
    """Makes arrays of tensors in methods."""

    def __init__(self, x):
        self.matrix = lambda: np.array([[x[0], 1.0, x[1]], [0.5, x[1], x[2]], [x[2], 1.0, 2.0]])
        self.x = x

    def compliance(self):
        return np.sum(np.linalg.inv(self.matrix()))

    def spectrum(self):
        return np.sum(np.abs(np.fft.fft([self.x[0], 1.0, self.x[1]])))

    def sines(self):
        return np.sum(np.sin(np.array([self.x[0], 1.0])))

    def spread(self):
        return np.std([self.x[0], self.x[1], 3.0]) * np.array([self.x[2], 1.0]).astype(float).mean()

    def finite(self):
        return np.sum(np.where(np.isfinite(np.array(self.x)), self.x, 0.0))

    def moved(self):
        return np.linalg.slogdet(self.matrix() + np.eye(3))[1]


@pytest.mark.parametrize("method", ["compliance", "spectrum", "sines", "spread", "finite", "moved"])
def test_methods_of_objects_make_arrays_of_tensors(method):
    loss = lambda x: getattr(Arm(x), method)()
    g = tapec.value_and_grad(loss)
    for x in (X, 2 * X):
        value, gradient = g(x)
        np.testing.assert_allclose(value, loss(x), rtol=1e-12)
        numeric = [(loss(x + h) - loss(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-8)
    assert g.cache_info().compilations <= 2


def test_errors_of_arrays_that_methods_make_are_numpys():
    class Flat(Arm):
        def compliance(self):
            return np.linalg.inv(self.matrix()[:2])

        def grown(self):
            log.append(1)
            return super().compliance()

    log = []
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        tapec.grad(lambda x: np.sum(Flat(x).compliance()))(X)
    with pytest.raises(TypeError, match="inv"):
        tapec.grad(lambda x: Flat(x).grown())(X)
    assert log == [1]


class Shown:
    is_flat, color, sizes = False, "blue", (1, 2)


class Named(type):
    @property
    def title(cls):
        return cls.__name__


class Disc(Shown, metaclass=Named):
    color, title, sizes = "red", "a disc", (1, 2, 3)

    @property
    def is_flat(self):
        return True


class Plotted(Layer):
    def plot(self, axes):
        axes.add(Disc(), Shown.color)

    def height(self, q):
        return math.sin(q)


def test_a_method_that_is_not_called_names_a_class_that_overrides_attributes():
    loss = lambda x: np.sum(Plotted().forward(x)) + Plotted().height(x[0])
    g = tapec.value_and_grad(loss)
    for x in (X, 2 * X):
        value, gradient = g(x)
        np.testing.assert_allclose(value, loss(x), rtol=1e-12)
        numeric = [(loss(x + h) - loss(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(gradient, numeric, rtol=1e-6)
    assert g.cache_info().compilations <= 2


class Above:
    rate = 2.0


class Below(Above):
    rate = 3.0

    def __init__(self, x):
        self.y = x * (self.rate + super().rate)


@pytest.mark.parametrize("kind", [Above, Below])
def test_attributes_that_a_class_below_has_too_are_read_anew(kind, monkeypatch):
    f = tapec.compile(lambda x: Below(x).y)
    for _ in range(2):
        np.testing.assert_array_equal(f(X), X * (Below.rate + Above.rate))
    monkeypatch.setattr(kind, "rate", 7.0)
    np.testing.assert_array_equal(f(X), X * (Below.rate + Above.rate))


class Held:
    def __init__(self, data):
        self.data = data

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.data, dtype=dtype)


def test_objects_that_make_arrays():
    held, x = Held(np.array([1.0, 2.0])), np.array([3.0, 4.0])
    functions = [
        lambda x: np.asarray(held) * x,
        lambda x: np.array(held) @ x,
        lambda x: np.asarray(Held(x * 2)) * x,
        lambda x: np.sum(Held(x)),
        lambda x: np.dot(held, x),
    ]
    compiled = [tapec.compile(f) for f in functions]
    for _ in range(3):
        for f, g in zip(functions, compiled, strict=True):
            np.testing.assert_array_equal(g(x), f(x))
        held.data = held.data + 1.0


# -- what functions read that are not followed ---------------------------------------------------------------------
class Config:
    rate = 0.1


class Speed(IntEnum):
    SLOW = 1

    @property
    def factor(self):
        return FACTORS[self]


class Kind(Enum):
    TANH = "tanh"

    @property
    def function(self):
        return TABLE[self.value]


config, items, tags, FACTORS, TABLE = Config(), [1.0, 2.0], {"a"}, {Speed.SLOW: 1.0}, {"tanh": np.tanh}


class Model:
    def __init__(self):
        self.rate, self.n, self.top = config.rate, len(items), max(items)
        self.tagged, self.power, self.function = "b" in tags, getattr(config, "power", 1.0), TABLE["tanh"]


@dataclass
class Record:
    start: float

    def __post_init__(self):
        self.n = len(items)


READS = {
    "a class attribute that an object hides": lambda x: x * Model().rate,
    "a length": lambda x: x * Model().n,
    "a maximum": lambda x: x * Model().top,
    "a member": lambda x: x * Model().tagged,
    "an attribute that was missing": lambda x: x * Model().power,
    "a function out of a dict": lambda x: Model().function(x),
    "a method of an Enum": lambda x: Kind.TANH.function(x),
    "a method of an IntEnum": lambda x: x * Speed.SLOW.factor,
    "__post_init__": lambda x: x * Record(x[0]).n,
}


@pytest.mark.parametrize("name", READS)
def test_what_constructors_and_members_of_enums_read(name, monkeypatch):
    f = READS[name]
    compiled = tapec.compile(f)
    np.testing.assert_allclose(compiled(X), f(X), rtol=1e-14)
    monkeypatch.setattr(config, "rate", 5.0, raising=False)
    monkeypatch.setattr(config, "power", 7.0, raising=False)
    monkeypatch.setitem(TABLE, "tanh", np.sin)
    monkeypatch.setitem(FACTORS, Speed.SLOW, 5.0)
    items.append(9.0), tags.add("b")
    try:
        np.testing.assert_allclose(compiled(X), f(X), rtol=1e-14)
    finally:
        items.pop(), tags.discard("b")
    compilations = compiled.cache_info().compilations
    np.testing.assert_allclose(compiled(X), f(X), rtol=1e-14)
    np.testing.assert_allclose(compiled(X), f(X), rtol=1e-14)
    assert compiled.cache_info().compilations <= compilations + 1


start = 1.0


class Stored:
    def __init__(self, x):
        self.start = x

    def value(self):
        return np.sum(self.start**2)


def test_a_variable_that_shares_the_name_of_an_attribute_is_not_read(monkeypatch):
    graded = tapec.grad(lambda x: Stored(x).value())
    for k in range(3):
        monkeypatch.setitem(globals(), "start", float(k))
        np.testing.assert_array_equal(graded(X + k), 2 * (X + k))
    assert graded.cache_info().compilations == 1
