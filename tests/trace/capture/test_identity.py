"""Which captured objects are one is a fact: `is`, `in`, `==` without `__eq__`, `id` and keys answer as plain Python."""

from __future__ import annotations

import enum
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapec
from tests.properties import parameters

X = np.array([0.4, -0.8, 1.2])


class Node:
    def __init__(self, weight: Any = 1.0, *children: Any) -> None:
        self.weight, self.children = weight, list(children)


class Slots:
    __slots__ = ("children", "weight")

    def __init__(self, weight: Any = 1.0, *children: Any) -> None:
        self.weight, self.children = weight, list(children)


class Equal(Node):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and self.weight == other.weight

    def __hash__(self) -> int:
        return 7


class Mode(enum.Enum):
    A = 1
    B = 2


class State:
    """Holds what the functions below read: two names, `a` and `b`, for what may be one object."""

    a: Any = None
    b: Any = None


S = State()


def twice(condition: Any) -> float:
    return 2.0 if condition else 1.0


def agrees(f: Callable[..., Any], steps: int, step: Callable[[int], Any]) -> None:
    """Hold value and gradient against plain NumPy, before and after each change of what is captured."""
    g, c = tapec.value_and_grad(f), tapec.compile(f)
    for k in range(steps):
        step(k)
        for _ in range(3):
            want = f(X)
            value, gradient = g(X)
            np.testing.assert_allclose(value, want)
            np.testing.assert_allclose(c(X), want)
            np.testing.assert_allclose(gradient, np.full(3, f(np.ones(3)) / 3))


def make_array() -> Any:
    return np.ones(3)


def make_list() -> Any:
    return [1.0, 2.0]


KINDS: dict[str, Callable[[], Any]] = {
    "object": Node,
    "slots": Slots,
    "object with __eq__": Equal,
    "sentinel": object,
    "array": make_array,
    "list": make_list,
    "long list": lambda: list(range(5000)),
    "dict": lambda: {"a": 1.0},
    "ordered dict": lambda: OrderedDict(a=1.0),
    "deque": lambda: deque([1.0]),
    "tuple": lambda: tuple([1.0, Node()]),
    "plain tuple": lambda: tuple([1, "a"]),
    "set": lambda: {1, 2},
    "function": lambda: lambda: 1,
    "texts": lambda: np.array(["a", "b"]),
}

WAYS: dict[str, Callable[[Any], Any]] = {
    "is": lambda x: np.sum(x) * twice(S.a is S.b),
    "is not": lambda x: np.sum(x) * twice(S.a is not S.b),
    "id": lambda x: np.sum(x) * twice(id(S.a) == id(S.b)),
    "ids": lambda x: np.sum(x) * len({id(v) for v in (S.a, S.b)}),
    "local": lambda x: (lambda seen: np.sum(x) * twice(any(v is S.b for v in seen)))([S.a]),
}

OF_OBJECTS: dict[str, Callable[[Any], Any]] = {
    "==": lambda x: np.sum(x) * twice(S.a == S.b),
    "in a list": lambda x: np.sum(x) * twice(S.b in [None, S.a]),
    "in a tuple": lambda x: np.sum(x) * twice(S.b in (S.a,)),
    "index": lambda x: np.sum(x) * [S.a, S.b].index(S.b),
    "count": lambda x: np.sum(x) * [S.a, S.b].count(S.b),
    "set": lambda x: np.sum(x) * len({S.a, S.b}),
    "key": lambda x: np.sum(x) * {S.a: 3.0}.get(S.b, 1.0),
}


