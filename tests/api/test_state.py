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


CALLS = 0


def count_attribute(s, x):
    s.n += 1
    return 2 * x


def count_down(s, x):
    s.n -= 2
    s.n += 5
    return 2 * x


def count_item_of_a_dict(s, x):
    s.counts["calls"] += 1
    return 2 * x


def count_item_of_a_list(s, x):
    s.places[1] += 1
    return 2 * x


def count_in_a_loop(s, x):
    for k in range(len(x)):
        s.n += k
    return 2 * x


def count_by_path(s, x):
    if x[0] > 1.5:
        s.n += 1
        return 2 * x
    s.counts["calls"] += 10
    return 3 * x


def count_beside_others(s, x):
    s.counts["calls"] += 1
    return s.places[0] * x + s.counts["fixed"]


def count_of_the_class(s, x):
    s.of_class += 1
    return 2 * x


class Counts(State):
    of_class = 0

    def __init__(self):
        super().__init__()
        self.counts = {"calls": 0, "fixed": 1}
        self.places = [0, 0]

    @property
    def twice(self):
        return 2 * self.n


COUNTERS = [
    *(count_attribute, count_down, count_item_of_a_dict, count_item_of_a_list, count_in_a_loop, count_by_path),
    *(count_beside_others, count_of_the_class),
]


@pytest.mark.parametrize("count", COUNTERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "transform", [tapec.compile, lambda f: tapec.grad(lambda x: np.sum(f(x)))], ids=["value", "grad"]
)
def test_counters_count_in_generated_code(count, transform):
    here, there = Counts(), Counts()
    f = transform(lambda x: count(here, x))
    for k in range(8):
        x = X + k % 2
        found, expected = f(x), count(there, x)
        np.testing.assert_allclose(found, expected if transform is tapec.compile else np.full(3, slope(count, x)))
        assert plain(vars(here)) == plain(vars(there))
        if k == 5:
            here.n = there.n = 40
    info = f.cache_info()
    assert info.misses == info.compilations == 1 + (count is count_by_path)
    assert info.hits == 8 - info.misses
    assert "recorded anew" not in str(f.explain(X))


def slope(count, x):
    """Of what these functions give, which is linear."""
    states = Counts(), Counts()
    return (count(states[0], x + 0.25) - count(states[1], x))[0] / 0.25


def count_global(s, x):
    global CALLS
    CALLS += 1
    s.n = CALLS
    return 2 * x


def count_in_closure(s, x):
    def add():
        nonlocal n
        n += 1

    n = s.n
    add()
    s.n = n
    return 2 * x


def count_and_read(s, x):
    s.n += 1
    if s.n == 3:
        return 5 * x
    return 2 * x


def read_and_count(s, x):
    before = s.n
    s.n += 1
    return x[before % 3] * x


def count_for_another(s, x):
    s.n += 1
    s.total = s.n + 0
    return 2 * x


def count_without_operator(s, x):
    s.n = s.n + 1
    return 2 * x


def double(s, x):
    s.n *= 2
    s.n += 1
    return 2 * x


def flip(s, x):
    s.n ^= 1
    return 2 * x


def count_and_reset(s, x):
    s.n += 1
    if len(x) == 3:
        s.n = 5
    return 2 * x


def count_by_name(s, x):
    setattr(s, "n", getattr(s, "n") + 1)  # noqa: B009, B010
    return 2 * x


def count_and_read_by_name(s, x):
    s.n += 1
    return x * getattr(s, "n")  # noqa: B009


def count_and_read_all(s, x):
    s.n += 1
    return x * vars(s)["n"]


def count_and_read_copies(s, x):
    s.n += 1
    return x * copy.copy(s).n


def count_through_its_dict(s, x):
    s.__dict__["n"] += 1
    return x * s.n


def count_and_match(s, x):
    s.n += 1
    match s:
        case Counts(n=2):
            return 7 * x
    return 2 * x


def count_and_read_through(s, x):
    s.n += 1
    return x * s.twice


def count_item_and_read(s, x):
    s.counts["calls"] += 1
    return x * s.counts["calls"]


def count_item_and_get(s, x):
    s.counts["calls"] += 1
    return x * s.counts.get("calls")


def count_item_and_unpack(s, x):
    s.counts["calls"] += 1
    return x * dict(**s.counts)["calls"]


def count_item_and_sum(s, x):
    s.places[1] += 1
    return x * sum(s.places)


def count_item_and_join(s, x):
    s.places[1] += 1
    return x * ([0] + s.places)[2]


def count_item_from_the_end(s, x):
    s.places[1] += 1
    return x * s.places[-1]


def count_item_and_slice(s, x):
    s.places[1] += 1
    return x * s.places[1:][0]


def count_item_and_unpack_list(s, x):
    s.places[1] += 1
    _, n = s.places
    return x * n


def count_and_log(s, x):
    s.n += 1
    s.log.append(float(s.n))
    return 2 * x


def log_only(s, x):
    s.log.append(x)
    return 2 * x


def count_with_a_float(s, x):
    s.n += 0.5
    return 2 * x


