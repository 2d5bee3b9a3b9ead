"""A captured object that a function returns is the one of this call."""

import numpy as np
import pytest

import tapec

X = np.ones(3)


class State:
    def __init__(self, step):
        self.step = step

    def value(self):
        return self.step


class Equal:
    def __init__(self, step):
        self.step = step

    def __eq__(self, other):
        return self.step == other.step


class Slots:
    __slots__ = ("step",)

    def __init__(self, step):
        self.step = step


class Box:
    pass


box, state, found = Box(), None, {}

WAYS = {
    "global": lambda x: (np.sum(x), state),
    "attribute": lambda x: (np.sum(x), box.state),
    "item": lambda x: (np.sum(x), found["state"]),
    "in a dict": lambda x: {"loss": np.sum(x), "state": state},
    "in a list": lambda x: [np.sum(x), [state]],
    "read as well": lambda x: (np.sum(x) * state.step, state),
}


def object_of(result):
    last = result["state"] if isinstance(result, dict) else result[1]
    return last[0] if isinstance(last, list) else last


@pytest.mark.parametrize("kind", [State, Equal, Slots])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_object_of_this_call(way, kind, monkeypatch):
    f = tapec.compile(way)
    objects = [kind(1), kind(1), kind(2)]
    for now in [*objects, *objects, *objects]:
        monkeypatch.setitem(globals(), "state", now)
        monkeypatch.setitem(found, "state", now)
        box.state = now
        assert [object_of(f(X)) is now for _ in range(2)] == [True, True]


def test_many_objects(monkeypatch):
    f = tapec.compile(lambda x: (np.sum(x), state))
    for n in range(40):
        monkeypatch.setitem(globals(), "state", State(n))
        assert f(X)[1] is state


def test_a_gradient_beside_it(monkeypatch):
    f = tapec.value_and_grad(lambda x: (np.sum(x**2), state), has_aux=True)
    for n in range(3):
        monkeypatch.setitem(globals(), "state", State(n))
        (value, aux), gradient = f(X)
        assert value == 3.0 and aux is state and gradient.tolist() == [2.0] * 3


def test_a_bound_method_is_that_of_the_object(monkeypatch):
    f = tapec.compile(lambda x: (np.sum(x), state.value))
    for n in range(3):
        monkeypatch.setitem(globals(), "state", State(n))
        method = f(X)[1]
        assert method.__self__ is state and method.__func__ is State.value and method() == n