def change(make: Callable[[], Any]) -> Callable[[int], Any]:
    """Let the two names lead to one object, to two, and to one again."""
    objects = [make(), make(), make()]
    pairs = [(0, 1), (0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (0, 1)]

    def step(k: int) -> None:
        S.a, S.b = (objects[n] for n in pairs[k])

    return step


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_two_names(way: Callable[[Any], Any], kind: Callable[[], Any]) -> None:
    agrees(way, 7, change(kind))


@pytest.mark.parametrize("way", OF_OBJECTS.values(), ids=OF_OBJECTS)
@pytest.mark.parametrize(
    "kind", [Node, Slots, object, lambda: lambda: 1], ids=["object", "slots", "sentinel", "function"]
)
def test_two_names_of_objects(way: Callable[[Any], Any], kind: Callable[[], Any]) -> None:
    agrees(way, 7, change(kind))


def test_both_states_of_one_name_are_seen_without_the_other_having_been_there() -> None:
    """What was one when the function was recorded is two at the next call, in code that asks in one way alone."""
    for first in (0, 1):
        for way in (*WAYS.values(), *OF_OBJECTS.values()):
            one, two = Node(), Node()
            f = tapec.compile(way)
            for k in (first, 1 - first):
                S.a, S.b = one, (one, two)[k]
                np.testing.assert_allclose(f(X), way(X))


MISSING = Node(0.0)


def with_default(x: Any, v: Any = MISSING) -> Any:
    return np.sum(x) * twice(v is MISSING)


def with_keyword(x: Any, *, v: Any = MISSING) -> Any:
    return np.sum(x) * twice(v is MISSING)


@pytest.mark.parametrize("f", [with_default, with_keyword])
def test_sentinel_defaults(f: Any) -> None:
    agrees(lambda x: f(x), 1, lambda k: None)
    agrees(f, 1, lambda k: None)
    g = tapec.compile(lambda x: f(x, v=Node(0.0)))
    np.testing.assert_allclose(g(X), np.sum(X))


# ---------------------------------------------------------------------------------------------------------------
# graphs
# ---------------------------------------------------------------------------------------------------------------
def total_by_list(node: Any, seen: list[Any]) -> Any:
    if node in seen:
        return 0.0
    seen.append(node)
    return node.weight + sum([total_by_list(n, seen) for n in node.children])


def total_by_identity(node: Any, seen: list[Any]) -> Any:
    if any(n is node for n in seen):
        return 0.0
    seen.append(node)
    return node.weight + sum([total_by_identity(n, seen) for n in node.children])


def total_by_set(node: Any, seen: set[Any]) -> Any:
    if node in seen:
        return 0.0
    seen.add(node)
    return node.weight + sum([total_by_set(n, seen) for n in node.children])


def total_by_id(node: Any, seen: dict[int, Any]) -> Any:
    if id(node) in seen:
        return 0.0
    seen[id(node)] = node
    return node.weight + sum([total_by_id(n, seen) for n in node.children])


def total_by_key(node: Any, seen: dict[Any, Any]) -> Any:
    if node not in seen:
        seen[node] = 0.0
        seen[node] = node.weight + sum([total_by_key(n, seen) for n in node.children])
        return seen[node]
    return 0.0


TOTALS: dict[str, Callable[[Any], Any]] = {
    "list": lambda node: total_by_list(node, []),
    "identity": lambda node: total_by_identity(node, []),
    "set": lambda node: total_by_set(node, set()),
    "id": lambda node: total_by_id(node, {}),
    "key": lambda node: total_by_key(node, {}),
}


@pytest.mark.parametrize("total", TOTALS.values(), ids=TOTALS)
@pytest.mark.parametrize("kind", [Node, Slots])
def test_graphs_with_shared_nodes_and_rings(total: Callable[[Any], Any], kind: Any) -> None:
    leaf = kind(2.0)
    left, right = kind(3.0, leaf), kind(5.0, leaf)
    root = kind(7.0, left, right)
    other = kind(2.0)

    def step(k: int) -> None:
        if k == 1:
            leaf.weight = 11.0
        elif k == 2:
            right.children[0] = other  # as heavy as the leaf was, and another one
        elif k == 3:
            other.children.append(root)  # a ring
        elif k == 4:
            right.children[0] = leaf
        elif k == 5:
            leaf.children.append(leaf)

    agrees(lambda x: np.sum(x) * total(root), 6, step)


def test_lists_in_rings() -> None:
    ring: list[Any] = [1.0]
    ring.append(ring)
    holder: dict[str, Any] = {"ring": ring, "value": 2.0}
    holder["self"] = holder

    def step(k: int) -> None:
        if k == 1:
            ring[0], holder["value"] = 3.0, 5.0
        elif k == 2:
            ring[1] = [4.0, ring]
        elif k == 3:
            holder["self"] = {"value": 7.0}

    agrees(lambda x: np.sum(x) * ring[1][0] * twice(ring[1] is ring) * holder["self"]["value"], 4, step)


# ---------------------------------------------------------------------------------------------------------------
# keys and members
# ---------------------------------------------------------------------------------------------------------------
def test_keys_that_are_objects() -> None:
    one, two = Node(2.0), Node(3.0)
    rates = {one: 5.0, two: 7.0}

    def step(k: int) -> None:
        S.a = [one, two, Node(2.0), one, one][k]
        if k == 4:
            one.weight = 9.0

    agrees(lambda x: np.sum(x) * rates.get(S.a, 1.0), 5, step)
    agrees(lambda x: np.sum(x) * twice(S.a in rates), 5, step)
    agrees(lambda x: np.sum(x) * sum([twice(n is S.a) for n in rates]), 5, step)
    agrees(lambda x: np.sum(x) * sum([twice(n is S.a) for n in rates.keys()]), 5, step)  # noqa: SIM118
    agrees(lambda x: np.sum(x) * sum([twice(n == S.a) * n.weight * v for n, v in rates.items()]), 5, step)


@pytest.mark.parametrize("kind", [set, frozenset])
def test_members_of_captured_sets(kind: Any) -> None:
    one, two = Node(2.0), Node(3.0)
    members = kind([one, two])

    def step(k: int) -> None:
        S.a = [one, two, Node(2.0), one, one][k]
        if k == 4:
            one.weight = 9.0

    agrees(lambda x: np.sum(x) * twice(S.a in members), 5, step)
    agrees(lambda x: np.sum(x) * sum([n.weight for n in members]), 5, step)
    agrees(lambda x: np.sum(x) * sum([twice(n == S.a) for n in members]), 5, step)


def test_the_id_of_an_object_is_a_key() -> None:
    one, two = Node(2.0), Node(3.0)
    by_id = {id(one): 5.0, id(two): 7.0}

    def step(k: int) -> None:
        S.a = [one, two, Node(2.0), one][k]

    agrees(lambda x: np.sum(x) * by_id.get(id(S.a), 1.0), 4, step)


# ---------------------------------------------------------------------------------------------------------------
# arrays
# ---------------------------------------------------------------------------------------------------------------
def test_tied_arrays() -> None:
    one, two = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 4.0])
    a, b = Node(one), Node(one)

    def loss(x: Any) -> Any:
        reg = np.sum(a.weight) if a.weight is b.weight else np.sum(a.weight) + np.sum(b.weight)
        return np.sum(x) * reg

    def step(k: int) -> None:
        a.weight, b.weight = [(one, one), (two, one), (two, two), (3 * one, 3 * one), (one, one)][k]

    agrees(loss, 5, step)