def count_what_is_a_result(s, x):
    s.n += 1
    return 2 * x, s.n


READ = [
    *(count_global, count_in_closure, count_and_read, read_and_count, count_for_another, count_without_operator),
    *(double, flip, count_and_reset, count_by_name, count_and_read_by_name, count_and_read_all, count_and_read_copies),
    *(count_through_its_dict, count_and_match, count_and_read_through, count_item_and_read, count_item_and_get),
    *(count_item_and_unpack, count_item_and_sum, count_item_and_join, count_item_from_the_end, count_item_and_slice),
    *(count_item_and_unpack_list, count_and_log, log_only, count_with_a_float, count_what_is_a_result),
]


@pytest.mark.parametrize("count", READ, ids=lambda f: f.__name__)
def test_what_may_be_read_is_recorded_anew(count):
    global CALLS
    here, there = Counts(), Counts()
    f = tapec.compile(lambda x: count(here, x))
    for k in range(6):
        CALLS, x = k, X + k
        found = f(x)
        CALLS = k
        expected = count(there, x)
        for a, b in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, expected)], strict=True):
            np.testing.assert_allclose(a, b)
        assert plain(vars(here)) == plain(vars(there))


def test_a_state_that_has_settled_is_compiled():
    state = State()
    f = tapec.compile(lambda x: first_call(state, x))
    assert [f(1.0) for _ in range(4)] == [10.0, 1.0, 1.0, 1.0]
    assert f.cache_info()[:3] == (2, 2, 2)


MODE = "0"


def test_past_the_limit_states_are_no_new_code():
    global MODE
    f = tapec.grad(lambda x: np.sum(x * x) / (1 + int(MODE)))
    with tapec.settings(path_limit=4):
        for step in range(4):
            MODE = str(step)
            np.testing.assert_allclose(f(X), 2 * X / (1 + step))
        assert f.cache_info().compilations == 4
        MODE = "4"
        with pytest.warns(tapec.TapecWarning, match=r"than 4 states of what it captures \(MODE is '4', was '3'\).*Fix"):
            f(X)
        for step in range(50):
            MODE = str(step)
            np.testing.assert_allclose(f(X), 2 * X / (1 + step))
        assert f.cache_info().compilations <= 6
        assert "more than 4 states" in str(f.explain(X))


def test_explain_says_what_is_changed():
    state = State()
    f = tapec.compile(lambda x: schedule(state, x))
    assert "recorded anew at each call, because it changes state.n, which it reads" in str(f.explain(1.0))


def test_explain_tells_what_is_counted():
    state = Counts()
    f = tapec.compile(lambda x: count_down(state, x))
    assert "state.n: a counter, +3 at each call" in str(f.explain(1.0))


def test_who_calls_what_counts_is_recorded_anew():
    state = Counts()
    inner = tapec.grad(lambda x: np.sum(count_attribute(state, x)))
    outer = tapec.compile(lambda x: inner(x) * state.n)
    for calls in range(1, 5):
        np.testing.assert_array_equal(outer(X), np.full(3, 2.0 * calls))
        assert state.n == calls
    assert "because it calls function_grad, which counts state.n" in str(outer.explain(X))


def test_counters_count_calls_that_raise():
    state = Counts()

    def solve(x):
        state.n += 1
        return np.linalg.inv(x)

    f = tapec.compile(solve)
    for calls in range(1, 6):
        if calls % 2:
            np.testing.assert_array_equal(f(np.eye(2)), np.eye(2))
        else:
            with pytest.raises(np.linalg.LinAlgError):
                f(np.zeros((2, 2)))
        assert state.n == calls


def test_counters_count_on_tapes_and_stay_what_they_are():
    state = Counts()
    f = tapec.compile(lambda x: count_attribute(state, x))
    for calls in range(1, 4):
        with tapec.GradientTape() as tape:
            x = tapec.constant(X)
            tape.watch(x)
            y = np.sum(f(x))
        np.testing.assert_array_equal(tape.gradient(y, x), np.full(3, 2.0))
        assert state.n == calls
    state.n = 0.5
    f(X)
    assert state.n == 1.5
    state.n = 7
    f(X)
    assert state.n == 8


def test_counters_without_source_are_recorded_anew():
    space = {"s": Counts()}
    exec("def f(x):\n    s.n += 1\n    return 2 * x", space)
    f = tapec.compile(space["f"])
    for calls in range(1, 4):
        assert f(1.0) == 2.0
        assert space["s"].n == calls


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
        with pytest.raises(tapec.UnsupportedError, match=rf"test_state.py:\d+: the function returns a {kind}.*Fix"):
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


def test_a_default_that_becomes_a_zero_of_another_sign():
    def helper(v, k=0.0):
        return np.sum(v * (1.0 if np.copysign(1.0, k) > 0 else 2.0))

    f = tapec.grad(lambda w: helper(w))
    for k, factor in ((0.0, 1.0), (-0.0, 2.0), (0.0, 1.0)):
        helper.__defaults__ = (k,)
        for _ in range(3):
            np.testing.assert_array_equal(f(np.ones(2)), np.full(2, factor))
