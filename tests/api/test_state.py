"""Functions that change what they read: results and what they leave behind, beside plain Python."""

from __future__ import annotations

import collections
import copy
import functools

import numpy as np
import pytest

import tapec
from tests.properties import has

X = np.array([1.0, 2.0, 3.0])


class State:
    def __init__(self):
        self.mean, self.var = np.zeros(3), np.ones(3)
        self.n, self.rate, self.training = 0, 0.9, True
        self.log: list = []
        self.table: dict = {}
        self.recent: collections.deque = collections.deque(maxlen=3)
        self.seen: set = set()
        self.nested = {"a": {"b": [1.0, 2.0]}}
        self.numbers = self.nested["a"]["b"]


def running_mean(s, x):
    s.mean = s.rate * s.mean + (1 - s.rate) * x
    return x - s.mean


def swap(s, x):
    s.mean, s.var = s.var, x
    return s.mean


def past(s, x):
    old, s.mean = s.mean, x
    return old


def schedule(s, x):
    s.n += 1
    return x * s.rate**s.n


def number_of_the_call(s, x):
    y = x * s.n
    s.n += 1
    return y


def integer_that_becomes_a_float(s, x):
    s.n = s.n + 0.5
    return x * s.n


def first_call(s, x):
    if s.training:
        s.training = False
        return x * 10.0
    return x


def toggle(s, x):
    s.training = not s.training
    return x if s.training else -x


def sum_of_a_growing_list(s, x):
    s.log.append(2 * x)
    return sum(s.log)


def growing_list_by_operator(s, x):
    s.log += [x, 2 * x]
    return s.log[-2] * len(s.log) + s.log[0]


def last_of_the_list(s, x):
    before = s.log[-1] if s.log else 0.0 * x
    s.log.append(x)
    return before + x


def mean_of_the_recent(s, x):
    s.recent.append(x)
    return sum(s.recent) / len(s.recent)


def growing_dict(s, x):
    s.table[len(s.table)] = x
    return sum(s.table.values())


def growing_set(s, x):
    s.seen.add(len(s.seen))
    return x * len(s.seen)


def item_of_a_list(s, x):
    s.nested["a"]["b"][0] += np.sum(x)
    return x * s.nested["a"]["b"][0]


def attribute_that_appears(s, x):
    if not hasattr(s, "cache"):
        s.cache = 3 * x
    return s.cache + x


def missing_key(s, x):
    try:
        return s.table["x"] + x
    except KeyError:
        s.table["x"] = 5 * x
        return x


def through_its_dict(s, x):
    s.__dict__["mean"] = s.mean + x
    return s.mean


def best_so_far(s, x):
    s.best = min(getattr(s, "best", np.inf), np.sum(x))
    return x * s.best


def by_another_name(s, x):
    s.nested["a"]["b"][0] = x * x
    return s.numbers[0] * x


def list_that_grows_by_another_name(s, x):
    s.numbers.append(np.sum(x))
    return x * sum(s.nested["a"]["b"])


CHANGES = [
    *(running_mean, swap, past, schedule, number_of_the_call, integer_that_becomes_a_float, first_call, toggle),
    *(sum_of_a_growing_list, growing_list_by_operator, last_of_the_list, mean_of_the_recent, growing_dict, growing_set),
    *(item_of_a_list, attribute_that_appears, missing_key, through_its_dict, best_so_far),
    *(by_another_name, list_that_grows_by_another_name),
]


def plain(x):
    """What a state holds, without tensors and arrays."""
    assert not isinstance(x, tapec.Tensor)
    if isinstance(x, (np.ndarray, np.generic)):
        return np.round(x, 12).tolist()
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, collections.deque)):
        return [plain(v) for v in x]
    return x


@pytest.mark.parametrize("size", [3, 40_000])
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_as_in_plain_python(change, size):
    here, there = State(), State()
    here.mean, here.var = np.zeros(size), np.ones(size)
    there.mean, there.var = np.zeros(size), np.ones(size)
    ways = (lambda x: change(here, x), functools.partial(change, here))
    f = tapec.compile(ways[size == 3])
    for k in range(5):
        x = np.linspace(1.0, 2.0, size) + k
        np.testing.assert_allclose(f(x), change(there, x))
        assert plain(vars(here)) == plain(vars(there))


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
def test_their_gradients(change):
    here, there = State(), State()
    f = tapec.grad(lambda x: np.sum(change(here, x) ** 2))
    for k in range(4):
        x = np.arange(1.0, 4.0) + k
        states = [copy.deepcopy(there) for _ in range(6)]
        h = 1e-6 * np.eye(3)
        up = [np.sum(change(s, x + e) ** 2) for s, e in zip(states[:3], h)]
        down = [np.sum(change(s, x - e) ** 2) for s, e in zip(states[3:], h)]
        np.testing.assert_allclose(f(x), (np.array(up) - down) / 2e-6, rtol=1e-6, atol=1e-6)
        change(there, x)


