"""Captured weak references answer as such where a function asks for their class, and lead to captured state."""

import weakref

import numpy as np
import pytest

import tapec

X = np.array([1.0, 2.0])


class Model:
    scale = 3.0

    def __init__(self):
        self.rate = 2.0

    def loss(self, x):
        return self.rate * np.sum(x)


model, other = Model(), Model()
reference, again, method = weakref.ref(model), weakref.ref(other), weakref.WeakMethod(model.loss)
receivers = {1: method, 2: reference}


def signal(x):
    total = 0.0
    for receiver in receivers.values():
        if isinstance(receiver, weakref.WeakMethod):
            total = total + receiver()(x=x)
        elif isinstance(receiver, weakref.ref):
            total = total + receiver().rate * np.sum(x)
    return total


BODIES = {
    "isinstance": signal,
    "type": lambda x: np.sum(x) * (model.rate if type(reference) is weakref.ref else 1.0),
    "type of a method": lambda x: np.sum(x) * (model.rate if type(method) is weakref.WeakMethod else 1.0),
    "another class": lambda x: np.sum(x) * (1.0 if isinstance(receivers[2], weakref.WeakMethod) else model.rate),
    "equal": lambda x: np.sum(x) * (model.rate if reference == receivers[2] and reference != again else 1.0),
    "a key": lambda x: np.sum(x) * {reference: model.rate}[receivers[2]],
    "callable": lambda x: np.sum(x) * (reference().rate if callable(reference) else 1.0),
}


@pytest.mark.parametrize("f", BODIES.values(), ids=BODIES)
def test_a_reference_answers_as_its_class(f):
    g = tapec.value_and_grad(f)
    for rate in (2.0, 2.0, 5.0):
        model.rate = rate
        value, slope = g(X)
        assert value == f(X)
        np.testing.assert_allclose(slope, np.full(2, f(X) / 3.0))


def test_a_reference_that_leads_nowhere():
    lost = weakref.ref(Model())
    f = tapec.compile(lambda x: np.sum(x) if lost() is None else np.sum(x) * lost().rate)
    assert f(X) == 3.0


def test_a_reference_is_returned_as_itself():
    assert tapec.compile(lambda x: (np.sum(x), reference))(X)[1] is reference
