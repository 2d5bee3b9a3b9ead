"""The class of a captured container is a fact: what stands in its place may be of another one, with the same items."""

import collections
from typing import NamedTuple

import numpy as np
import pytest

import tapec

X = np.array([0.4, -0.8])
Normal = collections.namedtuple("Normal", "mean scale")
Uniform = collections.namedtuple("Uniform", "low high")


class Typed(NamedTuple):
    mean: float
    scale: float


class Table(dict):
    pass


class Other(dict):
    pass


class Pair(tuple):
    pass


class Items(list):
    pass


SEQUENCES = [
    Normal(0.5, 2.0), Uniform(0.5, 2.0), [0.5, 2.0], (0.5, 2.0), Typed(0.5, 2.0), collections.deque([0.5, 2.0]),
    np.array([0.5, 2.0]), Pair((0.5, 2.0)), Items([0.5, 2.0]), collections.UserList([0.5, 2.0]), Normal(0.5, 2.0),
]  # fmt: skip
MAPPINGS = [
    make({"a": 0.5, "b": 2.0})
    for make in (dict, collections.OrderedDict, Table, Other, lambda x: collections.defaultdict(float, x), dict)
]
SETS = [{1, 2}, frozenset({1, 2}), {1, 2}]
MANY = [[0.5] * 500, (0.5,) * 500, collections.deque([0.5] * 500), [0.5] * 500]
NUMBERS = [[1, 2], (1, 2), collections.deque([1, 2]), [1, 2]]
FAMILIES = {"sequences": SEQUENCES, "mappings": MAPPINGS, "sets": SETS, "many": MANY, "integers": NUMBERS}

held = None


def by_isinstance(x):
    kinds = (Normal, Uniform, Typed, Table, Other, collections.defaultdict, collections.OrderedDict, list, Pair, dict)
    for n, kind in enumerate((*kinds, tuple, collections.deque, frozenset, set)):
        if isinstance(held, kind):
            return np.sum(x) * (n + 1.0)
    return np.sum(x) * 100.0


def by_name(x):
    return np.sum(x) * (2.0 if hasattr(held, "mean") else 3.0 if hasattr(held, "_fields") else 4.0)


def by_methods(x):
    names = ("append", "appendleft", "keys", "move_to_end", "default_factory", "add", "count")
    return np.sum(x) * sum([2.0**n for n, name in enumerate(names) if hasattr(held, name)])


@pytest.mark.parametrize("function", [by_isinstance, by_name, by_methods])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_another_class(family, function, monkeypatch):
    read = tapec.value_and_grad(function)
    for value in [*family, *family]:
        monkeypatch.setitem(globals(), "held", value)
        got, slope = read(X)
        want = function(X)
        np.testing.assert_allclose(got, want, err_msg=type(value).__name__)
        np.testing.assert_allclose(slope, np.full(2, want / X.sum()))


def test_names_of_a_named_tuple(monkeypatch):
    def loss(x):
        return np.sum(((x - held.mean) / held.scale) ** 2) if isinstance(held, (Normal, Typed)) else np.sum(x) / held[1]

    read = tapec.grad(loss)
    for prior in (Normal(0.5, 2.0), Uniform(0.5, 2.0), Typed(0.5, 2.0), [0.5, 2.0], Normal(0.25, 4.0)):
        monkeypatch.setitem(globals(), "held", prior)
        want = 2 * (X - prior[0]) / prior[1] ** 2 if hasattr(prior, "mean") else np.full(2, 1 / prior[1])
        np.testing.assert_allclose(read(X), want)


def test_numbers_in_a_container_of_one_class_are_inputs(monkeypatch):
    read = tapec.grad(lambda x: np.sum(x) * held[0] * held[1])
    for n in range(5):
        monkeypatch.setitem(globals(), "held", Normal(n + 1.0, 2.0))
        assert read(X)[0] == 2.0 * (n + 1)
    assert read.cache_info().compilations == 1


def test_an_attribute_that_a_run_sets_on_a_dict_is_set_at_each_call():
    table = Table(a=0.5)

    @tapec.compile
    def f(x):
        table.last = np.sum(x)
        return np.sum(x * table["a"])

    for k in range(4):
        x = X + k
        f(x)
        assert type(table.last) is np.float64
        np.testing.assert_allclose(table.last, np.sum(x))


def test_a_plain_dict_takes_no_attributes():
    table = {"a": 0.5}

    def f(x):
        table.last = 1.0
        return np.sum(x)

    with pytest.raises(AttributeError, match="last"):
        tapec.compile(f)(X)


class Scaled(dict):
    scale = 1.0


def test_attributes_of_a_dict_are_read_at_each_call():
    table = Scaled(a=0.5)

    def f(x):
        more = getattr(table, "more", 0.0)
        return np.sum(x * table["a"]) * table.scale + np.sum(x * more)

    derivative = tapec.grad(f)
    np.testing.assert_allclose(derivative(X), [0.5, 0.5])
    table.scale = 3.0
    np.testing.assert_allclose(derivative(X), [1.5, 1.5])
    table.scale, table.more = 4.0, np.array([1.0, 2.0])
    np.testing.assert_allclose(derivative(X), [3.0, 4.0])
    table.more = np.array([3.0, 5.0])
    np.testing.assert_allclose(derivative(X), [5.0, 7.0])
    table.more[0] = 4.0
    np.testing.assert_allclose(derivative(X), [6.0, 7.0])
    del table.scale
    np.testing.assert_allclose(derivative(X), [4.5, 5.5])


def test_an_attribute_of_the_class_of_a_dict_is_a_fact(monkeypatch):
    table = Scaled(a=0.5)
    derivative = tapec.grad(lambda x: np.sum(x * table["a"]) * table.scale)
    np.testing.assert_allclose(derivative(X), [0.5, 0.5])
    monkeypatch.setattr(Scaled, "scale", 3.0)
    np.testing.assert_allclose(derivative(X), [1.5, 1.5])


def test_an_attribute_of_a_dict_that_counts_calls():
    table = Scaled(a=0.5)
    table.calls = 0

    @tapec.compile
    def f(x):
        table.calls += 1
        return np.sum(x) * table.calls

    for k in range(4):
        np.testing.assert_allclose(f(X), np.sum(X) * (k + 1))
        assert table.calls == k + 1


class Underlined(dict):
    """Has the names that a stand-in might take for itself."""

    def __init__(self, **items):
        super().__init__(**items)
        self._path, self._real, self._captures, self._attributes = 2.0, 3.0, [4.0], {"a": 5.0}

    def _note(self, key):
        return self[key] * self._path

    def _mirror(self):
        return 7.0


def test_names_of_a_dict_of_ones_own_are_its_own():
    table = Underlined(a=0.5)

    @tapec.grad
    def f(x):
        return np.sum(x) * (
            table._note("a") + table._real + table._captures[0] + table._attributes["a"] + table._mirror()
        )

    for path in (2.0, 6.0):
        table._path = path
        np.testing.assert_allclose(f(X), np.full(2, 0.5 * path + 3.0 + 4.0 + 5.0 + 7.0))
