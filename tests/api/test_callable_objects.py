"""Objects that are called like functions: what they read is read anew at each call, wherever `__call__` stands."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tapec

SCALE = 2.0
X = np.array([1.0, 2.0, 3.0])


def scaled(v):
    return np.sum(v * SCALE)


class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, v):
        return self.forward(v)

    def forward(self, v):
        return np.sum(v * self.w * SCALE)


class Inherits(Layer):
    def forward(self, v):
        return super().forward(v) * 3.0


class Overrides(Layer):
    def __call__(self, v):
        return super().__call__(v) + 1.0


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w

    def __call__(self, v):
        return np.sum(v * self.w * SCALE)


class SlottedToo(Slotted):
    __slots__ = ()


class Wrapper:
    def __init__(self, inner):
        self.inner = inner
        self.w = np.ones(3)
        functools.update_wrapper(self, inner)

    def __call__(self, v):
        return self.inner(v * self.w)


class WrapperToo(Wrapper):
    pass


class Static:
    __call__ = staticmethod(scaled)

    def __init__(self):
        self.w = np.ones(3)


KINDS = {
    "its own": lambda: Layer(np.ones(3)),
    "inherited": lambda: Inherits(np.ones(3)),
    "by super": lambda: Overrides(np.ones(3)),
    "slots": lambda: SlottedToo(np.ones(3)),
    "a wrapper": lambda: WrapperToo(scaled),
    "a wrapper of a wrapper": lambda: WrapperToo(WrapperToo(scaled)),
    "a wrapper of an object": lambda: WrapperToo(Inherits(np.ones(3))),
    "static": Static,
}


@pytest.mark.parametrize("called", [lambda x: x, lambda x: functools.partial(x.__call__)], ids=["", "partial"])
@pytest.mark.parametrize("transform", [tapec.compile, tapec.value_and_grad, tapec.vmap])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_callable_object_reads_is_read_anew(kind, transform, called, monkeypatch):
    held = KINDS[kind]()
    f = transform(called(held))
    given = np.stack([X, X]) if transform is tapec.vmap else X

    def value():
        found = f(given)
        return found[0] if transform is not tapec.compile else found

    assert value() == held(X)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert value() == held(X)
    held.w[0] = 7.0
    assert value() == held(X)
    held.w = 2.0 * X
    assert value() == held(X)


def test_gradients_of_an_inherited_call():
    model = Inherits(np.ones(3))
    f = tapec.grad(model)
    np.testing.assert_array_equal(f(X), 6.0 * np.ones(3))
    model.w = X
    np.testing.assert_array_equal(f(X), 6.0 * X)
    assert f.cache_info().compilations == 1