def test_two_names_of_a_list_that_become_two_lists():
    state = State()
    f = tapec.compile(lambda x: x * state.numbers[0] + state.nested["a"]["b"][0])
    assert f(2.0) == 3.0
    state.numbers = [5.0, 6.0]
    assert f(2.0) == 11.0
    state.nested["a"]["b"] = state.numbers
    assert f(2.0) == 15.0


def test_what_is_only_noted_costs_no_trace():
    state, count, calls = State(), [0], 0

    @tapec.compile
    def f(x):
        nonlocal calls
        calls += 1
        count[0] += 1
        state.n += 1
        state.log.append(x)
        return x * 2.0

    assert [f(float(k)) for k in range(3)] == [0.0, 2.0, 4.0]
    assert (calls, count, state.n, len(state.log)) == (1, [1], 1, 1)


def test_a_state_that_has_settled_is_compiled():
    state = State()
    f = tapec.compile(lambda x: first_call(state, x))
    assert [f(1.0) for _ in range(4)] == [10.0, 1.0, 1.0, 1.0]
    assert f.cache_info()[:3] == (2, 2, 2)


STEP = 0


def test_past_the_limit_states_are_no_new_code():
    global STEP
    f = tapec.grad(lambda x: np.sum(x * x) / (1 + STEP))
    with tapec.settings(path_limit=4):
        for STEP in range(4):
            np.testing.assert_allclose(f(X), 2 * X / (1 + STEP))
        assert f.cache_info().compilations == 4
        STEP = 4
        with pytest.warns(tapec.TapecWarning, match=r"than 4 states of what it captures \(STEP is 4, was 3\).*Mend"):
            f(X)
        for STEP in range(50):
            np.testing.assert_allclose(f(X), 2 * X / (1 + STEP))
        assert f.cache_info().compilations <= 6
        assert "more than 4 states" in str(f.explain(X))


def test_explain_says_what_is_changed():
    state = State()
    f = tapec.compile(lambda x: schedule(state, x))
    assert "recorded anew at each call, because it changes state.n, which it reads" in str(f.explain(1.0))


def test_explain_speaks_of_this_call():
    state = State()
    f = tapec.compile(lambda x: first_call(state, x))
    state.training = False
    f(1.0)
    state.training = True
    f(1.0)
    assert "recorded anew" not in str(f.explain(1.0))


def test_what_is_no_code_of_all_calls_is_not_exported(tmp_path):
    state = State()
    f = tapec.compile(lambda x: schedule(state, x))
    with pytest.raises(tapec.TapecError, match="cannot be exported: it changes state.n, which it reads"):
        f.export(tmp_path / "f.py", 1.0)
    settled = tapec.compile(lambda x: first_call(state, x))
    assert not has(settled.source(1.0), "x * 10") and not has(settled.source(1.0), "x * 10.0")
    settled.export(tmp_path / "f.py", 1.0)
    with pytest.raises(tapec.TapecError, match="cannot be exported: it changes state.n"):
        tapec.jacobian(lambda x: schedule(state, x), sparse=True).export(tmp_path / "f.py", np.ones(2))


class Result:
    def __init__(self, *values):
        self.values = list(values)

    def itself(self, x):
        self.values = [x * x]
        return self


@pytest.mark.parametrize("size", [3, 300_000])
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda x: (v for v in x), "generator"),
        (lambda x: map(np.sin, x), "map"),
        (lambda x: {"parts": zip(x, x)}, "zip"),
        (lambda x: Result(x * 2), "Result"),
        (lambda x: lambda y: x * y, "function"),
    ],
)
def test_results_that_would_not_change_any_more(make, kind, size):
    for transform in (tapec.compile, lambda f: tapec.value_and_grad(lambda x: (np.sum(x), f(x)), has_aux=True)):
        with pytest.raises(tapec.UnsupportedError, match=rf"test_state.py:\d+: the function returns a {kind}.*Mend"):
            transform(make)(np.ones(size))


def test_objects_that_were_there_before_come_back():
    result, constant = Result(1.0), Result("a")
    f = tapec.compile(lambda x: (result.itself(x), constant, Result("b"), np.sin))
    for x in (2.0, 3.0):
        found = f(x)
        assert found[0] is result and result.values == [x * x]
        assert found[1] is constant and found[2].values == ["b"] and found[3] is np.sin


def test_who_calls_such_a_function_is_recorded_anew_too():
    state = State()
    inner = tapec.grad(lambda x: schedule(state, x))
    outer = tapec.compile(lambda x: inner(x) + x)
    for k in range(1, 4):
        assert outer(1.0) == pytest.approx(1 + 0.9**k)
