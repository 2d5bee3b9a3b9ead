"""Objects that are equal may be other ones to code: what a class says of equality leaves out attributes."""

from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pytest

import tapec

X = np.array([1.0, 2.0])


class Species:
    """Is equal to others of its name."""

    def __init__(self, name, mass):
        self.name, self.mass = name, mass

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


@dataclass(frozen=True)
class Layer:
    name: str
    w: np.ndarray = field(compare=False)

    @tapec.compile
    def out(self, x):
        return np.sum(x * self.w)


class Plain:
    def __init__(self, w):
        self.w = w

    @tapec.compile
    def out(self, x):
        return np.sum(x * self.w)


def same(compiled, f, *args):
    """Values, and the dtypes of results."""
    found, expected = compiled(*args), f(*args)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("kind", [lambda w: Layer("head", w), Plain])
@pytest.mark.parametrize("wrap", [dict, lambda held: [held["head"]]])
def test_a_compiled_method_of_an_object_that_is_replaced(kind, wrap):
    model = {"head": kind(X)}
    held = [wrap(model)]

    def loss(x):
        (layer,) = held[0].values() if type(held[0]) is dict else held[0]
        return layer.out(x)

    compiled = tapec.compile(loss)
    for k in (1.0, 1.0, 2.0, 3.0, 1.0):
        held[0] = wrap({"head": kind(k * X)})
        same(compiled, loss, X)


@pytest.mark.parametrize(
    "wrap", [lambda s: s, lambda s: [s], lambda s: (s, 1.0), lambda s: {"a": s}, lambda s: OrderedDict(a=s)]
)
def test_an_argument_that_is_equal_to_an_earlier_one(wrap):
    def f(x, given):
        s = given if isinstance(given, Species) else next(iter(given.values() if isinstance(given, dict) else given))
        return np.sum(x * s.mass)

    compiled = tapec.compile(f)
    for mass in (1.0, 1.0, 2.0, 3.0, 1.0):
        same(compiled, f, X, wrap(Species("H", mass)))


@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda items: defaultdict(float, items)])
def test_keys_of_an_argument_that_are_equal_to_earlier_ones(kind):
    oxygen = Species("O", 16.0)

    def f(x, amounts):
        return sum(np.sum(s.mass * x) * n for s, n in amounts.items())

    compiled = tapec.compile(f)
    for mass in (1.0, 1.0, 2.0, 3.0):
        same(compiled, f, X, kind([(Species("H", mass), 2.0), (oxygen, 1.0)]))
    hydrogen = Species("H", 1.0)
    for oxygen.mass in (16.0, 16.0, 17.0):  # the same keys, with other attributes
        same(compiled, f, X, kind([(hydrogen, 2.0), (oxygen, 1.0)]))


@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_numbers_that_are_keys_of_an_argument(kind):
    def f(x, parts):
        return sum([k * x for k in parts])

    compiled = tapec.compile(f)
    for keys in [(1, 2), (1.0, 2.0), (1, 2), (True, 2), (np.float32(1.0), 2), (1.0, 2.0)]:
        same(compiled, f, np.arange(3), kind([(k, 0.5) for k in keys]))


def test_captured_keys_and_members_that_are_replaced_by_equal_ones():
    amounts = [{}]
    members = [set()]

    def of_keys(x):
        return sum([np.sum(s.mass * x) * n for s, n in amounts[0].items()])

    def of_members(x):
        return sum([np.sum(s.mass * x) for s in members[0]])

    compiled = [(f, tapec.compile(f)) for f in (of_keys, of_members)]
    for mass in (1.0, 1.0, 2.0, 3.0, 1.0):
        amounts[0] = {Species("H", mass): 2.0, Species("O", 16.0): 1.0}
        members[0] = set(amounts[0])
        for f, found in compiled:
            same(found, f, X)


def test_captured_sets_are_told_by_order_and_class():
    held = [set()]

    def stacked(x):
        return np.stack([x[int(i)] * i for i in held[0]])

    compiled = tapec.compile(stacked)
    for chosen in [{0, 8}, {0, 8}, {8, 0}, {8.0, 0.0}, {8, 0}, frozenset({0, 8}), frozenset({8, 0})]:
        held[0] = chosen
        same(compiled, stacked, np.arange(10))


def test_static_values_that_are_equal():
    def f(x, static):
        return x * len(str(static if not isinstance(static, frozenset) else [*static]))

    compiled = tapec.compile(f, static_argnames="static")
    for static in [Decimal("0.5"), Decimal("0.50"), 1, 1.0, True, frozenset({1, 2}), frozenset({1.0, 2.0}), "a"]:
        same(compiled, f, 2.0, static)
        same(compiled, f, 2.0, static)


def test_whole_numbers_of_any_length():
    compiled = tapec.compile(lambda x, n: x * (n % 7), static_argnames="n")
    for n in (10**5000, 10**5000, 10**5000 + 1, 10**5000):
        assert compiled(2.0, n) == 2.0 * (n % 7)


def test_frozen_dataclasses_with_equal_fields_are_one_signature():
    @dataclass(frozen=True)
    class Config:
        steps: int
        rate: float = field(compare=False)

    def f(x, config):
        return x * config.rate**config.steps

    compiled = tapec.compile(f, static_argnames="config")
    for rate in (0.5, 0.5, 0.25, 0.5, 0.25):
        same(compiled, f, 3.0, Config(2, rate))
    assert compiled.cache_info().misses == 2
