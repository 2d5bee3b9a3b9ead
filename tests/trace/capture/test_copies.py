"""A copy of a captured container is the function's own: what the function writes into it stays there."""

import collections
import copy
import types

import numpy as np
import pytest

import tapec


class Table(dict):
    """Has an attribute beside its items, and a method that reads both."""

    def __init__(self, items=()):
        super().__init__(items)
        self.rate = 2.0

    def scaled(self, x):
        return self.rate * self[0] * x

    def set_rate(self, rate):
        self.rate = rate


MAKERS = {
    "list": list,
    "deque": lambda x: collections.deque(x, maxlen=5),
    "dict": lambda x: dict(enumerate(x)),
    "OrderedDict": lambda x: collections.OrderedDict(enumerate(x)),
    "defaultdict": lambda x: collections.defaultdict(float, enumerate(x)),
    "Table": lambda x: Table(enumerate(x)),
}
COPIES = {
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "copy": lambda x: x.copy(),
    "class": lambda x: x.__class__(*[x.default_factory for _ in "x" if hasattr(x, "default_factory")], x),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_is_written_into_a_copy_stays_there(make, copied):
    held, plain = make([1.0, 2.0]), make([1.0, 2.0])

    def f(x, held):
        mine = copied(held)
        mine[0] = 3.0 * mine[0] * x
        if isinstance(mine, dict):
            mine["more"] = x
        else:
            mine.append(x)
        return type(mine) is type(held), len(mine), mine[0] + mine[1]

    g = tapec.compile(lambda x: f(x, held))
    for first in (1.0, 1.0, 4.0):
        held[0] = plain[0] = first
        assert g(2.0) == f(2.0, plain)
        assert held == plain and type(held) is type(plain)


@pytest.mark.parametrize("name", ["list", "deque", "dict", "OrderedDict", "defaultdict"])
def test_a_copy_is_an_input_as_the_container_is(name):
    held = MAKERS[name]([1.0, 2.0])
    g = tapec.value_and_grad(lambda x: x * copy.deepcopy(held)[0] + x * copy.copy(held)[1])
    assert g(3.0) == (9.0, 3.0)
    held[0] = 5.0
    assert g(3.0) == (21.0, 7.0)
    assert g.cache_info().compilations == 1


def test_nested_containers_and_objects_are_copied_deeply():
    model = types.SimpleNamespace(layers=[{"w": np.ones(2)}], history=[[1.0]])

    @tapec.grad
    def f(x):
        mine = copy.deepcopy(model.layers)
        mine[0]["w"] *= x
        mine.append(x)
        other = copy.deepcopy(model)
        other.history[0].append(x)
        return np.sum(mine[0]["w"]) + len(other.history[0])

    for _ in range(2):
        assert f(3.0) == 2.0
        assert len(model.layers) == 1 and model.history == [[1.0]]
        np.testing.assert_array_equal(model.layers[0]["w"], np.ones(2))


def test_one_object_in_two_places_is_copied_once():
    inner = [1.0]
    held = {"a": inner, "b": inner, "c": [1.0]}

    @tapec.compile
    def f(x):
        mine = copy.deepcopy(held)
        mine["a"][0] = x
        return mine["b"][0], mine["c"][0], mine["a"] is mine["b"]

    assert f(7.0) == (7.0, 1.0, True)
    assert inner == [1.0]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copied_number_of_python_stays_one(copied):
    numbers = [1.5, 0.0]
    x = np.ones(2, np.float32)
    assert tapec.compile(lambda x: x * copied(numbers[0]))(x).dtype == np.float32
    assert tapec.compile(lambda x: x * copied(numbers)[0])(x).dtype == np.float32
    with pytest.raises(ZeroDivisionError):
        tapec.compile(lambda x: x / copied(numbers[1]))(1.0)


@pytest.mark.parametrize(
    "joined",
    [
        lambda x: list(deque + collections.deque([x])),
        lambda x: list(deque * 2) + [x],
        lambda x: list((ordered | {"c": x}).items()),
        lambda x: list(({"c": x} | ordered).items()),
        lambda x: list((counted | {"c": x}).items()),
    ],
)
def test_operators_make_containers_of_their_own(joined):
    assert tapec.compile(joined)(2.0) == joined(2.0)
    assert list(deque) == [1.0, 2.0] and ordered == counted == {"a": 1.0}


deque = collections.deque([1.0, 2.0], maxlen=4)
ordered = collections.OrderedDict(a=1.0)
counted = collections.defaultdict(float, a=1.0)


def test_attributes_of_dicts_are_read_and_written():
    table = Table({0: 3.0})
    f = tapec.value_and_grad(lambda x: table.scaled(x) + table.rate * x + copy.copy(table).rate)
    assert f(1.0) == (10.0, 8.0)
    table.rate = 5.0
    assert f(1.0) == (25.0, 20.0)

    setting = tapec.compile(lambda rate: table.set_rate(rate))
    for rate in (6.0, 7.0):
        setting(rate)
        assert table.rate == rate
    with pytest.raises(AttributeError, match="nothing"):
        tapec.compile(lambda x: x * table.nothing)(1.0)


class ByAttribute(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class ItsOwnAttributes(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


@pytest.mark.parametrize("kind", [ByAttribute, ItsOwnAttributes])
def test_dicts_whose_items_are_attributes(kind):
    config = kind(rate=1.0, inner=kind(m=2.0))
    f = tapec.value_and_grad(lambda x: config.rate * x * config.inner.m)
    assert f(1.0) == (2.0, 2.0)
    config.rate, config.inner.m = 3.0, 5.0
    assert f(1.0) == (15.0, 15.0)

    @tapec.compile
    def setting(x):
        config.rate = x * 1.0
        config.more = x
        return config.rate, config["more"], len(config)

    for x in (7.0, 8.0):
        assert setting(x) == (x, x, 3)
        assert config == {"rate": x, "inner": {"m": 5.0}, "more": x}
