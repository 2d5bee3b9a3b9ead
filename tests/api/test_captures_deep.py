"""Captured state wherever it hides: behind methods and other functions, in objects of many kinds; random draws."""

from __future__ import annotations

import argparse
import collections
import copy
import dataclasses
import functools
import gc
import io
import itertools
import random
import sys
import types
import weakref
from enum import Enum

import numpy as np
import pytest

import tapec
from tapec.trace.capture.proxies.object_proxies import is_own_class

X = np.array([1.0, 2.0, 3.0])
SCALE = 2.0
W = np.ones(3)


def weighted(v):
    return np.sum(v * SCALE * W)


class Base:
    def forward(self, v):
        return np.sum(v * SCALE * W)

    def __call__(self, v):
        return np.sum(v * SCALE * W)

    def __matmul__(self, v):
        return np.sum(SCALE * W * v)

    @property
    def weights(self):
        return SCALE * W

    @staticmethod
    def alone(v):
        return np.sum(v * SCALE * W)

    @classmethod
    def of_class(cls, v):
        return np.sum(v * SCALE * W)


class Derived(Base):
    def forward(self, v):
        return super().forward(v)


ruled = tapec.custom_jvp(weighted)
ruled.defjvp(lambda primals, tangents: (weighted(primals[0]), np.sum(tangents[0] * SCALE * W)))
compiled = tapec.compile(weighted)
checkpointed = tapec.checkpoint(weighted)
partial = functools.partial(weighted)
base, derived = Base(), Derived()


@functools.singledispatch
def dispatched(v):
    return v


@dispatched.register
def _(v: tapec.Tensor):
    return np.sum(v * SCALE * W)


@dispatched.register
def _(v: np.ndarray):
    return np.sum(v * SCALE * W)


WAYS = {
    "singledispatch": lambda v: dispatched(v),
    "method": lambda v: base.forward(v),
    "call": lambda v: base(v),
    "operator": lambda v: base @ v,
    "property": lambda v: np.sum(base.weights * v),
    "static method": lambda v: Base.alone(v),
    "class method": lambda v: Base.of_class(v),
    "super": lambda v: derived.forward(v),
    "new object": lambda v: Base().forward(v),
    "partial": lambda v: partial(v),
    "compiled": lambda v: compiled(v),
    "checkpoint": lambda v: checkpointed(v),
    "custom_jvp": lambda v: ruled(v),
    "gradient": lambda v: np.sum(tapec.grad(lambda q: np.sum(q * q * SCALE * W) / 2)(v)),
    "default": lambda v, w=W: np.sum(v * SCALE * w),
    "map": lambda v: sum(map(weighted, [v])),
}


