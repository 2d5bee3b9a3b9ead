"""A captured object that is returned is the user's own, the one that is there at the call."""

import dataclasses

import numpy as np
import pytest

import tapec


@dataclasses.dataclass
class State:
    step: int
    w: np.ndarray = dataclasses.field(default_factory=lambda: np.ones(3))


@dataclasses.dataclass(frozen=True)
class Frozen:
    step: int


class Plain:
    def __init__(self, step):
        self.step = step


@pytest.mark.parametrize("kind", [State, Frozen, Plain])
@pytest.mark.parametrize("transform", [tapec.compile, lambda f: tapec.value_and_grad(f, has_aux=True)])
def test_it_is_the_object_that_is_there(kind, transform):
    state = kind(1)

    def loss(x):
        return np.sum(x) * state.step, {"state": state, "states": [state, state.step]}

    f = transform(loss)
    for step in (1, 2, 2, 3):
        state = kind(step)
        for _ in range(3):
            found = f(np.ones(3))
            value, aux = found if transform is tapec.compile else found[0]
            assert value == 3.0 * step
            assert aux["state"] is state and aux["states"][0] is state and aux["states"][1] == step


def test_it_may_change_between_calls():
    state = State(1)
    f = tapec.compile(lambda x: (np.sum(x * state.w), state))
    for step in range(4):
        state.step, state.w = step, np.full(3, step + 1.0)
        value, found = f(np.ones(3))
        assert found is state and value == 3.0 * step + 3.0


def test_gradients_by_a_captured_dataclass_have_its_class():
    params = State(2)

    def f(scale):
        return tapec.value_and_grad(lambda p: scale * np.sum(p.w**2))(params)

    compiled = tapec.compile(f)
    for w in (1.0, 3.0):
        params = State(2, np.full(3, w))
        for _ in range(3):
            value, slopes = compiled(2.0)
            assert type(slopes) is State and value == 6.0 * w * w
            np.testing.assert_array_equal(slopes.w, np.full(3, 4.0 * w))
