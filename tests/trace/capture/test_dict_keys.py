"""Keys of captured dicts, of every hashable kind: found again by the key itself."""

import collections
import enum
import fractions
import re
import types
from dataclasses import dataclass
from datetime import date

import numpy as np
import pytest

import tapec


class Kind(enum.Enum):
    A = 1
    B = 2


class Number(enum.IntEnum):
    A = 1
    B = 2


class Name(enum.StrEnum):
    A = "a"
    B = "b"


class Bits(enum.Flag):
    A = 1
    B = 2


class Mixed(int, enum.Enum):
    A = 1
    B = 2


@dataclass(frozen=True)
class Layer:
    name: str
    place: int


class Node:
    pass


class Alike:
    """All of one text."""

    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return "alike"

    def __hash__(self):
        return hash(self.n)

    def __eq__(self, other):
        return isinstance(other, Alike) and self.n == other.n


class Short(str):
    def __repr__(self):
        return "short"


def act(x):
    return x


def other(x):
    return 2.0 * x


KEYS = {
    "enum": (Kind.A, Kind.B),
    "IntEnum": (Number.A, Number.B),
    "StrEnum": (Name.A, Name.B),
    "Flag": (Bits.A, Bits.A | Bits.B),
    "int and Enum": (Mixed.A, Mixed.B),
    "frozen dataclass": (Layer("a", 1), Layer("b", 2)),
    "objects": (Node(), Node()),
    "objects of one text": (Alike(1), Alike(2)),
    "a class of strings": (Short("a"), Short("b")),
    "functions": (act, other),
    "builtins": (np.sin, len),
    "classes": (Node, int),
    "NumPy integers": (np.int64(1), np.int64(2)),
    "NumPy floats": (np.float32(0.5), np.float64(np.inf)),
    "floats": (float("nan"), float("inf")),
    "numbers": (0.5, 2 + 1j),
    "dates": (date(2020, 1, 2), date(2020, 1, 3)),
    "fractions": (fractions.Fraction(1, 3), fractions.Fraction(2, 3)),
    "frozensets": (frozenset({1, 2}), frozenset()),
    "tuples": (("a", 1), ("a", (2, None))),
    "tuples of enums": ((Kind.A, "w"), (Number.B, Layer("b", 2))),
    "bytes and None": (b"a", None),
    "ellipsis": (..., True),
}
KINDS = {
    "dict": dict,
    "OrderedDict": collections.OrderedDict,
    "defaultdict": lambda x: collections.defaultdict(float, x),
    "of a user's": type("Table", (dict,), {"__module__": __name__}),
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_item_is_read_anew(keys, kind):
    a, b = keys
    table = kind({a: 2.0, b: 3.0})
    grad = tapec.grad(lambda x: table[a] * x**2 + table.get(b) * x)
    assert [grad(1.0) for _ in range(3)] == [7.0] * 3
    table[a] = 10.0
    assert grad(1.0) == 23.0
    table[b] = 4.0
    assert [grad(1.0) for _ in range(3)] == [24.0] * 3


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_a_loop_over_items_is_read_anew(keys):
    table = {key: np.array([2.0, 3.0]) for key in keys}
    grad = tapec.grad(
        lambda x: sum([np.sum(v * x) for v in table.values()]) + sum([np.sum(table[k] * x) for k in table])
    )
    assert [grad(1.0) for _ in range(3)] == [20.0] * 3
    for key in table:
        table[key] = np.array([1.0, 1.0])
    assert [grad(1.0) for _ in range(3)] == [8.0] * 3
    del table[keys[0]]
    assert [grad(1.0) for _ in range(3)] == [4.0] * 3


@pytest.mark.parametrize("keys", [k for k in KEYS.values() if not isinstance(k[0], (float, np.floating))])
def test_many_numbers_are_compared_with_their_keys(keys):
    a, b = keys
    table = {a: 2.0, **{(n, "other"): 1.0 for n in range(5000)}}
    grad = tapec.grad(lambda x: table[a] * x if a in table else x)
    assert [grad(1.0) for _ in range(2)] == [2.0] * 2
    table[a] = 5.0
    assert [grad(1.0) for _ in range(2)] == [5.0] * 2
    table[b] = table.pop(a)
    assert [grad(1.0) for _ in range(2)] == [1.0] * 2


def test_a_captured_number_is_a_key_of_many():
    table, key = {0.5: 2.0, **{n: 1.0 for n in range(5000)}}, 0.5
    grad = tapec.grad(lambda x: table[key] * x)
    for key, value in ((0.5, 2.0), (7.0, 1.0), (0.5, 3.0), (8.0, 4.0)):  # the function reads the key
        table[key] = value
        assert [grad(1.0) for _ in range(2)] == [value] * 2


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_whether_a_key_is_there_is_a_fact(keys):
    a, b = keys
    table = {a: 2.0}
    grad = tapec.grad(lambda x: x * table[b] if b in table else -x)
    assert grad(1.0) == -1.0
    table[b] = 3.0
    assert grad(1.0) == 3.0


def test_equal_keys_are_the_same_as_in_every_dict():
    table = {Layer("a", 1): 2.0, 1: 3.0, 2.5: 4.0}
    grad = tapec.grad(lambda x: x * table[Layer("a", 1)] + x * table[True] + x * table[np.float64(2.5)])
    assert grad(1.0) == 9.0
    table.update({Layer("a", 1): 5.0, True: 6.0, np.float32(2.5): 7.0})
    assert grad(1.0) == 18.0


def test_equal_keys_of_other_types_are_seen_in_a_loop():
    table = {1: 2.0}
    f = tapec.compile(lambda x: x * [len(type(k).__name__) for k in table][0])  # noqa: RUF015
    for key in (1, 1.0, True, np.float32(1.0), Number.A, (1, 2), (1.0, 2), Layer("a", 1), 1):
        table.clear()
        table[key] = 2.0
        assert f(3.0) == 3.0 * len(type(key).__name__), key


def test_captured_objects_and_functions_are_keys_themselves():
    node = Node()
    node.rate = 2.0
    weights, inner = {node: 3.0, (node, "w"): 4.0, act: 5.0}, {"node": node}

    def loss(x):
        made = {node: x, act: 2.0}
        return x * (weights[node] + weights[node, "w"] + weights[act]) * node.rate + made[node] + made[act]

    grad, by_name = tapec.grad(loss), tapec.grad(lambda x: x * weights[inner["node"]])
    assert [grad(1.0) for _ in range(3)] == [25.0] * 3 and by_name(1.0) == 3.0
    node.rate, weights[node], weights[act] = 1.0, 1.0, 1.0
    assert [grad(1.0) for _ in range(3)] == [7.0] * 3 and by_name(1.0) == 1.0


def test_what_a_key_holds_is_read_anew():
    node = Node()
    node.rate = 2.0
    weights = {node: 3.0}
    grad = tapec.grad(lambda x: sum([k.rate * w * x for k, w in weights.items()]))
    assert grad(1.0) == 6.0
    node.rate = 10.0
    assert grad(1.0) == 30.0


def test_what_a_run_stores_by_such_a_key_is_there_afterwards():
    table = {Kind.A: 1.0}

    @tapec.compile
    def f(x):
        table[Kind.B] = np.sum(x)
        return table[Kind.A] * x

    for value in (1.0, 2.0, 3.0):
        f(np.full(2, value))
        assert table == {Kind.A: 1.0, Kind.B: 2 * value}


def test_a_key_is_told_without_its_address():
    table = {Kind.A: np.ones(2), Node(): np.ones(2), act: np.ones(2)}
    f = tapec.compile(lambda x: sum([np.sum(v * x) for v in table.values()]))
    assert not re.search("0x[0-9a-f]", str(f.explain(1.0)) + f.source(1.0))


def test_captured_floats_are_keys_by_their_values():
    held = types.SimpleNamespace(rate=2.5, ends=(0.0, 1.0))
    table = {2.5: 1.0, 3.5: 7.0}

    def f(x):
        counts = {held.rate: 1.0}
        counts[held.rate] += 1.0
        return np.sum(x) * table[held.rate] * len({held.ends, (0.0, 1.0)}) * sum(k * v for k, v in counts.items())

    g = tapec.grad(f)
    for rate, ends in ((2.5, (0.0, 1.0)), (3.5, (0.0, 1.0)), (3.5, (0.0, 2.0))):
        held.rate, held.ends = rate, ends
        for _ in range(2):
            np.testing.assert_allclose(g(np.ones(2)), f(np.array([1.0, 0.0])))


def test_arguments_are_no_keys():
    with pytest.raises(TypeError, match="unhashable type: 'Tensor'.*Fix"):
        tapec.grad(lambda x: np.sum(x) * len({x[0]}))(np.ones(2))
