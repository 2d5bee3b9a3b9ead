"""What a function stores in a default, of its own or of functools.partial, is there at the next call."""

import collections
import dataclasses
import functools

import numpy as np
import pytest

import tapec

XS = [np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])]


@dataclasses.dataclass
class Total:
    sum: float = 0.0
    parts: list = dataclasses.field(default_factory=list)


def of_a_list():
    def f(x, seen=[]):  # noqa: B006
        for v in x:
            seen.append(v)
        return sum(seen) / len(seen)

    return f, f.__defaults__[0]


def of_a_dict():
    def f(x, *, state={}):  # noqa: B006
        state["sum"] = state.get("sum", 0.0) + np.sum(x * x)
        return state["sum"]

    return f, f.__kwdefaults__["state"]


def of_a_deque():
    def f(x, last=collections.deque(maxlen=2)):  # noqa: B006
        last.append(np.sum(x))
        return last[0] * last[-1]

    return f, f.__defaults__[0]


def of_a_list_in_a_dict():
    def f(x, state={"all": [], "n": 0}):  # noqa: B006
        state["n"] += 1
        state["all"].insert(0, np.sum(x))
        return sum(state["all"]) * state["n"]

    return f, f.__defaults__[0]


def of_a_dataclass():
    def f(x, total=Total()):  # noqa: B008
        total.sum = total.sum + np.sum(x * x)
        total.parts.append((np.sum(x), "part"))
        return total.sum * sum(p[0] for p in total.parts)

    return f, f.__defaults__[0]


def of_a_partial():
    def f(x, log):
        log.append(np.sum(x * x))
        return sum(log)

    log = [1.0]
    return functools.partial(f, log=log), log


def of_a_partial_of_a_partial():
    def f(scale, x, log):
        log.append(scale * np.sum(x * x))
        return sum(log)

    log = [1.0]
    return functools.partial(functools.partial(f, log=log), 2.0), log


WAYS = [
    of_a_list,
    of_a_dict,
    of_a_deque,
    of_a_list_in_a_dict,
    of_a_dataclass,
    of_a_partial,
    of_a_partial_of_a_partial,
]


@pytest.mark.parametrize("make", WAYS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("transform", [tapec.compile, tapec.value_and_grad], ids=["compile", "value_and_grad"])
def test_a_default_keeps_what_the_function_stores(make, transform):
    f, kept = make()
    g, kept_here = make()
    g = transform(g)
    for x in XS:
        expected, found = f(x), g(x)
        np.testing.assert_allclose(found[0] if isinstance(found, tuple) else found, expected)
        assert repr(kept_here) == repr(kept)


def test_the_gradient_takes_what_was_stored_before_as_constant():
    f, _ = of_a_list_in_a_dict()
    g = tapec.grad(f)
    for n, x in enumerate(XS, 1):
        np.testing.assert_allclose(g(x), np.full(2, n))


def test_what_a_caller_passes_is_not_changed_and_a_default_that_is_read_alone_is_not():
    f, kept = of_a_list()
    given = [1.0]
    assert float(tapec.compile(f)(XS[0], given)) == 4 / 3
    assert given == [1.0] and kept == []

    def scaled(x, parameters={"a": 2.0}):  # noqa: B006
        return np.sum(x) * parameters["a"]

    g = tapec.compile(scaled)
    assert float(g(XS[0])) == 6.0 and float(g(XS[1])) == 14.0
    assert g.explain(XS[0]).recorded_anew is None
    assert tapec.grad(scaled, argnums="parameters")(XS[0]) == {"a": 3.0}


def test_a_default_that_is_known_by_another_name_is_refused():
    log = []

    def f(x, seen=log):
        seen.append(np.sum(x))
        return len(log) * np.sum(x)

    with pytest.raises(tapec.UnsupportedError, match="stores something in the default of seen"):
        tapec.compile(f)(XS[0])
