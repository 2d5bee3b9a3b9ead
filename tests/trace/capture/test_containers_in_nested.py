"""Captured containers that are read inside a nested transform: compiled once, and never stale."""

import collections
import types

import numpy as np
import pytest

import tapec

X = np.array([0.3, 0.7, 1.1])
V = np.array([1.0, 2.0, 3.0])


class Params(dict):
    """Is a dict of the user's own."""

    scale = 1.0

    def scaled(self, name):
        return self[name] * self.scale


def state():
    d = {"w": np.ones(3), "b": 1.5, "k": 2, "name": "q"}
    rows = [np.ones(3), 2.0, 3, [1.0, {"a": np.full(3, 2.0)}]]
    return types.SimpleNamespace(
        d=d,
        rows=rows,
        pair=(np.ones(3), 2.0, {"s": 3.0}),
        own=Params(w=2.0),
        default=collections.defaultdict(float, {"w": 2.0}),
        queue=collections.deque([1.0, 2.0]),
        long=tuple([np.full(3, 0.1 * k) for k in range(150)]),
        more=[0.5 * k for k in range(200)],
    )


HELD = state()


def by_keyword(x, b=1.0, **others):
    return np.sum(x**3) * b * len(others)


READS = {
    "items of a dict": lambda x: np.sum(HELD.d["w"] * x**3) * HELD.d["b"] + (np.sum(x**2) if HELD.d["k"] == 2 else 0.0),
    "get": lambda x: np.sum(x**3) * HELD.d.get("b") * HELD.d.get("z", 2.0),
    "in": lambda x: np.sum(x**3) * (2.0 if "z" in HELD.d else 3.0),
    "keys": lambda x: np.sum(x**3) * len("".join(HELD.d)),
    "keywords": lambda x: by_keyword(x, **HELD.d),
    "copy": lambda x: np.sum(x**3) * dict(HELD.d)["b"],
    "items of a list": lambda x: np.sum(HELD.rows[0] * x**3 * HELD.rows[1]),
    "last": lambda x: np.sum(HELD.rows[-1][1]["a"] * x**3),
    "slice": lambda x: sum([np.sum(v * x**3) for v in HELD.rows[:2]]),
    "len": lambda x: np.sum(x**3) * len(HELD.rows) / len(HELD.d),
    "iteration": lambda x: sum([np.sum(v * x**3) for v in HELD.rows if not isinstance(v, list)]),
    "tuple": lambda x: np.sum(HELD.pair[0] * x**3) * HELD.pair[1] * HELD.pair[2]["s"],
    "long tuple": lambda x: np.sum(HELD.long[7] * x**3) * len(HELD.long) + np.sum(HELD.long[-1] * x**2),
    "own class": lambda x: np.sum(x**3) * HELD.own.scaled("w"),
    "defaultdict": lambda x: np.sum(x**3) * HELD.default["w"],
    "deque": lambda x: np.sum(x**3) * HELD.queue[0] * HELD.queue[-1],
    "many": lambda x: np.sum(x**3) * sum(HELD.more[3:6]) + HELD.more[7],
    "sum of many": lambda x: np.sum(x**3) * sum(HELD.more),
    "array of many": lambda x: np.sum(x**3) * np.mean(np.array(HELD.more)),
}


def by_differences(read, make):
    """Return the derivative along V, of the derivative along V where that is nested twice."""
    h = 1e-4 if make is twice else 1e-6
    after, here, before = (read(X + k * h * V) for k in (1, 0, -1))
    return (after - 2 * here + before) / h**2 if make is twice else (after - before) / (2 * h)


def of_lambda(read):
    return lambda x: tapec.grad(lambda y: read(y))(x) @ V


def of_compiled(read):
    inner = tapec.grad(read)
    return lambda x: inner(x) @ V


def of_helper(read):
    def helper(x):
        def inner(y):
            return read(y) * 1.0

        return tapec.value_and_grad(inner)(x)[1]

    return lambda x: helper(x) @ V


def twice(read):
    return lambda x: tapec.grad(lambda z: tapec.grad(read)(z) @ V)(x) @ V