@pytest.mark.parametrize("way", WAYS)
def test_globals_are_read_anew_however_they_are_reached(way, monkeypatch):
    f = tapec.value_and_grad(lambda v: WAYS[way](v))
    for scale in (2.0, 5.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        value, gradient = f(X)
        assert value == pytest.approx(6 * scale)
        np.testing.assert_allclose(gradient, np.full(3, scale))
    before = W.copy()
    try:
        W[:] = 3.0
        assert f(X)[0] == pytest.approx(90.0)
    finally:
        W[:] = before


@pytest.mark.parametrize("way", ["function", "method", "object", "partial"])
def test_what_arguments_capture_is_read_anew(way, monkeypatch):
    given = {"function": weighted, "method": base.forward, "object": base, "partial": partial}[way]
    f = tapec.value_and_grad(lambda v, g: g(v))
    for scale in (2.0, 5.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        assert f(X, given)[0] == pytest.approx(6 * scale)


# ---------------------------------------------------------------------------------------------------------------
# objects and containers
# ---------------------------------------------------------------------------------------------------------------
class Layer:
    def __init__(self):
        self.w = np.ones(3)
        self.k = 2.0


class Slotted:
    __slots__ = ("k", "w")

    def __init__(self):
        self.w = np.ones(3)
        self.k = 2.0


class Registered:
    known: list[type] = []

    def __init_subclass__(cls):
        Registered.known.append(cls)


class Child(Registered):
    def __init__(self):
        self.w = np.ones(3)
        self.k = 2.0


class Made:
    def __new__(cls):
        return object.__new__(cls)

    def __init__(self):
        self.w = np.ones(3)
        self.k = 2.0


class Watching(Layer):
    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


class Items(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


@dataclasses.dataclass(slots=True)
class Record:
    w: np.ndarray
    k: float


KINDS = {
    "object": Layer,
    "slots": Slotted,
    "dataclass": lambda: Record(np.ones(3), 2.0),
    "namespace": lambda: types.SimpleNamespace(w=np.ones(3), k=2.0),
    "argparse": lambda: argparse.Namespace(w=np.ones(3), k=2.0),
    "registered": Child,
    "new": Made,
    "getattribute": Watching,
    "dict": lambda: Items(w=np.ones(3), k=2.0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_attributes_are_inputs_even_where_numpy_computes_with_them(kind):
    held = types.SimpleNamespace(layers=[KINDS[kind]()])
    f = tapec.value_and_grad(lambda v: np.sum(v * (held.layers[0].w * 2) * held.layers[0].k))
    assert f(X)[0] == 24.0
    held.layers[0].w[:] = 2.0
    assert f(X)[0] == 48.0
    held.layers[0].w = np.full(3, 3.0)
    assert f(X)[0] == 72.0
    held.layers[0].k = 1.0
    assert f(X)[0] == 36.0
    assert f.cache_info().compilations == 1
    held.layers[0] = KINDS[kind]()
    assert f(X)[0] == 24.0
    assert Registered.known == [Child]


class Asking:
    def __init__(self):
        self.inner = Layer()

    def __getattr__(self, name):
        return getattr(self.inner, name)


def test_attributes_that_another_object_answers_for():
    held = Asking()
    f = tapec.value_and_grad(lambda v: np.sum(v * held.w) * held.k)
    assert f(X)[0] == 12.0
    held.inner.w = np.full(3, 3.0)
    assert f(X)[0] == 36.0
    assert f.cache_info().compilations == 1
    held.k = 1.0  # its own, from now on
    assert f(X)[0] == 18.0


@pytest.mark.parametrize("kind", [dict, collections.OrderedDict, collections.UserDict, collections.ChainMap])
def test_items_are_inputs_even_where_numpy_computes_with_them(kind):
    held = {"in": kind({"w": np.ones(3), "k": 2.0})}
    f = tapec.value_and_grad(lambda v: np.sum(v * (held["in"]["w"] * 2) * held["in"]["k"]))
    assert f(X)[0] == 24.0
    held["in"]["w"][:] = 2.0
    assert f(X)[0] == 48.0
    held["in"]["k"] = 3.0
    assert f(X)[0] == 72.0


def test_layers_in_a_loop():
    net = types.SimpleNamespace(layers=[Layer(), Layer()])

    def loss(v):
        for layer in net.layers:
            v = v * layer.w * layer.k
        return np.sum(v)

    f = tapec.grad(loss)
    np.testing.assert_array_equal(f(X), np.full(3, 4.0))
    net.layers[1].w = X
    np.testing.assert_array_equal(f(X), 4 * X)
    net.layers.append(Layer())
    np.testing.assert_array_equal(f(X), 8 * X)


def test_captured_structures_go_into_other_transforms():
    params = {"layer": {"w": np.ones(3)}}
    inner = tapec.grad(lambda p, v: np.sum(p["w"] * v * v))
    f = tapec.value_and_grad(lambda v: np.sum(inner(params["layer"], v)["w"]))
    value, gradient = f(X)
    assert value == 14.0
    np.testing.assert_array_equal(gradient, 2 * X)


def test_captured_objects_come_back_as_they_are():
    layer, params = Layer(), {"w": X}
    y, same, again = tapec.compile(lambda v: (v * layer.k, layer, params))(X)
    np.testing.assert_array_equal(y, 2 * X)
    assert same is layer
    assert type(again) is dict and type(again["w"]) is np.ndarray


# ---------------------------------------------------------------------------------------------------------------
# what a run stores
# ---------------------------------------------------------------------------------------------------------------
class Stateful:
    def __init__(self):
        self.mean = 0.0
        self.hidden = None
        self.w = np.ones(3)

    def activate(self, v):
        self.hidden = np.tanh(v * self.w)
        return np.sum(self.hidden * self.hidden)

    def normalize(self, v):
        self.mean = 0.9 * self.mean + 0.1 * np.mean(v)
        return np.sum((v - self.mean) ** 2)

    @functools.cached_property
    def doubled(self):
        return self.w * 2

    def cached(self, v):
        return np.sum(v * self.doubled)


def test_a_value_that_is_stored_and_read_keeps_its_gradient():
    model = Stateful()
    gradient = tapec.grad(model.activate)(X)
    h = np.tanh(X)
    np.testing.assert_allclose(gradient, 2 * h * (1 - h * h))
    assert type(model.hidden) is np.ndarray
    np.testing.assert_allclose(model.hidden, h)


def test_running_statistics_run_on():
    model, twin = Stateful(), Stateful()
    f = tapec.value_and_grad(model.normalize)
    for k in range(4):
        assert f(X * k)[0] == pytest.approx(twin.normalize(X * k))
        assert model.mean == pytest.approx(twin.mean)
    assert f.cache_info().compilations <= 2  # a Python number first, one of NumPy's from then on
    assert "stores what it computes" in str(f.explain(X))


def test_a_cached_property_keeps_plain_numbers():
    model = Stateful()
    f = tapec.value_and_grad(model.cached)
    assert f(X)[0] == 12.0 and f(X)[0] == 12.0
    assert type(model.__dict__["doubled"]) is np.ndarray


def test_a_total_in_an_enclosing_function():
    total = 0.0

    @tapec.value_and_grad
    def f(v):
        nonlocal total
        total = total + np.sum(v)
        return total * 1.0

    assert [float(f(X)[0]) for _ in range(3)] == [6.0, 12.0, 18.0]
    assert not isinstance(total, tapec.Tensor)


def batches():
    for k in range(1, 9):
        yield k * X


class Rows:
    """An iterator of the user's own."""

    def __init__(self):
        self.k = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.k += 1
        return self.k * X


TAKEN = {
    "generator": (batches, next),
    "counter": (lambda: itertools.count(1), lambda h: next(h) * X),
    "own iterator": (Rows, next),
    "lines": (lambda: io.StringIO("1\n2\n3\n4\n"), lambda h: float(h.readline()) * X),
    "pop": (lambda: [4 * X, 3 * X, 2 * X, X], lambda h: h.pop()),
    "first of a list": (lambda: [1.0, 2.0, 3.0, 4.0], lambda h: h.pop(0) * X),
    "first of a deque": (lambda: collections.deque([X, 2 * X, 3 * X, 4 * X]), lambda h: h.popleft()),
    "rotation": (lambda: collections.deque([4.0, 3.0, 2.0, 1.0]), lambda h: h.rotate(1) or h[0] * X),
    "item of a dict": (lambda: collections.OrderedDict(a=4.0, b=3.0, c=2.0, d=1.0), lambda h: h.popitem()[1] * X),
}


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_taken_is_taken_at_each_call(name):
    make, take = TAKEN[name]
    held = make()
    f = tapec.value_and_grad(lambda v: np.sum(v * take(held)))
    for k in range(1, 5):
        value, gradient = f(X)
        assert value == k * np.sum(X * X)
        np.testing.assert_array_equal(gradient, k * X)
    assert f.cache_info().compilations <= 2  # numbers are literals until one changes


@pytest.mark.parametrize(
    "draw",
    [random.random, lambda: np.random.rand(), lambda: float(np.random.rand()), lambda: complex(0, random.random())],
)
def test_numbers_that_are_drawn_are_no_new_code(draw):
    f = tapec.compile(lambda v: v * draw())
    assert len({complex(f(2.0)) for _ in range(20)}) == 20
    assert f.cache_info().compilations == 2


def test_plain_results_are_those_of_the_call():
    @tapec.value_and_grad(has_aux=True)
    def f(v):
        mask = np.ones(v.size)
        mask[3:-3] = np.random.rand(v.size - 6) > 0.5  # beyond what is seen of it when it is printed
        return np.sum(v * mask), (mask, random.random(), Item(mask))

    seen = set()
    for _ in range(5):
        (value, (mask, number, item)), gradient = f(np.ones(2000))
        assert value == np.sum(mask)
        np.testing.assert_array_equal(gradient, mask)
        assert item.mask is not None and np.sum(item.mask) == value
        seen.add(number)
    assert len(seen) == 5


@pytest.mark.parametrize("transform", [tapec.compile, lambda f: lambda x: tapec.value_and_grad(f)(x)[0]])
def test_variables_that_such_functions_read_are_watched(transform):
    v, w = tapec.Variable(3.0), tapec.Variable(2.0, trainable=False)
    f = transform(lambda x: x * v * w * np.sign(np.random.rand() + 1.0))
    inner = tapec.compile(lambda x: f(x) * f(x))
    for f_, slope in ((f, 4.0), (inner, 96.0)):
        for _ in range(2):
            with tapec.GradientTape() as tape:
                y = f_(2.0)
            assert tape.gradient(y, v).numpy() == slope
            assert tape.watched_variables() == (v,)
    with tapec.GradientTape() as tape:
        tape.watch(w)
        y = f(2.0)
    assert [g.numpy() for g in tape.gradient(y, [v, w])] == [4.0, 6.0]


class Item:
    def __init__(self, mask):
        self.mask = mask

    def __repr__(self):
        return "an item"


def test_methods_that_move_items_move_those_of_the_real_list():
    held = [3.0, 1.0, 2.0]

    @tapec.compile
    def f(v):
        held.sort()
        held.remove(2.0)
        held.reverse()
        held.insert(0, 5.0)
        return v * held[0] + held[1]

    assert f(2.0) == 13.0
    assert held == [5.0, 3.0, 1.0]
    assert "takes items out of a list, or moves them" in str(f.explain(2.0))


def test_the_plain_value_of_a_variable_is_that_of_the_call():
    v = tapec.Variable([1.0, 2.0])

    @tapec.value_and_grad
    def f(x):
        return np.sum(x * v.numpy()) if v.numpy()[0] > 0 else np.sum(x)

    np.testing.assert_array_equal(f(np.ones(2))[1], [1.0, 2.0])
    v.assign([3.0, 4.0])
    np.testing.assert_array_equal(f(np.ones(2))[1], [3.0, 4.0])
    v.assign([-3.0, 4.0])
    np.testing.assert_array_equal(f(np.ones(2))[1], [1.0, 1.0])
    with tapec.GradientTape() as tape:
        y = f(np.ones(2))[0] + np.sum(v)
    np.testing.assert_array_equal(tape.gradient(y, v).numpy(), [1.0, 1.0])


# ---------------------------------------------------------------------------------------------------------------
# random numbers
# ---------------------------------------------------------------------------------------------------------------
GENERATOR = np.random.default_rng(0)
BITS = np.random.PCG64(1)
HELD = {"rng": np.random.default_rng(1)}
IN_LIST = [np.random.default_rng(2)]
PYTHON = random.Random(0)
drawing = tapec.compile(lambda w: w * GENERATOR.normal(size=20))


class Drawer:
    __slots__ = ("rng",)

    def __init__(self):
        self.rng = np.random.default_rng(3)


DRAWER = Drawer()
DRAWS = {
    "new generator": lambda w: np.sum(w * np.random.default_rng().normal(size=20)),
    "new state": lambda w: np.sum(w * np.random.RandomState().normal(size=20)),
    "new bits": lambda w: np.sum(w * np.random.Generator(np.random.PCG64()).normal(size=20)),
    "captured bits": lambda w: np.sum(w * np.random.Generator(BITS).normal(size=20)),
    "in a dict": lambda w: np.sum(w) * HELD["rng"].random(),
    "in a list": lambda w: np.sum(w) * IN_LIST[0].random(),
    "in slots": lambda w: np.sum(w) * DRAWER.rng.random(),
    "of Python": lambda w: np.sum(w) * PYTHON.random(),
    "spawned": lambda w: np.sum(w) * GENERATOR.spawn(1)[0].random(),
    "in a compiled function": lambda w: np.sum(drawing(w)),
    "permutation": lambda w: np.sum(GENERATOR.permutation(w * np.arange(20.0)) * np.arange(20)),
    "choice": lambda w: np.sum((w * np.arange(20.0))[GENERATOR.choice(20, 5)]),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_draws_are_new_at_each_call(draw):
    f = tapec.value_and_grad(DRAWS[draw])
    assert len({float(f(np.ones(20))[0]) for _ in range(6)}) > 1


def test_a_normal_number_that_was_there_already_is_a_draw():
    """They come in pairs: for the second the generator itself does not move."""
    np.random.seed(0)
    np.random.normal()
    f = tapec.value_and_grad(lambda w: w * np.random.normal())
    assert len({float(f(1.0)[0]) for _ in range(4)}) == 4


def test_draws_of_a_module_that_is_imported_are_its_own(tmp_path, monkeypatch):
    (tmp_path / "drawn_once.py").write_text("import numpy\nscale = 2 + 0 * numpy.random.default_rng().random()\n")
    monkeypatch.syspath_prepend(tmp_path)

    @tapec.grad
    def f(x):
        import drawn_once

        return x * drawn_once.scale

    assert f(1.0) == f(2.0) == 2.0
    assert f.cache_info().misses == 1
    assert "random" not in str(f.explain(1.0))


def seeded(w):
    np.random.seed(0)
    return np.sum(w * np.random.normal(size=20))


@pytest.mark.parametrize("draw", [seeded, lambda w: np.sum(w * np.random.default_rng(3).normal(size=20))])
def test_draws_from_a_seed_inside_are_those_of_the_seed(draw):
    f = tapec.value_and_grad(draw)
    expected = draw(np.ones(20))
    assert all(f(np.ones(20))[0] == pytest.approx(expected) for _ in range(3))


class Color(Enum):
    RED = 1


def test_members_of_enums_stay_themselves():
    color = Color.RED
    assert tapec.compile(lambda v: v * 2.0 if color is Color.RED else v)(1.0) == 2.0


# ---------------------------------------------------------------------------------------------------------------
# what nobody captures
# ---------------------------------------------------------------------------------------------------------------
def test_arrays_of_a_call_are_not_kept():
    f = tapec.grad(lambda v: np.sum(v * v))
    v = np.ones(1000)
    gone = weakref.ref(v)
    f(v)
    del v
    gc.collect()
    assert gone() is None


@pytest.mark.filterwarnings("error::tapec.TapecWarning")
def test_arrays_made_by_the_outer_function_are_its_own():
    inner = tapec.grad(lambda w: np.sum((w - X) ** 2))

    def outer(rate):
        w = np.zeros(3)
        for _ in range(2):
            w = w - rate * inner(w)
        return np.sum((w - X) ** 2)

    assert tapec.grad(outer)(0.25) == pytest.approx(4 * (1 - 0.5) ** 3 * -2 * 14)


# ---------------------------------------------------------------------------------------------------------------
# changes of every kind
# ---------------------------------------------------------------------------------------------------------------
class Held:
    w: np.ndarray

    def scale(self, v):
        return np.sum(v)


def other_scale(self, v):
    return np.sum(v * v)


def filled(**attributes):
    held = Held()
    held.__dict__.update(attributes)
    return held


NUMBERED = {k: float(i) for i, k in enumerate("abcdef")}
OWN_CHANGES = {  # what a function holds, and how it changes that while it reads it
    "pop": ([1.0, 2.0, 3.0, 4.0], lambda h: h.pop()),
    "pop from the front": ([1.0, 2.0, 3.0, 4.0], lambda h: h.pop(0)),
    "delete": ([1.0, 2.0, 3.0, 4.0], lambda h: h[0] + (h.__delitem__(0) or 0)),
    "clear": ([2.0, 3.0], lambda h: (sum(h), h.clear())[0]),
    "insert": ([2.0, 3.0], lambda h: (h[0], h.insert(0, 7.0))[0]),
    "sort": ([3.0, 1.0, 2.0], lambda h: (h[0], h.sort())[0]),
    "reverse": ([3.0, 1.0, 2.0], lambda h: (h[0], h.reverse())[0]),
    "remove": ([3.0, 1.0, 2.0, 3.0], lambda h: (h[0], h.remove(h[0]))[0]),
    "pop of a dict": (NUMBERED, lambda h: h.pop("a", 9.0)),
    "pop of an item": (NUMBERED, lambda h: h.popitem()[1]),
    "delete in a dict": (NUMBERED, lambda h: (h["a"], h.__delitem__("a"))[0] if "a" in h else 5.0),
    "or": ({"a": 2.0}, lambda h: (h["a"], h.__ior__({"a": 3.0}))[0]),
    "update": ({"a": 2.0}, lambda h: (h["a"], h.update(a=3.0))[0]),
    "setdefault": ({"a": 2.0}, lambda h: h.setdefault("a", 1.0) + h.setdefault("b", 4.0)),
    "pop of the first item": (
        collections.OrderedDict(NUMBERED),
        lambda h: (h.move_to_end("a"), h.popitem(False)[1])[1],
    ),
    "append to the left": (collections.deque([1.0, 2.0, 3.0], 3), lambda h: (h[0], h.appendleft(9.0))[0]),
    "pop from the left": (collections.deque([1.0, 2.0, 3.0]), lambda h: h.popleft()),
    "rotate": (collections.deque([1.0, 2.0, 3.0]), lambda h: (h[0], h.rotate(1))[0]),
    "extend to the left": (collections.deque([1.0, 2.0, 3.0], 3), lambda h: (h[0], h.extendleft([5.0, 6.0]))[0]),
}


@pytest.mark.parametrize("name", OWN_CHANGES)
def test_what_a_function_changes_of_what_it_reads(name):
    """The container is changed by each call, and each call reads it as the one before has left it."""
    start, change = OWN_CHANGES[name]
    held, plain = copy.copy(start), copy.copy(start)
    f = tapec.value_and_grad(lambda v: np.sum(v) * change(held))
    for _ in range(3):
        factor = change(plain)
        value, gradient = f(X)
        assert value == np.sum(X) * factor
        np.testing.assert_array_equal(gradient, np.full(3, factor))
        assert held == plain and list(held) == list(plain)


nested = {"a": {"b": {"c": {"d": {"name": "x", "w": 2.0}}}}}
many = list(range(1000))
CHANGES = {
    "an attribute appears": (
        filled(),
        lambda v, h: np.sum(v) * getattr(h, "k", 1.0) * (2 if hasattr(h, "w") else 1),
        [lambda h: setattr(h, "k", 3.0), lambda h: setattr(h, "w", 1.0), lambda h: delattr(h, "k")],
    ),
    "a list is emptied and filled": (
        [1.0, 2.0],
        lambda v, h: np.sum(v) * (sum(h) + len(h)),
        [lambda h: h.append(3.0), lambda h: h.clear(), lambda h: h.extend([1, 2])],
    ),
    "an empty list is filled": ([], lambda v, h: np.sum(v) * (1 + len(h)), [lambda h: h.append(1)]),
    "an empty dict is filled": ({}, lambda v, h: np.sum(v) * h.get("k", 1.0), [lambda h: h.update(k=3.0)]),
    "a set": ({"a"}, lambda v, h: np.sum(v) * (2 if "b" in h else 1), [lambda h: h.add("b"), lambda h: h.remove("b")]),
    "far below": (
        nested,
        lambda v, h: np.sum(v) * h["a"]["b"]["c"]["d"]["w"] * (2 if h["a"]["b"]["c"]["d"]["name"] == "x" else 1),
        [
            lambda h: h["a"]["b"]["c"]["d"].update(name="y"),
            lambda h: h["a"]["b"]["c"]["d"].update(w=7.0),
        ],
    ),
    "functions in a dict": (
        {"f": np.sin},
        lambda v, h: np.sum(h["f"](v)),
        [lambda h: h.update(f=np.cos), lambda h: h.update(f=lambda v: v * 3)],
    ),
    "functions in a list": ([np.sin], lambda v, h: np.sum(h[0](v)), [lambda h: h.__setitem__(0, np.cos)]),
    "many numbers": (many, lambda v, h: np.sum(v) * sum(h), [lambda h: h.__setitem__(500, 0), lambda h: h.append(5)]),
    "strings in an array": (
        np.array(["a", "b"]),
        lambda v, h: np.sum(v) * (2 if h[0] == "a" else 3),
        [lambda h: h.__setitem__(0, "z")],
    ),
    "objects in an array": (
        np.array([1.0, None], dtype=object),
        lambda v, h: np.sum(v) * h[0],
        [lambda h: h.__setitem__(0, 5.0)],
    ),
    "another class's array": (
        np.polynomial.Polynomial([1.0, 2.0]),
        lambda v, h: np.sum(v) * h.coef[1],
        [lambda h: h.coef.__setitem__(1, 5.0)],
    ),
    "None becomes an array": (
        filled(w=None),
        lambda v, h: np.sum(v) if h.w is None else np.sum(v * h.w),
        [lambda h: setattr(h, "w", 2 * X), lambda h: setattr(h, "w", None), lambda h: setattr(h, "w", 3.0)],
    ),
    "a method of one object": (
        filled(),
        lambda v, h: h.scale(v),
        [lambda h: setattr(h, "scale", lambda v: np.sum(v**3))],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_seen(name):
    held, function, changes = CHANGES[name]
    f = tapec.value_and_grad(lambda v: function(v, held))
    assert f(X)[0] == pytest.approx(function(X, held))
    for change in changes:
        before = function(X, held)
        change(held)
        assert function(X, held) != pytest.approx(before)
        assert f(X)[0] == pytest.approx(function(X, held))


def test_a_method_that_is_replaced(monkeypatch):
    held = Held()
    f = tapec.value_and_grad(lambda v: held.scale(v))
    assert f(X)[0] == 6.0
    monkeypatch.setattr(Held, "scale", other_scale)
    assert f(X)[0] == 14.0


def test_a_list_that_holds_itself():
    held = [2.0]
    held.append(held)
    assert tapec.compile(lambda v: v * held[0])(3.0) == 6.0


def scaled(v, *, w=W, k=2.0):
    return np.sum(v * w * k)


def test_keyword_defaults_of_helpers(monkeypatch):
    f = tapec.value_and_grad(lambda v: scaled(v))
    assert f(X)[0] == 12.0
    monkeypatch.setitem(scaled.__kwdefaults__, "k", 3.0)
    assert f(X)[0] == 18.0
    monkeypatch.setitem(scaled.__kwdefaults__, "w", X)
    assert f(X)[0] == 42.0


def by_module(v):
    import settings_of_a_user

    return np.sum(v * (settings_of_a_user.W * 2)) * settings_of_a_user.K


def by_name(v):
    from settings_of_a_user import K, W

    return np.sum(v * (W * 2)) * K


@pytest.mark.parametrize("function", [by_module, by_name])
def test_modules_that_are_imported_inside(function, monkeypatch):
    module = types.ModuleType("settings_of_a_user")
    module.__file__, module.W, module.K = __file__, np.ones(3), 1.0
    monkeypatch.setitem(sys.modules, "settings_of_a_user", module)
    f = tapec.value_and_grad(function)
    assert f(X)[0] == 12.0
    module.W[:] = 2.0
    assert f(X)[0] == 24.0
    module.K = 3.0
    assert f(X)[0] == 72.0
    module.W = X
    assert f(X)[0] == 84.0
    assert f.cache_info().compilations == 1


# ---------------------------------------------------------------------------------------------------------------
# objects that methods make of themselves
# ---------------------------------------------------------------------------------------------------------------
@dataclasses.dataclass
class Gain:
    w: np.ndarray
    k: float = 2.0

    def by_type(self, c):
        return type(self)(self.w * c, self.k)

    def by_class(self, c):
        return self.__class__(self.w * c, self.k)

    def by_replace(self, c):
        return dataclasses.replace(self, w=self.w * c)

    def by_copy(self, c):
        new = copy.copy(self)
        new.w = new.w * c
        return new

    def by_deepcopy(self, c):
        new = copy.deepcopy(self)
        new.w = new.w * c
        return new

    def total(self, v):
        return np.sum(v * self.w) * self.k * SCALE / 2


@dataclasses.dataclass(slots=True)
class SlottedGain(Gain):
    pass


@pytest.mark.parametrize("kind", [Gain, SlottedGain])
@pytest.mark.parametrize("way", ["by_type", "by_class", "by_replace", "by_copy", "by_deepcopy"])
def test_objects_made_of_captured_ones(kind, way, monkeypatch):
    gain = kind(np.ones(3))
    f = tapec.value_and_grad(lambda v, c: getattr(gain, way)(c).total(v), argnums=1)
    value, gradient = f(X, 3.0)
    assert (value, gradient) == (36.0, 12.0)
    assert type(gain) is kind and type(gain.w) is np.ndarray and gain.k == 2.0
    np.testing.assert_array_equal(gain.w, np.ones(3))
    gain.w[:] = 2.0
    assert f(X, 3.0) == (72.0, 24.0)
    gain.k = 1.0
    assert f(X, 3.0) == (36.0, 12.0)
    monkeypatch.setitem(globals(), "SCALE", 4.0)
    assert f(X, 3.0) == (72.0, 24.0)


@pytest.mark.parametrize("n", [5, 300, 3000])
def test_what_numpy_makes_of_an_installed_packages_arrays_is_made_anew(n):
    """NumPy computes with `scaler.var_` before tapec sees it."""
    from sklearn import preprocessing

    scaler = preprocessing.StandardScaler().fit(np.random.default_rng(0).normal(size=(10, n)))
    scaler.var_ = np.ones(n)
    f = tapec.grad(lambda x: np.sum(x * np.sqrt(scaler.var_)))
    found = [f(np.ones(n))[0]]
    scaler.var_[:] = 4.0
    found.append(f(np.ones(n))[0])
    scaler.var_ = np.full(n, 9.0)
    found.append(f(np.ones(n))[0])
    assert found == [1.0, 2.0, 3.0]


def test_very_large_ones_are_told_of():
    from scipy.interpolate import PPoly

    spline = PPoly(np.ones((1, 100_000)), np.arange(100_001.0))
    f = tapec.grad(lambda x: np.sum(x * np.sqrt(spline.c[0])))
    with pytest.warns(tapec.TapecWarning, match="before tapec saw it: another one in its place is seen"):
        assert f(np.ones(100_000))[0] == 1.0
    spline.c = np.full((1, 100_000), 9.0)
    with pytest.warns(tapec.TapecWarning):
        assert f(np.ones(100_000))[0] == 3.0


@pytest.mark.parametrize("n", [5, 300])
def test_properties_of_an_installed_packages_objects_are_read_anew(n):
    from scipy.interpolate import PPoly

    spline = PPoly(np.ones((1, n)), np.arange(n + 1.0))
    f = tapec.grad(lambda x: np.sum(x * np.sqrt(spline.c[0])))
    found = [f(np.ones(n))[0]]
    spline.c[:] = 4.0
    found.append(f(np.ones(n))[0])
    spline.c = np.full((1, n), 9.0)
    found.append(f(np.ones(n))[0])
    assert found == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("space", [{}, {"__name__": "nowhere"}, {"__name__": "made"}])
def test_classes_and_modules_that_no_file_holds(space, monkeypatch):
    """What `exec` runs is the user's own code, whatever its globals say of it."""
    monkeypatch.setitem(sys.modules, "made", types.ModuleType("made"))
    exec(
        "import types\n"
        "class Bare:\n"
        "    offset = 1.0\n"
        "class Model:\n"
        "    def __init__(self):\n"
        "        self.w = 0.75\n"
        "    def gain(self, t):\n"
        "        return self.w * t\n"
        "model, bare, config = Model(), Bare(), types.ModuleType('config')\n"
        "config.rate = 2.0\n"
        "def f(x):\n"
        "    return x * (model.gain(config.rate) + bare.offset)\n",
        space,
    )
    slope, model, bare = tapec.grad(space["f"]), space["model"], space["bare"]
    for model.w, space["config"].rate, bare.offset in (
        (0.75, 2.0, 1.0),
        (0.5, 2.0, 1.0),
        (0.5, 3.0, 1.0),
        (0.5, 3.0, 4.0),
    ):
        assert slope(1.0) == model.w * space["config"].rate + bare.offset


def test_functions_of_compiled_extensions_are_called_as_they_are():
    """Their class is said to be of a module that nobody has written."""
    make = np.random.default_rng
    assert not is_own_class(type(make))
    f = tapec.compile(lambda x: x * make(5).standard_normal())
    for _ in range(2):
        assert f(2.0) == 2.0 * make(5).standard_normal()