def test_an_array_by_two_names_is_one_input() -> None:
    a = Node(np.ones(3))
    b = Node(a.weight)
    f = tapec.grad(lambda x: np.sum(x * a.weight) + np.sum(x * b.weight))
    for k in range(3):
        a.weight = b.weight = np.full(3, 2.0 + k)
        np.testing.assert_allclose(f(X), 2 * a.weight)
    np.testing.assert_allclose(f(X), 2 * a.weight)
    assert len(parameters(f.source(X))) == 2
    a.weight = np.full(3, 9.0)
    np.testing.assert_allclose(f(X), a.weight + b.weight)


def test_tensors_of_an_outer_function_by_two_names() -> None:
    def outer(w: Any) -> Any:
        a, b = Node(w), Node(w)
        inner = tapec.grad(lambda x: np.sum(x**2 * a.weight) * (np.sum(b.weight) if a.weight is b.weight else 1.0))
        return np.sum(inner(X))

    w = np.array([1.0, 2.0, 3.0])
    want = [(outer(w + h) - outer(w - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(tapec.grad(outer)(w), want, rtol=1e-6)


W = np.array([1.0, 2.0, 3.0])


def test_an_argument_that_is_captured_as_well() -> None:
    """Two tensors stand for it: where nobody asks, that is right; where `is` asks, it is refused."""
    plain = tapec.grad(lambda x: np.sum(x * W))
    np.testing.assert_allclose(plain(W), W)
    np.testing.assert_allclose(plain(W + 1), W)
    f = tapec.compile(lambda x: np.sum(x * W) * twice(x is W))
    for _ in range(3):
        np.testing.assert_allclose(f(X), np.sum(X * W))
    with pytest.raises(tapec.UnsupportedError, match=r"the argument x is the array W.*copy\(\)"):
        f(W)
    np.testing.assert_allclose(f(X), np.sum(X * W))


def test_is_of_classes_functions_and_enums_asks_nothing_of_arrays() -> None:
    mode = Mode.A

    def loss(x: Any) -> Any:
        scale = 2.0 if mode is Mode.A else 1.0
        return np.sum(x * W) * scale * (3.0 if type(x) is list else 1.0) * (1.0 if twice is agrees else 2.0)

    f = tapec.grad(loss)
    np.testing.assert_allclose(f(W), 4 * W)
    f(W + 1)
    assert f.cache_info().compilations == 1


def test_an_array_as_two_arguments() -> None:
    def kernel(x: Any, y: Any) -> Any:
        k = np.exp(-((x[:, None] - y) ** 2))
        return k + 0.5 * np.eye(len(x)) if x is y else k

    f = tapec.compile(kernel)
    for a, b in ((X, X.copy()), (X, X), (X, X), (X, X.copy()), (W, W), (W, X)):
        for _ in range(3):
            np.testing.assert_allclose(f(a, b), kernel(a, b))


def test_the_derivative_by_one_of_two_arguments_that_are_one_array() -> None:
    def asks(x: Any, y: Any) -> Any:
        return np.sum(x * y) * (2.0 if x is y else 1.0)

    f = tapec.grad(asks)
    np.testing.assert_allclose(f(X, W), W)
    with pytest.raises(tapec.MismatchError, match="Arguments that are one array are two inputs"):
        f(X, X)
    np.testing.assert_allclose(f(X, W), W)

    def prints(x: Any, y: Any) -> Any:
        open  # a name that says the run is not to be repeated
        return np.sum(x * y) * twice(x is y)

    f = tapec.grad(prints)
    np.testing.assert_allclose(f(X, W), W)
    with pytest.raises(tapec.UnsupportedError, match="two arguments are one array"):
        f(X, X)


def test_a_tape_through_one_array_as_two_arguments() -> None:
    f = tapec.compile(lambda x, y: np.sum(x**2 * y) * twice(x is y))
    x = tapec.Variable(X)
    for _ in range(3):
        with tapec.GradientTape() as tape:
            loss = f(x, x)
        np.testing.assert_allclose(tape.gradient(loss, x), 6 * X**2)