CHANGES = [
    lambda: HELD.d.update(b=2.5),
    lambda: HELD.d["w"].__setitem__(1, 4.0),
    lambda: HELD.d.update(w=np.full(3, 0.5)),
    lambda: HELD.d.update(k=3),
    lambda: HELD.d.update(z=7.0),
    lambda: HELD.d.pop("z"),
    lambda: HELD.rows.__setitem__(1, 4.0),
    lambda: HELD.rows.insert(1, np.zeros(3)),
    lambda: HELD.rows[-1][1].update(a=np.arange(3.0)),
    lambda: HELD.rows.__setitem__(0, np.arange(3.0)),
    lambda: setattr(HELD, "pair", (np.full(3, 2.0), 5.0, {"s": 1.0})),
    lambda: HELD.pair[2].update(s=4.0),
    lambda: HELD.long[7].fill(0.25),
    lambda: setattr(HELD, "long", HELD.long[1:]),
    lambda: HELD.own.update(w=5.0),
    lambda: setattr(Params, "scale", 3.0),
    lambda: HELD.default.update(w=5.0),
    lambda: HELD.queue.append(5.0),
    lambda: HELD.queue.rotate(),
    lambda: HELD.more.__setitem__(4, 0.25),
    lambda: HELD.more.append(3.0),
    lambda: HELD.more.__setitem__(100, -1.0),
]


@pytest.fixture(autouse=True)
def _as_it_was():
    yield
    vars(HELD).update(vars(state()))
    Params.scale = 1.0


@pytest.mark.parametrize("make", [of_lambda, of_compiled, of_helper, twice])
@pytest.mark.parametrize("name", READS)
def test_never_stale_and_compiled_once(name, make):
    g = tapec.compile(make(READS[name]))
    for change in [lambda: None, *CHANGES]:
        change()
        expected = by_differences(READS[name], make)
        np.testing.assert_allclose(g(X), expected, rtol=1e-5)
        before = g.cache_info()
        np.testing.assert_allclose(g(X), expected, rtol=1e-5)
        assert g.cache_info().compilations == before.compilations, "compiled again for the same state"
    assert g.cache_info().compilations <= 6
    assert "recorded anew" not in str(g.explain(X))


@pytest.mark.parametrize("make", [of_lambda, of_compiled, of_helper])
def test_what_a_nested_function_stores(make):
    calls, last = [], {"x": None}

    def stores(x):
        calls.append(len(calls))
        last["x"] = 2.0
        return np.sum(x**3) * len(calls) * last["x"]

    g = tapec.grad(make(stores))
    for k in range(1, 4):
        done = len(calls)
        np.testing.assert_allclose(g(X), 6 * X * V * 2.0 * (done + 1))
        assert calls == list(range(done + 1)) and last == {"x": 2.0}, k


class Plain:
    pass


@pytest.mark.parametrize("kind", [Plain, types.SimpleNamespace])
@pytest.mark.parametrize("make", [of_lambda, of_compiled, of_helper])
def test_attributes_that_a_nested_function_sets(make, kind):
    held = kind()
    held.calls, held.last, held.params = 0, None, {"w": 2.0}

    def stores(x):
        held.calls += 1
        held.last = held.params["w"] * 3.0
        return np.sum(x**3) * held.last

    g = tapec.grad(make(stores))
    for w in (2.0, 2.0, 5.0):
        held.params["w"] = w
        np.testing.assert_allclose(g(X), 6 * X * V * w * 3.0)
        assert held.last == w * 3.0 and type(held.last) is not tapec.Tensor
    assert held.calls == 3


@pytest.mark.parametrize("kind", [dict, Params])
def test_what_the_function_around_has_put_into_a_container(kind):
    def outer(a):
        held = kind(w=a * 2.0, n=3)
        rows = [a, held]
        inner = lambda y: np.sum(y**2) * held["w"] * rows[0] + rows[-1]["n"]
        return np.sum(tapec.grad(inner)(X))

    g = tapec.value_and_grad(outer)
    for a in (1.0, 2.0, 3.0):
        value, gradient = g(a)
        np.testing.assert_allclose(value, np.sum(2 * X) * 2 * a**2)
        np.testing.assert_allclose(gradient, np.sum(2 * X) * 4 * a)


def test_an_array_of_a_container_with_a_gradient():
    weights = [np.ones(3), np.full(3, 2.0)]

    def outer(x, w):
        params = {"layers": [w, weights[1]]}
        energy = lambda y: np.sum(np.tanh(y * params["layers"][0]) * params["layers"][1] * weights[0])
        return np.sum(tapec.grad(energy)(x) ** 2)

    def by_hand(x, w):
        t = np.tanh(x * w)
        return np.sum(((1 - t**2) * w * weights[1] * weights[0]) ** 2)

    g = tapec.value_and_grad(outer, argnums=1)
    for k in range(4):
        w = np.full(3, 0.5 + k)
        value, gradient = g(X, w)
        np.testing.assert_allclose(value, by_hand(X, w))
        numbers = [(by_hand(X, w + h) - by_hand(X, w - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(gradient, numbers, rtol=1e-6, atol=1e-8)
        weights[k % 2] = weights[k % 2] * 1.5
